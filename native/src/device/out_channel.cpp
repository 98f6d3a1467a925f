// SPDX-License-Identifier: Apache-2.0
// The way out to a peer: rings that are cut when first used, what is written to them, and the doorbells.
#include <new>

#include "base/error.hpp"
#include "device/device.hpp"
#include "runtime/runtime.hpp"

namespace lci {

Channel* Device::open_channel(uint32_t rank, int* error) {
  if (!channels_[rank]) {
    PeerMemory* peer = nullptr;
    if (const int code = runtime_.peer_memory(rank, "post", &peer); code != LCI_DONE) {
      *error = code;
      return nullptr;
    }
    channels_[rank] = std::make_unique<Channel>();
    Channel& fresh = *channels_[rank];
    fresh.device = this;
    fresh.rank = rank;
    fresh.peer = peer;
  }
  Channel& channel = *channels_[rank];
  if (channel.failed) {
    const bool left = runtime_.peers().state(rank) == RankState::kLeft;
    *error = fail(left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, "post: rank %u %s (device %u)", rank,
                  left ? "has left the job" : "has failed", index_);
    return nullptr;
  }
  if (!channel.out_open) {
    const Attributes& attributes = runtime_.attributes();
    const uint32_t data = attributes.ring_bytes / kSlotBytes, control = attributes.control_ring_bytes / kSlotBytes;
    OwnMemory& memory = runtime_.memory();
    const uint64_t offset = memory.allocate(RingPair::bytes(control, data));
    if (offset == 0) {
      *error = fail(LCI_ERR_NO_MEMORY,
                    "post: no memory for the ring to rank %u (device %u); raise the container's limit or "
                    "arena_bytes",
                    rank, index_);
      return nullptr;
    }
    auto* rings = new (memory.at(offset)) RingPair;
    channel.control_out = RingProducer(rings->control(control));
    channel.data_out = RingProducer(rings->data(control, data));
    if (runtime_.chaos())
      channel.chaos = std::make_unique<ChannelChaos>(*runtime_.chaos(), runtime_.rank(), index_, rank);
    channel.out_open = true;
    memory.ring_pair_offset(index_, rank).store(offset, std::memory_order_release);
    touch(channel);
  }
  return &channel;
}

bool Device::emit_data(Channel& channel, const MessageHeader& header, const void* payload, uint32_t payload_size) {
  if (!channel.data_out.has_room(slots_for(payload_size))) return false;
  if (channel.chaos && channel.chaos->delay(false, header, payload, payload_size, *this)) return true;
  channel.data_out.write(header, payload, payload_size);
  touch(channel);
  return true;
}

bool Device::emit_control(Channel& channel, const MessageHeader& header) {
  int ignored = LCI_DONE;
  if (!channel.out_open && !open_channel(channel.rank, &ignored)) return false;
  if (!channel.control_out.has_room(1)) return false;
  if (channel.chaos && channel.chaos->delay(true, header, nullptr, 0, *this)) return true;
  channel.control_out.write(header, nullptr, 0);
  touch(channel);
  return true;
}

void Device::touch(Channel& channel) {
  if (channel.touched) return;
  channel.touched = true;
  touched_.push_back(&channel);
}

void Device::publish_rings() {
  for (Channel* channel : touched_) {
    channel->control_out.publish();
    channel->data_out.publish();
  }
}

void Device::ring_doorbells() {
  if (touched_.empty()) return;
  publish_rings();
  runtime_.transport().publication_fence();
  for (Channel* channel : touched_) {
    channel->touched = false;
    channel->peer->summary(index_)[runtime_.rank()].store(1, std::memory_order_release);
  }
  runtime_.transport().publication_fence();
  for (Channel* channel : touched_) {
    runtime_.transport().wake(*channel->peer, index_);
  }
  touched_.clear();
}

}  // namespace lci
