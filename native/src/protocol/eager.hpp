// SPDX-License-Identifier: Apache-2.0
// Active messages and sends of at most a packet: inline, by packet, or announced. What is longer is a stream.
#pragma once

#include "protocol/outgoing_streams.hpp"
#include "protocol/receives.hpp"
#include "protocol/replies.hpp"

namespace lci {

class Eager final : public Protocol {
 public:
  Eager(ProtocolHost& host, Links& links, Backlog& backlog, Departures& departures, Spending& spending,
        Admission& admission, PacketsOut& packets, Replies& replies, OutgoingStreams& streams, Receives& receives)
      : Protocol(host, links),
        backlog_(backlog),
        departures_(departures),
        spending_(spending),
        admission_(admission),
        packets_(packets),
        replies_(replies),
        streams_(streams),
        receives_(receives) {}

  int post(Link& link, const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  /// Sends an inline payload without flags if nothing stands in its way; false: take post(), nothing was done.
  bool post_short(const lci_descriptor& op);

 private:
  bool write_short(const lci_descriptor& op, uint16_t target, uint8_t flags);
  void describe_payload(const Link& link, const lci_descriptor& op, std::byte* gathered, Outgoing* message);
  int send(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message, const OpTarget& target);
  int send_with_credit(Link& link, OutKey& key, MessageKind inline_kind, const Outgoing& message);
  int announce(Link& link, OutKey& key, const Outgoing& message);
  uint32_t fill_packet(Link& link, const Outgoing& message, bool in_place);

  Backlog& backlog_;
  Departures& departures_;
  Spending& spending_;
  Admission& admission_;
  PacketsOut& packets_;
  Replies& replies_;
  OutgoingStreams& streams_;
  Receives& receives_;
};

}  // namespace lci
