// SPDX-License-Identifier: Apache-2.0
// Calls of a context are numbered in 64 bits, of which the low 32 travel. [COLLECTIVES]
#pragma once

#include <cstdint>

namespace lci {

/// The number with these low bits that is nearest to @p near.
inline uint64_t nearest(uint64_t near, uint32_t low) {
  const auto distance = static_cast<int32_t>(low - static_cast<uint32_t>(near));
  return near + static_cast<uint64_t>(int64_t{distance});
}

inline bool is_before(uint64_t sequence, uint64_t other) {
  return static_cast<int64_t>(sequence - other) < 0;
}

}  // namespace lci
