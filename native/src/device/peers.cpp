// SPDX-License-Identifier: Apache-2.0
// Peers that speak for the first time, and those that are gone. [area L]
#include "device/device.hpp"

#include "transport/network/network_device.hpp"

namespace lci {

/// Peers have added a device for which operations were refused.
bool Device::meet_devices() {
  bool met = false;
  protocols_.links.meet_devices([&](Link& link) {
    met = true;
    protocols_.spending.tell_refused(link);
  });
  if (met) room_came();
  return met;
}

bool Device::accept(Link& link) {
  const Links::Accepted accepted = protocols_.links.accept(link);
  if (accepted == Links::Accepted::kNonsense) protocols_.host.protocol_error(link, "ring outside its memory", {});
  return accepted == Links::Accepted::kOpen;
}

bool Device::look_for_failures() {
  const uint32_t epoch = parts().peers.epoch();
  if (epoch == seen_epoch_) return false;
  bool all = true;
  bool moved = fail_links(RankState::kFailed, &all);  // first: others may have left because of them
  moved |= fail_links(RankState::kLeft, &all);
  moved |= fail_links(RankState::kFenced, &all);
  if (all) seen_epoch_ = epoch;
  return moved;
}

/// Fails the links to all ranks in @p state; @p all becomes false if one still has messages to read.
bool Device::fail_links(RankState state, bool* all) {
  bool moved = false;
  for (uint32_t rank = 0; rank < parts().ranks; ++rank) {
    if (parts().peers.state(rank) != state) continue;
    Link& link = protocols_.links.of_gone(rank);
    if (Protocols::has_ended(link)) {
      moved |= protocols_.packets.reclaim_packets(link);
      continue;
    }
    if (link.failed) {  // there was no memory for all of it
      moved |= end_link(link, state, all);
      continue;
    }
    if (NetworkDevice* network = protocols_.links.network(); network && !network->has_read_all(rank)) {
      protocols_.host.call_again();
      *all = false;
      continue;
    }
    if (!link.in_open && accept(link)) protocols_.links.make_ready(link);
    // What it sent before the end is delivered first.
    if (link.in_open && !link.broken && protocols_.links.has_message(link)) {
      protocols_.links.make_ready(link);
      protocols_.host.call_again();
      *all = false;
      continue;
    }
    moved |= end_link(link, state, all);
  }
  return moved;
}

bool Device::end_link(Link& link, RankState state, bool* all) {
  if (protocols_.peer_gone(link, state)) return true;
  protocols_.host.call_again();
  *all = false;
  return false;
}

}  // namespace lci
