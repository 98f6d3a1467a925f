// SPDX-License-Identifier: Apache-2.0
#include "protocol/packets_out.hpp"

#include <algorithm>
#include <utility>

#include "protocol/handed.hpp"
#include "protocol/reference.hpp"

namespace lci {
namespace {

constexpr uint32_t kInPlaceChunk = 64 << 10;

}  // namespace

uint32_t most_of_chunk(const Packets& packets, bool in_place) {
  return in_place ? std::max(kInPlaceChunk, packets.max_eager()) : packets.max_eager();
}

uint32_t PacketsOut::take_packet(Link& link, uint32_t size) {
  const uint32_t packet = parts_.packets.pool().get(index_);
  if (packet != 0) send_packet(link, packet, size);
  return packet;
}

void PacketsOut::send_packet(Link& link, uint32_t packet, uint32_t size) {
  PacketState& state = parts_.packets.state(packet);
  state = {packet, link.rank, size, static_cast<uint16_t>(index_ + 1)};
  counters_.add(Metric::packets_out);
}

void PacketsOut::announce(Link& link, uint32_t packet, OutKey& key) {
  PacketState& state = parts_.packets.state(packet);
  state.announced = &key;
  state.colour = colour_;
  if (is_awaited(key)) ++link.announced[colour_];
}

bool PacketsOut::others_are_back() const {
  bool back = true;
  links_.for_each([&](const Link& link) { back &= link.failed || link.announced[colour_ ^ 1] == 0; });
  return back;
}

void PacketsOut::return_unused(uint32_t packet) {
  parts_.packets.state(packet).device = 0;
  counters_.set(Metric::packets_out, counters_.get(Metric::packets_out) - 1);
  parts_.packets.put(index_, packet);
}

bool PacketsOut::peer_sees(const Link& link, const void* bytes, uint64_t size) const {
  return size != 0 && link.shares_memory && parts_.memory().holds(bytes, size);
}

void PacketsOut::refer_to(uint32_t packet, const void* bytes) {
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(bytes) - parts_.memory().base());
  write_reference(parts_.packets.payload(packet), offset);
}

void PacketsOut::revoke(uint64_t departure) {
  parts_.packets.for_each_out(index_, [&](const PacketState& state) {
    if (state.departure == departure) revoke_reference(parts_.packets.payload(state.handle));
  });
}

void PacketsOut::make_room_for_all() {
  scratch_.clear();
  large_.clear();
  const size_t out = counters_.get(Metric::packets_out);
  if (scratch_.capacity() < out) scratch_.reserve(2 * out);
  if (large_.capacity() < out) large_.reserve(2 * out);
}

bool PacketsOut::take_returned_packets(uint32_t taker) {
  if (!any_returned()) return false;
  make_room_for_all();  // what is taken from the list is in no other place
  PacketPools& pool = parts_.packets.pool();
  const bool honest = returned().take_all(
      pool.capacity(),
      [&](uint32_t handle) -> const PacketHeader& { return *reinterpret_cast<PacketHeader*>(pool.data(handle)); },
      [&](uint32_t handle) { return take_returned_packet(handle); });
  if (!honest) counters_.add(Metric::protocol_errors);
  const bool any = !scratch_.empty() || !large_.empty();
  counters_.set(Metric::packets_out, counters_.get(Metric::packets_out) - scratch_.size() - large_.size());
  if (!large_.empty()) pool.put_many(index_, large_.data(), static_cast<uint32_t>(large_.size()), End::kHead);
  if (!scratch_.empty()) pool.put_many(taker, scratch_.data(), static_cast<uint32_t>(scratch_.size()));
  wanted_.came();
  parts_.packets.wake_waiters();
  return any;
}

ReturnedPackets::Answer PacketsOut::take_returned_packet(uint32_t handle) {
  PacketState* const out = parts_.packets.out_for(index_, handle);
  if (!out) {
    return parts_.packets.pool().owns(handle) ? ReturnedPackets::Answer::kNotOut : ReturnedPackets::Answer::kNoPacket;
  }
  PacketState& state = *out;
  state.device = 0;
  if (state.announced) {
    OutKey& key = *state.announced;
    state.announced = nullptr;
    --key.announced;
    Link& link = *links_.find(state.rank);
    if (is_awaited(key)) --link.announced[state.colour];
    if (key.refused && !link.failed) spending_.tell_writable(link, key);
  }
  if (state.departure != 0) departures_.packet_returned(std::exchange(state.departure, 0));
  (state.bytes > parts_.attributes.packet_return_threshold ? large_ : scratch_).push_back(handle);
  return ReturnedPackets::Answer::kTaken;
}

/// Not before: a rank that is treated as failed may well live and read, and whoever got its packet would get wrong
/// bytes.
bool PacketsOut::reclaim_packets(Link& link) {
  if (link.reclaimed || !parts_.peers.has_ended(link.rank)) return false;
  take_returned_packets(index_);
  make_room_for_all();  // first: what is taken from the list of those that are out is in no other place
  link.reclaimed = true;
  if (counters_.get(Metric::packets_out) == 0) return false;
  scratch_.clear();
  parts_.packets.for_each_out(index_, [&](PacketState& packet) {
    if (packet.rank != link.rank) return;
    packet.device = 0;
    packet.announced = nullptr;
    packet.departure = 0;
    scratch_.push_back(packet.handle);
  });
  counters_.set(Metric::packets_out, counters_.get(Metric::packets_out) - scratch_.size());
  parts_.packets.pool().put_many(index_, scratch_.data(), static_cast<uint32_t>(scratch_.size()));
  parts_.packets.wake_waiters();
  return true;
}

void PacketsOut::hand_back(Link& link, const uint32_t* handles, size_t count) {
  PeerMemory& home = *link.peer;
  home.header().device[link.device_index].returned_packets.give(handles, count, [&](uint32_t handle) -> PacketHeader& {
    return *reinterpret_cast<PacketHeader*>(home.at(uint64_t{handle} * kPacketUnit));
  });
}

void PacketsOut::give_packets_back(Link& link) {
  hand_back(link, link.packets_back.data(), link.packets_back.size());
  link.packets_back.clear();
  links_.touch(link);
}

void PacketsOut::return_packet_now(Link& link, uint32_t handle) {
  if (parts_.peers.has_left()) return;  // its owner has reclaimed it
  hand_back(link, &handle, 1);
  link.peer->summary(link.device_index)[parts_.rank].store(1, std::memory_order_release);
  parts_.transport.publication_fence();
  parts_.transport.wake_owner(*link.peer, link.device_index);
  if (links_.network()) link.handed->wake();  // this rank plays the peer
}

}  // namespace lci
