// SPDX-License-Identifier: Apache-2.0
// Bytes that leave in chunks: messages above the eager limit, announced and answered when the receiver has a place;
// puts through messages; what peers get from this rank. [G4 in the form of DESIGN decision 4; X8]
#pragma once

#include <memory>

#include "protocol/admission.hpp"
#include "protocol/operations.hpp"
#include "protocol/own_regions.hpp"
#include "protocol/packets_out.hpp"
#include "protocol/signals.hpp"

namespace lci {

class OutgoingStreams final : public Protocol {
 public:
  OutgoingStreams(ProtocolHost& host, Links& links, WantedPackets& wanted, Departures& departures, Spending& spending,
                  Admission& admission, PacketsOut& packets, Signals& signals, OwnRegions& regions)
      : Protocol(host, links),
        wanted_(wanted),
        departures_(departures),
        spending_(spending),
        admission_(admission),
        packets_(packets),
        signals_(signals),
        regions_(regions) {}

  int post_rendezvous(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message,
                      const OpTarget& target);
  /// Announces a short message where the receiver does not read what it has not been sent: the packet is the source of
  /// a rendezvous. What this key sends next stays behind it.
  int announce_by_rendezvous(Link& link, OutKey& key, const Outgoing& message);
  /// A put: its first chunks leave at once.
  void start_put(std::unique_ptr<SendContext> put);
  /// Streams a region of this rank to a peer that gets it.
  void serve_get(std::unique_ptr<SendContext> served);
  /// Streams memory to a receiver that has said where to. It reads about SendContext::in_place bytes where they lie, if
  /// it can. @return its id, for give_up()
  uint64_t start(std::unique_ptr<SendContext> ready);
  /// Ends one that start() began and that has not signalled, without a signal: what the receiver reads of it from now
  /// on counts as not sent. @param target that it was started with
  void give_up(uint64_t id, const OpTarget& target);

  void handle_ready(Link& link, const MessageHeader& header);
  void handle_refusal(Link& link, const MessageHeader& header);
  /// The target of a put says that bytes have arrived, or why not.
  void handle_put_ack(Link& link, const MessageHeader& header);

  /// Goes on with all streams to a peer. True if anything moved.
  bool progress(Link& link);
  /// The receiver holds a place for what will not come.
  void withdraw(Link& link, uint64_t receiver, int code = 0);
  /// False: there is no room for all.
  bool flush_withdrawals(Link& link, bool* moved);

  size_t live() const { return contexts_.live() - abandoned_; }
  bool drained() const { return live() == 0; }
  /// Notes which there are of this rank's own, and whether one of those is left.
  void mark() { contexts_.mark(is_own); }
  bool holds_marked() { return contexts_.holds_marked(is_own); }
  void peer_gone(Link& link, int code);
  void cancel_all(int code);
  /// A lane goes. @p forget ends a target without a signal.
  template <typename Forget>
  void lane_gone(const LaneView& lane, Forget forget) {
    contexts_.for_each([&](uint64_t, SendContext& context) {
      if (context.target.lane != &lane) return;
      forget(context.target);
      abandon(context);
    });
    counters_.set(Metric::sends_pending, live());
  }

 private:
  /// Not what peers get, nor what no one waits for. A short send has left when its engine knows it.
  static bool is_own(const SendContext& context) {
    const bool short_send = context.packed && (context.number & kEngineTarget) && !context.network;
    return context.kind != SendContext::Kind::kServedGet && !context.abandoned && !short_send;
  }
  SendContext& add(std::unique_ptr<SendContext> context);
  uint32_t keep_in_packet(const Outgoing& message);
  void abandon(SendContext& context);
  uint32_t chunk_of(const SendContext& context) const;
  bool stream_chunk(Link& link, SendContext& context);
  int fill_chunk(SendContext& context, uint32_t packet, uint32_t size);
  void emit_chunk(Link& link, SendContext& context, uint32_t packet, uint32_t size);
  void stream_packed(Link& link, SendContext& context);
  void finish(SendContext& context, int code);
  std::unique_ptr<SendContext> take(uint64_t id);
  void release_packet(SendContext& context);
  void let_others_pass(SendContext& context);

  WantedPackets& wanted_;
  Departures& departures_;
  Spending& spending_;
  Admission& admission_;
  PacketsOut& packets_;
  Signals& signals_;
  OwnRegions& regions_;
  SlotTable<SendContext> contexts_;
  size_t abandoned_ = 0;  // of them
};

}  // namespace lci
