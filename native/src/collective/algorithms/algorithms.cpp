// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/algorithms.hpp"

#include <algorithm>
#include <iterator>

namespace lci {

namespace {

constexpr Algorithm kAlgorithms[] = {
    {LCI_COLLECTIVE_BARRIER, LCI_ALGORITHM_DISSEMINATION, Algorithm::kNothing, barrier_dissemination},

    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_BINOMIAL, Algorithm::kNothing, broadcast_binomial},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_KNOMIAL, Algorithm::kNothing, broadcast_knomial},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_CHAIN, Algorithm::kNothing, broadcast_chain},
    {LCI_COLLECTIVE_BROADCAST, LCI_ALGORITHM_SCATTER_ALLGATHER, Algorithm::kNothing, broadcast_scatter_allgather},

    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_BINOMIAL, Algorithm::kNothing, reduce_binomial},
    {LCI_COLLECTIVE_REDUCE, LCI_ALGORITHM_RABENSEIFNER, Algorithm::kNothing, reduce_rabenseifner},

    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RECURSIVE_DOUBLING, Algorithm::kNothing, allreduce_doubling},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RABENSEIFNER, Algorithm::kPowerOfTwo, allreduce_rabenseifner},
    {LCI_COLLECTIVE_ALLREDUCE, LCI_ALGORITHM_RING, Algorithm::kNothing, allreduce_ring},

    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RECURSIVE_HALVING, Algorithm::kPowerOfTwo, reduce_scatter_halving},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_PAIRWISE, Algorithm::kNothing, reduce_scatter_pairwise},
    {LCI_COLLECTIVE_REDUCE_SCATTER, LCI_ALGORITHM_RING, Algorithm::kNothing, reduce_scatter_ring},

    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_BRUCK, Algorithm::kNothing, allgather_bruck},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RECURSIVE_DOUBLING, Algorithm::kPowerOfTwo, allgather_doubling},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_RING, Algorithm::kNothing, allgather_ring},
    {LCI_COLLECTIVE_ALLGATHER, LCI_ALGORITHM_NEIGHBOUR_EXCHANGE, Algorithm::kEven, allgather_neighbour_exchange},

    {LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_LINEAR, Algorithm::kNothing, gather_linear},
    {LCI_COLLECTIVE_GATHER, LCI_ALGORITHM_BINOMIAL, Algorithm::kNoCounts, gather_binomial},
    {LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_LINEAR, Algorithm::kNothing, scatter_linear},
    {LCI_COLLECTIVE_SCATTER, LCI_ALGORITHM_BINOMIAL, Algorithm::kNoCounts, scatter_binomial},

    {LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_BRUCK, Algorithm::kNoCounts, alltoall_bruck},
    {LCI_COLLECTIVE_ALLTOALL, LCI_ALGORITHM_PAIRWISE, Algorithm::kNothing, alltoall_pairwise},

    {LCI_COLLECTIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING, Algorithm::kNothing, scan_doubling},
    {LCI_COLLECTIVE_EXCLUSIVE_SCAN, LCI_ALGORITHM_RECURSIVE_DOUBLING, Algorithm::kNothing, exclusive_scan_doubling},

    {LCI_COLLECTIVE_NEIGHBOURS, LCI_ALGORITHM_DIRECT, Algorithm::kNothing, neighbours_direct},
};

}  // namespace

const Algorithm* find_algorithm(uint8_t kind, uint8_t name) {
  const auto* const found =
      std::find_if(std::begin(kAlgorithms), std::end(kAlgorithms),
                   [&](const Algorithm& algorithm) { return algorithm.kind == kind && algorithm.name == name; });
  return found == std::end(kAlgorithms) ? nullptr : found;
}

}  // namespace lci
