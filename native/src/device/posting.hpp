// SPDX-License-Identifier: Apache-2.0
// How operations get into a device: from a descriptor to its answer. A part of Device, which says who may call.
#pragma once

#include "protocol/protocols.hpp"

namespace lci {

class Posting {
 public:
  const DeviceParts& parts() const { return protocols_.host.parts; }
  uint32_t index() const { return protocols_.host.index; }
  Counters& counters() { return protocols_.host.counters; }
  const Counters& counters() const { return protocols_.host.counters; }
  /// Owner, if a lane has it. Any thread.
  LaneView* lane() const { return protocols_.host.lane(); }

  /// Begins a batch: refusals in it make later descriptors of the same key answer retry_order.
  void begin_batch() {
    protocols_.admission.begin_batch();
    protocols_.collectives.begin_batch();
  }
  /// Posts an operation of a graph, which waits if there is no room: never answers retry. Fills @p done unless the
  /// answer is posted.
  int post_or_wait(WaitingOp& op, lci_status* done);
  /// Any thread that may not wait for the device: the same, when its owner passes. Posted, or an error.
  int leave(WaitingOp& op);
  /// Any thread: work of a graph that its passes do. Posted, or an error.
  int leave(LongWork& work);
  /// Any thread: the cancel of a receive that a graph has posted. False: all that is posted ends here anyhow.
  bool leave_cancel(WaitingOp& op) { return protocols_.handed.add_cancel(op); }
  /// Any thread: some operations that wait were given up.
  void give_up_some() { protocols_.waiting.give_up_some(); }
  /// Any thread that may not wait for the device: the operation starts when its owner passes.
  int hand_over(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  /// Whether puts and gets may be copies; see CopyRun.
  bool copies_at_hand() const { return protocols_.put_get.copies_at_hand(); }
  CopyWords copy_words() { return protocols_.regions.copy_words(); }
  /// Sends an inline payload without flags if nothing stands in its way; false: take post(), nothing was done.
  bool post_short(const lci_descriptor& op) { return protocols_.eager.post_short(op); }
  /// Attempts one descriptor whose target is checked; fills @p done when the answer is done.
  int post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);

 protected:
  Posting(const DeviceParts& parts, Device& device, uint32_t index, DeviceBell& bell)
      : protocols_(parts, device, index, bell) {}
  ~Posting() = default;

  /// What other threads left goes into the backlog. True: there was something.
  bool take_handed();

  Protocols protocols_;

 private:
  int post_one(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  int attempt(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  int start(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  int post_message(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  int post_receive(const lci_descriptor& op, const OpTarget& target, lci_status* done);
  int post_barrier(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  int post_collective(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  bool hold_place(const OpTarget& target);
  int no_place(const lci_descriptor& op, const OpTarget& target);
  void count_answer(const lci_descriptor& op, int code);
  int check_handed(const lci_descriptor& op, const OpTarget& target) const;
  bool may_be_posted(const lci_descriptor& op) const;
  int refuse_closed() const;
};

}  // namespace lci
