// SPDX-License-Identifier: Apache-2.0
// The completion ring: records for the loop, and what they hold until it has read them. [V5]
#include <algorithm>
#include <cinttypes>

#include "base/error.hpp"
#include "device/arrival_end.hpp"
#include "lane/lane.hpp"

namespace lci {
namespace {

/// Records that inboxes leave free for operation completions and events.
constexpr uint32_t kOperationRoom = 16;
/// Messages of one inbox recorded before the next one's turn. [V5]
constexpr uint32_t kInboxQuantum = 32;

uint32_t records_for(uint32_t size) {
  return size <= 32 ? 1 : 1 + (size - 32 + 63) / 64;
}

}  // namespace

/// Gives back what the loop has read. Frees before anything is written, so that room and credit are known.
uint32_t Lane::free_consumed() {
  const uint32_t upto = control().cq_head;
  const uint32_t count = upto - head_;
  if (count > tail_ - head_) return 0;  // nonsense from the loop
  for (; head_ != upto; ++head_) {
    Held& held = held_[head_ & ring_mask_];
    if (!held.inbox) continue;
    --held.inbox->records_out;
    if (held.taken != 0) held.inbox->freed(held.taken);
    held.inbox = nullptr;
    if (held.number != 0) {
      if (record(head_).flags & LCI_RECORD_FLAG_KEPT) {
        kept_.keep(held);
        continue;
      }
      kept_.drop(held.number);
    }
    give_back(held);
  }
  release_inboxes();
  return count;
}

/// What a message occupied goes back, and its credit.
void Lane::give_back(const Held& held) {
  if (held.packet != 0) {
    return_lent(parts_, held.key->link->rank, held.packet);
    return;
  }
  if (held.owned) lci_buffer_free(held.owned);
  Device& device = *held.key->link->device;
  device.release(*held.key, held.generation, held.charge_messages, held.charge_bytes, device.lane() == this);
}

int Lane::release_kept(uint64_t number) {
  Held held;
  if (!kept_.take(number, &held)) {
    return fail(LCI_ERR_ARGUMENT, "release: no message is kept under the number %#" PRIx64 ", or no longer", number);
  }
  give_back(held);
  return LCI_DONE;
}

void Lane::drain() {
  take_pushed();
  while (!queue_.empty() && room() != 0) {
    const lci_record& next = queue_.front();
    held_[tail_ & ring_mask_].inbox = nullptr;
    record(tail_++) = next;
    if (next.kind == LCI_RECORD_OP) --in_flight_;
    queue_.pop_front();
  }
  const auto count = static_cast<uint32_t>(inboxes_.size());
  for (uint32_t i = 0; i < count; ++i) {
    Inbox* inbox = inboxes_[(rotate_inbox_ + i) % count].get();
    if (!inbox || inbox->closing) continue;
    // First: what is left behind no longer may have been pushed, and counts as stored then
    demand(inbox->index()).left_behind = inbox->port().left_behind.load(std::memory_order_acquire);
    inbox->take_pushed();
    if (inbox->stored()) inbox->drain(kInboxQuantum);
    demand(inbox->index()).depth = static_cast<uint32_t>(inbox->depth());
  }
  if (count > 1) rotate_inbox_ = (rotate_inbox_ + 1) % count;
}

bool Lane::make_contiguous(uint32_t count) {
  const uint32_t place = tail_ & ring_mask_;
  const uint32_t left = ring_size_ - place;
  const uint32_t needed = count <= left ? count : left + count;
  if (room() < needed + kOperationRoom) return false;
  if (count <= left) return true;
  lci_record& pad = record(tail_);
  pad = {};
  pad.kind = LCI_RECORD_PAD;
  pad.size = left;
  for (uint32_t i = 0; i < left; ++i) held_[(tail_ + i) & ring_mask_].inbox = nullptr;
  tail_ += left;
  return true;
}

bool Lane::write_message(Inbox& inbox, const Arrival& arrival, uint32_t size, const Payload* payload,
                         const StoredPlace& place) {
  lci_demand& demand = this->demand(inbox.index());
  if (demand.delivered >= demand.requested) return false;
  const uint32_t records = payload ? records_for(size) : 1;
  if (!make_contiguous(records)) return false;
  lci_record& out = record(tail_);
  out.kind = LCI_RECORD_MESSAGE;
  out.flags = payload ? 0 : LCI_RECORD_FLAG_ADDRESS;
  out.code = LCI_DONE;
  out.rank = arrival.rank;
  out.port = static_cast<uint16_t>(inbox.port().number);
  out.index = static_cast<uint16_t>(inbox.index());
  out.size = size;
  out.tag = arrival.tag;
  if (payload) {
    payload->copy(out.u.inline_payload);
  } else {
    out.u.address = reinterpret_cast<uint64_t>(place.bytes);
  }
  Held& held = held_[tail_ & ring_mask_];
  held = {&inbox,
          arrival.key,
          place.owned ? place.bytes : nullptr,
          arrival.charge_bytes,
          0,
          arrival.charge_messages,
          arrival.generation,
          place.taken,
          place.packet};
  if ((place.owned || place.packet != 0) && inbox.is_zero_copy()) {
    held.number = kept_.reserve();
    out.flags |= LCI_RECORD_FLAG_LOAN;
    out.context = held.number;
  }
  for (uint32_t i = 1; i < records; ++i) held_[(tail_ + i) & ring_mask_].inbox = nullptr;
  tail_ += records;
  ++demand.delivered;
  ++inbox.records_out;
  return true;
}

}  // namespace lci
