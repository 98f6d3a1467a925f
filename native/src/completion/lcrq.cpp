// SPDX-License-Identifier: Apache-2.0
#include "completion/lcrq.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/error.hpp"

#if LCI_HAS_DOUBLE_WORD

namespace lci {
namespace {

constexpr uint64_t kClosed = uint64_t{1} << 63;
constexpr uint64_t kUnsafe = uint64_t{1} << 63;
/// Cells that a producer may lose before it closes the ring.
constexpr int kPatience = 64;

}  // namespace

bool Lcrq::Ring::push(lci_status* status) {
  for (int lost = 0;; ++lost) {
    const uint64_t ticket = tail_.fetch_add(1, std::memory_order_seq_cst);
    if (ticket & kClosed) return false;
    const uint64_t round = ticket / kCells;
    DoubleWord& cell = cells_[ticket % kCells].pair;
    const uint64_t held = cell.first.load(std::memory_order_acquire);
    const uint64_t state = cell.second.load(std::memory_order_acquire);
    const bool safe = !(state & kUnsafe) || head_.load(std::memory_order_seq_cst) <= ticket;
    if (held == 0 && (state & ~kUnsafe) <= round && safe &&
        cell.compare_exchange(0, state, reinterpret_cast<uint64_t>(status), round)) {
      return true;
    }
    const uint64_t head = head_.load(std::memory_order_seq_cst);
    if ((ticket >= head && ticket - head >= kCells) || lost == kPatience) {
      tail_.fetch_or(kClosed, std::memory_order_seq_cst);
      return false;
    }
  }
}

lci_status* Lcrq::Ring::pop() {
  for (;;) {
    // A look first: polling an empty ring uses no tickets.
    if (head_.load(std::memory_order_seq_cst) >= (tail_.load(std::memory_order_seq_cst) & ~kClosed)) return nullptr;
    const uint64_t ticket = head_.fetch_add(1, std::memory_order_seq_cst);
    const uint64_t round = ticket / kCells;
    DoubleWord& cell = cells_[ticket % kCells].pair;
    for (;;) {
      const uint64_t held = cell.first.load(std::memory_order_acquire);
      const uint64_t state = cell.second.load(std::memory_order_acquire);
      const uint64_t unsafe = state & kUnsafe;
      const uint64_t found = state & ~kUnsafe;
      if (found > round) break;
      if (held == 0) {
        if (cell.compare_exchange(0, state, 0, unsafe | (round + 1))) break;
      } else if (found == round) {
        if (cell.compare_exchange(held, state, 0, unsafe | (round + 1))) return reinterpret_cast<lci_status*>(held);
      } else if (cell.compare_exchange(held, state, held, kUnsafe | found)) {
        break;
      }
    }
    if ((tail_.load(std::memory_order_seq_cst) & ~kClosed) <= ticket + 1) {
      catch_up();
      return nullptr;
    }
  }
}

/// Consumers went past the tail: it follows, so that producers need not use up the tickets in between.
void Lcrq::Ring::catch_up() {
  uint64_t tail = tail_.load(std::memory_order_seq_cst);
  for (;;) {
    const uint64_t head = head_.load(std::memory_order_seq_cst);
    if (head <= tail) return;  // or it is closed
    if (tail_.compare_exchange_weak(tail, head, std::memory_order_seq_cst)) return;
  }
}

Lcrq::Lcrq() : CompletionQueue(QueueType::kLcrq) {
  Ring* const ring = new Ring(rings_);
  head_.store(ring, std::memory_order_relaxed);
  tail_.store(ring, std::memory_order_relaxed);
}

Lcrq::~Lcrq() {
  for (lci_status status; pop(&status) == LCI_DONE;) discard(status);
  for (Ring* ring = head_.load(); ring != nullptr;) delete std::exchange(ring, ring->next.load());
}

int Lcrq::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  auto* const copy = new (std::nothrow) lci_status(status);
  pushed_.fetch_add(1, std::memory_order_relaxed);  // before it can be popped
  const int code = copy == nullptr ? LCI_ERR_NO_MEMORY : push(copy);
  if (code == LCI_DONE) return code;
  delete copy;
  pushed_.fetch_sub(1, std::memory_order_relaxed);
  return fail(code, "queue %u: push: the system has no memory left; pop", id());
}

int Lcrq::push(lci_status* status) {
  std::unique_ptr<Ring> fresh;
  for (;;) {
    const HazardDomain<Ring>::Guard ring(hazards_, tail_);
    Ring* last = ring.get();
    if (Ring* next = ring->next.load(std::memory_order_seq_cst); next != nullptr) {
      tail_.compare_exchange_strong(last, next, std::memory_order_seq_cst);  // somebody linked it and was held up
      continue;
    }
    if (ring->push(status)) return LCI_DONE;
    if (!fresh) {
      fresh.reset(new (std::nothrow) Ring(rings_));
      if (!fresh) return LCI_ERR_NO_MEMORY;
      fresh->push(status);  // nobody else knows it
    }
    Ring* none = nullptr;
    if (ring->next.compare_exchange_strong(none, fresh.get(), std::memory_order_seq_cst)) {
      tail_.compare_exchange_strong(last, fresh.get(), std::memory_order_seq_cst);
      fresh.release();
      return LCI_DONE;
    }
  }
}

int Lcrq::pop(lci_status* out) {
  for (;;) {
    Ring* left = nullptr;
    if (lci_status* status = take(&left)) {
      *out = *status;
      delete status;
      popped_.fetch_add(1, std::memory_order_relaxed);
      return LCI_DONE;
    }
    if (left == nullptr) return LCI_RETRY;
    hazards_.retire(left);  // now that this operation protects it no more
  }
}

/// A status; or null and, in @p left, null (the queue is empty) or a ring that this call has unlinked.
lci_status* Lcrq::take(Ring** left) {
  for (;;) {
    const HazardDomain<Ring>::Guard ring(hazards_, head_);
    if (lci_status* status = ring->pop()) return status;
    Ring* const next = ring->next.load(std::memory_order_seq_cst);
    if (next == nullptr) return nullptr;
    if (lci_status* status = ring->pop()) return status;  // came before the ring was closed
    Ring* expected = ring.get();
    tail_.compare_exchange_strong(expected, next, std::memory_order_seq_cst);  // nobody may find it there any more
    expected = ring.get();
    if (!head_.compare_exchange_strong(expected, next, std::memory_order_seq_cst)) continue;
    *left = ring.get();
    return nullptr;
  }
}

}  // namespace lci

#endif
