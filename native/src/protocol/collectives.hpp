// SPDX-License-Identifier: Apache-2.0
// Calls of groups in their contexts. Their messages are control traffic of a kind of its own, which finds its call by
// context, sequence, sender and step, without a matching engine. A long payload streams to a place that its receiver
// has named. See ADR 0022 and 0023.
//
// A message takes one of the places that its receiver has for its sender, so that each can be ahead of others by a
// bounded number of messages. What meets no context is dropped, and its sender told: it sends it again when the
// context is there. A failure is told to all members; a call that it concerns ends everywhere.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/try_lock.hpp"
#include "protocol/collective_stages.hpp"
#include "protocol/collective_state.hpp"
#include "protocol/incoming_streams.hpp"
#include "protocol/outgoing_streams.hpp"
#include "transport/chaos/board_chaos.hpp"

namespace lci {

class Collectives final : public Protocol {
 public:
  Collectives(ProtocolHost& host, Links& links, OutgoingStreams& outgoing, IncomingStreams& incoming)
      : Protocol(host, links), outgoing_(outgoing), incoming_(incoming), streams_(*this), stages_(parts_.memory()) {
    if (parts_.chaos) chaos_.emplace(*parts_.chaos, parts_.rank, index_);
  }

  // --- any thread
  /// A context is there. @p state is the device's from now on.
  void open(std::unique_ptr<ContextState> state);
  /// Some contexts were closed, or revoked.
  void some_ended();
  /// All members are on one host, and read each other's memory.
  bool is_near(const Group& group) const;

  // --- by the owner of the device
  /// Something is left that no doorbell announces.
  bool has_news() const { return news_.load(std::memory_order_acquire) != 0; }
  bool idle() const { return !busy_ && !has_news(); }
  /// After a refusal later calls of the same context and batch answer retry_order: each would take its number.
  void begin_batch() { ++batch_; }
  int post(const lci_descriptor& op, const OpTarget& target);
  void handle(Link& link, const MessageHeader& header);
  /// Goes on with all. True if anything moved.
  bool progress();
  /// Whether a call that waited for payloads can go on since the last progress(). Once.
  bool take_through() { return has_calls() && std::exchange(some_through_, false); }
  /// Asks why a call does not go on. Now and then, while there are calls.
  void look_for_stalls();
  bool has_calls() const { return calls_ != 0; }
  /// Whether calls go over boards, of which no doorbell tells.
  bool watches_boards() const { return on_boards_ != 0; }
  /// Whether one of them can end; it keeps whom it has seen. What is to be shown yet has its turn in a pass.
  bool boards_ready();
  /// Ends one that can. False: there was none.
  bool end_over_boards();
  /// Tells senders whose messages met no context.
  bool flush_unknown(Link& link);
  /// Whether one that was refused may try again; once for each time that it may.
  bool take_room() { return room_came_ && std::exchange(room_came_, false); }
  void peer_gone(uint32_t rank, RankState state);
  void cancel_all(int code);
  /// No call is under way, and no word waits.
  bool drained() const;
  /// A lane goes, and with it the memory of its calls. @p forget ends a target without a signal.
  template <typename Forget>
  void lane_gone(const LaneView& lane, Forget forget) {
    table_.for_each([&](ContextState& state) {
      const CollectiveCall* first = nullptr;
      for (const auto& agreement : state.agreements) {
        if (!agreement || agreement->target.lane != &lane) continue;
        forget(agreement->target);
        agreement->out = nullptr;
      }
      for (const auto& call : state.calls) {
        if (call->target.lane != &lane) continue;
        forget(call->target);
        if (!first && call->header.kind != LCI_COLLECTIVE_BARRIER) first = call.get();
      }
      if (first) give_up_from(state, first->sequence);
    });
  }
  /// Tests only: the number of the next call.
  void start_at(uint64_t context, uint64_t sequence);

