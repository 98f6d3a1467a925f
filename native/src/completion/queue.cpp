// SPDX-License-Identifier: Apache-2.0
#include "completion/queue.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/mutation.hpp"
#include "base/try_lock.hpp"

namespace lci {

CompletionQueue::CompletionQueue(uint32_t capacity)
    : Completion(Kind::kQueue),
      capacity_(std::max(capacity, 1u)),
      round_shift_(static_cast<uint32_t>(std::bit_width(uint64_t{capacity_} - 1))),
      mask_((uint64_t{1} << round_shift_) - 1),
      cells_(mask_ + 1),
      room_(capacity_) {}

CompletionQueue::~CompletionQueue() {
  for (lci_status status; pop(&status) == LCI_DONE;) discard_arrival(status);
}

int CompletionQueue::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  if (room_.fetch_sub(1, std::memory_order_acquire) <= 0 && !LCI_MUTATED("queue_overwrite")) {
    room_.fetch_add(1, std::memory_order_release);
    return fail(LCI_ERR_OVERRUN, "queue %u: push: all %u entries are taken; pop, or create it larger", id(), capacity_);
  }
  const uint64_t ticket = tail_.fetch_add(1, std::memory_order_relaxed);
  Cell& cell = cells_[ticket & mask_];
  for (SpinWait wait; cell.tag.load(std::memory_order_acquire) != free_tag(ticket); wait.step()) {
    if (LCI_MUTATED("queue_overwrite")) break;
  }
  cell.status = status;
  cell.tag.store(free_tag(ticket) + 1, std::memory_order_release);
  return LCI_DONE;
}

int CompletionQueue::pop(lci_status* out) {
  uint64_t head = head_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[head & mask_];
    const uint64_t tag = cell.tag.load(std::memory_order_acquire);
    if (tag != free_tag(head) + 1 && !LCI_MUTATED("queue_skip_tag")) {
      const uint64_t now = head_.load(std::memory_order_relaxed);
      if (now == head) return LCI_RETRY;
      head = now;  // another consumer was faster
      continue;
    }
    if (!head_.compare_exchange_weak(head, head + 1, std::memory_order_relaxed)) continue;
    *out = cell.status;
    cell.tag.store(free_tag(head) + 2, std::memory_order_release);
    room_.fetch_add(1, std::memory_order_release);
    return LCI_DONE;
  }
}

uint32_t CompletionQueue::pop_many(lci_status* out, uint32_t count) {
  uint32_t popped = 0;
  while (popped < count && pop(out + popped) == LCI_DONE) ++popped;
  return popped;
}

uint64_t CompletionQueue::length() const {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  return tail > head ? std::min<uint64_t>(tail - head, capacity_) : 0;
}

}  // namespace lci
