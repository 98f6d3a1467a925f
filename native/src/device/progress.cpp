// SPDX-License-Identifier: Apache-2.0
// One pass over a device: control traffic, what waits for room, arrivals. [area H]
#include <algorithm>

#include "device/device.hpp"

namespace lci {
namespace {

/// Up to this many incoming links are looked at directly; above, only those whose summary byte is set.
constexpr uint32_t kDirectLinks = 8;

}  // namespace

bool Device::progress(Budget& budget) {
  counters.add(Metric::progress_calls);
  unfinished_ = false;
  begin_batch();
  bool moved = false;
  if (parts_.chaos) {
    links_.for_each([&](Link& link) {
      if (!link.chaos) return;
      if (link.chaos->tick(link.control_out, link.data_out)) {
        links_.touch(link);
        moved = true;
      }
      link.chaos->shorten(&budget.messages);
    });
    for (auto& [link, key] : chaos_refused_) {
      if (key->refused) tell_writable(*link, *key);
    }
    chaos_refused_.clear();
  }
  if (untold_) tell_refused();
  moved |= take_returned_packets(index_);
  moved |= process_work();
  scan_summary();
  for (size_t i = 0; i < links_.ready().size(); ++i) moved |= drain_control(*links_.ready()[i]);
  moved |= look_for_failures();
  moved |= retry_backlog();
  if (!barriers_.empty() && barriers_.progress()) {
    publish_rings();  // the next round is waited for: it need not wait for the rest of the pass
    moved = true;
  }
  for (size_t i = 0; i < links_.busy().size();) {
    Link& link = *links_.busy()[i];
    moved |= flush_control(link);
    moved |= stream(link);
    if (link.streams.empty() && !link.out_queued()) {
      links_.busy()[i] = links_.busy().back();
      links_.busy().pop_back();
    } else {
      ++i;
    }
  }
  const size_t count = links_.ready().size();
  for (size_t i = 0; i < count; ++i) moved |= drain_data(*links_.ready()[(rotate_ + i) % count], budget);
  if (count != 0) rotate_ = (rotate_ + 1) % static_cast<uint32_t>(count);
  // Answers to what just came go out in this pass: nothing would call for another one.
  for (Link* link : links_.busy()) moved |= flush_control(*link);
  for (size_t i = 0; i < links_.ready().size();) {
    Link& link = *links_.ready()[i];
    give_packets_back(link);
    if (!link.put_acks.empty()) flush_put_acks(link);
    const bool more = link.data_in.has_message() || link.control_in.has_message();
    if (more) unfinished_ = true;
    if (!more && links_.readable() > kDirectLinks) {
      link.ready = false;
      links_.ready()[i] = links_.ready().back();
      links_.ready().pop_back();
    } else {
      ++i;
    }
  }
  links_.for_each([this](Link& link) {
    if (link.wants_room && link.data_out.has_room(slots_for(LCI_INLINE_MAX))) {
      link.wants_room = false;
      ++generation_;
    }
    if (link.wants_remote && link.may_put_and_get()) {
      link.wants_remote = false;  // their ends may leave no record in a lane
      room_came();
    }
  });
  if (parts_.packets.waits(index_)) collect_packets();
  if (packets_may_be_there() || (packets_wanted_ && parts_.chaos)) {
    packets_came_.store(false, std::memory_order_relaxed);
    packets_wanted_ = false;
    room_came();
  }
  if (room_came_elsewhere_.load(std::memory_order_relaxed) &&
      room_came_elsewhere_.exchange(false, std::memory_order_acquire)) {
    room_came();
  }
  if (!dry_keys_.empty()) end_patience();
  ring_doorbells();
  if (!moved) counters.add(Metric::progress_idle);
  return moved;
}

bool Device::retry_backlog() {
  if (backlog_.empty()) return false;
  const auto post_again = [this](const Queued& queued, bool first) {
    if (first) begin_batch();  // one slow rank does not hold up another
    lci_status done;
    return post(queued.op, nullptr, queued.target, &done);
  };
  const bool moved = backlog_.retry(post_again, &unfinished_);
  if (moved) tell_refused();
  return moved;
}

/// Who was refused outside hears of it; the backlog and the streams, which had their turn in this pass, need another.
void Device::room_came() {
  ++generation_;
  unfinished_ = unfinished_ || !backlog_.empty() || !links_.busy().empty();
}

/// Senders that waited for credit long enough may announce.
void Device::end_patience() {
  const uint64_t pass = counters.get(Metric::progress_calls);
  std::erase_if(dry_keys_, [&](const auto& entry) {
    const auto& [link, key] = entry;
    if (key->dry && pass - key->dry_since < kPatiencePasses) return false;
    if (key->dry && key->refused) tell_writable(*link, *key);
    key->dry_listed = false;
    return true;
  });
  if (!dry_keys_.empty()) unfinished_ = true;
}

void Device::wake_owner() {
  if (LaneView* owner = lane()) owner->wake();
}

}  // namespace lci
