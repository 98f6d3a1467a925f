// SPDX-License-Identifier: Apache-2.0
#include "lane/inbox.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/round_up.hpp"
#include "device/arrival_end.hpp"
#include "lane/lane.hpp"
#include "protocol/arrival_buffer.hpp"

namespace lci {
// --- PayloadRing
// --------------------------------------------------------------------------------------------------------

bool PayloadRing::reserve(uint64_t bytes) {
  range_ = KeptRanges::shared().take_or_map(round_up(bytes, kPage));
  return range_.base != nullptr;
}

PayloadRing::~PayloadRing() {
  KeptRanges::shared().put_back(range_);
}

void PayloadRing::clear() {
  // Java has looked at it: the range stays mapped. [V15]
  if (range_.base) madvise(range_.base, range_.bytes, MADV_DONTNEED);
  tail_ = used_ = 0;
}

std::byte* PayloadRing::allocate(uint32_t bytes, uint32_t* taken) {
  const uint32_t size = (std::max(bytes, 1u) + 63) / 64 * 64;
  if (used_ == 0) tail_ = 0;  // start over: memory that was touched is touched again
  const bool wraps = tail_ + size > length();
  const uint64_t skip = wraps ? length() - tail_ : 0;
  if (used_ + skip + size > length()) return nullptr;
  std::byte* place = range_.base + (wraps ? 0 : tail_);
  *taken = static_cast<uint32_t>(skip + size);
  used_ += *taken;
  tail_ = static_cast<uint64_t>(place - range_.base) + size;
  return place;
}

void PayloadRing::free(uint32_t taken) {
  used_ -= taken;
}

// --- Inbox
// --------------------------------------------------------------------------------------------------------------

Inbox::~Inbox() {
  discard();
}

bool Inbox::open(uint32_t messages, uint64_t bytes, uint32_t max_eager, std::vector<PayloadRing>& spare) {
  const uint64_t wanted = bytes + uint64_t{messages} * 64 + 2 * uint64_t{max_eager};
  const auto fits = std::find_if(spare.begin(), spare.end(), [&](const auto& ring) { return ring.length() >= wanted; });
  if (fits == spare.end()) return ring_.reserve(wanted);
  ring_ = std::move(*fits);
  spare.erase(fits);
  return true;
}

uint64_t Inbox::end(std::vector<PayloadRing>& spare) {
  const uint64_t discarded = discard();
  ring_.clear();
  spare.push_back(std::move(ring_));
  return discarded;
}

bool Inbox::take(Device& device, const Arrival& arrival, const Payload& payload, std::byte* owned) {
  if (device.lane() != &lane_) {
    const StoredPlace place = leave_in_place(arrival, payload, owned);
    push(arrival, payload, place);
    return place.packet != 0;
  }
  // From the ring or packet straight into the completion ring.
  const bool direct = store_.empty() && !closing && lane_.owner_is_inside();
  if (direct && !owned && payload.size <= LCI_INLINE_MAX &&
      lane_.write_message(*this, arrival, payload.size, &payload, {}))
    return false;
  const StoredPlace place = leave_in_place(arrival, payload, owned);
  if (!direct || !place.bytes || !lane_.write_message(*this, arrival, payload.size, nullptr, place)) {
    store(arrival, payload, place);
  }
  return place.packet != 0;
}

StoredPlace Inbox::leave_in_place(const Arrival& arrival, const Payload& payload, std::byte* owned) {
  if (owned) return {owned, 0, true, 0};
  if (payload.packet == 0 || payload.size <= LCI_INLINE_MAX || !is_zero_copy()) return {};
  const Charge charge{
      arrival.key, {arrival.charge_messages, arrival.charge_bytes}, arrival.generation, arrival.request};
  if (!lane_.parts().loans.lend(arrival.rank, payload.packet, charge)) return {};
  return {const_cast<std::byte*>(payload.memory), 0, false, payload.packet};
}

void Inbox::store(const Arrival& arrival, const Payload& payload, StoredPlace place) {
  if (!place.bytes) {
    place.bytes = ring_.allocate(payload.size, &place.taken);
    if (!place.bytes) {  // cannot happen within the capacity; an oversized message brings its own memory
      place.bytes = ArrivalBuffer::create(payload.size, nullptr)->bytes();
      place.owned = true;
    }
    payload.copy(place.bytes);
  }
  store_.push_back({arrival, payload.size, place});
}

void Inbox::push(const Arrival& arrival, const Payload& payload, const StoredPlace& place) {
  void* memory = std::malloc(sizeof(Pushed) + (place.bytes ? 0 : payload.size));
  if (!memory) throw std::bad_alloc();
  auto* node = new (memory) Pushed{nullptr, arrival, payload.size, place};
  if (!place.bytes) payload.copy(node->bytes());
  pushed_.push(node);
  lane_.wake();
}

bool Inbox::take_pushed() {
  if (!taken_) taken_ = pushed_.take_all_in_order();
  if (!taken_) return false;
  while (Pushed* node = taken_) {  // the rest stays if there is no memory
    store(node->arrival, {nullptr, node->bytes(), node->size}, node->place);
    taken_ = node->next;
    std::free(node);
  }
  return true;
}

bool Inbox::drain(uint32_t quantum) {
  bool moved = false;
  while (quantum-- != 0 && !store_.empty()) {
    const Stored& stored = store_.front();
    const StoredPlace& place = stored.place;
    const Payload payload{nullptr, place.bytes, stored.size};
    const bool apart = stored.size > LCI_INLINE_MAX || place.owned;
    if (!lane_.write_message(*this, stored.arrival, stored.size, apart ? nullptr : &payload, place)) return moved;
    store_.pop_front();
    moved = true;
  }
  return moved;
}

uint64_t Inbox::discard() {
  take_pushed();
  const uint64_t count = store_.size();
  for (; !store_.empty(); store_.pop_front()) {
    const auto& [arrival, size, place] = store_.front();
    Link& link = *arrival.key->link;
    if (arrival.request != 0) link.device->decline_stored(link, arrival.request);
    if (place.owned) lci_buffer_free(place.bytes);
    if (place.packet != 0) return_lent(lane_.parts(), arrival.rank, place.packet);
    if (place.taken != 0) ring_.free(place.taken);
  }
  store_.clear();
  return count;
}

}  // namespace lci
