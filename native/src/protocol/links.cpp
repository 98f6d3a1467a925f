// SPDX-License-Identifier: Apache-2.0
#include "protocol/links.hpp"

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "transport/network/network_device.hpp"

namespace lci {

Links::Links(ProtocolHost& host, Handed& handed)
    : host_(host),
      parts_(host.parts),
      index_(host.index),
      handed_(handed),
      network_(parts_.transport.attach(index_)),
      links_(parts_.ranks) {
  // A link joins these after something has changed: it must find room.
  ready_.reserve(parts_.ranks);
  busy_.reserve(parts_.ranks);
  touched_.reserve(parts_.ranks);
  awaiting_.reserve(parts_.ranks);
}

Link& Links::add(uint32_t rank, PeerMemory* peer) {
  auto link = std::make_unique<Link>();
  Link& fresh = *link;
  fresh.device = &host_.device;
  fresh.device_index = index_;
  fresh.handed = &handed_;
  fresh.rank = rank;
  fresh.peer = peer;
  fresh.shares_memory = parts_.shares_memory_with(rank);
  if (network_) network_->open(rank);
  links_[rank] = std::move(link);
  return fresh;
}

Link* Links::open(uint32_t rank, int* error) {
  if (!links_[rank]) {
    PeerMemory* peer = nullptr;
    int code = parts_.peers.check(rank, "post");  // a new device has not heard of earlier ends
    if (code == LCI_DONE) code = parts_.peers.memory(rank, "post", &peer);
    if (code != LCI_DONE) {
      *error = code;
      return nullptr;
    }
    add(rank, peer);
  }
  Link& link = *links_[rank];
  if (link.failed) {
    const RankState state = parts_.peers.state(rank);
    *error = fail(error_of(state), "post: rank %u %s (device %u)", rank, words_of(state), index_);
    return nullptr;
  }
  if (link.out_open || link.awaits_device) return &link;
  if (has_device(link)) return open_rings(link, error) ? &link : nullptr;
  link.awaits_device = true;  // to the next pass after the peer has added it: that tells those that were refused
  awaiting_.push_back(&link);
  return &link;
}

bool Links::may_meet_devices() const {
  return std::any_of(awaiting_.begin(), awaiting_.end(), [this](const Link* link) { return has_device(*link); });
}

bool Links::open_rings(Link& link, int* error) {
  const uint32_t data = parts_.attributes.ring_bytes / kSlotBytes;
  const uint32_t control = parts_.attributes.control_ring_bytes / kSlotBytes;
  OwnMemory& memory = parts_.memory();
  const uint64_t offset = memory.allocate(RingPair::bytes(control, data));
  if (offset == 0) {
    *error = fail(LCI_ERR_NO_MEMORY,
                  "post: no memory for the ring to rank %u (device %u); raise the container's limit or arena_bytes",
                  link.rank, index_);
    return false;
  }
  auto* rings = new (memory.at(offset)) RingPair;
  link.control_out = RingProducer(rings->control(control));
  link.data_out = RingProducer(rings->data(control, data));
  if (parts_.chaos) {
    link.chaos = std::make_unique<LinkChaos>(*parts_.chaos, parts_.rank, index_, link.rank, host_.counters);
  }
  link.out_open = true;
  memory.ring_pair_offset(index_, link.rank).store(offset, std::memory_order_release);
  touch(link);
  return true;
}

Link& Links::of_gone(uint32_t rank) {
  return links_[rank] ? *links_[rank] : add(rank, parts_.peers.memory_of_acquainted(rank));
}

Links::Accepted Links::accept(Link& link) {
  if (link.failed || !link.peer) return Accepted::kNothing;
  const uint64_t offset = link.peer->ring_pair_offset(index_, parts_.rank).load(std::memory_order_acquire);
  if (offset == 0) return Accepted::kNothing;
  const uint32_t data = parts_.attributes.ring_bytes / kSlotBytes;
  const uint32_t control = parts_.attributes.control_ring_bytes / kSlotBytes;
  if (offset % 64 != 0 || !link.peer->contains(offset, RingPair::bytes(control, data))) return Accepted::kNonsense;
  auto* rings = reinterpret_cast<RingPair*>(link.peer->at(offset));
  link.control_in = RingConsumer(rings->control(control));
  link.data_in = RingConsumer(rings->data(control, data));
  link.in_open = true;
  ++readable_;
  return Accepted::kOpen;
}

void Links::go_over(Link& link) const {
  RingMemory next{};
  if (network_->take_wider(link.rank, &next)) link.data_in = RingConsumer(next);
}

bool Links::open_out(Link& link) {
  int ignored = LCI_DONE;
  if (!link.out_open) open(link.rank, &ignored);
  return link.out_open;
}

bool Links::emit_data(Link& link, const MessageHeader& header, const void* payload, uint32_t payload_size) {
  if (!link.data_out.has_room(slots_for(payload_size))) return false;
  if (link.chaos && link.chaos->delay(false, header, payload, payload_size)) return true;
  link.data_out.write(header, payload, payload_size);
  touch(link);
  return true;
}

bool Links::emit_control(Link& link, const MessageHeader& header, const void* payload, uint32_t payload_size,
                         uint32_t kept) {
  if (!open_out(link)) return false;
  if (!link.control_out.has_room(slots_for(payload_size) + kept)) return false;
  if (link.chaos && link.chaos->delay(true, header, payload, payload_size)) return true;
  link.control_out.write(header, payload, payload_size);
  touch(link);
  return true;
}

void Links::publish() {
  for (Link* link : touched_) {
    link->control_out.publish();
    link->data_out.publish();
  }
}

void Links::ring() {
  if (touched_.empty()) return;
  publish();
  parts_.transport.publication_fence();
  for (Link* link : touched_) {
    link->touched = false;
    link->peer->summary(index_)[parts_.rank].store(1, std::memory_order_release);
  }
  parts_.transport.publication_fence();
  for (Link* link : touched_) parts_.transport.wake_owner(*link->peer, index_);
  if (network_) {
    for (const Link* link : touched_) network_->flush(link->rank);
  }
  touched_.clear();
}

void Links::make_busy(Link& link) {
  if (std::find(busy_.begin(), busy_.end(), &link) == busy_.end()) busy_.push_back(&link);
}

}  // namespace lci
