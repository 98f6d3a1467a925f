// SPDX-License-Identifier: Apache-2.0
// Which algorithm is to serve which calls, and counts of what schedules do.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ostream>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "collective/schedule.hpp"
#include "lci/lci.h"
#include "support/schedule_memory.hpp"

namespace lci_test {

struct Form {
  enum Members { kAny, kPowerOfTwo, kEven };
  const char* name;
  uint8_t kind, algorithm;
  Members members = kAny;
  bool may_have_list = false;  ///< Of counts.
  bool needs_list = false;
};
inline std::ostream& operator<<(std::ostream& out, const Form& form) {
  return out << form.name;
}

inline const Form kForms[] = {
    {"BarrierDissemination", LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_DISSEMINATION},
    {"BroadcastBinomial", LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_BINOMIAL},
    {"BroadcastKnomial", LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_KNOMIAL},
    {"BroadcastChain", LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_CHAIN},
    {"BroadcastScatterAllgather", LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_SCATTER_ALLGATHER},
    {"ReduceBinomial", LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_BINOMIAL},
    {"ReduceRabenseifner", LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_RABENSEIFNER},
    {"AllreduceDoubling", LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RECURSIVE_DOUBLING},
    {"AllreduceRabenseifner", LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RABENSEIFNER, Form::kPowerOfTwo},
    {"AllreduceRing", LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RING},
    {"ReduceScatterHalving", LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RECURSIVE_HALVING, Form::kPowerOfTwo, true},
    {"ReduceScatterPairwise", LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_PAIRWISE, Form::kAny, true},
    {"ReduceScatterRing", LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RING, Form::kAny, true},
    {"AllgatherBruck", LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_BRUCK, Form::kAny, true},
    {"AllgatherDoubling", LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RECURSIVE_DOUBLING, Form::kPowerOfTwo, true},
    {"AllgatherRing", LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RING, Form::kAny, true},
    {"AllgatherNeighbourExchange", LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_NEIGHBOUR_EXCHANGE, Form::kEven, true},
    {"GatherLinear", LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_LINEAR, Form::kAny, true},
    {"GatherBinomial", LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_BINOMIAL},
    {"ScatterLinear", LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_LINEAR, Form::kAny, true},
    {"ScatterBinomial", LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_BINOMIAL},
    {"AlltoallBruck", LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_BRUCK},
    {"AlltoallPairwise", LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_PAIRWISE, Form::kAny, true},
    {"ScanDoubling", LCI_COLLECTIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING},
    {"ExclusiveScanDoubling", LCI_COLLECTIVE_EXCLUSIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING},
    {"NeighboursDirect", LCI_COLLECTIVE_NEIGHBOURS, LCI_ALGORITHM_DIRECT, Form::kAny, false, true},
};

inline std::vector<Form> forms_with_lists() {
  std::vector<Form> forms;
  for (const Form& form : kForms) {
    if (form.may_have_list) forms.push_back(form);
  }
  return forms;
}

inline bool serves(const Form& form, uint32_t size) {
  if (form.members == Form::kPowerOfTwo) return std::has_single_bit(size);
  return form.members != Form::kEven || size % 2 == 0;
}

/// Each with the next one, and the one three before it.
inline std::vector<std::pair<uint32_t, uint32_t>> grid(uint32_t size) {
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i < size; ++i) {
    for (const uint32_t other : {(i + 1) % size, (i + 3 * size - 3) % size}) {
      if (other != i) edges.emplace(i, other);
    }
  }
  return {edges.begin(), edges.end()};
}

/// Lists of several kinds: small numbers with zeros, mixed ones, nothing at all, one member alone.
inline std::vector<uint64_t> some_counts(std::mt19937_64& random, size_t size, int kind) {
  std::vector<uint64_t> counts(size);
  for (uint64_t& count : counts) count = kind == 0 ? random() % 3 : kind == 3 ? 0 : random() % 40;
  if (kind == 4) {
    std::fill(counts.begin(), counts.end(), 0);
    counts[random() % size] = 9;
  }
  return counts;
}

// --- what schedules cost
inline int messages_in(std::span<const lci::Action> actions) {
  return static_cast<int>(
      std::count_if(actions.begin(), actions.end(), [](const lci::Action& action) { return action.is_message(); }));
}
/// Rounds in which any member has a message.
inline size_t rounds_of(const Schedules& schedules) {
  std::set<size_t> rounds;
  for (const auto& schedule : schedules) {
    for (size_t round = 0; round < schedule->rounds(); ++round) {
      if (messages_in(schedule->round(round)) != 0) rounds.insert(round);
    }
  }
  return rounds.size();
}
inline uint64_t bytes_of(const lci::Schedule& schedule, lci::Action::Kind kind) {
  uint64_t bytes = 0;
  for (const lci::Action& action : schedule.actions()) {
    if (action.kind == kind) bytes += action.from.bytes;
  }
  return bytes;
}
inline uint64_t bytes_sent(const lci::Schedule& schedule) {
  return bytes_of(schedule, lci::Action::Kind::kSend);
}
inline uint64_t bytes_copied(const lci::Schedule& schedule) {
  return bytes_of(schedule, lci::Action::Kind::kCopy);
}
inline uint64_t most_sent(const Schedules& schedules) {
  uint64_t most = 0;
  for (const auto& schedule : schedules) most = std::max(most, bytes_sent(*schedule));
  return most;
}
inline uint64_t all_sent(const Schedules& schedules) {
  uint64_t all = 0;
  for (const auto& schedule : schedules) all += bytes_sent(*schedule);
  return all;
}

}  // namespace lci_test
