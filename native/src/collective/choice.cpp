// SPDX-License-Identifier: Apache-2.0
// Which algorithm serves a call: a function of what all members know alike.
#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.hpp"
#include "collective/algorithms/algorithms.hpp"
#include "collective/bounds.hpp"
#include "collective/shape.hpp"

namespace lci {

namespace {

const char* const kKinds[] = {
    "no collective", "barrier", "broadcast", "reduce", "allreduce",      "reduce-scatter", "allgather",
    "gather",        "scatter", "alltoall",  "scan",   "exclusive scan", "neighbours",
};
const char* const kAlgorithmNames[] = {
    "auto",
    "dissemination",
    "linear",
    "binomial",
    "k-nomial",
    "chain",
    "scatter-allgather",
    "recursive doubling",
    "Rabenseifner",
    "ring",
    "recursive halving",
    "pairwise",
    "Bruck",
    "neighbour exchange",
    "direct",
    "arena-line",
    "arena-slots",
    "hierarchical",
};

bool is_power_of_two(const Shape& shape) {
  return std::has_single_bit(shape.size);
}

/// Of a block.
uint64_t bytes_of(const Shape& shape) {
  return shape.count * shape.element;
}
uint64_t bytes_of_all(const Shape& shape) {
  if (shape.counts.empty()) return shape.size * bytes_of(shape);
  return std::accumulate(shape.counts.begin(), shape.counts.end(), uint64_t{0}) * shape.element;
}

/// Each member shows all others what it brings.
bool fits_slots(const Shape& shape) {
  return shape.near && shape.size <= kBoardMembersMost && shape.counts.empty() && shape.count != 0 &&
         bytes_of(shape) <= kSlotBytesMost;
}

uint8_t choose_barrier(const Shape& shape) {
  const bool is_near = shape.near && shape.size > 1 && shape.size <= kBoardMembersMost;
  return is_near ? LCI_ALGORITHM_ARENA_LINE : LCI_ALGORITHM_DISSEMINATION;
}

uint8_t choose_broadcast(const Shape& shape) {
  const uint64_t bytes = bytes_of(shape);
  if (bytes <= kBinomialBroadcastMost) return LCI_ALGORITHM_BINOMIAL;
  if (bytes <= kKnomialBroadcastMost) return LCI_ALGORITHM_KNOMIAL;
  if (shape.size == 2) return LCI_ALGORITHM_BINOMIAL;  // the rest would cut it in segments, and gain nothing
  if (shape.near && bytes <= kNearKnomialBroadcastMost) return LCI_ALGORITHM_KNOMIAL;
  return bytes <= kChainBroadcastMost ? LCI_ALGORITHM_CHAIN : LCI_ALGORITHM_SCATTER_ALLGATHER;
}

uint8_t choose_reduce(const Shape& shape) {
  const bool shares = bytes_of(shape) > kBinomialReduceMost && shape.count >= shape.size;
  return shares ? LCI_ALGORITHM_RABENSEIFNER : LCI_ALGORITHM_BINOMIAL;
}

uint8_t choose_allreduce(const Shape& shape) {
  if (shape.size > 1 && fits_slots(shape)) return LCI_ALGORITHM_ARENA_SLOTS;
  if (bytes_of(shape) <= kDoublingAllreduceMost || shape.count < shape.size) return LCI_ALGORITHM_RECURSIVE_DOUBLING;
  return is_power_of_two(shape) ? LCI_ALGORITHM_RABENSEIFNER : LCI_ALGORITHM_RING;
}

uint8_t choose_reduce_scatter(const Shape& shape) {
  const uint64_t bytes = bytes_of_all(shape);
  if (bytes <= kHalvingReduceScatterMost && is_power_of_two(shape)) return LCI_ALGORITHM_RECURSIVE_HALVING;
  return bytes <= kPairwiseReduceScatterMost ? LCI_ALGORITHM_PAIRWISE : LCI_ALGORITHM_RING;
}

uint8_t choose_allgather(const Shape& shape) {
  const uint64_t bytes = bytes_of_all(shape);
  if (shape.size > 1 && fits_slots(shape)) return LCI_ALGORITHM_ARENA_SLOTS;
  if (bytes <= kBruckAllgatherMost) return LCI_ALGORITHM_BRUCK;
  if (bytes > kDoublingAllgatherMost) return LCI_ALGORITHM_RING;
  if (is_power_of_two(shape)) return LCI_ALGORITHM_RECURSIVE_DOUBLING;
  return shape.size % 2 == 0 ? LCI_ALGORITHM_NEIGHBOUR_EXCHANGE : LCI_ALGORITHM_RING;
}

uint8_t choose_alltoall(const Shape& shape) {
  const bool is_short = shape.counts.empty() && bytes_of(shape) <= kBruckAlltoallMost;
  return is_short ? LCI_ALGORITHM_BRUCK : LCI_ALGORITHM_PAIRWISE;
}

/// Whether the members of each host follow each other.
bool are_in_order_of_hosts(const Shape& shape) {
  for (uint32_t member = 1; member < shape.size; ++member) {
    if (shape.hosts[member] != member && shape.hosts[member] != shape.hosts[member - 1]) return false;
  }
  return true;
}

/// Long ones do not: the members of a host share the work, and what goes between hosts.
bool gains_by_hosts(const Shape& shape) {
  if (shape.hosts.empty()) return false;
  switch (shape.kind) {
    case LCI_COLLECTIVE_BARRIER:
    case LCI_COLLECTIVE_BROADCAST:
      return true;
    case LCI_COLLECTIVE_REDUCE:
    case LCI_COLLECTIVE_ALLREDUCE:
      return bytes_of(shape) <= kHierarchicalReductionMost;
    case LCI_COLLECTIVE_ALLGATHER:
      return shape.counts.empty() && bytes_of_all(shape) <= kHierarchicalAllgatherMost && are_in_order_of_hosts(shape);
    default:
      return false;
  }
}

uint8_t choose(const Shape& shape) {
  if (gains_by_hosts(shape)) return LCI_ALGORITHM_HIERARCHICAL;
  switch (shape.kind) {
    case LCI_COLLECTIVE_BARRIER:
      return choose_barrier(shape);
    case LCI_COLLECTIVE_BROADCAST:
      return choose_broadcast(shape);
    case LCI_COLLECTIVE_REDUCE:
      return choose_reduce(shape);
    case LCI_COLLECTIVE_ALLREDUCE:
      return choose_allreduce(shape);
    case LCI_COLLECTIVE_REDUCE_SCATTER:
      return choose_reduce_scatter(shape);
    case LCI_COLLECTIVE_ALLGATHER:
      return choose_allgather(shape);
    case LCI_COLLECTIVE_GATHER:
    case LCI_COLLECTIVE_SCATTER:
      return LCI_ALGORITHM_LINEAR;  // whether there is a list, and so no tree, the root alone knows
    case LCI_COLLECTIVE_ALLTOALL:
      return choose_alltoall(shape);
    case LCI_COLLECTIVE_NEIGHBOURS:
      return LCI_ALGORITHM_DIRECT;
    default:
      return LCI_ALGORITHM_RECURSIVE_DOUBLING;  // scans
  }
}

/// The segments of a chain: as many as there are rounds at most.
uint64_t segment_bytes(const Shape& shape) {
  const uint64_t wanted = shape.segment_bytes != 0 ? shape.segment_bytes : kSegmentBytes;
  const uint64_t most = Schedule::kMostRounds - std::min<uint64_t>(shape.size, Schedule::kMostRounds - 1);
  return std::max(wanted, (bytes_of(shape) + most - 1) / most);
}

int check(const Shape& shape) {
  const char* const kind = kKinds[shape.kind];
  if (shape.algorithm >= std::size(kAlgorithmNames)) {
    return fail(LCI_ERR_ARGUMENT, "%s: there is no algorithm %u", kind, shape.algorithm);
  }
  const char* const name = kAlgorithmNames[shape.algorithm];
  const Algorithm* const algorithm = find_algorithm(shape.kind, shape.algorithm);
  if (!algorithm) return fail(LCI_ERR_ARGUMENT, "%s: %s is no algorithm for it", kind, name);
  if (algorithm->members == Algorithm::Members::kPowerOfTwo && !is_power_of_two(shape)) {
    return fail(LCI_ERR_ARGUMENT, "%s: %s needs 2^k members, and the group has %u", kind, name, shape.size);
  }
  if (algorithm->members == Algorithm::Members::kEven && shape.size % 2 != 0) {
    return fail(LCI_ERR_ARGUMENT, "%s: %s needs an even number of members, and the group has %u", kind, name,
                shape.size);
  }
  const bool in_order = algorithm->members == Algorithm::Members::kOfHostsInOrder;
  if ((in_order || algorithm->members == Algorithm::Members::kOfHosts) && shape.hosts.empty()) {
    return fail(LCI_ERR_ARGUMENT, "%s: %s needs members that share a host, and some on other hosts", kind, name);
  }
  if (in_order && !are_in_order_of_hosts(shape)) {
    return fail(LCI_ERR_ARGUMENT, "%s: %s needs the members of each host behind one another in the group", kind, name);
  }
  if (algorithm->list == Algorithm::List::kNone && !shape.counts.empty()) {
    return fail(LCI_ERR_ARGUMENT, "%s: %s takes no list of counts", kind, name);
  }
  if (algorithm->list == Algorithm::List::kNeeded && shape.counts.empty()) {
    return fail(LCI_ERR_ARGUMENT, "%s: the list of them is missing", kind);
  }
  if (!on_boards(shape.algorithm)) return LCI_DONE;
  if (!shape.near || shape.size > kBoardMembersMost) {
    return fail(LCI_ERR_ARGUMENT,
                "%s: %s needs up to %u members on one host, where ranks read each other's memory (peer_memory)", kind,
                name, kBoardMembersMost);
  }
  if (shape.kind == LCI_COLLECTIVE_BARRIER || fits_slots(shape) || shape.count == 0) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "%s: %s takes up to %lu bytes of a member", kind, name, kSlotBytesMost);
}

}  // namespace

int choose_algorithm(Shape* shape) {
  if (shape->kind == 0 || shape->kind >= std::size(kKinds)) {
    return fail(LCI_ERR_ARGUMENT, "there is no collective %u", shape->kind);
  }
  if (shape->algorithm == LCI_ALGORITHM_AUTO) shape->algorithm = choose(*shape);
  const int code = check(*shape);
  if (code != LCI_DONE) return code;
  shape->segment_bytes = shape->algorithm == LCI_ALGORITHM_CHAIN ? segment_bytes(*shape) : 0;
  return LCI_DONE;
}

}  // namespace lci
