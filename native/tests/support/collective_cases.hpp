// SPDX-License-Identifier: Apache-2.0
// Calls of groups: what each member says and brings, and what it is to get by the words of lci.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collective/shape.hpp"
#include "lci/lci.h"
#include "support/schedules.hpp"

namespace lci_test {

/// Wraps. Finds whether each operand is there once; not in which order.
inline const Reduction kSum64{8, [](std::byte* to, const std::byte* left, const std::byte* right) {
                                uint64_t a, b;
                                std::memcpy(&a, left, 8);
                                std::memcpy(&b, right, 8);
                                a += b;
                                std::memcpy(to, &a, 8);
                              }};
inline const Reduction kSumFloat{4, [](std::byte* to, const std::byte* left, const std::byte* right) {
                                   float a, b;
                                   std::memcpy(&a, left, 4);
                                   std::memcpy(&b, right, 4);
                                   a += b;
                                   std::memcpy(to, &a, 4);
                                 }};
/// x -> ax + b, the right one after the left one: it does not commute.
inline const Reduction kAffine{16, [](std::byte* to, const std::byte* left, const std::byte* right) {
                                 uint64_t a[2], b[2];
                                 std::memcpy(a, left, 16);
                                 std::memcpy(b, right, 16);
                                 const uint64_t both[2] = {a[0] * b[0], a[1] * b[0] + b[1]};
                                 std::memcpy(to, both, 16);
                               }};

/// A call of a whole group.
struct GroupCall {
  uint8_t kind = LCI_COLLECTIVE_BARRIER;
  uint8_t algorithm = LCI_ALGORITHM_AUTO;
  uint32_t size = 1;
  uint32_t root = 0;
  uint64_t count = 0;
  /// Of a form with a list: one number for each member; alltoall: for each of the members that send, one for each that
  /// receives.
  std::vector<uint64_t> counts = {};
  /// Neighbours: from, to.
  std::vector<std::pair<uint32_t, uint32_t>> edges = {};
  bool in_place = false;
  uint64_t segment_bytes = 0;
  Reduction reduction = kSum64;

  std::string text() const {
    std::string text = "kind " + std::to_string(kind) + ", algorithm " + std::to_string(algorithm) + ", members " +
                       std::to_string(size) + ", root " + std::to_string(root) + ", count " + std::to_string(count) +
                       (in_place ? ", in place" : "") + ", counts";
    for (const uint64_t one : counts) text += " " + std::to_string(one);
    for (const auto& [from, to] : edges) text += " " + std::to_string(from) + ">" + std::to_string(to);
    return text;
  }
  bool has_list() const { return !counts.empty(); }
  uint64_t element() const { return reduction.element; }
  /// Elements from one member to another, or of a member's block.
  uint64_t between(uint32_t from, uint32_t to) const { return has_list() ? counts[from * size + to] : count; }
  uint64_t of(uint32_t member) const { return has_list() ? counts[member] : count; }
  uint64_t of_all() const {
    uint64_t all = 0;
    for (uint32_t member = 0; member < size; ++member) all += of(member);
    return all;
  }
  uint64_t before(uint32_t member) const {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < member; ++i) elements += of(i);
    return elements;
  }
  uint64_t degree(uint32_t member, bool out) const {
    return static_cast<uint64_t>(std::count_if(
        edges.begin(), edges.end(), [&](const auto& edge) { return (out ? edge.first : edge.second) == member; }));
  }
  uint64_t row(uint32_t member, bool sends) const {
    uint64_t elements = 0;
    for (uint32_t i = 0; i < size; ++i) elements += sends ? between(member, i) : between(i, member);
    return elements;
  }

