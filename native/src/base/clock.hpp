// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_CLOCK_HPP_
#define LCI_BASE_CLOCK_HPP_

#include <time.h>

#include <cstdint>

namespace lci {

/// Nanoseconds of CLOCK_MONOTONIC: the clock of every deadline in the core.
inline uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

/// The same clock, a few milliseconds behind, for less: where something is done now and then.
inline uint64_t coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace lci

#endif  // LCI_BASE_CLOCK_HPP_
