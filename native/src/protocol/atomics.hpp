// SPDX-License-Identifier: Apache-2.0
// Atomic operations on words of regions, at their initiator and at the owner of the region: an instruction of the
// initiator where the memory is at hand, else of the owner, which a message asks for it. Each is done once: its owner
// has room for the answer before it changes the word, and an answer waits until it can leave.
#pragma once

#include "protocol/put_get.hpp"
#include "wire/remote_access.hpp"

namespace lci {

class Atomics final : public Protocol {
 public:
  Atomics(ProtocolHost& host, Links& links, Backlog& backlog, Admission& admission, OwnRegions& regions,
          const PutGet& put_get)
      : Protocol(host, links), backlog_(backlog), admission_(admission), regions_(regions), put_get_(put_get) {}

  /// @param done the status, when the answer is done
  int post(const lci_descriptor& op, const OpTarget& target, lci_status* done);
  /// The owner has changed the word, or says why not.
  void handle_answer(Link& link, const MessageHeader& header);

  /// A peer asks for an operation on a word of this rank.
  void serve(Link& link, const MessageHeader& header, const AtomicAccess& access);
  /// Answers peers when there is room. True: some were answered.
  bool flush_answers(Link& link);

  /// Notes which of this rank are under way, and whether one of those is left.
  void mark() { asked_.mark(any); }
  bool holds_marked() { return asked_.holds_marked(any); }

  void peer_gone(Link& link, int code);
  void cancel_all(int code);
  /// A lane goes. @p forget ends a target without a signal. The owner still answers.
  template <typename Forget>
  void lane_gone(const LaneView& lane, Forget forget) {
    asked_.for_each([&](uint64_t, Asked& asked) {
      if (asked.target.lane == &lane) forget(asked.target);
    });
  }

 private:
  /// One that a message asks for.
  struct Asked {
    OpTarget target;
    Link* link;
  };
  static bool any(const Asked&) { return true; }
  int apply(const lci_descriptor& op, const RemotePart& word, const OpTarget& target, lci_status* done);
  int ask(const lci_descriptor& op, const RemotePart& word, const OpTarget& target);
  void finish(uint64_t id, int code, uint64_t before);

  Backlog& backlog_;
  Admission& admission_;
  OwnRegions& regions_;
  const PutGet& put_get_;
  SlotTable<Asked> asked_;
};

}  // namespace lci
