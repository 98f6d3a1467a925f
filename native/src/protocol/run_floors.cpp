// SPDX-License-Identifier: Apache-2.0
#include "protocol/run_floors.hpp"

#include <algorithm>
#include <mutex>

namespace lci {
namespace {

/// The run of a send, of which only the low bits came: the one nearest to @p near, and rather a later one.
uint64_t run_near(uint64_t near, uint64_t low_bits) {
  const auto distance = static_cast<int16_t>(static_cast<uint16_t>(low_bits - near));
  const bool farthest = distance == INT16_MIN;
  return near + static_cast<uint64_t>(farthest ? -int64_t{distance} : int64_t{distance});
}

/// Whether a graph does not take a send.
bool refuses(RunFloor& floor, uint64_t low_bits) {
  const uint64_t lowest = floor.runs.lowest.load(std::memory_order_seq_cst);
  if (lowest == GraphRuns::kNone) return false;
  // Sends come about in the order of their runs, so the latest one is a better measure than the run that this rank is
  // in, which may be far behind.
  const uint64_t run = run_near(std::max(floor.highest, lowest), low_bits);
  if (static_cast<int64_t>(run - lowest) < 0) return true;
  if (run - lowest > kMostRunsApart) {
    floor.runs.too_far.store(true, std::memory_order_release);
    return true;
  }
  floor.highest = std::max(floor.highest, run);
  return false;
}

}  // namespace

void RunFloors::add(RunFloor& floor) {
  const std::lock_guard<TryLock> guard(lock_);
  floors_.emplace(key(floor.rank, floor.tag), &floor);
  count_.fetch_add(1, std::memory_order_release);
}

void RunFloors::remove(const RunFloor& floor) {
  const std::lock_guard<TryLock> guard(lock_);
  const auto [first, last] = floors_.equal_range(key(floor.rank, floor.tag));
  const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == &floor; });
  if (found == last) return;
  floors_.erase(found);
  count_.fetch_sub(1, std::memory_order_release);
}

/// Every graph is asked, for each notes what it has seen.
bool RunFloors::look_up(uint32_t rank, uint64_t tag) {
  const std::lock_guard<TryLock> guard(lock_);
  const auto [first, last] = floors_.equal_range(key(rank, tag));
  bool refused = first != last;
  for (auto entry = first; entry != last; ++entry) refused &= refuses(*entry->second, tag >> kRunBits);
  return refused;
}

}  // namespace lci