  uint64_t in_bytes(uint32_t member) const {
    switch (kind) {
      case LCI_COLLECTIVE_BARRIER:
      case LCI_COLLECTIVE_BROADCAST:
        return 0;
      case LCI_COLLECTIVE_REDUCE_SCATTER:
        return of_all() * element();
      case LCI_COLLECTIVE_SCATTER:
        return member == root ? of_all() * element() : 0;
      case LCI_COLLECTIVE_ALLTOALL:
        return row(member, true) * element();
      case LCI_COLLECTIVE_NEIGHBOURS:
        return degree(member, true) * count * element();
      default:
        return of(member) * element();
    }
  }
  uint64_t out_bytes(uint32_t member) const {
    switch (kind) {
      case LCI_COLLECTIVE_BARRIER:
        return 0;
      case LCI_COLLECTIVE_REDUCE:
        return member == root ? count * element() : 0;
      case LCI_COLLECTIVE_ALLGATHER:
        return of_all() * element();
      case LCI_COLLECTIVE_GATHER:
        return member == root ? of_all() * element() : 0;
      case LCI_COLLECTIVE_ALLTOALL:
        return row(member, false) * element();
      case LCI_COLLECTIVE_NEIGHBOURS:
        return degree(member, false) * count * element();
      default:
        return of(member) * element();
    }
  }
  /// What a member passes as its list.
  std::vector<uint64_t> list(uint32_t member) const {
    std::vector<uint64_t> list;
    if (kind == LCI_COLLECTIVE_NEIGHBOURS) {
      for (const bool out : {true, false}) {
        list.push_back(degree(member, out));
        for (const auto& [from, to] : edges) {
          if ((out ? from : to) == member) list.push_back(out ? to : from);
        }
      }
    } else if (kind == LCI_COLLECTIVE_ALLTOALL && has_list()) {
      for (uint32_t i = 0; i < size; ++i) list.push_back(between(member, i));
      for (uint32_t i = 0; i < size; ++i) list.push_back(between(i, member));
    } else if (member == root || (kind != LCI_COLLECTIVE_GATHER && kind != LCI_COLLECTIVE_SCATTER)) {
      list = counts;
    }
    return list;
  }
  lci::Shape shape(uint32_t member, const std::vector<uint64_t>& list) const {
    lci::Shape shape;
    shape.kind = kind;
    shape.algorithm = algorithm;
    shape.root = root;
    shape.own = member;
    shape.size = size;
    shape.element = element();
    shape.count = list.empty() && has_list() ? counts[member] : count;
    shape.counts = list;
    shape.segment_bytes = segment_bytes;
    return shape;
  }
  /// The schedules of all members. @p apart: which of them say that their memory does not overlap, a bit for each.
  Schedules schedules(std::string* problem, uint64_t apart = 0) const {
    Schedules schedules;
    uint8_t chosen = LCI_ALGORITHM_AUTO;
    for (uint32_t member = 0; member < size; ++member) {
      const std::vector<uint64_t> of_member = list(member);
      lci::Shape one = shape(member, of_member);
      one.apart = (apart >> member % 64 & 1) != 0;
      if (lci::choose_algorithm(&one) != LCI_DONE) {
        *problem = lci::last_error();
        return {};
      }
      if (member != 0 && chosen != one.algorithm) *problem = "members choose different algorithms";
      chosen = one.algorithm;
      schedules.push_back(lci::make_schedule(one));
    }
    return schedules;
  }

  /// Whether `in` and `out` of this member may be the same memory, or one be a part of the other.
  bool may_overlap(uint32_t member) const {
    switch (kind) {
      case LCI_COLLECTIVE_BARRIER:
      case LCI_COLLECTIVE_BROADCAST:
        return false;
      case LCI_COLLECTIVE_ALLGATHER:
        return true;
      case LCI_COLLECTIVE_GATHER:
      case LCI_COLLECTIVE_SCATTER:
        return member == root;
      default:
        return in_bytes(member) == out_bytes(member);
    }
  }
  MemberMemory memory(uint32_t member, uint64_t scratch) const {
    const uint64_t in = in_bytes(member), out = out_bytes(member), own = before(member) * element();
    if (!in_place || !may_overlap(member)) return MemberMemory::apart(in, out, scratch);
    if (kind == LCI_COLLECTIVE_ALLGATHER || kind == LCI_COLLECTIVE_GATHER) return {own, in, 0, out, scratch};
    if (kind == LCI_COLLECTIVE_SCATTER) return {0, in, own, out, scratch};
    return {0, in, 0, out, scratch};
  }

  /// What members get. @p in: what each brings, @p out: what is there before
  std::vector<Bytes> results(const std::vector<Bytes>& in, const std::vector<Bytes>& out) const {
    std::vector<Bytes> results = out;
    for (uint32_t member = 0; member < size; ++member) result(in, out, member, results[member]);
    return results;
  }

 private:
  void result(const std::vector<Bytes>& in, const std::vector<Bytes>& out, uint32_t member, Bytes& to) const {
    const uint64_t bytes = of(member) * element(), own = before(member) * element();
    switch (kind) {
      case LCI_COLLECTIVE_BROADCAST:
        to = out[root];
        break;
      case LCI_COLLECTIVE_REDUCE:
        if (member == root) combine(in, size, 0, bytes, to);
        break;
      case LCI_COLLECTIVE_ALLREDUCE:
        combine(in, size, 0, bytes, to);
        break;
      case LCI_COLLECTIVE_REDUCE_SCATTER:
        combine(in, size, own, bytes, to);
        break;
      case LCI_COLLECTIVE_ALLGATHER:
        join(in, to);
        break;
      case LCI_COLLECTIVE_GATHER:
        if (member == root) join(in, to);
        break;
      case LCI_COLLECTIVE_SCATTER:
        to = slice(in[root], own, bytes);
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
      reduction(to.data(), to.data(), next.data(), bytes);
    }
  }
  static void join(const std::vector<Bytes>& in, Bytes& to) {
    to.clear();
    for (const Bytes& block : in) append(to, block);
  }
  void collect(const std::vector<Bytes>& in, uint32_t member, Bytes& to) const {
    to.clear();
    for (uint32_t from = 0; from < size; ++from) {
      uint64_t at = 0;
      for (uint32_t i = 0; i < member; ++i) at += between(from, i);
      append(to, slice(in[from], at * element(), between(from, member) * element()));
    }
  }
  void meet(const std::vector<Bytes>& in, uint32_t member, Bytes& to) const {
    const uint64_t bytes = count * element();
    to.clear();
    for (const auto& [from, receiver] : edges) {
      if (receiver != member) continue;
      const std::vector<uint64_t> told = list(from);
      const auto place = std::find(told.begin() + 1, told.begin() + 1 + static_cast<ptrdiff_t>(told[0]), member);
      append(to, slice(in[from], static_cast<uint64_t>(place - told.begin() - 1) * bytes, bytes));
    }
  }
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
  const std::vector<Bytes> expected = call.results(in, out);
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
