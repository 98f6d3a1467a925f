// SPDX-License-Identifier: Apache-2.0
// Put and get as their initiator sees them: a copy where the memory is at hand, else messages. [C4-C7, 2B-18, 2B-48]
#pragma once

#include "protocol/handed.hpp"
#include "protocol/incoming_streams.hpp"
#include "protocol/outgoing_streams.hpp"

namespace lci {

class PutGet final : public Protocol {
 public:
  PutGet(ProtocolHost& host, Links& links, const Handed& handed, Backlog& backlog, Admission& admission,
         Signals& signals, OwnRegions& regions, OutgoingStreams& outgoing, IncomingStreams& incoming)
      : Protocol(host, links),
        handed_(handed),
        backlog_(backlog),
        admission_(admission),
        signals_(signals),
        regions_(regions),
        outgoing_(outgoing),
        incoming_(incoming) {}

  int post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  /// Whether they may be copies, and atomic operations instructions of this rank; see CopyRun.
  bool copies_at_hand() const {
    return parts_.attributes.rma == RmaMode::kAuto && parts_.share_memory && !handed_.closed();
  }

 private:
  int find_parts(const lci_descriptor& op, RemoteCopy* out) const;
  int find_remote(const lci_descriptor& op, const void* inline_payload, RemoteCopy* out) const;
  int copy_now(const lci_descriptor& op, const RemoteCopy& copy);
  int copy_by_messages(const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target);
  std::unique_ptr<SendContext> make_put(Link& link, const lci_descriptor& op, const RemoteCopy& copy,
                                        const OpTarget& target, const SignalRight& signal) const;
  static std::unique_ptr<ReceiveContext> make_get(Link& link, const lci_descriptor& op, const RemoteCopy& copy,
                                                  const OpTarget& target, const SignalRight& signal);

  const Handed& handed_;
  Backlog& backlog_;
  Admission& admission_;
  Signals& signals_;
  OwnRegions& regions_;
  OutgoingStreams& outgoing_;
  IncomingStreams& incoming_;
};

}  // namespace lci
