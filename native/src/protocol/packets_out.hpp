// SPDX-License-Identifier: Apache-2.0
// Packets that are out at peers, on their way back to the pool that they came from, and those of peers that go back to
// them. [B12, SS-24]
//
// A packet comes back to the device that posted it. One that carried more than packet_return_threshold bytes goes to
// the head of that device's deque: it is the last that its owner takes again, and the first that others steal. The
// others go to the tail of the deque of the device by whose pass they are taken back: that device itself, or another
// one of its pool that has run dry.
#pragma once

#include <cstdint>
#include <vector>

#include "protocol/departures.hpp"
#include "protocol/spending.hpp"
#include "protocol/wanted_packets.hpp"

namespace lci {

class PacketsOut final : public Protocol {
 public:
  PacketsOut(ProtocolHost& host, Links& links, WantedPackets& wanted, Departures& departures, Spending& spending)
      : Protocol(host, links), wanted_(wanted), departures_(departures), spending_(spending) {}

  // --- ours ---------------------------------------------------------------------------------------------------------
  /// A packet of the pool for @p size bytes, out to the peer of the link; 0: there is none.
  uint32_t take_packet(Link& link, uint32_t size);
  /// One that the caller has is out from now on.
  void send_packet(Link& link, uint32_t packet, uint32_t size);
  /// It carries an announcement of @p key, and comes back when the receiver has taken that.
  void announce(Link& link, uint32_t packet, OutKey& key);
  /// Announcements to ports have one of two colours, so that those of a time can be awaited while others are made.
  /// Whether all of the other colour are back, but those at ranks that are gone:
  bool others_are_back() const;
  /// what is announced from now on has that one then.
  void turn_colour() { colour_ ^= 1; }
  /// Undoes take_packet().
  void return_unused(uint32_t packet);
  /// Whether the receiver can read these bytes where they lie.
  bool peer_sees(const Link& link, const void* bytes, uint64_t size) const;
  /// In place of a payload: where in our memory it lies.
  void refer_to(uint32_t packet, const void* bytes);
  /// The packets that a departure awaits refer to nothing any more: what is read there from now on is something else.
  /// Looks at all packets.
  void revoke(uint64_t departure);
  /// Takes what has come back, by the pass of device @p taker, which is this one, or has its lock and its pool.
  bool take_returned_packets(uint32_t taker);
  bool any_returned() const { return !returned().empty(); }
  bool may_have_returned() const { return !returned().empty_for_parking(); }
  /// Takes what a peer did not give back, once it reads no more. True: there was something.
  bool reclaim_packets(Link& link);

  // --- of peers -----------------------------------------------------------------------------------------------------
  /// Gives back what was read of the peer in this pass: there is some.
  void give_packets_back(Link& link);
  /// Any thread: gives a packet back to its sender at once. The link may be another device's.
  void return_packet_now(Link& link, uint32_t handle);

 private:
  /// An engine knows at once what was announced to it; a port has it when the packet is back.
  static bool is_awaited(const OutKey& key) { return (key.target & kEngineTarget) == 0; }
  ReturnedPackets& returned() const { return parts_.memory().header().device[index_].returned_packets; }
  ReturnedPackets::Answer take_returned_packet(uint32_t handle);
  void make_room_for_all();
  static void hand_back(Link& link, const uint32_t* handles, size_t count);

  WantedPackets& wanted_;
  Departures& departures_;
  Spending& spending_;
  std::vector<uint32_t> scratch_;
  std::vector<uint32_t> large_;  // packets that carried much
  uint8_t colour_ = 0;
};

/// Bytes of one chunk of a long message. In place it need not fit a packet; it is what one pass of the receiver copies
/// by default. [V8]
uint32_t most_of_chunk(const Packets& packets, bool in_place);

}  // namespace lci
