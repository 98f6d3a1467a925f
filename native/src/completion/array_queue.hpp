// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_ARRAY_QUEUE_HPP_
#define LCI_COMPLETION_ARRAY_QUEUE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/lazy_array.hpp"
#include "completion/queue.hpp"

namespace lci {

/**
 * A fixed array of cells with tickets. [E8, SS-45]
 *
 * Ticket t belongs to cell t mod N in round t div N. The cell's tag is 2 * round when it is free for that round and
 * 2 * round + 1 when it holds its status. A producer claims the tail by compare-and-swap, waits until the cell is free,
 * copies, and sets the tag to 2 * round + 1. A consumer looks at the tag of the cell at the head, claims the head by
 * compare-and-swap, copies, and sets the tag to 2 * round + 2. Who finds as many tickets between tail and head as there
 * are entries is refused: LCI_ERR_OVERRUN, nothing else happened.
 *
 * Tickets by fetch-and-add would need a count of the room beside them, for a ticket cannot be handed back: two more
 * locked instructions, on a line that producers and consumers both write (measured: 1.5 times the time in one thread,
 * 2.5 times from one thread to another).
 *
 * Memory order: tag store release / load acquire hands the status over in both directions. Tail, head and the head that
 * a producer saw last carry no data and are relaxed: a stale head can only make a producer look again.
 *
 * pop never waits: it answers empty also while the producer at the head is still writing. push waits only for a
 * consumer that is just copying out of the very cell.
 */
class ArrayQueue final : public CompletionQueue {
 public:
  /// @param capacity at least 1
  explicit ArrayQueue(uint32_t capacity);
  /// Frees the arrivals that nobody popped.
  ~ArrayQueue() override;

  int signal(const lci_status& status) override;
  int pop(lci_status* out) override;
  uint64_t pushed() const override { return tail_.load(std::memory_order_relaxed); }
  uint64_t popped() const override { return head_.load(std::memory_order_relaxed); }
  uint32_t capacity() const override { return capacity_; }

 private:
  struct alignas(64) Cell {
    std::atomic<uint64_t> tag;
    lci_status status;
  };
  static_assert(sizeof(lci_status) <= 56, "a cell is one cache line");

  uint64_t free_tag(uint64_t ticket) const { return (ticket >> round_shift_) * 2; }
  bool is_full(uint64_t ticket);

  const uint32_t capacity_;
  const uint32_t round_shift_;
  const uint64_t mask_;
  LazyArray<Cell> cells_;
  alignas(64) std::atomic<uint64_t> tail_{0};
  std::atomic<uint64_t> head_seen_{0};  // by producers, who spare themselves the consumers' line
  alignas(64) std::atomic<uint64_t> head_{0};
};

}  // namespace lci

#endif  // LCI_COMPLETION_ARRAY_QUEUE_HPP_
