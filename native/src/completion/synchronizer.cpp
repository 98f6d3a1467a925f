// SPDX-License-Identifier: Apache-2.0
#include "completion/synchronizer.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lci {

Synchronizer::Synchronizer(uint32_t threshold)
    : Completion(Kind::kSynchronizer),
      threshold_(std::max(threshold, 1u)),
      statuses_(std::make_unique<lci_status[]>(threshold_)) {}

Synchronizer::~Synchronizer() {
  const uint64_t waiting = threshold_ == 1 ? uint64_t{state_.load(std::memory_order_acquire) == kReady}
                                           : written_.load(std::memory_order_acquire);
  std::for_each_n(statuses_.get(), std::min<uint64_t>(waiting, threshold_),
                  [this](const lci_status& status) { discard(status); });
}

int Synchronizer::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  return threshold_ == 1 ? signal_one(status) : signal_many(status);
}

int Synchronizer::test(lci_status* out) {
  if (overrun_.load(std::memory_order_relaxed) && overrun_.exchange(false, std::memory_order_acquire)) {
    return fail(LCI_ERR_OVERRUN, "synchronizer %u: more than %u signals came before the firing was taken", id(),
                threshold_);
  }
  return (threshold_ == 1 ? take_one(out) : take_many(out)) ? LCI_DONE : LCI_RETRY;
}

int Synchronizer::signal_one(const lci_status& status) {
  uint32_t expected = kEmpty;
  if (!state_.compare_exchange_strong(expected, kWriting, std::memory_order_acquire, std::memory_order_relaxed)) {
    return overrun();
  }
  statuses_[0] = status;
  state_.store(kReady, std::memory_order_release);
  return LCI_DONE;
}

int Synchronizer::signal_many(const lci_status& status) {
  const uint64_t entry = arrived_.fetch_add(1, std::memory_order_acq_rel);
  if (entry >= threshold_) return overrun();  // the reset forgets the surplus
  statuses_[entry] = status;
  written_.fetch_add(1, std::memory_order_release);
  return LCI_DONE;
}

bool Synchronizer::take_one(lci_status* out) {
  uint32_t expected = kReady;
  if (state_.load(std::memory_order_relaxed) != kReady) return false;
  if (!state_.compare_exchange_strong(expected, kTaking, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  if (out != nullptr) *out = statuses_[0];
  state_.store(kEmpty, std::memory_order_release);
  return true;
}

bool Synchronizer::take_many(lci_status* out) {
  const uint64_t taking = uint64_t{threshold_} + 1;
  uint64_t expected = threshold_;
  if (written_.load(std::memory_order_relaxed) != expected) return false;
  if (!written_.compare_exchange_strong(expected, taking, std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  if (out != nullptr) std::copy_n(statuses_.get(), threshold_, out);
  written_.store(0, std::memory_order_relaxed);
  arrived_.store(0, std::memory_order_release);
  return true;
}

int Synchronizer::overrun() {
  overrun_.store(true, std::memory_order_release);
  return fail(LCI_ERR_OVERRUN, "synchronizer %u: signal: %u signals wait already; test it first", id(), threshold_);
}

}  // namespace lci
