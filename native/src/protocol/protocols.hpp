// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "protocol/arrivals.hpp"
#include "protocol/eager.hpp"
#include "protocol/fences.hpp"

namespace lci {

/// The protocols of a device. Each knows some of those above it, and none of those below.
class Protocols {
 public:
  /// @param device that lanes and inboxes know them by. @param bell rings it
  Protocols(const DeviceParts& parts, Device& device, uint32_t index, DeviceBell& bell);

  ProtocolHost host;
  Handed handed;
  Links links;
  WantedPackets wanted;
  Backlog backlog;
  WaitingOps waiting;
  LongWorks works;
  Departures departures;
  Barriers barriers;  ///< Of device 0.
  Spending spending;
  Admission admission;
  PacketsOut packets;
  Replies replies;
  Grants grants;
  Delivery delivery;
  OwnRegions regions;
  Signals signals;
  OutgoingStreams outgoing;
  IncomingStreams incoming;
  Collectives collectives;
  Receives receives;
  Announcements announcements;
  PutGet put_get;
  PutGetServer put_get_server;
  Atomics atomics;
  Eager eager;
  Arrivals arrivals;
  Fences fences;

  /// Sends what waits for room in the rings to a peer. True if anything moved.
  bool flush_control(Link& link);
  bool stream(Link& link);
  /// Takes what other threads have left; what finds no memory comes again. @p enter takes the first operation of a list
  /// into the backlog.
  template <typename Enter>
  bool take_handed(Enter enter);

  /// Operations of graphs wait for room, or for their ends.
  bool any_waiting() const { return !waiting.empty() || waiting.some_given_up() || receives.has_cancels(); }
  /// Nothing waits to leave this rank.
  bool drained() const;
  /// Chaos holds messages back.
  bool delayed() const;
  /// Ends everything that is bound to the peer of a link, and nothing else. False: there is no memory, and the rest is
  /// done when it is asked again. [area L, X4]
  bool peer_gone(Link& link, RankState state);
  /// It has done all that.
  static bool has_ended(const Link& link) { return link.ended_steps == kEndSteps.size(); }
  /// Ends everything.
  void cancel_all(int code);
  /// A lane goes, and with it the buffers of its operations. Barriers still take part.
  void lane_gone(const LaneView& lane);

 private:
  using EndStep = void (*)(Protocols& of, Link& link, RankState state);
  static const std::array<EndStep, 12> kEndSteps;
  void end_receives(uint32_t rank, RankState state);
  void cancel_handed(int code);
  bool take_declined(DeclinedRequests* first);
};

template <typename Enter>
bool Protocols::take_handed(Enter enter) {
  if (handed.empty()) return false;
  Handed::Lists lists = handed.take();
  std::unique_ptr<ReceiveContext> matched;
  bool all = unless_no_memory([&] {
    while ((matched = lists.rendezvous.take_first())) incoming.add(std::move(matched));
    while (!lists.posts.empty()) enter(lists.posts);
  });
  if (matched) lists.rendezvous.put_first(std::move(matched));
  all &= take_declined(lists.first_declined);
  for (WaitingOp* op = lists.first_waiting; op;) {
    WaitingOp* const next = op->next_waiting;
    waiting.join(*op);
    op = next;
  }
  for (WaitingOp* op = lists.first_cancel; op;) {
    WaitingOp* const next = op->next_cancel;
    receives.cancel_later(*op);
    op = next;
  }
  for (LongWork* work = lists.first_work; work;) {
    LongWork* const next = work->next_work;
    works.join(*work);
    work = next;
  }
  if (!all) {
    handed.give_back(lists);
    host.call_again();
  }
  return true;
}

}  // namespace lci
