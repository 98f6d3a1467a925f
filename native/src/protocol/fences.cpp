// SPDX-License-Identifier: Apache-2.0
#include "protocol/fences.hpp"

#include "base/error.hpp"
#include "transport/network/network_device.hpp"

namespace lci {

/// Looks at once: what is posted from now on is not noted then, unless earlier operations take long.
uint64_t Fences::begin() {
  const uint64_t fence = ++begun_;
  passed(fence);
  return fence;
}

bool Fences::passed(uint64_t fence) {
  while (ended_ < fence && step()) {
  }
  return ended_ >= fence;
}

/// Takes one step. False: something is still under way, or there is no fence.
bool Fences::step() {
  switch (stage_) {
    case Stage::kNone:
      if (ended_ == begun_) return false;
      covered_ = begun_;
      holders_.backlog.mark();
      holders_.waiting.mark();
      stage_ = Stage::kBacklog;
      return true;
    case Stage::kBacklog:
      if (holders_.backlog.holds_marked()) return false;
      if (holders_.waiting.holds_marked()) return false;
      holders_.outgoing.mark();
      holders_.incoming.mark();
      holders_.atomics.mark();
      stage_ = Stage::kStreams;
      return true;
    case Stage::kStreams:
      if (holds_streams()) return false;
      holders_.signals.mark();
      holders_.departures.mark();
      stage_ = Stage::kSignals;
      return true;
    case Stage::kSignals:
      // Announcements of the fence before are back, too, before there may be new ones of their colour.
      if (holders_.signals.holds_marked() || !holders_.packets.others_are_back()) return false;
      holders_.packets.turn_colour();
      stage_ = Stage::kAnnounced;
      return true;
    case Stage::kAnnounced:
      if (holders_.departures.holds_marked() || !holders_.packets.others_are_back()) return false;
      links_.for_each([](Link& link) {
        if (link.chaos) link.chaos->mark();
      });
      stage_ = Stage::kDelayed;
      return true;
    case Stage::kDelayed:
      if (holds_delayed() || links_.any_touched()) return false;
      mark_network();
      stage_ = Stage::kSending;
      return true;
    case Stage::kSending:
      if (holds_in_network()) return false;
      ended_ = covered_;
      stage_ = Stage::kNone;
      return true;
  }
  return false;
}

bool Fences::holds_streams() {
  return holders_.outgoing.holds_marked() || holders_.incoming.holds_marked() || holders_.atomics.holds_marked();
}

bool Fences::holds_delayed() const {
  bool holds = false;
  links_.for_each([&](const Link& link) { holds |= link.chaos && link.chaos->holds_marked(); });
  return holds;
}

void Fences::mark_network() {
  NetworkDevice* const network = links_.network();
  if (!network) return;
  links_.for_each([&](const Link& link) { network->mark(link.rank, link.data_out.position()); });
}

bool Fences::holds_in_network() const {
  NetworkDevice* const network = links_.network();
  if (!network) return false;
  bool holds = false;
  links_.for_each([&](const Link& link) { holds |= !link.failed && network->holds_marked(link.rank); });
  return holds;
}

bool Fences::sent(uint32_t rank, uint32_t* position) const {
  const Link* const link = links_.find(rank);
  if (!link || !link->out_open || link->failed) return false;
  *position = link->data_out.position();
  return true;
}

int Fences::delivered(uint32_t rank, uint32_t position) const {
  const Link* const link = links_.find(rank);
  if (link && link->failed) return error_of(parts_.peers.state(rank));
  return link && link->in_open && link->data_in.has_passed(position) ? LCI_DONE : LCI_RETRY;
}

}  // namespace lci
