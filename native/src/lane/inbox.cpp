// SPDX-License-Identifier: Apache-2.0
#include "lane/inbox.hpp"

#include <sys/mman.h>

#include <new>

#include "base/mutation.hpp"
#include "lane/lane.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

constexpr uint64_t kPage = 4096;

}  // namespace

// --- PayloadRing
// --------------------------------------------------------------------------------------------------------

bool PayloadRing::reserve(uint64_t bytes) {
  length_ = (bytes + kPage - 1) / kPage * kPage;
  void* mapped = mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    length_ = 0;
    return false;
  }
  base_ = static_cast<std::byte*>(mapped);
  return true;
}

PayloadRing::~PayloadRing() {
  // Java has looked at it: the range stays, its memory goes. [V15]
  if (base_) madvise(base_, length_, MADV_DONTNEED);
}

std::byte* PayloadRing::allocate(uint32_t bytes, uint32_t* taken) {
  const uint32_t size = (std::max(bytes, 1u) + 63) / 64 * 64;
  if (used_ == 0) tail_ = 0;  // start over: memory that was touched is touched again
  const bool wraps = tail_ + size > length_;
  const uint64_t skip = wraps ? length_ - tail_ : 0;
  if (used_ + skip + size > length_) return nullptr;
  std::byte* place = base_ + (wraps ? 0 : tail_);
  *taken = static_cast<uint32_t>(skip + size);
  used_ += *taken;
  tail_ = static_cast<uint64_t>(place - base_) + size;
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

bool Inbox::open(uint32_t messages, uint64_t bytes, uint32_t max_eager) {
  return ring_.reserve(bytes + uint64_t{messages} * 64 + 2 * uint64_t{max_eager});
}

void Inbox::arrive(Device& device, const Arrival& arrival, const Payload& payload, std::byte* owned) {
  if (device.lane() != &lane_) return push(arrival, payload, owned);
  if (store_.empty() && !closing) {
    // The short way: from the ring or packet straight into the completion ring.
    if (owned) {
      if (lane_.write_message(*this, arrival, payload.size, nullptr, owned, 0, true)) return;
    } else if (payload.size <= LCI_INLINE_MAX) {
      if (lane_.write_message(*this, arrival, payload.size, &payload, nullptr, 0, false)) return;
    }
  }
  store(arrival, payload, owned);
}

void Inbox::store(const Arrival& arrival, const Payload& payload, std::byte* owned) {
  Stored stored{arrival, payload.size, 0, owned, owned != nullptr};
  if (!owned) {
    stored.bytes = ring_.allocate(payload.size, &stored.taken);
    if (!stored.bytes) {  // cannot happen within the capacity; an oversized message brings its own memory
      ArrivalBuffer* buffer = ArrivalBuffer::create(payload.size);
      stored.bytes = buffer->bytes();
      stored.owned = true;
    }
    payload.copy(stored.bytes);
  }
  store_.push_back(stored);
}

void Inbox::push(const Arrival& arrival, const Payload& payload, std::byte* owned) {
  void* memory = std::malloc(sizeof(Pushed) + (owned ? 0 : payload.size));
  if (!memory) throw std::bad_alloc();
  auto* node = new (memory) Pushed{nullptr, arrival, payload.size, owned};
  if (!owned) payload.copy(node->bytes());
  Pushed* head = pushed_.load(std::memory_order_relaxed);
  do {
    node->next = head;
  } while (!pushed_.compare_exchange_weak(head, node, std::memory_order_seq_cst, std::memory_order_relaxed));
  lane_.wake();
}

bool Inbox::take_pushed() {
  if (!pushed_.load(std::memory_order_relaxed)) return false;
  Pushed* node = pushed_.exchange(nullptr, std::memory_order_acquire);
  Pushed* in_order = nullptr;
  while (node) {
    Pushed* next = node->next;
    node->next = in_order;
    in_order = node;
    node = next;
  }
  while (in_order) {
    Pushed* next = in_order->next;
    store(in_order->arrival, {nullptr, in_order->owned ? in_order->owned : in_order->bytes(), in_order->size},
          in_order->owned);
    std::free(in_order);
    in_order = next;
  }
  return true;
}

bool Inbox::drain(uint32_t quantum) {
  bool moved = false;
  while (quantum-- != 0 && !store_.empty()) {
    const Stored& stored = store_.front();
    if (stored.size <= LCI_INLINE_MAX && !stored.owned) {
      const Payload payload{nullptr, stored.bytes, stored.size};
      if (!lane_.write_message(*this, stored.arrival, stored.size, &payload, nullptr, stored.taken, false))
        return moved;
    } else {
      if (!lane_.write_message(*this, stored.arrival, stored.size, nullptr, stored.bytes, stored.taken, stored.owned)) {
        return moved;
      }
    }
    store_.pop_front();
    moved = true;
  }
  return moved;
}

uint64_t Inbox::discard() {
  take_pushed();
  const uint64_t count = store_.size();
  for (const Stored& stored : store_) {
    if (stored.owned) lci_buffer_free(stored.bytes);
    if (stored.taken != 0) ring_.free(stored.taken);
  }
  store_.clear();
  return count;
}

}  // namespace lci
