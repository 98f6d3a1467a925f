// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_ARRAY_QUEUE_HPP_
#define LCI_COMPLETION_ARRAY_QUEUE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/device_set.hpp"
#include "base/lazy_array.hpp"
#include "completion/queue.hpp"

namespace lci {

/**
 * A fixed array of cells with tickets. [E8, SS-45]
 *
 * Ticket t, of 32 bits, belongs to cell t mod N in round t div N. The cell's tag is 2 * round when it is free for that
 * round and 2 * round + 1 when it holds its status. A producer claims the tail, waits until the cell is free, copies,
 * and sets the tag to 2 * round + 1. A consumer looks at the tag of the cell at the head, claims the head by
 * compare-and-swap, copies, and sets the tag to 2 * round + 2.
 *
 * A place is a ticket that somebody will claim. One word has the tail and the places that pending operations have
 * reserved: so what lies between head and tail and what is reserved are never more than the entries together. An
 * operation reserves its place when it is posted, by compare-and-swap; its signal turns the place into a ticket by one
 * addition, and always finds room. [D4] Others who signal claim a ticket by compare-and-swap, and are refused when
 * stored and reserved places are as many as there are entries: LCI_ERR_OVERRUN, nothing else happened.
 *
 * A count of the room beside the tail, instead, would be written by consumers, too: two more locked instructions, on a
 * line that producers and consumers share (measured: 1.5 times the time in one thread, 2.5 times from one thread to
 * another).
 *
 * Memory order: tag store release / load acquire hands the status over in both directions. Tail, places, head and the
 * head that a producer saw last carry no data and are relaxed: a stale head can only make a producer look again. A
 * place that is given up releases, see Completion::reserved(). A device that waits for a place says so, in a word of
 * its own and then in that of the places, and looks again; a pop looks who waits after it has moved the head: all of
 * that is sequentially consistent, so that one of the two sees the other. Who gives up the place of an operation may
 * touch the queue no more, which may be freed then: it sees in the very word that it changes whether somebody waits,
 * and stays inside the queue, as a signal does, only if so.
 *
 * pop never waits: it answers empty also while the producer at the head is still writing. push waits only for a
 * consumer that is just copying out of the very cell.
 */
class ArrayQueue final : public CompletionQueue {
 public:
  /// Most entries of a queue.
  static constexpr uint32_t kMostCapacity = uint32_t{1} << 30;

  /// @param capacity at least 1, at most kMostCapacity
  /// @param first the first ticket, a multiple of the cells: for tests of what comes after the last one
  explicit ArrayQueue(uint32_t capacity, uint32_t first = 0);
  /// Frees the arrivals that nobody popped.
  ~ArrayQueue() override;

  int signal(const lci_status& status) override;
  int pop(lci_status* out) override;
  void await_place(uint32_t index) override {
    awaited_.add(index);
    claims_.fetch_or(kAwaited, std::memory_order_seq_cst);
  }
  uint64_t pushed() const override {
    const uint64_t popped = head_.load(std::memory_order_relaxed);
    return popped + (tail_of(claims_.load(std::memory_order_relaxed)) - static_cast<uint32_t>(popped)) - first_;
  }
  uint64_t popped() const override { return head_.load(std::memory_order_relaxed) - first_; }
  uint32_t capacity() const override { return capacity_; }

 protected:
  bool reserve() override;
  void give_place_back() override;
  int signal_reserved(const lci_status& status) override;
  uint64_t reserved() const override { return places_of(claims_.load(std::memory_order_acquire)); }

 private:
  struct alignas(64) Cell {
    std::atomic<uint64_t> tag;
    lci_status status;
  };
  static_assert(sizeof(lci_status) <= 56, "a cell is one cache line");

  static constexpr uint64_t kPlace = 1, kAwaited = uint64_t{1} << 31, kTicket = uint64_t{1} << 32;

  static uint32_t tail_of(uint64_t claims) { return static_cast<uint32_t>(claims >> 32); }
  static uint32_t places_of(uint64_t claims) { return static_cast<uint32_t>(claims & (kAwaited - 1)); }
  uint64_t free_tag(uint32_t ticket) const { return uint64_t{ticket >> round_shift_} * 2; }
  /// Rounds go around with the tickets.
  uint64_t next_free_tag(uint32_t ticket) const { return (free_tag(ticket) + 2) & tag_mask_; }
  bool is_full(uint64_t claims);
  void fill(uint32_t ticket, const lci_status& status);
  void tell_of_place();

  const uint32_t capacity_;
  const uint32_t round_shift_;
  const uint32_t mask_;
  const uint32_t first_;
  const uint64_t tag_mask_;
  LazyArray<Cell> cells_;
  DeviceSet awaited_;  // that were refused a place; beside what is only read
  // Places reserved, whether a device waits for one, and from bit 32 on the tail, which overflows unharmed.
  alignas(64) std::atomic<uint64_t> claims_;
  std::atomic<uint64_t> head_seen_;         // by producers, who spare themselves the consumers' line
  alignas(64) std::atomic<uint64_t> head_;  // counts on where tickets begin anew
};

}  // namespace lci

#endif  // LCI_COMPLETION_ARRAY_QUEUE_HPP_
