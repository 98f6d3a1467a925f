// SPDX-License-Identifier: Apache-2.0
// Messages that wait at their senders: announced without credit, or too large to be sent unasked. Each is admitted when
// its port has room for it, or its engine remembers it. [X2, X3, X8]
#pragma once

#include "protocol/receives.hpp"

namespace lci {

class Announcements final : public Protocol {
 public:
  Announcements(ProtocolHost& host, Links& links, Grants& grants, Replies& replies, Delivery& delivery,
                IncomingStreams& streams, Receives& receives)
      : Protocol(host, links),
        grants_(grants),
        replies_(replies),
        delivery_(delivery),
        streams_(streams),
        receives_(receives) {}

  void handle(Link& link, const MessageHeader& header);
  /// Looks at the keys of which something has changed. True: there were some.
  bool progress() { return !grants_.work().empty() && look_at_work(); }
  /// Drops what needs its sender, and gives its credit back. What has arrived in packets waits on.
  void peer_gone(Link& link);

 private:
  bool look_at_work();
  uint32_t most_unanswered(const InKey& key) const;
  bool may_announce(InKey& key, bool claims_credit) const;
  void look_at(InKey& key);
  void admit(InKey& key);
  void admit_to_port(InKey& key);
  Capacity::Coming coming(const InKey& key, const Announcement& announcement) const;
  bool take_room(InKey& key, const Announcement& announcement, Credit* taken);
  bool admit_first(InKey& key, const Credit& taken);
  bool deliver(InKey& key, const Announcement& announcement, uint32_t charge, uint64_t charge_bytes);
  void give_room_back(InKey& key, const Credit& taken);
  void admit_to_engine(InKey& key);
  bool refuse_mismatch(InKey& key);
  void refuse_all(InKey& key);
  void end_first(InKey& key);
  void count_left_behind(InKey& key);

  Grants& grants_;
  Replies& replies_;
  Delivery& delivery_;
  IncomingStreams& streams_;
  Receives& receives_;
};

}  // namespace lci
