// SPDX-License-Identifier: Apache-2.0
// Send-receive: matching of sends that arrive with receives that are posted. [area C, 1.B matching]
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/free_list.hpp"
#include "protocol/incoming_streams.hpp"
#include "protocol/packets_out.hpp"
#include "protocol/pending_receives.hpp"
#include "protocol/waiting_ops.hpp"

namespace lci {

class Receives final : public Protocol {
 public:
  Receives(ProtocolHost& host, Links& links, Grants& grants, PacketsOut& packets, IncomingStreams& streams)
      : Protocol(host, links), grants_(grants), packets_(packets), streams_(streams) {}

  // --- posting ------------------------------------------------------------------------------------------------------
  /// @param done filled in, if given, when the answer is done
  int post(const lci_descriptor& op, const OpTarget& target, lci_status* done);
  int cancel(const lci_descriptor& op, const OpTarget& target);
  /// That of a graph: the next carry_out_cancels() does it.
  void cancel_later(WaitingOp& op) { op.next_cancel = std::exchange(cancels_, &op); }
  bool has_cancels() const { return cancels_ != nullptr; }
  /// True: there were some.
  bool carry_out_cancels();
  /// The key under which an operation of this rank is matched; true if it is a user's.
  bool match_key(const lci_descriptor& op, uint32_t rank, uint32_t policy, uint64_t* key);

  // --- arrivals -----------------------------------------------------------------------------------------------------
  void handle_send(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, bool credited);
  /// The key of a send that has just arrived.
  static uint64_t match_of(Link& link, const MessageHeader& header);
  /// A send that waits at its sender: without credit, or too large. It may be matched by a receive on any device; if
  /// none is there, @p out stays empty. False: the engine was closed just now, or its keys are none. What finds no
  /// memory throws, and has changed nothing.
  bool match_announcement(InKey& key, const Announcement& announcement, MatchedAnnouncement* out);
  void receive_announced(MatchedAnnouncement matched);

  // --- ends ---------------------------------------------------------------------------------------------------------
  /// Drops the announced sends of a rank that is gone: the payload went with it.
  void drop_unmatched_rendezvous(uint32_t rank);
  /// Ends the receives that wait for @p rank, on whatever device they were posted. Those of an engine for which
  /// announced sends still wait are ended when these are there.
  void fail_receives(uint32_t rank, int code);
  /// What the gone had announced to @p late before it was created has come to it.
  void fail_receives_at(const Engine& late);
  /// Empties all engines.
  void cancel_all(int code);
  /// Receives end without their cancels: those of a lane that goes, or, with null, all.
  void drop_cancels(const LaneView* lane);
  /// A lane goes. @p forget ends a target without a signal.
  template <typename Forget>
  void lane_gone(const LaneView& lane, Forget forget) {
    parts_.targets.for_each_engine([&](Engine& engine) {
      engine.extract([&](uint64_t, void* value, Side side) {
        auto* receive = static_cast<PostedReceive*>(value);
        if (side != Side::kReceive || receive->target.lane != &lane) return false;
        parts_.shared.add(Metric::receives_pending, -1);
        forget(receive->target);
        end(*receive);
        return true;
      });
    });
  }

  /// Any thread: drops the stored sends that the engine's floors refuse.
  void drop_refused(uint32_t engine);
  /// Any thread: waits while this device inserts into an engine that was closed. A few instructions.
  void wait_until_not_holding(const Matcher* matcher) const;
  /// Receives that cancels have looked at; for tests.
  uint64_t looked_at() const { return pending_.looked_at(); }

 private:
  class Holding;
  static constexpr size_t kSpareEntries = 1024;  // of a matching engine, kept for the next ones

  bool match_or_store(Engine& engine, uint64_t match, Side side, const ValueMaker& make, void** found,
                      std::optional<bool> keyed = {});
  int match_unexpected(PostedReceive& receive, std::unique_ptr<UnexpectedSend> send, lci_status* done);
  int finish_unexpected(PostedReceive& receive, UnexpectedSend& send, lci_status* done);
  void take_memory(ReceiveContext& context);
  void drop(std::unique_ptr<UnexpectedSend> send, bool by_owner);
  bool withdraw(uint16_t engine, uint64_t context, const OpTarget& target);
  int finish(const PostedReceive& receive, uint32_t rank, uint64_t tag, const Payload& payload, lci_status* done);
  void end(PostedReceive& receive);
  void end_all(TakenReceives& receives, int code);

  Grants& grants_;
  PacketsOut& packets_;
  IncomingStreams& streams_;
  PendingReceives pending_;
  WaitingOp* cancels_ = nullptr;  // to be carried out
  FreeList<UnexpectedSend> spare_sends_{kSpareEntries};
  std::atomic<const Matcher*> holding_{nullptr};  // of the engine that is being inserted into; see Engine
};

}  // namespace lci
