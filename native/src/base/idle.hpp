// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_IDLE_HPP_
#define LCI_BASE_IDLE_HPP_

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "base/fences.hpp"

namespace lci {

/// What a thread does that finds nothing to do: spins for a moment, then gives the processor away, then sleeps, each
/// time longer, at most 1 ms. For one thread.
class Idle {
 public:
  /// There was something to do: starts anew.
  void reset() { rounds_ = 0; }
  /// @param at_most_ns bound of a sleep
  void wait(uint64_t at_most_ns) {
    ++rounds_;
    if (rounds_ <= kSpins) {
      cpu_relax();
    } else if (rounds_ <= kSpins + kYields) {
      sched_yield();
    } else {
      const uint32_t doublings = std::min(rounds_ - kSpins - kYields, kDoublings);
      const uint64_t sleep_ns = std::min(kFirstSleep << doublings, at_most_ns);
      const timespec sleep{0, static_cast<long>(sleep_ns)};
      nanosleep(&sleep, nullptr);
    }
  }

 private:
  static constexpr uint32_t kSpins = 64;
  static constexpr uint32_t kYields = 128;
  static constexpr uint32_t kDoublings = 6;
  static constexpr uint64_t kFirstSleep = 15'625;  // 1 ms after the doublings
  uint32_t rounds_ = 0;
};

}  // namespace lci

#endif  // LCI_BASE_IDLE_HPP_
