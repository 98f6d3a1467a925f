// SPDX-License-Identifier: Apache-2.0
// The packets of a runtime: the pools that they come from, what is known of each, and the devices that wait for one.
// [B13, B16, SS-22]
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/counters.hpp"
#include "base/device_bell.hpp"
#include "base/device_set.hpp"
#include "base/device_table.hpp"
#include "flow/keys.hpp"
#include "pool/packet_pools.hpp"
#include "transport/transport.hpp"
#include "wire/message.hpp"

namespace lci {

/// The owner of a packet knows this of it; private memory.
struct PacketState {
  uint32_t handle;  ///< Of the packet, since it was out for the first time.
  uint32_t rank;    ///< Peer that reads it.
  uint32_t bytes;   ///< That it carries while it is out.
  uint16_t device;  ///< Device that sent it, plus one; 0 when not out.
  enum Holder : uint8_t { kNobody, kLoop, kUser };
  uint8_t held = kNobody;       ///< Who may post it or give it back.
  uint8_t colour = 0;           ///< Of the announcement, see PacketsOut.
  OutKey* announced = nullptr;  ///< Key whose announcement it carries, if any.
  uint64_t departure = 0;       ///< Who is told when it comes back, if anybody; see Device.
};
static_assert(sizeof(PacketState) == 32, "two to a cache line");

/// Any thread may call anything; add() by one thread at a time.
class Packets {
 public:
  /// @param slots packets that the memory of this rank has addresses for
  Packets(Transport& transport, const Attributes& attributes, uint64_t slots, SharedCounters& shared);
  /// False: there was no memory for what is to be known of packets.
  bool valid() const { return states_ != nullptr; }
  /// The device that takes from the next deque.
  void add(DeviceBell& device) {
    pool_.provide(devices_.size() + 1);
    devices_.add(device);
  }

  PacketPools& pool() { return pool_; }
  const PacketPools& pool() const { return pool_; }
  /// Of a packet.
  PacketState& state(uint32_t handle) { return states_[handle / units_]; }
  /// Of a handle that a peer names, if it may be that of a packet which is out for a device: cheaper than to ask the
  /// pools. Null: it is none.
  PacketState* out_for(uint32_t device, uint32_t handle) {
    const uint32_t slot = handle / units_;
    if (slot >= slots_) return nullptr;
    PacketState& state = states_[slot];
    return state.handle == handle && state.device == device + 1 ? &state : nullptr;
  }
  /// Calls @p visit with the state of each packet that is out for a device.
  template <typename Visit>
  void for_each_out(uint32_t device, Visit visit) {
    for (uint64_t slot = 0; slot < slots_; ++slot) {
      if (states_[slot].device == device + 1) visit(states_[slot]);
    }
  }
  std::byte* payload(uint32_t handle) const { return pool_.data(handle) + kPacketPayloadOffset; }
  uint32_t max_eager() const { return pool_.packet_size() - kPacketPayloadOffset; }

  /// A packet for the user, or 0.
  uint32_t hold(uint32_t deque);
  /// Takes a packet from whoever holds it; false if nobody does. It is the caller's then.
  bool unhold(uint64_t handle);
  /// Back to its pool: others may take it.
  void put(uint32_t deque, uint32_t handle) {
    pool_.put(deque, handle);
    wake_waiters();
  }

  /// A device was refused one.
  void wait(uint32_t device) { waiters_.add(device); }
  bool waits(uint32_t device) const { return waiters_.contains(device); }
  /// Some have come back.
  void wake_waiters();

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  Transport& transport_;
  SharedCounters& shared_;
  PacketPools pool_;
  const uint32_t units_;  // of a packet: handles count them
  const uint64_t slots_;
  const std::unique_ptr<PacketState[], Free> states_;
  DeviceTable<DeviceBell> devices_;
  DeviceSet waiters_;
};

}  // namespace lci
