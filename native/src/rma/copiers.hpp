// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/owner_barrier.hpp"
#include "transport/peers.hpp"
#include "transport/transport.hpp"

namespace lci {

/// The ranks, this one included, as those that copy from and into each other's regions.
struct Copiers {
  Peers& peers;
  Transport& transport;
  const OwnerBarrier& owner_barrier;
  uint32_t ranks;
  bool share_memory;  ///< They do; else all goes by messages.
};

}  // namespace lci
