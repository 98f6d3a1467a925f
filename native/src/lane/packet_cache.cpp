// SPDX-License-Identifier: Apache-2.0
// Packets that the loop may fill without a crossing. [B13]
#include <algorithm>

#include "lane/lane.hpp"

namespace lci {
namespace {

constexpr uint32_t kPacketCache = 16;

}  // namespace

/// Packets that the loop may hold. Half of few packets stay in the pool: what is posted by other forms needs some, too.
uint32_t Lane::packet_cache() const {
  return std::clamp(parts_.attributes.packets_max / (2 * parts_.devices.size()), 1u, kPacketCache);
}

/// Topped up below half.
void Lane::refill_packets() {
  lci_lane_control& control = this->control();
  if (control.packet_count >= (packet_cache_ + 1) / 2) return;
  const uint32_t got = parts_.packets.pool().get_many(devices_[0]->index(), control.packets + control.packet_count,
                                                      packet_cache_ - control.packet_count);
  for (uint32_t i = 0; i < got; ++i) {
    parts_.packets.state(control.packets[control.packet_count + i]).held = PacketState::kLoop;
  }
  control.packet_count += got;
  if (control.packet_count == 0) devices_[0]->wait_for_packets();
}

void Lane::give_up_packets() {
  lci_lane_control& control = this->control();
  for (uint32_t i = 0; i < std::min<uint32_t>(control.packet_count, std::size(control.packets)); ++i) {
    if (parts_.packets.unhold(control.packets[i])) parts_.packets.pool().put(devices_[0]->index(), control.packets[i]);
  }
  control.packet_count = 0;
  parts_.packets.wake_waiters();
}

}  // namespace lci
