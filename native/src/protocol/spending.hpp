// SPDX-License-Identifier: Apache-2.0
// The sender's half of flow control: what this device may still send to each port and engine of its peers, and who was
// refused and waits for more. [X2-X4]
#pragma once

#include <cstdint>

#include "protocol/backlog.hpp"
#include "protocol/protocol.hpp"

namespace lci {

/// Announced sends that a rank remembers of each other rank: both sides know it without a message.
uint32_t engine_announcements(const DeviceParts& parts);

class Spending final : public Protocol {
 public:
  /// A peer says of a port or engine that nothing more may be sent there.
  struct Refusal {
    uint16_t target;
    uint32_t generation;
    int code;
    bool news;  ///< It was not known.
  };

  Spending(ProtocolHost& host, Links& links, const Backlog& backlog) : Protocol(host, links), backlog_(backlog) {}

  OutKey& out_key(Link& link, uint16_t target);
  /// The hash of the name that this rank believes a port or engine of others to have; 0 matches any.
  uint32_t sender_hash(uint16_t target);

  void handle_grant(Link& link, const MessageHeader& header);
  void handle_recall(Link& link, const MessageHeader& header);
  /// False: it makes no sense.
  bool take_refusal(Link& link, const MessageHeader& header, Refusal* out);

  /// Tells the lane that there is room for a flow that was refused.
  void tell_writable(Link& link, OutKey& key);
  /// Tells every flow that was refused, unless the backlog goes first.
  void tell_refused();
  /// The same of one link.
  void tell_refused(Link& link);
  /// Those that could not be told for want of memory.
  void progress() {
    if (untold_) tell_refused();
  }

  /// Unused credit, and room for replies, go back when there is room for that.
  void queue_return(Link& link, OutKey& key);
  /// False: there is no room for all.
  bool flush_returns(Link& link, bool* moved);
  static void peer_gone(Link& link);

 private:
  void give_credit_back(Link& link, OutKey& key);

  const Backlog& backlog_;
  bool untold_ = false;
};

}  // namespace lci
