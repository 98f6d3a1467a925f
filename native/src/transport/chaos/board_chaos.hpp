// SPDX-License-Identifier: Apache-2.0
// Chaos of boards: from the seed, what a member is to show is held back for some passes. [area Z, 2B-59]
#pragma once

#include <cstdint>

#include "base/chaos_plan.hpp"
#include "transport/chaos/chaos_stream.hpp"

namespace lci {

/// Decisions of one device. Touched by its owner.
class BoardChaos {
 public:
  BoardChaos(const ChaosPlan& plan, uint32_t rank, uint32_t device)
      : plan_(plan), shows_(plan.seed, rank, device, rank, 7) {}

  /// For how many passes; asked once for each call.
  uint64_t delay() { return shows_.chance(plan_.delay) ? 1 + shows_.next() % plan_.ticks : 0; }

 private:
  const ChaosPlan& plan_;
  ChaosStream shows_;
};

}  // namespace lci
