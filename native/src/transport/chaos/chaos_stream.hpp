// SPDX-License-Identifier: Apache-2.0
// A sequence of decisions that depends on the seed, on whom it is for and on nothing else. [2B-59]
#pragma once

#include <cstdint>

namespace lci {

class ChaosStream {
 public:
  /// @param kind of decisions: each kind has a sequence of its own
  ChaosStream(uint64_t seed, uint32_t rank, uint32_t device, uint32_t peer, uint32_t kind)
      : state_(mix(mix(mix(seed + kStep * (rank + 1)) + peer) + (uint64_t{device} << 8 | kind))) {}

  uint64_t next() { return mix(state_ += kStep); }
  bool chance(double probability) {
    return probability > 0 && static_cast<double>(next() >> 11) * 0x1p-53 < probability;
  }

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15ull;
  static uint64_t mix(uint64_t value) {  // finaliser of SplitMix64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ull;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBull;
    return value ^ (value >> 31);
  }

  uint64_t state_;
};

}  // namespace lci
