// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_QUEUE_HPP_
#define LCI_COMPLETION_QUEUE_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/lazy_array.hpp"
#include "completion/completion.hpp"

namespace lci {

/**
 * Completion queue: a fixed array, multi-producer, multi-consumer. [E6, E8, SS-45]
 *
 * A producer first takes a unit of room (refused: LCI_ERR_OVERRUN, nothing else happened), then a ticket by
 * fetch-and-add; ticket t belongs to cell t mod N in round t div N. The cell's tag is 2 * round when it is free for
 * that round and 2 * round + 1 when it holds its status. A consumer looks at the tag of the cell at the head, claims
 * the head by compare-and-swap, copies, sets the tag to 2 * round + 2 and gives the room back.
 *
 * Memory order: tag store release / load acquire hands the status over in both directions; room is given back release
 * and taken acquire. Tickets and head carry no data and are relaxed.
 *
 * pop never waits: it answers empty also while the producer at the head is still writing. push waits only for a
 * consumer that is just copying out of the very cell: room guarantees that it was claimed. While a push is being
 * refused, another one at the same instant may be refused with it.
 */
class CompletionQueue final : public Completion {
 public:
  /// @param capacity at least 1
  explicit CompletionQueue(uint32_t capacity);
  /// Frees the arrivals that nobody popped.
  ~CompletionQueue() override;

  /// Pushes. Statuses of one producer keep their order for one consumer.
  int signal(const lci_status& status) override;
  bool stores() const override { return true; }

  /// LCI_DONE and a status, or LCI_RETRY.
  int pop(lci_status* out);
  /// Up to @p count; returns how many.
  uint32_t pop_many(lci_status* out, uint32_t count);
  /// Statuses pushed and not popped; exact when quiet.
  uint64_t length() const;
  uint32_t capacity() const { return capacity_; }

 private:
  struct alignas(64) Cell {
    std::atomic<uint64_t> tag;
    lci_status status;
  };
  static_assert(sizeof(lci_status) <= 56, "a cell is one cache line");

  uint64_t free_tag(uint64_t ticket) const { return (ticket >> round_shift_) * 2; }

  const uint32_t capacity_;
  const uint32_t round_shift_;
  const uint64_t mask_;
  LazyArray<Cell> cells_;
  alignas(64) std::atomic<uint64_t> tail_{0};
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<int64_t> room_;
};

}  // namespace lci

#endif  // LCI_COMPLETION_QUEUE_HPP_
