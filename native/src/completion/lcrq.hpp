// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_LCRQ_HPP_
#define LCI_COMPLETION_LCRQ_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/double_word.hpp"
#include "base/hazard.hpp"
#include "completion/queue.hpp"

#if LCI_HAS_DOUBLE_WORD

namespace lci {

/**
 * Completion queue without a bound: a linked list of concurrent rings (LCRQ, Morrison and Afek 2013). [E7, SS-45]
 *
 * In a ring, tickets come by fetch-and-add on its head and its tail; ticket t belongs to cell t mod N in round t div N.
 * A cell is a pair (status, round with a bit "unsafe") that changes only by double-width compare-and-swap:
 *  - a producer fills an empty cell of its round or an earlier one; if the bit is set, only when no consumer with its
 *    ticket can have passed;
 *  - a consumer takes the status of its very round; moves an empty cell on to the next round, so that its own producer,
 *    who is late, goes elsewhere; and sets the bit of a cell that still holds a status of an earlier round.
 * A producer that finds the ring full, or loses again and again, closes it (a bit of the tail) and links a new ring
 * that holds its status. A consumer leaves a ring that is empty and has a successor, and retires it.
 *
 * Any thread may push and pop; neither waits. Memory: a small allocation per status, a ring per 1,024; rings that were
 * left are deleted as soon as no operation reads them (HazardDomain).
 *
 * Memory order: tickets, the close bit, and links are sequentially consistent, and so is the swap of a cell, which
 * hands the status over. A cell's words are read acquire; a pair of two times makes the swap fail.
 */
class Lcrq final : public CompletionQueue {
 public:
  /// Throws std::bad_alloc.
  Lcrq();
  /// Frees the arrivals that nobody popped.
  ~Lcrq() override;

  /// LCI_ERR_NO_MEMORY when the system has none: nothing happened then.
  int signal(const lci_status& status) override;
  int pop(lci_status* out) override;
  uint64_t pushed() const override { return pushed_.load(std::memory_order_relaxed); }
  uint64_t popped() const override { return popped_.load(std::memory_order_relaxed); }
  uint32_t capacity() const override { return UINT32_MAX; }
  /// Rings that are linked or wait to be deleted.
  uint64_t rings() const { return rings_.load(std::memory_order_relaxed); }

  static constexpr uint64_t kCells = 1024;

 private:
  class Ring {
   public:
    explicit Ring(std::atomic<uint64_t>& count) : count_(count) { count_.fetch_add(1, std::memory_order_relaxed); }
    ~Ring() { count_.fetch_sub(1, std::memory_order_relaxed); }
    /// False: the ring is closed.
    bool push(lci_status* status);
    /// Null: empty.
    lci_status* pop();

    std::atomic<Ring*> next{nullptr};
    Ring* next_retired = nullptr;

   private:
    struct alignas(64) Cell {
      DoubleWord pair;  // first: the status or 0; second: round and kUnsafe
    };
    void catch_up();

    alignas(64) std::atomic<uint64_t> head_{0};
    alignas(64) std::atomic<uint64_t> tail_{0};  // and kClosed
    std::array<Cell, kCells> cells_{};
    std::atomic<uint64_t>& count_;
  };

  int push(lci_status* status);
  lci_status* take(Ring** left);

  std::atomic<uint64_t> rings_{0};
  HazardDomain<Ring> hazards_;
  alignas(64) std::atomic<Ring*> head_;
  alignas(64) std::atomic<Ring*> tail_;
  alignas(64) std::atomic<uint64_t> pushed_{0};
  alignas(64) std::atomic<uint64_t> popped_{0};
};

}  // namespace lci

#endif

#endif  // LCI_COMPLETION_LCRQ_HPP_
