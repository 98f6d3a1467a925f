// SPDX-License-Identifier: Apache-2.0
// Puts and gets of peers through messages: what this rank does for them. Every chunk of a put says where it goes and is
// checked by itself, so that a put needs no memory at its target; a get is a rendezvous whose receiver asked first, and
// whose chunks are checked as they are read.
#pragma once

#include "protocol/outgoing_streams.hpp"

namespace lci {

class PutGetServer final : public Protocol {
 public:
  PutGetServer(ProtocolHost& host, Links& links, OwnRegions& regions, OutgoingStreams& streams)
      : Protocol(host, links), regions_(regions), streams_(streams) {}

  void handle_put(Link& link, const MessageHeader& header, const RemoteAccess& access);
  void handle_get(Link& link, const MessageHeader& header, const RemoteAccess& access);
  /// Tells peers of their puts when there is room. True: some were told.
  bool flush_acks(Link& link);

 private:
  void acknowledge(Link& link, const MessageHeader& header, const PutAck& ack);

  OwnRegions& regions_;
  OutgoingStreams& streams_;
};

}  // namespace lci
