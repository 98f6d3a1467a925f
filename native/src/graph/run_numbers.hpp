// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "protocol/run_floors.hpp"

namespace lci {

/// Most runs of a graph that may be under way at once.
constexpr uint32_t kMostInstances = 16;

/**
 * The numbers of a graph's runs, which programs give and tags carry, and below which of them no send is taken any more:
 * the lowest of a run that is under way and has not failed, else the one behind the last one.
 *
 * The owner of the graph begins runs; any thread ends them. Memory order, all of it sequentially consistent: a run is
 * entered among those that are open before it counts as the last one, and who looks for the lowest reads the last one
 * first. So either it finds the run, or takes at most its number.
 */
class RunNumbers {
 public:
  RunNumbers();

  GraphRuns& floors() { return floors_; }
  /// From now on tags have the numbers.
  void tell_apart() { apart_ = true; }

  /// The number of the next run of graph @p graph, or why it cannot have the one that is given, or needs one.
  int next(uint32_t graph, const uint64_t* given, uint64_t* number) const;
  // What was stored for runs that are over is to be dropped where these say true:
  bool begin(uint32_t instance, uint64_t number, bool given);
  bool failed(uint32_t instance);
  bool succeeded(uint32_t instance);

 private:
  static constexpr uint64_t kNone = UINT64_MAX;
  bool close(uint32_t instance);
  bool raise();

  GraphRuns floors_;
  bool apart_ = false;
  bool any_ = false;
  uint64_t last_ = 0;
  std::atomic<bool> needs_number_{false};
  std::atomic<uint64_t> highest_{0};  // as last_, for other threads
  std::array<std::atomic<uint64_t>, kMostInstances> open_;
  std::atomic<uint64_t> stale_{0};  // number behind a run that failed, for which something may be stored; or 0
};

}  // namespace lci
