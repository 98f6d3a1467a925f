// SPDX-License-Identifier: Apache-2.0
// Sends of runs that are over: what no run of a graph will receive any more is not stored.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>

#include "base/try_lock.hpp"

namespace lci {

/// Tags of nodes whose tags tell runs apart: the node's own below, the low half of the run's number above.
constexpr uint32_t kRunBits = 16;
constexpr uint64_t kRunTagMask = (uint64_t{1} << kRunBits) - 1;
/// Numbers of runs that are further apart than this do not differ surely in the bits that travel.
constexpr uint64_t kMostRunsApart = (uint64_t{1} << (kRunBits - 1)) - 1;

constexpr uint64_t tag_of_run(uint64_t tag, uint64_t run) {
  return (run & kRunTagMask) << kRunBits | tag;
}

/**
 * Where the runs of a graph are. Lock-free: the graph writes, devices read.
 *
 * Memory order: `lowest` is stored sequentially consistent, and only then the graph walks what its engines have stored;
 * a device loads it under the lock of the entries that it stores to. So what is too low is either not stored, or found.
 */
struct GraphRuns {
  static constexpr uint64_t kNone = UINT64_MAX;
  std::atomic<uint64_t> lowest{kNone};  ///< Number of the first run for which sends are still taken; kNone: of any.
  std::atomic<bool> too_far{false};     ///< A send was dropped that came from too far ahead.
};

/// What a graph receives from one rank with one tag.
struct RunFloor {
  const uint32_t rank;
  const uint64_t tag;
  GraphRuns& runs;
  uint64_t highest = 0;  ///< Run of which a send came. Guarded by the lock of RunFloors.
};

/// Those of an engine. Any thread; a short lock guards all but the look whether there are any.
class RunFloors {
 public:
  void add(RunFloor& floor);
  void remove(const RunFloor& floor);
  /// Whether no graph takes a send with this tag any more, or one does that is too far behind. Calls nothing, so it may
  /// be called under the lock of an engine's entries.
  bool refuse(uint32_t rank, uint64_t tag) { return count_.load(std::memory_order_acquire) != 0 && look_up(rank, tag); }

 private:
  static uint64_t key(uint32_t rank, uint64_t tag) { return uint64_t{rank} << kRunBits | (tag & kRunTagMask); }
  bool look_up(uint32_t rank, uint64_t tag);

  TryLock lock_;
  std::atomic<uint32_t> count_{0};
  std::unordered_multimap<uint64_t, RunFloor*> floors_;
};

}  // namespace lci
