// SPDX-License-Identifier: Apache-2.0
// Single-producer single-consumer message ring in shared memory.
//
// Memory orders and callers: one device's owner produces, one device's owner consumes. Messages become visible in
// groups: each slot holds its sequence number, but the first of a group gets it last, by a release store in publish(),
// which the consumer reads with acquire. So the consumer polls one line while the group is written, and does not pull
// each line away from the producer: twice the rate. The consumer gives space back by a release store of the head,
// every quarter of the ring; the producer reads it with acquire, only when its cached copy says full. Neither side
// trusts the other's bytes: the head is accepted only between the cached head and the tail, and every slot header is
// copied once before it is looked at.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/prefetch.hpp"
#include "wire/message.hpp"

namespace lci {

inline constexpr uint32_t kSlotBytes = 64;
inline constexpr uint32_t kFirstPayload = 32;
inline constexpr uint32_t kNextPayload = 60;

struct alignas(64) Slot {
  std::atomic<uint64_t> word;  ///< Sequence number, kind, flags, target: see first_word().
  uint32_t size;
  uint32_t aux;
  uint64_t tag;
  uint64_t arg;
  std::byte payload[kFirstPayload];
};
struct alignas(64) NextSlot {
  std::atomic<uint32_t> seq;
  std::byte payload[kNextPayload];
};
/// The words of a slot that say what it is, written by one store: few stores per line keep many lines in flight.
inline uint64_t first_word(const MessageHeader& header, uint32_t seq) {
  return seq | uint64_t{static_cast<uint8_t>(header.kind)} << 32 | uint64_t{header.flags} << 40 |
         uint64_t{header.target} << 48;
}
static_assert(sizeof(Slot) == kSlotBytes && sizeof(NextSlot) == kSlotBytes);

/// Slots that a message with @p payload inline bytes takes.
inline constexpr uint32_t slots_for(uint32_t payload) {
  return payload <= kFirstPayload ? 1 : 1 + (payload - kFirstPayload + kNextPayload - 1) / kNextPayload;
}

/// The words and slots of one ring as they lie in shared memory. Slots are numbered from @p start on, modulo 2^32;
/// in fresh memory see may_start_at().
struct RingMemory {
  std::atomic<uint32_t>* head;
  Slot* slots;
  uint32_t capacity;
  uint32_t start = 0;
};

/// Whether a ring in fresh memory may start there: a slot that nobody has written looks like that of the last position
/// before numbers begin anew, so the first lap must not come to it.
inline constexpr bool may_start_at(uint32_t position, uint32_t capacity) {
  return position <= UINT32_MAX - capacity;
}

class RingProducer {
 public:
  RingProducer() = default;
  explicit RingProducer(RingMemory memory)
      : memory_(memory),
        mask_(memory.capacity - 1),
        limit_(memory.capacity),
        tail_(memory.start),
        published_(memory.start),
        cached_head_(memory.start) {}

  /// Keeps @p slots of the ring out of has_room(), until it is told another number.
  void reserve(uint32_t slots) { limit_ = memory_.capacity - slots; }

  /// Whether @p slots more fit; reads the consumer's head only if the cached one says no.
  bool has_room(uint32_t slots) {
    if (tail_ - cached_head_ + slots <= limit_) return true;
    const uint32_t head = memory_.head->load(std::memory_order_acquire);
    if (head - cached_head_ > tail_ - cached_head_) return false;  // nonsense from the peer: stay with what we know
    cached_head_ = head;
    return tail_ - cached_head_ + slots <= limit_;
  }
  /// Whether the consumer has taken everything (by the head it last published).
  bool empty() const { return memory_.head->load(std::memory_order_acquire) == tail_; }

  /// Behind all that was written: of slots, modulo 2^32.
  uint32_t position() const { return tail_; }

  /// Writes one message; there must be room. It is visible after publish(), or when the group is full.
  /// Always inlined: a call would cost a fifth of the message rate.
  [[gnu::always_inline]] void write(const MessageHeader& header, const void* payload, uint32_t payload_size) {
    Slot& first = memory_.slots[tail_ & mask_];
    // Only in a stream: a lone message gains nothing, and its neighbours are with the consumer.
    if (tail_ != published_) prefetch_for_write(&memory_.slots[(tail_ + kAhead) & mask_]);
    const bool hidden = tail_ == published_;
    // The first of a group keeps a sequence number that the consumer does not wait for.
    first.word.store(first_word(header, (tail_ + 1) ^ (hidden ? kHidden : 0)), std::memory_order_relaxed);
    std::memcpy(&first.size, &header.size, sizeof first.size + sizeof first.aux);
    first.tag = header.tag;
    first.arg = header.arg;
    uint32_t used = 1;
    if (payload_size <= kFirstPayload) {
      if (payload_size == 8) {
        std::memcpy(first.payload, payload, 8);  // the common case, one store
      } else if (payload_size != 0) {
        std::memcpy(first.payload, payload, payload_size);
      }
    } else {
      used = write_rest(static_cast<const std::byte*>(payload), payload_size, first);
    }
    tail_ += used;
    if (tail_ - published_ >= kGroup) publish();
  }
  /// Makes all that was written visible.
  void publish() {
    if (tail_ == published_) return;
    auto& word = memory_.slots[published_ & mask_].word;
    word.store(word.load(std::memory_order_relaxed) ^ kHidden, std::memory_order_release);
    published_ = tail_;
  }