 private:
  /// That of a context which is gone: members that come late are told.
  struct PastFailure {
    uint64_t context;
    FailureFrame failure;
  };
  /// The outcome of one, for those that have it not yet.
  struct PastAgreement {
    uint64_t context;
    uint32_t number;  // low bits
    uint32_t size;
    AgreeFrame frame;
  };

  /// Streams of calls end by this.
  class Streams final : public Completion {
   public:
    explicit Streams(Collectives& of) : Completion(Kind::kCustom), of_(of) {}
    int signal(const lci_status& status) override;
    bool stores() const override { return false; }

   private:
    Collectives& of_;
  };
  /// What is to be thought of a message.
  enum class Verdict : uint8_t { kFine, kDiffers, kNonsense };

  void adopt_opened();
  void end_ended();
  void remember(const ContextState& state);
  const FailureFrame* past_failure(uint64_t context) const;
  void list(ContextState& state);
  void unlist(const ContextState& state);

  int read(ContextState& state, const lci_descriptor& op);
  int refuse(const ContextState& state);
  int refuse_for_now(ContextState& state, int code);
  void fail_for_who_left(ContextState& state);
  std::unique_ptr<CollectiveCall> make_call(ContextState& state, const CollectiveRequest& request);
  bool may_start(ContextState& state, const CollectiveCall& call);
  void enter(ContextState& state, uint64_t sequence);
  static void drop_held(ContextState& state, uint32_t member, uint64_t sequence);
  static bool misses(ContextState& state, const CollectiveCall& call, uint32_t member);
  void end_what_misses(ContextState& state);

  bool advance(ContextState& state);
  bool go_on(ContextState& state, CollectiveCall& call);
  void take_held(ContextState& state, CollectiveCall& call);
  bool send(ContextState& state, CollectiveCall& call);
  bool send_message(ContextState& state, CollectiveCall& call, uint32_t index);
  static uint64_t bytes_in_place(const ScheduleRun& run, const Action& action);
  const std::byte* source_of(const Link& link, CollectiveCall& call, const Action& action);
  OpTarget stream_target(ScheduleRun::Message& message);
  bool open_place(Link& link, CollectiveCall& call, uint32_t index);
  bool start_stream(ContextState& state, CollectiveCall& call, uint32_t index);
  void stream_ended(ScheduleRun::Message& message, int code);
  void give_streams_up(CollectiveCall& call);
  void end(ContextState& state, size_t index, int code, uint32_t rank, uint32_t cause);

  void begin_turn(ContextState& state, const CollectiveRequest& request, CollectiveCall& call);
  void open_board(ContextState& state);
  void close_board(ContextState& state);
  Boards::Gone reads_no_more() const;
  bool go_on_board(ContextState& state, CollectiveCall& call);
  bool map_others(ContextState& state);
  bool may_show(ContextState& state, const CollectiveCall& call) const;
  bool show(ContextState& state, CollectiveCall& call);
  static const Board* find_board(ContextState& state, uint32_t member);
  static const BoardSlot* board_of(ContextState& state, const CollectiveCall& call, uint32_t member);
  static bool sees_all(ContextState& state, CollectiveCall& call);
  static bool shows_all_still(ContextState& state, CollectiveCall& call);
  static size_t call_in_turn(const ContextState& state);
  static bool is_seen_by_all(ContextState& state, size_t index);
  static const std::byte* shown_by(const ContextState& state, const CollectiveCall& call, uint32_t member);
  static void combine_boards(ContextState& state, CollectiveCall& call);
  bool differs_on_boards(ContextState& state, const CollectiveCall& call);

