// SPDX-License-Identifier: Apache-2.0
#include "device/device.hpp"

#include "transport/network/network_device.hpp"
#include "wire/reply_address.hpp"

namespace lci {

Device::Device(Runtime& runtime, const DeviceParts& parts, uint32_t index)
    : Posting(parts, *this, index, *this), runtime_(runtime) {}

const Counters* Device::network_counters() const {
  const NetworkDevice* const network = protocols_.links.network();
  return network ? &network->counters() : nullptr;
}

void Device::packets_came() {
  protocols_.wanted.came();
  wake_owner();
}

void Device::room_came_elsewhere() {
  room_came_elsewhere_.store(true, std::memory_order_release);
  wake_owner();
}

void Device::ring_own_bell() {
  parts().memory().summary(index())[parts().rank].store(1, std::memory_order_release);
}

void Device::decline_stored(Link& link, uint64_t request) {
  ReplyRooms& rooms = *parts().targets.port(ReplyAddress::of(request).port)->replies();
  if (!rooms.answer(link.rank)) return;
  DeclinedRequests& declined = rooms.declined(link.rank);
  if (declined.add(1)) protocols_.handed.add_declined(declined);
}

bool Device::has_work() {
  if (must_enter() || protocols_.packets.may_have_returned()) return true;
  if (protocols_.collectives.watches_boards() && protocols_.collectives.boards_ready()) return true;
  if (protocols_.wanted.may_be_there() || room_came_elsewhere_.load(std::memory_order_acquire)) return true;
  if (seen_epoch_ != parts().peers.epoch() || protocols_.links.may_meet_devices()) return true;
  if (protocols_.links.network() && protocols_.links.network()->has_work()) return true;
  const std::atomic<uint8_t>* summary = parts().memory().summary(index());
  for (uint32_t rank = 0; rank < parts().ranks; ++rank) {
    if (summary[rank].load(std::memory_order_acquire) != 0) return true;
  }
  for (const Link* link : protocols_.links.ready()) {
    if (link->data_in.has_message() || link->control_in.has_message()) return true;
  }
  return false;
}

bool Device::all_ended() const {
  return outstanding().none() && protocols_.incoming.live() == 0 && drained() && protocols_.handed.empty();
}

uint64_t Device::begin_fence() {
  if (take_handed()) protocols_.host.call_again();  // it waits in the backlog for a pass
  return protocols_.fences.begin();
}

void Device::cancel_all(int code) {
  stop_accepting();
  take_handed();
  protocols_.cancel_all(code);
}

void Device::prepare_to_sleep() {
  if (NetworkDevice* network = protocols_.links.network()) network->prepare_to_sleep();
}

void Device::awake() {
  if (NetworkDevice* network = protocols_.links.network()) network->awake();
}

void Device::leave(RankState state) {
  if (NetworkDevice* network = protocols_.links.network()) network->leave(state);
}

void Device::forget(const LaneView& gone) {
  take_handed();
  protocols_.lane_gone(gone);
}

}  // namespace lci
