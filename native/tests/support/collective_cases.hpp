// SPDX-License-Identifier: Apache-2.0
// Calls of groups: what each member says, and which memory it has, by the words of lci.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "collective/shape.hpp"
#include "lci/lci.h"
#include "support/schedule_memory.hpp"

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
  /// The lowest member on the host of each, if some share one.
  std::vector<uint32_t> hosts = {};
  bool near_on_hosts = false;
  bool in_place = false;
  uint64_t segment_bytes = 0;
  Reduction reduction = kSum64;

  std::string text() const {
    std::string text = "kind " + std::to_string(kind) + ", algorithm " + std::to_string(algorithm) + ", members " +
                       std::to_string(size) + ", root " + std::to_string(root) + ", count " + std::to_string(count) +
                       (in_place ? ", in place" : "") + ", counts";
    for (const uint64_t one : counts) text += " " + std::to_string(one);
    for (const uint32_t host : hosts) text += " @" + std::to_string(host);
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
    shape.hosts = hosts;
    shape.near_on_hosts = near_on_hosts;
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
};

}  // namespace lci_test