  void handle_message(Link& link, const MessageHeader& header, const CollectiveFrame& frame);
  void answer_opened(Link& link, uint64_t context);
  void handle_stray(Link& link, const MessageHeader& header, const CollectiveFrame& frame);
  static const char* hold(ContextState& state, uint32_t member, const CollectiveFrame& frame, const std::byte* payload,
                          uint32_t size);
  const char* take_part(ContextState& state, uint64_t sequence, uint32_t member, const CollectiveFrame& frame,
                        const std::byte* payload, uint32_t size);
  static Verdict judge(const CollectiveCall& call, uint32_t member, const CollectiveFrame& frame,
                       const std::byte* payload, uint32_t size, const Action** action);
  static void take(CollectiveCall& call, const Action& action, const std::byte* payload);
  static CallHeader expected(const CollectiveCall& call, uint32_t member, const CollectiveFrame& frame);
  void fail_by_difference(ContextState& state, uint64_t sequence, uint32_t member, const CallHeader& ours,
                          const CallHeader& theirs);
  void handle_unknown(Link& link, const MessageHeader& header, ContextState& state, uint32_t member);
  void handle_known(Link& link, const MessageHeader& header, ContextState& state, uint32_t member);
  struct Unsure {
    CollectiveCall* call;  ///< Null: it has ended meanwhile.
    uint32_t index;
  };
  bool find_unsure(ContextState& state, uint32_t member, const CollectiveFrame& frame, Unsure* out);
  void handle_failed(Link& link, const MessageHeader& header, ContextState& state);

  int post_agreement(ContextState& state, const lci_descriptor& op, const OpTarget& target);
  AgreementCall& agreement_at(ContextState& state, uint64_t number);
  bool end_agreement(ContextState& state, int code);
  void handle_agree(Link& link, const MessageHeader& header, ContextState& state, uint32_t member);
  void handle_past_agree(Link& link, const MessageHeader& header);
  void tell_agreements(ContextState& state);
  void look_at_agreements(ContextState& state);
  void agreements_without(ContextState& state, uint32_t member, RankState rank_state);
  bool emit_agreements(Link& link, ContextState& state, uint32_t member);
  void remember_agreement(const ContextState& state);
  bool emit_past_agreement(Link& link, const UnknownMessage& asked);

  void ask(ContextState& state, const CollectiveCall& call, uint64_t now);
  void ask_next(ContextState& state, uint64_t now);
  void report_stall(const ContextState& state, const StallQuestion& question);
  void handle_ask(Link& link, const MessageHeader& header, ContextState& state, uint32_t member);
  void handle_answer(Link& link, const MessageHeader& header, ContextState& state, uint32_t member);
  void answer_stray(Link& link, const MessageHeader& header);
  bool emit_question(Link& link, const ContextState& state, uint32_t member);
  bool emit_answer(Link& link, const ContextState& state, uint32_t member);

  void fail_from(ContextState& state, const FailureFrame& failure, bool tell_members);
  void give_up_from(ContextState& state, uint64_t sequence);
  void tell(ContextState& state, uint32_t member, uint8_t what);
  bool tell_waiting(ContextState& state);
  bool emit(Link& link, uint64_t context, const CollectiveFrame& frame, const void* payload = nullptr,
            uint32_t size = 0);
  bool emit_failure(Link& link, uint64_t context, const FailureFrame& failure);

  OutgoingStreams& outgoing_;
  IncomingStreams& incoming_;
  Streams streams_;
  CollectiveStages stages_;
  ContextTable table_;
  ContextState* busy_ = nullptr;
  uint64_t batch_ = 1;
  uint32_t calls_ = 0;      // under way,
  uint32_t on_boards_ = 0;  // and so many of them over boards
  std::optional<BoardChaos> chaos_;
  bool some_through_ = false;
  bool refused_ = false;  // somebody was
  bool room_came_ = false;
  /// What is remembered of contexts that are gone: so many failures, and outcomes. As many as a rank has at a time may
  /// end together, each with a member that comes late.
  static constexpr size_t kMostPast = Contexts::kMost;
  std::vector<PastFailure> past_;
  std::vector<PastAgreement> past_agreements_;
  TryLock lock_;
  std::vector<std::unique_ptr<ContextState>> opened_;  // under it
  /// Contexts to look at, as bits of one word: every pass reads it.
  enum News : uint8_t { kOpened = 1, kEnded = 2 };
  std::atomic<uint8_t> news_{0};
};

}  // namespace lci
