// SPDX-License-Identifier: Apache-2.0
// The signal of a put or get: a message without payload, under the credit of its port. The right to send it is taken
// when the operation is accepted, and used when the data is in place: nothing is written for a signal that is refused.
#pragma once

#include "protocol/admission.hpp"
#include "protocol/packets_out.hpp"

namespace lci {

class Signals final : public Protocol {
 public:
  Signals(ProtocolHost& host, Links& links, Spending& spending, Admission& admission, WantedPackets& wanted,
          PacketsOut& packets)
      : Protocol(host, links), spending_(spending), admission_(admission), wanted_(wanted), packets_(packets) {}

  /// @param now the signal follows at once: then everything that it needs is taken here, and emit() succeeds.
  int take_right(Link& link, const lci_descriptor& op, bool now, SignalRight* out);
  /// The signal will not be sent.
  void give_up(Link& link, const SignalRight& right);
  /// False: no room now. @p right may change: that to a port that was opened again since is void, and is taken anew,
  /// for what is behind it now may need credit, or none. An announcement is of no opening.
  bool emit(Link& link, SignalRight& right);
  /// Sends signals whose data is in place; one that has to wait does not hold up another. True: some have left.
  bool flush(Link& link);
  /// Notes which wait for room, and whether one of those does still.
  void mark();
  bool holds_marked() const;
  /// A put or get through messages has ended with @p code; returns the code that its user gets.
  int operation_ended(Link& link, const SignalRight& signal, int code);

 private:
  static bool claim(OutKey& key, SignalRight* right);

  Spending& spending_;
  Admission& admission_;
  WantedPackets& wanted_;
  PacketsOut& packets_;
};

}  // namespace lci
