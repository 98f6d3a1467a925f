// SPDX-License-Identifier: Apache-2.0
// Packets in the hands of users, and those who wait for one. [B13, B16, SS-22]
#include "runtime/runtime.hpp"

namespace lci {

uint32_t Runtime::hold_packet(uint32_t deque) {
  const uint32_t handle = pool_->get(deque);
  if (handle == 0) return 0;
  packet_state(handle).held = PacketState::kUser;
  shared.add(Metric::packets_held);
  return handle;
}

bool Runtime::unhold_packet(uint64_t handle) {
  if (handle > UINT32_MAX || !pool_->owns(static_cast<uint32_t>(handle))) return false;
  // One of several threads that give it back wins.
  std::atomic_ref<uint8_t> held(packet_state(static_cast<uint32_t>(handle)).held);
  const uint8_t holder = held.exchange(PacketState::kNobody, std::memory_order_acq_rel);
  if (holder == PacketState::kUser) shared.add(Metric::packets_held, -1);
  return holder != PacketState::kNobody;
}

void Runtime::wake_packet_waiters() {
  transport_->publication_fence();  // the packets are in the pool before we look who waits
  uint32_t waiting = packet_waiters.load(std::memory_order_relaxed);
  if (waiting == 0) return;
  waiting = packet_waiters.exchange(0, std::memory_order_acq_rel);
  for (uint32_t i = 0; i < devices(); ++i) {
    if (!(waiting >> i & 1)) continue;
    devices_[i]->packets_came();
    devices_[i]->wake_owner();
  }
}

}  // namespace lci
