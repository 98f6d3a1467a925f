// SPDX-License-Identifier: Apache-2.0
// The way out to a peer: rings that are cut when first used, what is written to them, and the doorbells.
#include <new>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

Link* Device::open_link(uint32_t rank, int* error) {
  if (!links_[rank]) {
    PeerMemory* peer = nullptr;
    if (const int code = parts_.peers.memory(rank, "post", &peer); code != LCI_DONE) {
      *error = code;
      return nullptr;
    }
    links_[rank] = std::make_unique<Link>();
    Link& fresh = *links_[rank];
    fresh.device = this;
    fresh.rank = rank;
    fresh.peer = peer;
  }
  Link& link = *links_[rank];
  if (link.failed) {
    const bool left = parts_.peers.state(rank) == RankState::kLeft;
    *error = fail(left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, "post: rank %u %s (device %u)", rank,
                  left ? "has left the job" : "has failed", index_);
    return nullptr;
  }
  if (!link.out_open) {
    const Attributes& attributes = parts_.attributes;
    const uint32_t data = attributes.ring_bytes / kSlotBytes, control = attributes.control_ring_bytes / kSlotBytes;
    OwnMemory& memory = parts_.memory();
    const uint64_t offset = memory.allocate(RingPair::bytes(control, data));
    if (offset == 0) {
      *error = fail(LCI_ERR_NO_MEMORY,
                    "post: no memory for the ring to rank %u (device %u); raise the container's limit or "
                    "arena_bytes",
                    rank, index_);
      return nullptr;
    }
    auto* rings = new (memory.at(offset)) RingPair;
    link.control_out = RingProducer(rings->control(control));
    link.data_out = RingProducer(rings->data(control, data));
    if (parts_.chaos) link.chaos = std::make_unique<LinkChaos>(*parts_.chaos, parts_.rank, index_, rank, counters);
    link.out_open = true;
    memory.ring_pair_offset(index_, rank).store(offset, std::memory_order_release);
    touch(link);
  }
  return &link;
}

bool Device::emit_data(Link& link, const MessageHeader& header, const void* payload, uint32_t payload_size) {
  if (!link.data_out.has_room(slots_for(payload_size))) return false;
  if (link.chaos && link.chaos->delay(false, header, payload, payload_size)) return true;
  link.data_out.write(header, payload, payload_size);
  touch(link);
  return true;
}

bool Device::emit_control(Link& link, const MessageHeader& header) {
  int ignored = LCI_DONE;
  if (!link.out_open && !open_link(link.rank, &ignored)) return false;
  if (!link.control_out.has_room(1)) return false;
  if (link.chaos && link.chaos->delay(true, header, nullptr, 0)) return true;
  link.control_out.write(header, nullptr, 0);
  touch(link);
  return true;
}

void Device::touch(Link& link) {
  if (link.touched) return;
  link.touched = true;
  touched_.push_back(&link);
}

void Device::publish_rings() {
  for (Link* link : touched_) {
    link->control_out.publish();
    link->data_out.publish();
  }
}

void Device::ring_doorbells() {
  if (touched_.empty()) return;
  publish_rings();
  parts_.transport.publication_fence();
  for (Link* link : touched_) {
    link->touched = false;
    link->peer->summary(index_)[parts_.rank].store(1, std::memory_order_release);
  }
  parts_.transport.publication_fence();
  for (Link* link : touched_) {
    parts_.transport.wake(*link->peer, index_);
  }
  touched_.clear();
}

}  // namespace lci
