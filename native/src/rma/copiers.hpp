// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/owner_barrier.hpp"
#include "transport/peers.hpp"
#include "transport/transport.hpp"

namespace lci {

/// The ranks, this one included, of which those of a host copy from and into each other's regions.
struct Copiers {
  Peers& peers;
  Transport& transport;
  const OwnerBarrier& owner_barrier;
  const Hosts& hosts;
  uint32_t rank, ranks;
  bool share_memory;  ///< They do; else all goes by messages.

  bool copies_with(uint32_t other) const { return share_memory && hosts.share(rank, other); }
};

}  // namespace lci
