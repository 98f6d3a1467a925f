// SPDX-License-Identifier: Apache-2.0
// The seeds that a test takes, one after the other. A failure names its seed; with that in LCI_SEED it is the only one.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace lci_test {

inline std::vector<uint64_t> seeds(size_t count) {
  if (const char* const given = std::getenv("LCI_SEED")) return {std::strtoull(given, nullptr, 10)};
  std::vector<uint64_t> all(count);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

/// The same, more of them in the soak.
inline std::vector<uint64_t> seeds(size_t count, size_t in_soak) {
  const char* const tier = std::getenv("LCI_TIER");
  return seeds(tier && std::string(tier) == "soak" ? in_soak : count);
}

inline std::string how_to_replay(uint64_t seed) {
  return "replay with LCI_SEED=" + std::to_string(seed);
}

}  // namespace lci_test
