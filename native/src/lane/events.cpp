// SPDX-License-Identifier: Apache-2.0
// What happened, as records for the loop: from devices of the lane directly, from other threads through a stack.
#include <algorithm>
#include <utility>

#include "device/arrival_end.hpp"
#include "lane/lane.hpp"

namespace lci {

bool Lane::operation_ended(Device* from, int code, uint32_t rank, uint64_t tag, uint64_t size, uint64_t context,
                           const void* received) {
  if (retired_.load(std::memory_order_acquire)) return false;
  const auto fill = [&](lci_record& ended) {
    ended = {};
    ended.kind = LCI_RECORD_OP;
    ended.flags = received ? LCI_RECORD_FLAG_RECEIVED : 0;
    ended.code = static_cast<uint16_t>(code);
    ended.rank = rank;
    ended.size = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
    ended.u.ended.size = size;
    ended.u.ended.received = reinterpret_cast<uint64_t>(received);
    ended.tag = tag;
    ended.context = context;
  };
  const bool here = from && from->lane() == this;
  if (here && may_record()) {  // in its place at once: the common case
    held_[tail_ & ring_mask_].inbox = nullptr;
    fill(record(tail_++));
    --in_flight_;
    return true;
  }
  lci_record ended;
  fill(ended);
  if (here) {
    queue_.push_back(ended);  // submit() made room for it
  } else {
    push(ended, true);
  }
  return true;
}

/// Whether a record may be written now: nothing waits that came before, and the loop asked for records.
bool Lane::may_record() {
  return owner_is_inside() && queue_.empty() && room() != 0 && (control().flags & LCI_ENTER_DRAIN);
}

void Lane::writable(Device* from, uint32_t rank, uint16_t target, uint64_t count) {
  lci_record room{};
  room.kind = LCI_RECORD_WRITABLE;
  room.flags = target & kEngineTarget ? LCI_RECORD_FLAG_ENGINE : 0;
  room.rank = rank;
  room.port = target & static_cast<uint16_t>(~kEngineTarget);
  room.index = static_cast<uint16_t>(from->lane_index);
  room.context = count;
  queue(room);
}

void Lane::peer_changed(Device* from, uint32_t rank, int state, int code) {
  lci_record change{};
  change.kind = LCI_RECORD_PEER;
  change.code = static_cast<uint16_t>(code);
  change.rank = rank;
  change.index = static_cast<uint16_t>(from->lane_index);
  change.context = static_cast<uint64_t>(state);
  queue(change);
}

void Lane::port_changed(Device* from, uint32_t rank, uint16_t target, int code) {
  lci_record change{};
  change.kind = LCI_RECORD_PORT;
  change.flags = target & kEngineTarget ? LCI_RECORD_FLAG_ENGINE : 0;
  change.code = static_cast<uint16_t>(code);
  change.rank = rank;
  change.port = target & static_cast<uint16_t>(~kEngineTarget);
  change.index = static_cast<uint16_t>(from->lane_index);
  queue(change);
}

void Lane::synchronizer_fired(uint32_t id, std::vector<lci_status> statuses) {
  if (retired_.load(std::memory_order_acquire)) return;
  Pushed* first = nullptr;
  Pushed* last = nullptr;
  for (size_t i = 0; i < statuses.size(); ++i) {
    const lci_status& status = statuses[i];
    lci_record fired{};
    fired.kind = LCI_RECORD_SYNC;
    fired.code = static_cast<uint16_t>(status.code);
    fired.rank = status.rank;
    fired.port = static_cast<uint16_t>(status.port);
    fired.index = static_cast<uint16_t>(statuses.size() - 1 - i);
    fired.size = static_cast<uint32_t>(status.size);
    fired.tag = status.tag;
    fired.context = uint64_t{id} << 32 | (status.user_context >> 32);
    last = new Pushed{last, fired, false};
    if (!first) first = last;
  }
  push(first, last);
}

void Lane::graph_event(const lci_record& record) {
  if (retired()) return;
  if (is_entered()) {
    queue(record);
  } else {
    push(record, false);
  }
}

void Lane::push(const lci_record& record, bool operation) {
  auto* node = new Pushed{nullptr, record, operation};
  push(node, node);
}

void Lane::push(Pushed* oldest, Pushed* newest) {
  pushed_.push(oldest, newest);
  wake();
}

bool Lane::take_pushed() {
  if (!taken_) taken_ = pushed_.take_all_in_order();
  if (!taken_) return false;
  while (Pushed* node = taken_) {  // the rest stays if there is no memory
    queue(node->record);
    taken_ = node->next;
    delete node;
  }
  return true;
}

/// What comes to a port leaves its payload behind: a record of a firing has no place for it.
int LaneSynchronizer::signal(const lci_status& given) {
  if (const int code = check_signal(given); code != LCI_DONE) return code;
  lci_status status = given;
  drop_arrival(lane_.parts(), status);
  std::vector<lci_status> fired;
  {
    std::lock_guard<TryLock> guard(lock_);
    statuses_.push_back(status);
    if (statuses_.size() < threshold_) return LCI_DONE;
    fired.swap(statuses_);
  }
  lane_.synchronizer_fired(id(), std::move(fired));
  return LCI_DONE;
}

}  // namespace lci
