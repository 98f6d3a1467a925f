// SPDX-License-Identifier: Apache-2.0
// Messages that come in chunks: rendezvous of peers, matched by a receive or for a port, and what this rank gets
// through messages. [X8]
#pragma once

#include <memory>

#include "protocol/delivery.hpp"
#include "protocol/signals.hpp"

namespace lci {

class IncomingStreams final : public Protocol {
 public:
  IncomingStreams(ProtocolHost& host, Links& links, Grants& grants, Replies& replies, Delivery& delivery,
                  Signals& signals)
      : Protocol(host, links), grants_(grants), replies_(replies), delivery_(delivery), signals_(signals) {}

  // --- rendezvous ---------------------------------------------------------------------------------------------------
  /// Whoever adds the result next needs no memory for it.
  std::unique_ptr<ReceiveContext> prepare(Link& link);
  /// One that a receive has matched: its sender is told when there is room.
  void add(std::unique_ptr<ReceiveContext>&& context);
  /// Whether memory may be taken for one that came without credit.
  static bool has_uncredited_room(const Link& link, uint32_t size);
  /// One for a port, which has taken its charge. False: the system has no memory for it now.
  bool admit(InKey& key, const Announcement& announcement, uint32_t charge_messages, const Credit& taken);
  /// Tells senders that there is a place for them. False: there is no room for all.
  bool flush_ready(Link& link, bool* moved);
  /// The caller gives the packet back. What finds no memory throws, and has changed nothing that counts twice.
  void handle_chunk(Link& link, const MessageHeader& header, const std::byte* offset_bytes);
  void handle_withdrawal(Link& link, const MessageHeader& header);

  // --- what the peer sends to a place that it is told of elsewhere ------------------------------------------------
  /// @return its id, for the peer and for give_up()
  uint64_t expect(std::unique_ptr<ReceiveContext> context);
  /// Without a signal: what comes is discarded.
  void give_up(uint64_t id) { contexts_.remove(id)->target.release(); }

  // --- gets ---------------------------------------------------------------------------------------------------------
  void start_get(std::unique_ptr<ReceiveContext> get);
  /// Asks for ranges that waited for room. True: some were asked for.
  bool flush_asks(Link& link);

  size_t live() const { return contexts_.live(); }
  /// Notes which gets there are, and whether one of those is left.
  void mark() { contexts_.mark(is_get); }
  bool holds_marked() { return contexts_.holds_marked(is_get); }
  void peer_gone(Link& link, int code);
  void cancel_all(int code);
  /// A lane goes. @p forget ends a target without a signal.
  template <typename Forget>
  void lane_gone(const LaneView& lane, Forget forget) {
    contexts_.for_each([&](uint64_t, ReceiveContext& context) {
      if (context.target.lane != &lane) return;
      forget(context.target);
      // The peer goes on sending, or waits to be told that it may: the place is kept, without the buffer and the signal
      // of who has gone.
      context.buffer = nullptr;
      context.capacity = 0;
      context.ranges.clear();
      signals_.give_up(*context.link, context.signal);
      context.signal = {};
    });
  }

 private:
  static bool is_get(const ReceiveContext& context) { return context.is_get; }
  bool begin_next_part(ReceiveContext& get);
  bool ask(Link& link, const ReceiveContext& get);
  void finish(uint64_t id, int code);
  void end_arrival(const ReceiveContext& context, int code);
  void end_admitted(const ReceiveContext& context);

  Grants& grants_;
  Replies& replies_;
  Delivery& delivery_;
  Signals& signals_;
  SlotTable<ReceiveContext> contexts_;
};

}  // namespace lci
