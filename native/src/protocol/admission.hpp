// SPDX-License-Identifier: Apache-2.0
// Whether a key may send now: what was refused in this batch, its port, its place in the backlog. A refusal is
// remembered here, so that who was refused can be told when there is room. [V1-V3]
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "protocol/spending.hpp"
#include "protocol/wanted_packets.hpp"

namespace lci {

class Admission final : public Protocol {
 public:
  Admission(ProtocolHost& host, Links& links, const Backlog& backlog, Spending& spending, WantedPackets& wanted)
      : Protocol(host, links), backlog_(backlog), spending_(spending), wanted_(wanted) {}

  /// Refusals in a batch make later operations of the same key answer retry_order.
  void begin_batch() {
    ++batch_;
    batch_refusal_ = 0;
  }
  /// Whether a message of this key may be attempted now.
  int admit(Link& link, OutKey& key, const lci_descriptor& op);
  /// The same for what has no key: a put or get without signal.
  int admit_keyless(Link& link);
  /// Whether nothing of this batch stands in the way of a message of this key.
  bool is_free(const Link& link, const OutKey& key) const {
    return batch_refusal_ == 0 && link.full_batch != batch_ && key.refused_batch != batch_ && key.held_back == 0;
  }
  /// Remembers a refusal, and answers its code. @p key may be null.
  int refuse(Link* link, OutKey* key, int code);
  /// Whether a key that ran dry waits for credit before it announces.
  bool awaits_credit(Link& link, OutKey& key);

  /// Tells those that chaos alone had refused, at the start of a pass.
  void heal_chaos();
  /// Senders that waited for credit long enough may announce, at the end of a pass.
  void progress() {
    if (!dry_keys_.empty()) end_patience();
  }

 private:
  int refused_earlier(Link& link, const OutKey& key, bool reply);
  void end_patience();

  const Backlog& backlog_;
  Spending& spending_;
  WantedPackets& wanted_;
  uint64_t batch_ = 1;
  int batch_refusal_ = 0;
  std::vector<std::pair<Link*, OutKey*>> dry_keys_;
  std::vector<std::pair<Link*, OutKey*>> chaos_refused_;  // told nocredit without cause; healed by the next pass
};

}  // namespace lci