 private:
  uint32_t write_rest(const std::byte* from, uint32_t left, Slot& first) {
    std::memcpy(first.payload, from, kFirstPayload);
    from += kFirstPayload;
    left -= kFirstPayload;
    uint32_t used = 1;
    while (left != 0) {
      auto& next = reinterpret_cast<NextSlot&>(memory_.slots[(tail_ + used) & mask_]);
      const uint32_t part = left < kNextPayload ? left : kNextPayload;
      // The sequence word keeps a later lap from taking payload bytes for a published slot.
      next.seq.store(tail_ + used + 1, std::memory_order_relaxed);
      std::memcpy(next.payload, from, part);
      from += part;
      left -= part;
      ++used;
    }
    return used;
  }

  /// The bit of its sequence number in which the first slot of a group differs until it is published. By a bit, not by
  /// one less: a sum could carry into the kind that lies beside it. No ring has half as many slots.
  static constexpr uint32_t kHidden = 1u << 30;
  /// Slots written before a publication that nobody asked for.
  static constexpr uint32_t kGroup = 32;
  /// How far ahead of the write lines are asked for.
  static constexpr uint32_t kAhead = 8;

  RingMemory memory_{};
  uint32_t mask_ = 0;
  uint32_t limit_ = 0;
  uint32_t tail_ = 0;
  uint32_t published_ = 0;
  uint32_t cached_head_ = 0;
};

class RingConsumer {
 public:
  RingConsumer() = default;
  explicit RingConsumer(RingMemory memory)
      : memory_(memory), mask_(memory.capacity - 1), head_(memory.start), published_(memory.start) {}

  bool has_message() const {
    return static_cast<uint32_t>(memory_.slots[head_ & mask_].word.load(std::memory_order_acquire)) == head_ + 1;
  }
  /// Copies the header of the next message; the payload is read through read_payload().
  MessageHeader header() const {
    const Slot& slot = memory_.slots[head_ & mask_];
    const uint64_t word = slot.word.load(std::memory_order_relaxed);
    return {static_cast<MessageKind>(static_cast<uint8_t>(word >> 32)),
            static_cast<uint8_t>(word >> 40),
            static_cast<uint16_t>(word >> 48),
            slot.size,
            slot.aux,
            slot.tag,
            slot.arg};
  }
  /// Copies @p size (at most LCI_INLINE_MAX, checked by the caller) payload bytes of the next message.
  void read_payload(void* to, uint32_t size) const {
    const Slot& first = memory_.slots[head_ & mask_];
    if (size <= kFirstPayload) {
      if (size == 8) {
        std::memcpy(to, first.payload, 8);
      } else {
        std::memcpy(to, first.payload, size);
      }
      return;
    }
    auto* out = static_cast<std::byte*>(to);
    std::memcpy(out, first.payload, kFirstPayload);
    uint32_t done = kFirstPayload;
    for (uint32_t i = 1; done < size; ++i) {
      const auto& next = reinterpret_cast<const NextSlot&>(memory_.slots[(head_ + i) & mask_]);
      const uint32_t part = size - done < kNextPayload ? size - done : kNextPayload;
      std::memcpy(out + done, next.payload, part);
      done += part;
    }
  }
  /// The first payload bytes in place, for handlers of short messages.
  const std::byte* short_payload() const { return memory_.slots[head_ & mask_].payload; }

  /// Passes @p slots; true when the head was published (the producer may be waiting for it).
  bool advance(uint32_t slots) {
    head_ += slots;
    if (head_ - published_ < memory_.capacity / 4) return false;
    publish_head();
    return true;
  }
  void publish_head() {
    published_ = head_;
    memory_.head->store(head_, std::memory_order_release);
  }
  bool head_is_published() const { return published_ == head_; }
  /// Where it reads next: of slots, modulo 2^32, as RingProducer::position().
  uint32_t position() const { return head_; }
  /// Whether everything before this position of the producer was passed.
  bool has_passed(uint32_t position) const { return static_cast<int32_t>(head_ - position) >= 0; }

 private:
  RingMemory memory_{};
  uint32_t mask_ = 0;
  uint32_t head_ = 0;
  uint32_t published_ = 0;
};

}  // namespace lci
