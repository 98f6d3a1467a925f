// SPDX-License-Identifier: Apache-2.0
// Requests that reserve room for their reply, and replies that need no credit. A request carries where its reply may
// go; what it reserved is used by the reply, or comes back when the request is discarded. [X10, 2B-55]
#pragma once

#include <cstdint>

#include "protocol/operations.hpp"
#include "protocol/spending.hpp"

namespace lci {

class Replies final : public Protocol {
 public:
  Replies(ProtocolHost& host, Links& links, Spending& spending) : Protocol(host, links), spending_(spending) {}

  /// What is wrong with an active message that asks for a reply or is one; LCI_DONE: nothing.
  static int check(const DeviceParts& parts, const lci_descriptor& op);
  /// Takes what a request or a reply needs; what is not sent gives it back by drop_rooms().
  int claim_rooms(const lci_descriptor& op, Outgoing* message);
  void drop_rooms(const lci_descriptor& op);

  /// The word of a request, 0 of other messages; false: it makes no sense.
  bool read_request(Link& link, const MessageHeader& header, uint64_t* word) const;
  /// The request was discarded: its sender waits in vain, but not for the room.
  void decline(Link& link, uint64_t word);
  /// The same of so many whose replies would have gone to a port. Without memory it throws, and has changed nothing.
  void decline(Link& link, uint16_t port, uint32_t count);
  void handle_declined(Link& link, const MessageHeader& header);

 private:
  Spending& spending_;
};

}  // namespace lci
