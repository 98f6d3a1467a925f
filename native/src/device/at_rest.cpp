// SPDX-License-Identifier: Apache-2.0
// Whether a device is at rest: for parking, for waiting until all has left, and for closing.
#include "device/device.hpp"

namespace lci {

bool Device::has_work() const {
  if (unfinished_ || delayed_pending()) return true;
  if (!work_.empty() || has_handed_.load(std::memory_order_acquire)) return true;
  const OwnMemory& memory = parts_.memory();
  if (!memory.header().device[index_].returned_packets.empty_for_parking()) return true;
  if (packets_may_be_there() || room_came_elsewhere_.load(std::memory_order_acquire)) return true;
  if (seen_epoch_ != parts_.peers.epoch()) return true;
  const std::atomic<uint8_t>* summary = memory.summary(index_);
  for (uint32_t rank = 0; rank < parts_.ranks; ++rank) {
    if (summary[rank].load(std::memory_order_acquire) != 0) return true;
  }
  for (const Link* link : links_.ready()) {
    if (link->data_in.has_message() || link->control_in.has_message()) return true;
  }
  return false;
}

bool Device::drained() const {
  if (!backlog_.empty() || sends_live() != 0 || !departures_.drained() || delayed_pending() || links_.any_touched())
    return false;
  bool rest = false;
  links_.for_each(
      [&](const Link& link) { rest |= !link.failed && (link.out_queued() || link.remote_operations != 0); });
  return !rest;
}

bool Device::all_ended() const {
  return outstanding.none() && receives_.live() == 0 && drained() && !has_handed_.load(std::memory_order_acquire);
}

bool Device::delayed_pending() const {
  if (!parts_.chaos) return false;
  bool pending = false;
  links_.for_each([&](const Link& link) { pending |= link.chaos && link.chaos->pending(); });
  return pending;
}

}  // namespace lci
