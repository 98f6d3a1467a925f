// SPDX-License-Identifier: Apache-2.0
// Rings: each member sends to the next one alone, and receives from the one before it.
#pragma once

#include "collective/algorithms/parts.hpp"

namespace lci {

/// Block i of `in` of all members is combined at member i. It goes once round, from the member after that; so the order
/// of operands is not that of members.
/// @param result where the own one is to lie
void ring_reduce_scatter(const Shape& shape, const Blocks& blocks, Range result, Schedule& to);

/// All members get the blocks of all in `out`. The own one is there already, or goes there.
/// @param own where the own one lies
void ring_allgather(const Shape& shape, const Blocks& blocks, Range own, Schedule& to);

}  // namespace lci
