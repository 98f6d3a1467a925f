// SPDX-License-Identifier: Apache-2.0
// The algorithms: each adds the rounds of one member to a schedule that has none. Their shapes have two members or
// more, and where all members see that there is not a byte to send, they are not called; see make_schedule().
#pragma once

#include <cstdint>

#include "collective/schedule.hpp"
#include "collective/shape.hpp"

namespace lci {

void barrier_dissemination(const Shape& shape, Schedule& to);
void barrier_hierarchical(const Shape& shape, Schedule& to);

void broadcast_binomial(const Shape& shape, Schedule& to);
void broadcast_knomial(const Shape& shape, Schedule& to);
void broadcast_chain(const Shape& shape, Schedule& to);
void broadcast_scatter_allgather(const Shape& shape, Schedule& to);
void broadcast_hierarchical(const Shape& shape, Schedule& to);

void reduce_binomial(const Shape& shape, Schedule& to);
void reduce_rabenseifner(const Shape& shape, Schedule& to);
void reduce_hierarchical(const Shape& shape, Schedule& to);

void allreduce_doubling(const Shape& shape, Schedule& to);
void allreduce_rabenseifner(const Shape& shape, Schedule& to);
void allreduce_ring(const Shape& shape, Schedule& to);
void allreduce_hierarchical(const Shape& shape, Schedule& to);

void reduce_scatter_halving(const Shape& shape, Schedule& to);
void reduce_scatter_pairwise(const Shape& shape, Schedule& to);
void reduce_scatter_ring(const Shape& shape, Schedule& to);

void allgather_bruck(const Shape& shape, Schedule& to);
void allgather_doubling(const Shape& shape, Schedule& to);
void allgather_ring(const Shape& shape, Schedule& to);
void allgather_hierarchical(const Shape& shape, Schedule& to);
void allgather_neighbour_exchange(const Shape& shape, Schedule& to);

void gather_linear(const Shape& shape, Schedule& to);
void gather_binomial(const Shape& shape, Schedule& to);
void scatter_linear(const Shape& shape, Schedule& to);
void scatter_binomial(const Shape& shape, Schedule& to);

void alltoall_bruck(const Shape& shape, Schedule& to);
void alltoall_pairwise(const Shape& shape, Schedule& to);

void scan_doubling(const Shape& shape, Schedule& to);
void exclusive_scan_doubling(const Shape& shape, Schedule& to);

void neighbours_direct(const Shape& shape, Schedule& to);

/// An algorithm for a kind of call, and which calls it serves.
struct Algorithm {
  enum class Members : uint8_t {
    kAny,
    kPowerOfTwo,
    kEven,
    kOfHosts,         ///< Some share one, and not all do;
    kOfHostsInOrder,  ///< and those of each follow each other.
  };
  enum class List : uint8_t { kNone, kAny, kNeeded };

  uint8_t kind;  ///< ::lci_collective_kind
  uint8_t name;  ///< ::lci_algorithm
  Members members;
  List list;  ///< Whether a call may have a list of counts.
  void (*make)(const Shape& shape, Schedule& to);
};

/// Null: there is none of this name for this kind.
const Algorithm* find_algorithm(uint8_t kind, uint8_t name);

}  // namespace lci
