// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_COMPLETION_COUNTER_HPP_
#define LCI_COMPLETION_COUNTER_HPP_

#include <atomic>
#include <cstdint>

#include "completion/completion.hpp"

namespace lci {

/**
 * Counts signals, errors included; never resets by itself. [E12]
 *
 * Memory order: signal() releases and get() acquires, so that whoever sees the count sees what was written before the
 * signals.
 */
class Counter final : public Completion {
 public:
  Counter() : Completion(Kind::kCounter) {}

  int signal(const lci_status& status) override {
    if (const int code = check_signal(status); code != LCI_DONE) return code;
    value_.fetch_add(1, std::memory_order_acq_rel);
    return LCI_DONE;
  }
  bool stores() const override { return false; }

  uint64_t get() const { return value_.load(std::memory_order_acquire); }
  void set(uint64_t value) { value_.store(value, std::memory_order_release); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace lci

#endif  // LCI_COMPLETION_COUNTER_HPP_
