// SPDX-License-Identifier: Apache-2.0
// Messages in the rings of a peer: taken in order, checked, and handed to the protocol that it belongs to. [area H]
#pragma once

#include <cstdint>

#include "protocol/announcements.hpp"
#include "protocol/atomics.hpp"
#include "protocol/barriers.hpp"
#include "protocol/collectives.hpp"
#include "protocol/put_get_server.hpp"

namespace lci {

/// Bounds of one pass over a device, or of one enter of a lane over all its devices, in the rings.
struct Budget {
  uint32_t messages = 64;
  uint32_t bytes = 64 * 1024;
};

/// Where messages of calls go that several ranks take part in.
struct CallArrivals {
  Barriers& barriers;
  Collectives& collectives;
};

/// Where messages about remote memory go.
struct RemoteArrivals {
  PutGetServer& put_get;
  Atomics& atomics;
};

class Arrivals final : public Protocol {
 public:
  Arrivals(ProtocolHost& host, Links& links, const CallArrivals& calls, Spending& spending, PacketsOut& packets,
           Replies& replies, Grants& grants, Delivery& delivery, OutgoingStreams& outgoing, IncomingStreams& incoming,
           Receives& receives, Announcements& announcements, const RemoteArrivals& remote)
      : Protocol(host, links),
        calls_(calls),
        spending_(spending),
        packets_(packets),
        replies_(replies),
        grants_(grants),
        delivery_(delivery),
        outgoing_(outgoing),
        incoming_(incoming),
        receives_(receives),
        announcements_(announcements),
        remote_(remote) {}

  /// True: there were some.
  bool drain_control(Link& link) { return link.control_in.has_message() && read_control(link); }
  /// As far as @p budget goes, which is used up. True: there were some.
  bool drain_data(Link& link, Budget& budget) { return link.data_in.has_message() && read_data(link, budget); }

 private:
  bool read_control(Link& link);
  bool read_data(Link& link, Budget& budget);
  void handle_control(Link& link, const MessageHeader& header);
  void handle_return(Link& link, const MessageHeader& header);
  void handle_data(Link& link, const MessageHeader& header, uint32_t* payload_bytes, uint32_t* slots);
  void handle_packet(Link& link, const MessageHeader& header, uint32_t* payload_bytes);
  bool handle_message(Link& link, const MessageHeader& header, const Payload& payload);
  bool hand_on(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, uint64_t request);

  const CallArrivals calls_;
  Spending& spending_;
  PacketsOut& packets_;
  Replies& replies_;
  Grants& grants_;
  Delivery& delivery_;
  OutgoingStreams& outgoing_;
  IncomingStreams& incoming_;
  Receives& receives_;
  Announcements& announcements_;
  const RemoteArrivals remote_;
};

}  // namespace lci
