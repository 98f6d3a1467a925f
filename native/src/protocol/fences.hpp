// SPDX-License-Identifier: Apache-2.0
// Fences: when everything that this rank had posted at a time has ended and left it, whatever it posts afterwards; and
// how far a peer has read.
//
// A fence costs nothing while there is none: each protocol notes what it holds when it is asked, and is asked later
// whether that is gone. What an operation becomes next is noted when it has become that: first what waits in the
// backlog goes, then what streams, then what waits for its packets to come back, then what chaos holds back. So each
// stage waits for a finite number of things, and a stream of new operations holds up none.
#pragma once

#include "protocol/atomics.hpp"
#include "protocol/waiting_ops.hpp"

namespace lci {

class Fences final : public Protocol {
 public:
  /// What operations are in while they are under way.
  struct Holders {
    Backlog& backlog;
    WaitingOps& waiting;
    Departures& departures;
    PacketsOut& packets;
    Signals& signals;
    OutgoingStreams& outgoing;
    IncomingStreams& incoming;
    Atomics& atomics;
  };

  Fences(ProtocolHost& host, Links& links, const Holders& holders) : Protocol(host, links), holders_(holders) {}

  /// A new fence: everything posted here so far is before it. Numbers begin at 1. Not inside a pass.
  uint64_t begin();
  uint64_t begun() const { return begun_; }
  /// Whether everything before @p fence has ended and left. Not inside a pass.
  bool passed(uint64_t fence);

  /// Where in the ring to @p rank all ends that was written to it. False: nothing was, or the rank is gone.
  bool sent(uint32_t rank, uint32_t* position) const;
  /// LCI_DONE: all that @p rank wrote before @p position was handled here. LCI_RETRY: not yet. Else why nothing more
  /// comes from it.
  int delivered(uint32_t rank, uint32_t position) const;

 private:
  enum class Stage : uint8_t { kNone, kBacklog, kStreams, kSignals, kAnnounced, kDelayed, kSending };

  bool step();
  bool holds_streams();
  bool holds_delayed() const;
  void mark_network();
  bool holds_in_network() const;

  const Holders holders_;
  uint64_t begun_ = 0;
  uint64_t covered_ = 0;  // by what was noted last
  uint64_t ended_ = 0;
  Stage stage_ = Stage::kNone;
};

}  // namespace lci
