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

/// Sleeps for so long, or less: a signal ends it.
inline void nap(uint64_t nanoseconds) {
  const timespec time{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  ::nanosleep(&time, nullptr);
}

}  // namespace lci

#endif  // LCI_BASE_CLOCK_HPP_
