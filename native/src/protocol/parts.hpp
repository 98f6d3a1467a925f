// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/attributes.hpp"
#include "base/chaos_plan.hpp"
#include "base/counters.hpp"
#include "base/device_table.hpp"
#include "base/log.hpp"
#include "base/owner_barrier.hpp"
#include "flow/loans.hpp"
#include "protocol/packets.hpp"
#include "protocol/received_memory.hpp"
#include "protocol/targets.hpp"
#include "rma/region_table.hpp"
#include "rma/remote_table.hpp"
#include "transport/peers.hpp"
#include "transport/transport.hpp"

namespace lci {

class Device;

/// The devices of a runtime share these parts. All were made before them, and stay until they are gone.
struct DeviceParts {
  uint32_t rank, ranks;
  const Attributes& attributes;
  const ChaosPlan* chaos;  ///< Null: none.
  Log& log;
  SharedCounters& shared;
  const OwnerBarrier& owner_barrier;
  Transport& transport;
  Peers& peers;
  Packets& packets;
  Targets& targets;
  RegionTable& regions;
  RemoteTable& remotes;
  Loans& loans;
  const std::atomic<const lci_allocator*>& allocator;  ///< Of what is given to users; null: malloc. [A10]
  ReceivedMemory& received;
  const DeviceTable<Device>& devices;
  const Hosts& hosts;
  bool share_memory;  ///< Ranks of a host read all of each other's memory that they are told of, not only what is sent.

  bool shares_memory_with(uint32_t other) const { return share_memory && hosts.share(rank, other); }
  OwnMemory& memory() const { return transport.own(); }
  bool has_packets() const { return attributes.packets_max != 0; }
};

}  // namespace lci
