// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/algorithms.hpp"

#include <algorithm>
#include <iterator>

namespace lci {

namespace {

using Members = Algorithm::Members;
using List = Algorithm::List;

/// Nothing is sent: one round, which ends when all boards were read.
void over_boards(const Shape&, Schedule& to) {
  to.end_round();
}

constexpr Algorithm kAlgorithms[] = {
    {LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_DISSEMINATION, Members::kAny, List::kNone, barrier_dissemination},
    {LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_ARENA_LINE, Members::kAny, List::kNone, over_boards},
    {LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_HIERARCHICAL, Members::kOfHosts, List::kNone, barrier_hierarchical},

    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_BINOMIAL, Members::kAny, List::kNone, broadcast_binomial},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_KNOMIAL, Members::kAny, List::kNone, broadcast_knomial},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_CHAIN, Members::kAny, List::kNone, broadcast_chain},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_SCATTER_ALLGATHER, Members::kAny, List::kNone,
     broadcast_scatter_allgather},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_HIERARCHICAL, Members::kOfHosts, List::kNone, broadcast_hierarchical},

    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_BINOMIAL, Members::kAny, List::kNone, reduce_binomial},
    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_RABENSEIFNER, Members::kAny, List::kNone, reduce_rabenseifner},
    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_HIERARCHICAL, Members::kOfHosts, List::kNone, reduce_hierarchical},

    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RECURSIVE_DOUBLING, Members::kAny, List::kNone, allreduce_doubling},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RABENSEIFNER, Members::kPowerOfTwo, List::kNone, allreduce_rabenseifner},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RING, Members::kAny, List::kNone, allreduce_ring},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_HIERARCHICAL, Members::kOfHosts, List::kNone, allreduce_hierarchical},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_ARENA_SLOTS, Members::kAny, List::kNone, over_boards},

    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RECURSIVE_HALVING, Members::kPowerOfTwo, List::kAny,
     reduce_scatter_halving},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_PAIRWISE, Members::kAny, List::kAny, reduce_scatter_pairwise},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RING, Members::kAny, List::kAny, reduce_scatter_ring},

    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_BRUCK, Members::kAny, List::kAny, allgather_bruck},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RECURSIVE_DOUBLING, Members::kPowerOfTwo, List::kAny, allgather_doubling},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RING, Members::kAny, List::kAny, allgather_ring},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_NEIGHBOUR_EXCHANGE, Members::kEven, List::kAny,
     allgather_neighbour_exchange},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_HIERARCHICAL, Members::kOfHostsInOrder, List::kNone,
     allgather_hierarchical},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_ARENA_SLOTS, Members::kAny, List::kNone, over_boards},

    {LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_LINEAR, Members::kAny, List::kAny, gather_linear},
    {LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_BINOMIAL, Members::kAny, List::kNone, gather_binomial},
    {LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_LINEAR, Members::kAny, List::kAny, scatter_linear},
    {LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_BINOMIAL, Members::kAny, List::kNone, scatter_binomial},

    {LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_BRUCK, Members::kAny, List::kNone, alltoall_bruck},
    {LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_PAIRWISE, Members::kAny, List::kAny, alltoall_pairwise},

    {LCI_COLLECTIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING, Members::kAny, List::kNone, scan_doubling},
    {LCI_COLLECTIVE_EXCLUSIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING, Members::kAny, List::kNone,
     exclusive_scan_doubling},

    {LCI_COLLECTIVE_NEIGHBOURS, LCI_ALGORITHM_DIRECT, Members::kAny, List::kNeeded, neighbours_direct},
};

}  // namespace

const Algorithm* find_algorithm(uint8_t kind, uint8_t name) {
  const auto* const found =
      std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                   [&](const Algorithm& algorithm) { return algorithm.kind == kind && algorithm.name == name; });
  return found == std::end(kAlgorithms) ? nullptr : found;
}

}  // namespace lci
