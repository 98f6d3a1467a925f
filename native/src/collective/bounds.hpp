// SPDX-License-Identifier: Apache-2.0
// Up to which sizes which algorithm is chosen. [COLLECTIVES]
#pragma once

#include <cstdint>

namespace lci {

/// Bytes of a broadcast: a binomial tree, a wider tree, a chain, above them scatter and allgather.
inline constexpr uint64_t kBinomialBroadcastMost = 8 << 10;
inline constexpr uint64_t kKnomialBroadcastMost = 64 << 10;
inline constexpr uint64_t kChainBroadcastMost = 1 << 20;
/// Where members read each other's memory, three at a time read what one has: then a wider tree goes so far.
inline constexpr uint64_t kNearKnomialBroadcastMost = 1 << 20;
/// Of a chain, if nobody says another size, and it does not make too many rounds.
inline constexpr uint64_t kSegmentBytes = 64 << 10;

/// Bytes of a block: a binomial tree; above it Rabenseifner, where each member gets a share to reduce.
inline constexpr uint64_t kBinomialReduceMost = 64 << 10;

/// Bytes of a block: recursive doubling; above it Rabenseifner or a ring.
inline constexpr uint64_t kDoublingAllreduceMost = 8 << 10;

/// Bytes of all blocks: recursive halving of 2^k members; pairwise; above it a ring.
inline constexpr uint64_t kHalvingReduceScatterMost = 512 << 10;
inline constexpr uint64_t kPairwiseReduceScatterMost = 1 << 20;

/// Bytes of all blocks: Bruck; recursive doubling of 2^k members, or neighbour exchange; above it a ring.
inline constexpr uint64_t kBruckAllgatherMost = 8 << 10;
inline constexpr uint64_t kDoublingAllgatherMost = 512 << 10;

/// Bytes of a block: Bruck; above it pairwise.
inline constexpr uint64_t kBruckAlltoallMost = 256;

/// Bytes of a block that is reduced: within hosts and between them, if some members share one; above it as if none did.
inline constexpr uint64_t kHierarchicalReductionMost = 256 << 10;

/// Bytes of all blocks of an allgather: the same. What is longer keeps what is between hosts busy all the time.
inline constexpr uint64_t kHierarchicalAllgatherMost = 512 << 10;

/// Members of a call over boards, each of which looks at all others; and bytes of each.
inline constexpr uint32_t kBoardMembersMost = 16;
inline constexpr uint64_t kSlotBytesMost = 1024;

/// Members that a root serves at a time.
inline constexpr uint32_t kLinearWindow = 16;

}  // namespace lci
