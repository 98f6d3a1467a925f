// SPDX-License-Identifier: Apache-2.0
// The receiver's half of flow control: what ports and engines of this rank promise to senders. [area X]
//
// A message is charged from its arrival until its user takes or releases it; then the charge goes round again to the
// same sender, until the lease is to shrink. That of an announced message goes back to its port: the reserve never
// becomes a lease. The sizes: a first announcement earns `initial_lease`, each further one
// (the sender was out of credit) doubles the lease up to the fair share of the lease holders.
#pragma once

#include <cstdint>

#include "flow/work_list.hpp"
#include "protocol/protocol.hpp"

namespace lci {

class Grants final : public Protocol {
 public:
  Grants(ProtocolHost& host, Links& links, DeviceBell& bell) : Protocol(host, links), work_(bell) {}

  /// The key of a sender, renewed if its target was opened again; null: no honest peer sends this number.
  InKey* in_key(Link& link, uint16_t target);
  void renew(InKey& key);
  /// False: more than was granted.
  static bool spend_lease(InKey& key, const MessageHeader& header, uint32_t bytes);
  void grow_lease(InKey& key);
  /// Credit that the user has given back goes to the sender again, but for the part that makes the lease too large.
  void process_returned(InKey& key);
  static void set_thresholds(InKey& key);
  /// Others need credit: the sender gives back what it has not spent, and is granted its fair share at most.
  void recall_from(InKey& key);
  /// The lease of a sender that is gone, and @p back of it.
  static void end_lease(InKey& key, Credit back);
  void handle_return(Link& link, InKey& key, const MessageHeader& header);

  /// Any thread: a key's user took or released something. @p by_owner: the caller owns the key's device.
  void release(InKey& key, uint32_t generation, uint32_t messages, uint64_t bytes, bool by_owner);
  /// The owner of the key's device: takes what was released since the last call.
  static Credit take_returned(InKey& key);

  void refuse_sender(InKey& key, int code);
  /// Names the opening that ended, which may not be the last one that this key has seen.
  void refuse_closed(InKey& key);
  void tell_refusal(InKey& key, int code, uint32_t generation);
  /// Sends grants, recalls and refusals. False: there is no room for all.
  bool flush(Link& link, bool* moved);

  /// Keys to look at: a stack of any thread's, taken whole by the owner.
  WorkList& work() { return work_; }
  const WorkList& work() const { return work_; }

 private:
  static Credit surplus(const InKey& key);
  void queue_control(InKey& key);

  alignas(64) WorkList work_;
};

}  // namespace lci
