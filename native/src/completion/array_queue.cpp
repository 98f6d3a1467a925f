// SPDX-License-Identifier: Apache-2.0
#include "completion/array_queue.hpp"

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/try_lock.hpp"

namespace lci {

ArrayQueue::ArrayQueue(uint32_t capacity, uint32_t first)
    : CompletionQueue(QueueType::kArray),
      capacity_(std::clamp(capacity, 1u, kMostCapacity)),
      round_shift_(static_cast<uint32_t>(std::bit_width(uint64_t{capacity_} - 1))),
      mask_(static_cast<uint32_t>((uint64_t{1} << round_shift_) - 1)),
      first_(first),
      tag_mask_((uint64_t{2} << (32 - round_shift_)) - 1),
      cells_(size_t{mask_} + 1),
      claims_(first * kTicket),
      head_seen_(first),
      head_(first) {
  for (size_t i = 0; first != 0 && i <= mask_; ++i) cells_[i].tag.store(free_tag(first), std::memory_order_relaxed);
}

ArrayQueue::~ArrayQueue() {
  for (lci_status status; pop(&status) == LCI_DONE;) discard(status);
}

int ArrayQueue::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  uint64_t claims = claims_.load(std::memory_order_relaxed);
  do {
    if (is_full(claims)) {
      return fail(LCI_ERR_OVERRUN, "queue %u: push: all %u entries are taken; pop, or create it larger", id(),
                  capacity_);
    }
  } while (!claims_.compare_exchange_weak(claims, claims + kTicket, std::memory_order_relaxed));
  fill(tail_of(claims), status);
  return LCI_DONE;
}

int ArrayQueue::signal_reserved(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) {
    give_place_back();
    return code;
  }
  fill(tail_of(claims_.fetch_add(kTicket - kPlace, std::memory_order_release)), status);
  return LCI_DONE;
}

bool ArrayQueue::reserve() {
  uint64_t claims = claims_.load(std::memory_order_seq_cst);
  do {
    if (is_full(claims)) return false;
  } while (!claims_.compare_exchange_weak(claims, claims + kPlace, std::memory_order_relaxed));
  return true;
}

void ArrayQueue::fill(uint32_t ticket, const lci_status& status) {
  Cell& cell = cells_[ticket & mask_];
  for (SpinWait wait; cell.tag.load(std::memory_order_acquire) != free_tag(ticket); wait.step()) {
  }
  cell.status = status;
  cell.tag.store(free_tag(ticket) + 1, std::memory_order_release);
}

/// Whether stored and reserved places leave none.
bool ArrayQueue::is_full(uint64_t claims) {
  // Signed: a head may be later than the claims are, which have changed then, and are looked at again.
  const auto taken = [&](uint64_t head) {
    return int64_t{places_of(claims)} + static_cast<int32_t>(tail_of(claims) - static_cast<uint32_t>(head));
  };
  uint64_t seen = head_seen_.load(std::memory_order_relaxed);
  if (taken(seen) < int64_t{capacity_}) return false;
  const uint64_t head = head_.load(std::memory_order_seq_cst);
  // Never to an older one, so that it is less than half of all tickets behind.
  if (head > seen) head_seen_.compare_exchange_strong(seen, head, std::memory_order_relaxed);
  return taken(head) >= int64_t{capacity_};
}

void ArrayQueue::give_place_back() {
  uint64_t claims = claims_.load(std::memory_order_relaxed);
  while (!(claims & kAwaited)) {
    if (claims_.compare_exchange_weak(claims, claims - kPlace, std::memory_order_release, std::memory_order_relaxed)) {
      return;
    }
  }
  enter();
  claims_.fetch_sub(kPlace, std::memory_order_release);
  tell_of_place();
  leave();
}

void ArrayQueue::tell_of_place() {
  claims_.fetch_and(~kAwaited, std::memory_order_seq_cst);  // first: who comes between sets it again
  awaited_.take_each([this](uint32_t index) { owner()->place_came(index); });
}

int ArrayQueue::pop(lci_status* out) {
  uint64_t head = head_.load(std::memory_order_relaxed);
  for (;;) {
    const auto ticket = static_cast<uint32_t>(head);
    Cell& cell = cells_[ticket & mask_];
    const uint64_t tag = cell.tag.load(std::memory_order_acquire);
    if (tag != free_tag(ticket) + 1) {
      const uint64_t now = head_.load(std::memory_order_relaxed);
      if (now == head) return LCI_RETRY;
      head = now;  // another consumer was faster
      continue;
    }
    if (!head_.compare_exchange_weak(head, head + 1, std::memory_order_seq_cst, std::memory_order_relaxed)) continue;
    *out = cell.status;
    cell.tag.store(next_free_tag(ticket), std::memory_order_release);
    if (!awaited_.empty()) tell_of_place();
    return LCI_DONE;
  }
}

}  // namespace lci
