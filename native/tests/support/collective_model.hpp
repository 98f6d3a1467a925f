// SPDX-License-Identifier: Apache-2.0
// Runs calls of groups, and compares what each member gets with a model.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/collective_cases.hpp"
#include "support/schedule_simulation.hpp"

namespace lci_test {

/// What members get by a call.
class CollectiveModel {
 public:
  explicit CollectiveModel(const GroupCall& call) : call_(call) {}

  /// What members get. @p in: what each brings, @p out: what is there before
  std::vector<Bytes> results(const std::vector<Bytes>& in, const std::vector<Bytes>& out) const {
    std::vector<Bytes> results = out;
    for (uint32_t member = 0; member < call_.size; ++member) result(in, out, member, results[member]);
    return results;
  }

 private:
  void result(const std::vector<Bytes>& in, const std::vector<Bytes>& out, uint32_t member, Bytes& to) const {
    const uint64_t bytes = call_.of(member) * call_.element(), own = call_.before(member) * call_.element();
    switch (call_.kind) {
      case LCI_COLLECTIVE_BROADCAST:
        to = out[call_.root];
        break;
      case LCI_COLLECTIVE_REDUCE:
        if (member == call_.root) combine(in, call_.size, 0, bytes, to);
        break;
      case LCI_COLLECTIVE_ALLREDUCE:
        combine(in, call_.size, 0, bytes, to);
        break;
      case LCI_COLLECTIVE_REDUCE_SCATTER:
        combine(in, call_.size, own, bytes, to);
        break;
      case LCI_COLLECTIVE_ALLGATHER:
        join(in, to);
        break;
      case LCI_COLLECTIVE_GATHER:
        if (member == call_.root) join(in, to);
        break;
      case LCI_COLLECTIVE_SCATTER:
        to = slice(in[call_.root], own, bytes);
        break;
      case LCI_COLLECTIVE_ALLTOALL:
        collect(in, member, to);
        break;
      case LCI_COLLECTIVE_SCAN:
        combine(in, member + 1, 0, bytes, to);
        break;
      case LCI_COLLECTIVE_EXCLUSIVE_SCAN:
        if (member != 0) combine(in, member, 0, bytes, to);
        break;
      case LCI_COLLECTIVE_NEIGHBOURS:
        meet(in, member, to);
        break;
      default:
        break;
    }
  }
  static Bytes slice(const Bytes& from, uint64_t at, uint64_t bytes) {
    const auto begin = from.begin() + static_cast<ptrdiff_t>(at);
    return {begin, begin + static_cast<ptrdiff_t>(bytes)};
  }
  static void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }
  void combine(const std::vector<Bytes>& in, uint32_t members, uint64_t at, uint64_t bytes, Bytes& to) const {
    to = slice(in[0], at, bytes);
    for (uint32_t i = 1; i < members; ++i) {
      const Bytes next = slice(in[i], at, bytes);
      call_.reduction(to.data(), to.data(), next.data(), bytes);
    }
  }
  static void join(const std::vector<Bytes>& in, Bytes& to) {
    to.clear();
    for (const Bytes& block : in) append(to, block);
  }
  void collect(const std::vector<Bytes>& in, uint32_t member, Bytes& to) const {
    to.clear();
    for (uint32_t from = 0; from < call_.size; ++from) {
      uint64_t at = 0;
      for (uint32_t i = 0; i < member; ++i) at += call_.between(from, i);
      append(to, slice(in[from], at * call_.element(), call_.between(from, member) * call_.element()));
    }
  }
  void meet(const std::vector<Bytes>& in, uint32_t member, Bytes& to) const {
    const uint64_t bytes = call_.count * call_.element();
    to.clear();
    for (const auto& [from, receiver] : call_.edges) {
      if (receiver != member) continue;
      const std::vector<uint64_t> told = call_.list(from);
      const auto place = std::find(told.begin() + 1, told.begin() + 1 + static_cast<ptrdiff_t>(told[0]), member);
      append(to, slice(in[from], static_cast<uint64_t>(place - told.begin() - 1) * bytes, bytes));
    }
  }

  const GroupCall& call_;
};

/// What a run of a call made.
struct GroupRun {
  std::string problem;  ///< Empty: nothing went wrong.
  std::vector<Bytes> out;
};

inline Bytes some_bytes(std::mt19937_64& random, uint64_t size) {
  Bytes bytes(size);
  for (uint64_t at = 0; at < size; at += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + at, &word, std::min<uint64_t>(8, size - at));
  }
  return bytes;
}
/// Numbers of which sums depend on their order.
inline Bytes some_floats(std::mt19937_64& random, uint64_t size) {
  Bytes bytes(size);
  for (uint64_t at = 0; at < size; at += 4) {
    const float number =
        std::ldexp(static_cast<float>(random() % 2001) - 1000.0f, static_cast<int>(random() % 40) - 20);
    std::memcpy(bytes.data() + at, &number, 4);
  }
  return bytes;
}

/// Runs a call once, and compares. @p data: what members bring; @p order: that of messages.
inline GroupRun run_call(const GroupCall& call, uint64_t data, uint64_t order) {
  std::mt19937_64 random(data), other(order);
  GroupRun run;
  const Schedules schedules = call.schedules(&run.problem, call.in_place ? 0 : other());
  if (!run.problem.empty()) return run;
  std::vector<MemberMemory> memory;
  std::vector<Bytes> in, out;
  const bool floats = call.reduction.one == kSumFloat.one;
  for (uint32_t member = 0; member < call.size; ++member) {
    memory.push_back(call.memory(member, schedules[member]->scratch()));
    const auto areas = {std::make_pair(lci::Area::kOut, &out), std::make_pair(lci::Area::kIn, &in)};
    for (const auto& [area, kept] : areas) {
      const std::span<std::byte> bytes = memory[member].area(area);
      const Bytes some = floats ? some_floats(random, bytes.size()) : some_bytes(random, bytes.size());
      std::copy(some.begin(), some.end(), bytes.begin());
    }
    for (const auto& [area, kept] : areas) {
      kept->emplace_back(memory[member].area(area).begin(), memory[member].area(area).end());
    }
  }
  run.problem = Simulation(schedules, memory, call.reduction, order).run();
  if (!run.problem.empty()) return run;
  const std::vector<Bytes> expected = CollectiveModel(call).results(in, out);
  for (uint32_t member = 0; member < call.size; ++member) {
    const std::span<std::byte> got = memory[member].area(lci::Area::kOut), left = memory[member].area(lci::Area::kIn);
    run.out.emplace_back(got.begin(), got.end());
    const bool keeps_in = !call.in_place || !call.may_overlap(member) || call.kind == LCI_COLLECTIVE_SCATTER;
    if (keeps_in && !std::equal(left.begin(), left.end(), in[member].begin())) {
      run.problem = "member " + std::to_string(member) + " has other bytes than it brought";
    }
    if (!floats && run.out[member] != expected[member]) {
      run.problem = "member " + std::to_string(member) + " has another result";
    }
  }
  return run;
}

}  // namespace lci_test
