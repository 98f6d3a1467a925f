// SPDX-License-Identifier: Apache-2.0
// Completion semantic "network": signalled when the receiver's side has taken the message, that is, when every packet
// that carried it is back. [C9, SS-10]
#pragma once

#include <cstdint>

#include "protocol/protocol.hpp"

namespace lci {

/// Operations of a device that wait for their packets to come back. The owner of the device calls.
class Departures final : public Protocol {
 public:
  using Protocol::Protocol;

  /// The operation ends when @p packet, which carries it all, is back.
  void await_return(Link& link, uint32_t packet, const OpTarget& target, uint64_t tag, uint32_t size);
  /// A rendezvous may have packets that are awaited. Needs memory once.
  void open(SendContext& context);
  /// One of the packets of a rendezvous.
  void await_chunk(SendContext& context, uint32_t packet);
  /// A rendezvous ends; true: its signal waits for its packets, of which some are not back.
  bool take_over(const SendContext& context, int code);
  void drop(uint64_t id) { departures_.remove(id); }
  /// One whose packets are awaited, by its target. 0: there is none. Looks at all.
  uint64_t find(const OpTarget& target);
  /// Ends one without a signal.
  void give_up(uint64_t id) { departures_.remove(id)->target.release(); }
  /// A packet that the operation @p id awaits is back.
  void packet_returned(uint64_t id);
  /// @param link null for all
  void end(const Link* link, int code);
  bool drained() const { return departures_.live() == 0; }
  /// Notes which there are, and whether one of those is left.
  void mark() { departures_.mark(any); }
  bool holds_marked() { return departures_.holds_marked(any); }
  template <typename F>
  void for_each_target(F visit) {
    departures_.for_each([&](uint64_t, Departure& departure) { visit(departure.target); });
  }

 private:
  static bool any(const Departure&) { return true; }

  SlotTable<Departure> departures_;
};

}  // namespace lci
