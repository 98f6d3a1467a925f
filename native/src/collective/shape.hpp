// SPDX-License-Identifier: Apache-2.0
// What a member asks for when it makes a call, without addresses: a schedule is made of it. [COLLECTIVES]
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "collective/schedule.hpp"
#include "lci/lci.h"

namespace lci {

struct Shape {
  uint8_t kind = LCI_COLLECTIVE_BARRIER;   ///< ::lci_collective_kind
  uint8_t op = 0;                          ///< ::lci_reduce_op of those that reduce, else 0.
  uint8_t type = 0;                        ///< ::lci_data_type; 0 of a barrier.
  uint8_t algorithm = LCI_ALGORITHM_AUTO;  ///< ::lci_algorithm; of a schedule never LCI_ALGORITHM_AUTO.
  uint32_t root = 0;                       ///< A member, where there is one, else 0.
  uint32_t own = 0;                        ///< The member whose schedule it is,
  uint32_t size = 1;                       ///< of so many.
  uint64_t element = 0;                    ///< Bytes of an element.
  uint64_t count = 0;                      ///< Elements, as ::lci_collective says for each kind.
  std::span<const uint64_t> counts;        ///< The same; empty: none were given.
  uint64_t segment_bytes = 0;              ///< Of a chain; else 0.
  /// `in` and `out` of this member overlap nowhere. It may differ between members: what travels does not depend on it.
  bool apart = false;
  /// All members are on one host, and read each other's memory.
  bool near = false;
  /// Those that share a host do.
  bool near_on_hosts = false;
  /// The lowest member on the host of each, the same on all members. Empty: none share one, or all do.
  std::span<const uint32_t> hosts;
};

/// Whether members of a call by this algorithm look at each other's boards, instead of sending anything.
inline bool on_boards(uint8_t algorithm) {
  return algorithm == LCI_ALGORITHM_ARENA_LINE || algorithm == LCI_ALGORITHM_ARENA_SLOTS;
}

/// Chooses the algorithm where @p shape leaves it open, and its segments. LCI_DONE; LCI_ERR_ARGUMENT: the one that it
/// names does not serve this call. Equal on all members, except for what a root alone knows, which it does not use.
int choose_algorithm(Shape* shape);

/// The schedule of a shape whose algorithm is chosen, and serves it.
std::shared_ptr<const Schedule> make_schedule(const Shape& shape);

}  // namespace lci
