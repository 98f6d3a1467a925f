// SPDX-License-Identifier: Apache-2.0
#include "completion/array_queue.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/mutation.hpp"
#include "base/try_lock.hpp"

namespace lci {

ArrayQueue::ArrayQueue(uint32_t capacity)
    : CompletionQueue(QueueType::kArray),
      capacity_(std::max(capacity, 1u)),
      round_shift_(static_cast<uint32_t>(std::bit_width(uint64_t{capacity_} - 1))),
      mask_((uint64_t{1} << round_shift_) - 1),
      cells_(mask_ + 1) {}

ArrayQueue::~ArrayQueue() {
  for (lci_status status; pop(&status) == LCI_DONE;) discard(status);
}

int ArrayQueue::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  uint64_t ticket = tail_.load(std::memory_order_relaxed);
  do {
    if (is_full(ticket)) {
      return fail(LCI_ERR_OVERRUN, "queue %u: push: all %u entries are taken; pop, or create it larger", id(),
                  capacity_);
    }
  } while (!tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed));
  Cell& cell = cells_[ticket & mask_];
  for (SpinWait wait; cell.tag.load(std::memory_order_acquire) != free_tag(ticket); wait.step()) {
    if (LCI_MUTATED("queue_overwrite")) break;
  }
  cell.status = status;
  cell.tag.store(free_tag(ticket) + 1, std::memory_order_release);
  return LCI_DONE;
}

bool ArrayQueue::is_full(uint64_t ticket) {
  if (ticket - head_seen_.load(std::memory_order_relaxed) < capacity_ || LCI_MUTATED("queue_overwrite")) return false;
  const uint64_t head = head_.load(std::memory_order_relaxed);
  head_seen_.store(head, std::memory_order_relaxed);
  return static_cast<int64_t>(ticket - head) >= int64_t{capacity_};  // the ticket may be older than the head
}

int ArrayQueue::pop(lci_status* out) {
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
    return LCI_DONE;
  }
}

}  // namespace lci
