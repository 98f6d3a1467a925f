// SPDX-License-Identifier: Apache-2.0
#include "protocol/packets.hpp"

#include <algorithm>

namespace lci {

Packets::Packets(Transport& transport, const Attributes& attributes, uint64_t slots, SharedCounters& shared)
    : transport_(transport),
      shared_(shared),
      pool_(transport.own(), attributes.packet_size, std::max(1u, attributes.packets), attributes.packets_max,
            std::max(1u, attributes.devices)),
      units_(attributes.packet_size / kPacketUnit),
      slots_(slots),
      states_(static_cast<PacketState*>(std::calloc(slots, sizeof(PacketState)))) {}

uint32_t Packets::hold(uint32_t deque) {
  const uint32_t handle = pool_.get(deque);
  if (handle == 0) return 0;
  state(handle).held = PacketState::kUser;
  shared_.add(Metric::packets_held);
  return handle;
}

bool Packets::unhold(uint64_t handle) {
  if (handle > UINT32_MAX || !pool_.owns(static_cast<uint32_t>(handle))) return false;
  // One of several threads that give it back wins.
  std::atomic_ref<uint8_t> held(state(static_cast<uint32_t>(handle)).held);
  const uint8_t holder = held.exchange(PacketState::kNobody, std::memory_order_acq_rel);
  if (holder == PacketState::kUser) shared_.add(Metric::packets_held, -1);
  return holder != PacketState::kNobody;
}

void Packets::wake_waiters() {
  transport_.publication_fence();  // the packets are in the pool before we look who waits
  waiters_.take_each([this](uint32_t device) { devices_[device].packets_came(); });
}

}  // namespace lci
