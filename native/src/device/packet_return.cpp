// SPDX-License-Identifier: Apache-2.0
// Packets on their way back to the pool that they came from, and those who wait for one. [B12, SS-24]
//
// A packet comes back to the device that posted it. One that carried more than packet_return_threshold bytes goes to
// the head of that device's deque: it is the last that its owner takes again, and the first that others steal. The
// others go to the tail of the deque of the device by whose pass they are taken back: that device itself, or another
// one of its pool that has run dry.
#include <utility>

#include "device/device.hpp"

namespace lci {

/// By the pass of device @p taker, which is this one, or has its lock and its pool.
bool Device::take_returned_packets(uint32_t taker) {
  ReturnedPackets& returned = parts_.memory().header().device[index_].returned_packets;
  if (returned.empty()) return false;
  scratch_.clear();
  large_.clear();
  // What is taken from the list is in no other place.
  const size_t out = counters.get(Metric::packets_out);
  if (scratch_.capacity() < out) scratch_.reserve(2 * out);
  if (large_.capacity() < out) large_.reserve(2 * out);
  PacketPools& pool = parts_.packets.pool();
  const bool honest = returned.take_all(
      pool.capacity(),
      [&](uint32_t handle) -> const PacketHeader& { return *reinterpret_cast<PacketHeader*>(pool.data(handle)); },
      [&](uint32_t handle) { return take_returned_packet(handle); });
  if (!honest) counters.add(Metric::protocol_errors);
  const bool any = !scratch_.empty() || !large_.empty();
  counters.set(Metric::packets_out, counters.get(Metric::packets_out) - scratch_.size() - large_.size());
  if (!large_.empty()) pool.put_many(index_, large_.data(), static_cast<uint32_t>(large_.size()), End::kHead);
  if (!scratch_.empty()) pool.put_many(taker, scratch_.data(), static_cast<uint32_t>(scratch_.size()));
  packets_came_.store(true, std::memory_order_release);
  parts_.packets.wake_waiters();
  return any;
}

/// Packets that came back to devices which nobody progresses just now. Only tries their locks: nobody waits.
void Device::collect_packets() {
  if (parts_.packets.pool().free_for(index_) != 0) return;
  for (uint32_t i = 0; i < parts_.devices.size(); ++i) {
    Device& other = *parts_.devices[i];
    if (i == index_ || other.lane() || !parts_.packets.pool().share(index_, i)) continue;
    if (parts_.memory().header().device[i].returned_packets.empty()) continue;
    const TryLockGuard guard(other.lock);
    if (!guard || other.lane()) continue;
    const Progressing mark(other);  // of those who are told that their packets have left
    other.take_returned_packets(index_);
    other.ring_doorbells();
  }
}

ReturnedPackets::Answer Device::take_returned_packet(uint32_t handle) {
  if (!parts_.packets.pool().owns(handle)) return ReturnedPackets::Answer::kNoPacket;
  PacketState& state = parts_.packets.state(handle);
  if (state.device != index_ + 1) return ReturnedPackets::Answer::kNotOut;
  state.device = 0;
  if (state.announced) {
    OutKey& key = *state.announced;
    state.announced = nullptr;
    --key.announced;
    Link& link = *links_.find(state.rank);
    if (key.refused && !link.failed) tell_writable(link, key);
  }
  if (state.departure != 0) departures_.packet_returned(std::exchange(state.departure, 0));
  (state.bytes > parts_.attributes.packet_return_threshold ? large_ : scratch_).push_back(handle);
  return ReturnedPackets::Answer::kTaken;
}

/// What a peer did not give back, once it reads no more: a rank that is treated as failed may well live and read, and
/// whoever got its packet would get wrong bytes. True: there was something.
bool Device::reclaim_packets(Link& link) {
  if (link.reclaimed || !parts_.peers.has_ended(link.rank)) return false;
  link.reclaimed = true;
  take_returned_packets(index_);
  if (counters.get(Metric::packets_out) == 0) return false;
  const uint32_t unit = parts_.packets.pool().packet_size() / kPacketUnit;
  const uint64_t handles = parts_.memory().reserve() / kPacketUnit;
  scratch_.clear();
  for (uint64_t slot = 0; slot < handles / unit; ++slot) {
    PacketState& packet = parts_.packets.state(static_cast<uint32_t>(slot * unit));
    if (packet.device != index_ + 1 || packet.rank != link.rank) continue;
    packet.device = 0;
    packet.announced = nullptr;
    packet.departure = 0;
    for (uint32_t i = 0; i < unit; ++i) {  // the handle within this slot of the table
      const auto handle = static_cast<uint32_t>(slot * unit + i);
      if (parts_.packets.pool().owns(handle)) scratch_.push_back(handle);
    }
  }
  counters.set(Metric::packets_out, counters.get(Metric::packets_out) - scratch_.size());
  parts_.packets.pool().put_many(index_, scratch_.data(), static_cast<uint32_t>(scratch_.size()));
  parts_.packets.wake_waiters();
  return true;
}

void Device::wait_for_packets() {
  packets_wanted_ = true;
  parts_.packets.wait(index_);
}

/// Somebody said so, or the pool has packets that came before our wish was known.
bool Device::packets_may_be_there() const {
  if (!packets_wanted_) return false;
  return packets_came_.load(std::memory_order_acquire) || parts_.packets.pool().free_for(index_) != 0;
}

void Device::hand_back(Link& link, const uint32_t* handles, size_t count) {
  PeerMemory& home = *link.peer;
  home.header().device[index_].returned_packets.give(handles, count, [&](uint32_t handle) -> PacketHeader& {
    return *reinterpret_cast<PacketHeader*>(home.at(uint64_t{handle} * kPacketUnit));
  });
}

void Device::give_packets_back(Link& link) {
  if (link.packets_back.empty()) return;
  hand_back(link, link.packets_back.data(), link.packets_back.size());
  link.packets_back.clear();
  links_.touch(link);
}

void Device::return_packet_now(Link& link, uint32_t handle) {
  if (parts_.peers.has_left()) return;  // its owner has reclaimed it
  hand_back(link, &handle, 1);
  link.peer->summary(index_)[parts_.rank].store(1, std::memory_order_release);
  parts_.transport.publication_fence();
  parts_.transport.wake(*link.peer, index_);
}

}  // namespace lci
