// SPDX-License-Identifier: Apache-2.0
// A device: links to device k of every rank, and the protocols over them.
//
// Who may call: everything but the functions marked "any thread" is for the owner: the lane that has the device, or the
// thread that holds its try-lock (Device::lock). Nothing here takes another lock on the path of a short message.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/counters.hpp"
#include "base/free_list.hpp"
#include "base/try_lock.hpp"
#include "device/arrival_buffer.hpp"
#include "device/operations.hpp"
#include "device/payload.hpp"
#include "device/pending_receives.hpp"
#include "device/progressing.hpp"
#include "flow/target.hpp"
#include "flow/work_list.hpp"
#include "matching/matching_engine.hpp"
#include "peer/rank_state.hpp"
#include "protocol/backlog.hpp"
#include "protocol/barriers.hpp"
#include "protocol/contexts.hpp"
#include "protocol/departures.hpp"
#include "protocol/links.hpp"
#include "protocol/packets.hpp"
#include "protocol/parts.hpp"
#include "protocol/targets.hpp"
#include "rma/copy_guard.hpp"
#include "rma/remote_table.hpp"

namespace lci {

class Runtime;
class Engine;
struct Matcher;

/// Passes that a sender without credit waits for some before it announces.
inline constexpr uint64_t kPatiencePasses = 1024;

/// The default engine makes its keys itself: that of a user could mean another rank's message. [SS-13]
inline bool has_key_for_default_engine(const MessageHeader& header) {
  return header.target == kEngineTarget && (header.flags & kFlagKeyed);
}

/// What one pass over a device, or one enter of a lane over all its devices, may take from the rings.
struct Budget {
  uint32_t messages = 64;
  uint32_t bytes = 64 * 1024;
};

class Device final : public DeviceBell, private ProtocolHost {
 public:
  /// @param runtime that it says it is of
  Device(Runtime& runtime, const DeviceParts& parts, uint32_t index);
  ~Device();

  Runtime& runtime() { return runtime_; }
  const DeviceParts& parts() const { return parts_; }
  uint32_t index() const { return index_; }
  /// Owner, if a lane has it. Set by the owner under the lock, read by anyone: a lane that retired stays where it is.
  LaneView* lane() const { return lane_.load(std::memory_order_acquire); }
  void set_lane(LaneView* owner) { lane_.store(owner, std::memory_order_release); }
  uint32_t lane_index = 0;  ///< Index among the lane's devices.
  TryLock lock;
  Counters counters;
  /// Refusals because another thread had the lock, which therefore cannot be in `counters`.
  std::atomic<uint64_t> refused_by_lock{0};
  /// Operations posted here that will be signalled; ended by whichever device or thread does that.
  Outstanding outstanding;

  // --- posting ------------------------------------------------------------------------------------------------------
  /// Starts a batch: refusals in it make later descriptors of the same key answer retry_order.
  void begin_batch() {
    ++batch_;
    batch_refusal_ = 0;
  }
  /// Any thread that may not wait for the device: the operation starts when its owner passes.
  int hand_over(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  /// Whether puts and gets may be copies; see CopyRun.
  bool copies_at_hand() const;
  CopyWords copy_words();
  /// Sends an inline payload without flags if nothing stands in its way; false: take post(), nothing was done.
  bool post_short(const lci_descriptor& op);
  /// Attempts one descriptor whose target is checked; fills @p done when the answer is done.
  int post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  /// Shows peers that poll what was written to them.
  void publish_rings() { links_.publish(); }
  /// Publishes, and rings the doorbells of all peers written to since the last call.
  void ring_doorbells() { links_.ring(); }

  // --- progress -----------------------------------------------------------------------------------------------------
  /// Control, backlog, and arrivals as far as @p budget goes, which they use up. True if anything moved.
  bool progress(Budget& budget);
  /// Something is left that no doorbell will announce.
  bool must_enter() const {
    return unfinished_ || delayed_pending() || !work_.empty() || has_handed_.load(std::memory_order_acquire);
  }
  /// Whether a look at the device could find work: for parking. Reads shared memory, changes nothing.
  bool has_work() const;
  /// Everything posted has left this rank: no rendezvous under way, nothing delayed, backlog empty.
  bool drained() const;
  /// As drained(), and everything that was posted here has ended, receives included; and no message that arrives in
  /// pieces is under way. [C20]
  bool all_ended() const;
  uint32_t generation() const { return generation_; }

  // --- flow control -------------------------------------------------------------------------------------------------
  /// Any thread: what a key's user took or released. @p exclusive: no other thread releases to this key of this
  /// generation, and the caller owns this device.
  void release(InKey& key, uint32_t generation, uint32_t messages, uint64_t bytes, bool exclusive);
  /// Any thread: gives a packet back to its sender at once.
  void return_packet_now(Link& link, uint32_t handle);
  /// Any thread: hands a matched rendezvous to the device of its request. False: the runtime closes. [SS-17]
  bool start_rendezvous(std::unique_ptr<ReceiveContext> context);
  /// Any thread: whether an arrival is being handed to an object; see Delivering.
  bool is_delivering_to(const void* object) const { return delivering_.load(std::memory_order_seq_cst) == object; }
  /// Any thread: a receive that was posted here has ended.
  void give_receive_back(std::unique_ptr<PostedReceive> receive) { pending_receives_.give_back(std::move(receive)); }
  /// Receives that cancels have looked at; for tests.
  uint64_t receives_looked_at() const { return pending_receives_.looked_at(); }
  /// Any thread: a request that was stored is discarded.
  void decline_stored(Link& link, uint64_t request);
  /// Any thread: waits while this device inserts into an engine that was closed. A few instructions.
  void wait_until_not_holding(const Matcher* matcher) const;
  /// Tells the lane that owns this device that something was left for it, and wakes it if it is parked. Any thread.
  void wake_owner() override;
  /// Any thread of this rank: an enter would find something, though it is no message.
  void ring_own_bell();
  /// Owner: a packet was wanted and there was none; the generation moves, and the lane is woken, when one may be there.
  void wait_for_packets();
  void packets_came() override {
    packets_came_.store(true, std::memory_order_release);
    wake_owner();
  }
  void room_came_elsewhere() override {
    room_came_elsewhere_.store(true, std::memory_order_release);
    wake_owner();
  }

  // --- end of a runtime ---------------------------------------------------------------------------------------------
  /// Owner: nothing more is accepted here. Before any device is cancelled: handlers that are told may want to post.
  void stop_accepting();
  /// Ends everything outstanding with @p code, when no device accepts more.
  void cancel_all(int code);
  /// Drops the operations of a lane that goes: their buffers may go with it. Barriers still take part.
  void forget(const LaneView& gone);

 private:
  class Holding;
  class Delivering;
  enum class Delivery { kTaken, kLent, kRefused };  // an arrival's: kLent keeps its packet
  enum class PayloadForm { kMemory, kPacket };
  static constexpr size_t kSpareEntries = 1024;  // of a matching engine, kept for the next ones

  // posting (post.cpp, check.cpp, admission.cpp, message.cpp)
  int check(const lci_descriptor& op) const;
  bool may_be_posted(const lci_descriptor& op) const { return lci::may_be_posted(op, parts_.packets.max_eager()); }
  bool hold_place(const OpTarget& target);
  int no_place(const lci_descriptor& op, const OpTarget& target);
  int post_one(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  int measure_list(lci_descriptor* op) const;
  int attempt(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  int check_packet(const lci_descriptor& op, const char* name) const;
  int admit(Link& link, OutKey& key, const lci_descriptor& op);
  int admit_keyless(Link& link);
  int post_message(Link& link, const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  int check_length(const lci_descriptor& op, const OpTarget& target) const;
  void describe_payload(const lci_descriptor& op, std::byte* gathered, Outgoing* message);
  int send_message(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message, const OpTarget& target);
  int send_with_credit(Link& link, OutKey& key, MessageKind inline_kind, const Outgoing& message);
  bool awaits_credit(Link& link, OutKey& key);
  int announce(Link& link, OutKey& key, const Outgoing& message);
  int announce_by_rendezvous(Link& link, OutKey& key, const Outgoing& message);
  uint32_t keep_in_packet(const Outgoing& message);
  int post_rendezvous(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message,
                      const OpTarget& target);
  int refuse(Link* link, OutKey* key, int code);
  int refused_earlier(Link& link, const OutKey& key, bool reply);
  uint32_t take_packet(Link& link, uint32_t size);
  void send_packet(Link& link, uint32_t packet, uint32_t size);
  void return_unused(uint32_t packet);
  uint32_t fill_packet(Link& link, const Outgoing& message, bool in_place);
  bool peers_see(const void* bytes, uint64_t size) const;
  void refer_to(uint32_t packet, const void* bytes);
  OutKey& out_key(Link& link, uint16_t target);
  uint32_t engine_announcements() const;
  uint32_t sender_hash(uint16_t target);
  bool match_key(const lci_descriptor& op, uint32_t rank, uint32_t policy, uint64_t* key);

  // put and get (put_get.cpp)
  int check_remote(const lci_descriptor& op) const;
  int find_part(const lci_descriptor& op, uint64_t id, RemotePart* out) const;
  int find_remote(const lci_descriptor& op, const void* inline_payload, RemoteCopy* out) const;
  int post_remote(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  static void copy_parts(const RemoteCopy& copy);
  int copy_now(const lci_descriptor& op, const RemoteCopy& copy);
  int copy_by_messages(const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target);
  void stream_put(Link& link, const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target,
                  const SignalRight& signal);
  void start_get(Link& link, const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target,
                 const SignalRight& signal);
  // lists of ranges (put_get_list.cpp)
  int measure_remote_list(lci_descriptor* op) const;
  int find_parts(const lci_descriptor& op, RemoteCopy* out) const;
  static std::vector<RemoteRange> ranges_of(const RemoteCopy& copy);
  bool begin_next_part(ReceiveContext& get);
  bool ask(Link& link, const ReceiveContext& get);
  bool flush_asks(Link& link);

  // what peers put and get through us, and what they say of ours (put_get_serve.cpp)
  void handle_put_data(Link& link, const MessageHeader& header, const RemoteAccess& access);
  void handle_get(Link& link, const MessageHeader& header, const RemoteAccess& access);
  void handle_put_ack(Link& link, const MessageHeader& header);
  void acknowledge(Link& link, const MessageHeader& header, const PutAck& ack);
  bool flush_put_acks(Link& link);
  int read_region(const SendContext& context, std::byte* to, uint32_t size);
  int remote_ended(Link& link, const SignalRight& signal, int code);

  // the signals of puts and gets (put_signal.cpp)
  int take_signal_right(Link& link, const lci_descriptor& op, bool now, SignalRight* out);
  bool claim(OutKey& key, SignalRight* right);
  void give_up(Link& link, const SignalRight& right);
  bool emit_signal(Link& link, SignalRight& right);
  bool flush_signals(Link& link);

  // receives (receive.cpp)
  int post_receive(const lci_descriptor& op, const OpTarget& target, lci_status* done);
  int cancel_receive(const lci_descriptor& op, const OpTarget& target);
  int match_unexpected(PostedReceive& receive, std::unique_ptr<UnexpectedSend> send, lci_status* done);
  int finish_unexpected(PostedReceive& receive, UnexpectedSend& send, lci_status* done);
  void handle_send(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, bool credited);
  bool match_announcement(InKey& key, const Announcement& announcement, MatchedAnnouncement* out);
  void receive_announced(MatchedAnnouncement matched);
  bool match_or_store(Engine& engine, uint64_t match, Side side, const ValueMaker& make, void** found,
                      std::optional<bool> keyed = {});
  uint64_t match_of(Link& link, const MessageHeader& header) const;
  int finish_receive(const PostedReceive& receive, uint32_t rank, uint64_t tag, const Payload& payload,
                     lci_status* done);
  void end_receive(std::unique_ptr<PostedReceive> receive);
  void fill(const OpTarget& target, std::byte* to, Parts* parts, uint64_t offset, const Payload& from, uint32_t size);
  bool alone() const;

  // one pass (progress.cpp, accept.cpp, arrivals.cpp, delivery.cpp, packet_return.cpp, control.cpp)
  void room_came();
  void end_patience();
  bool drain_control(Link& link);
  bool write_short(const lci_descriptor& op, uint16_t target, uint8_t flags);
  bool drain_data(Link& link, Budget& budget);
  void handle_control(Link& link, const MessageHeader& header);
  void handle_data(Link& link, const MessageHeader& header, uint32_t* payload_bytes, uint32_t* slots);
  bool handle_message(Link& link, const MessageHeader& header, const Payload& payload);
  Delivery deliver(Port& port, InKey& key, uint32_t rank, uint64_t tag, const Payload& payload,
                   uint32_t charge_messages, uint64_t charge_bytes, std::byte* owned);
  void count_refused_arrival(Port& port, uint32_t rank, int code);
  void scan_summary();
  bool accept_link(Link& link);
  bool take_returned_packets(uint32_t taker);
  ReturnedPackets::Answer take_returned_packet(uint32_t handle);
  bool reclaim_packets(Link& link);
  void hand_back(Link& link, const uint32_t* handles, size_t count);
  void collect_packets();
  bool packets_may_be_there() const;
  void give_packets_back(Link& link);
  const std::byte* packet_of(Link& link, uint64_t handle, uint32_t size);
  const std::byte* payload_of(Link& link, const MessageHeader& header, uint32_t most);
  void protocol_error(Link& link, const char* what, const MessageHeader& header) override;
  bool flush_ready(Link& link, bool* moved);
  bool flush_control(Link& link);

  // credit (credit.cpp)
  InKey* in_key(Link& link, uint16_t target);
  void end_waiting(InKey& key);
  void count_left_behind(InKey& key);
  void handle_announcement(Link& link, const MessageHeader& header);
  uint32_t most_unanswered(const InKey& key) const;
  bool may_announce(InKey& key, bool claims_credit) const;
  void admit_waiting(InKey& key);
  void give_admission_back(InKey& key, const Credit& taken);
  void admit(InKey& key);
  void admit_sends(InKey& key);
  bool refuse_mismatch(InKey& key);
  void refuse_waiting(InKey& key);
  void grow_lease(InKey& key);
  void process_returned(InKey& key);
  void set_thresholds(InKey& key);
  bool process_work();
  void look_at(InKey& key);
  void recall_from(InKey& key);
  void renew(InKey& key);
  void handle_grant(Link& link, const MessageHeader& header);
  void handle_recall(Link& link, const MessageHeader& header);
  void handle_return(Link& link, const MessageHeader& header);
  void handle_refusal(Link& link, const MessageHeader& header);
  void refuse_sender(InKey& key, int code);
  void refuse_closed(InKey& key);
  void tell_refusal(InKey& key, int code, uint32_t generation);
  void queue_control(InKey& key);
  void queue_return(Link& link, OutKey& key);
  void tell_writable(Link& link, OutKey& key);
  void tell_refused();
  bool spend_lease(InKey& key, const MessageHeader& header, uint32_t bytes);

  // replies (reply.cpp)
  int check_reply(const lci_descriptor& op) const;
  int claim_reply_rooms(const lci_descriptor& op, Outgoing* message);
  void drop_reply_rooms(const lci_descriptor& op);
  uint64_t word_of(Link& link, const MessageHeader& header) const;
  bool read_request(Link& link, const MessageHeader& header, uint64_t* word) const;
  Delivery deliver_request(Port& port, InKey& key, uint64_t tag, const Payload& payload, uint32_t charge_messages,
                           uint64_t charge_bytes, std::byte* owned, uint64_t request);
  void decline_reply(Link& link, uint64_t word);
  bool handle_reply(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, uint64_t request);
  void give_reply_room(Port& port);
  void handle_declined(Link& link, const MessageHeader& header);

  void take_handed_posts(std::vector<Queued> posts);
  bool retry_backlog();

  // rendezvous (rendezvous.cpp)
  bool admit_rendezvous(InKey& key, const Announcement& announcement, uint32_t charge_messages, uint64_t charge_bytes);
  std::unique_ptr<ReceiveContext> prepare_receive(Link& link);
  void add_receive_context(std::unique_ptr<ReceiveContext> context);
  bool take_handed();
  void handle_ready(Link& link, const MessageHeader& header);
  void handle_chunk(Link& link, const MessageHeader& header, const std::byte* offset_bytes);
  void finish_receive_context(uint64_t id, int code);
  void end_arrival(const ReceiveContext& context, int code);
  bool has_uncredited_room(const Link& link, uint32_t size) const;
  void end_uncredited(const ReceiveContext& context);
  bool stream(Link& link);
  bool stream_chunks(Link& link);
  bool stream_chunk(Link& link, SendContext& context);
  uint32_t most_of_chunk(bool in_place) const;
  void finish_send_context(SendContext& context, int code);
  std::unique_ptr<SendContext> take_send_context(uint64_t id);
  void release_packet(SendContext& context);
  void let_others_pass(SendContext& context);
  void stream_packed(Link& link, SendContext& context);
  void withdraw(Link& link, uint64_t receiver, int code = 0);
  void abandon(SendContext& context);
  void handle_withdrawal(Link& link, const MessageHeader& header);
  size_t sends_live() const { return sends_.live() - abandoned_; }

  // failure (failure.cpp)
  bool look_for_failures();
  bool fail_links(RankState state, bool* all);
  void fail_link(Link& link, RankState state);
  void drop_unmatched_rendezvous(uint32_t rank);
  void fail_receives(uint32_t rank, int code);
  void fail_receives_at(const Engine& late);
  void end_receives(std::vector<std::unique_ptr<PostedReceive>> receives, int code);

  void count_answer(const lci_descriptor& op, int code);
  void complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size) override;
  void call_again() override { unfinished_ = true; }
  bool delayed_pending() const;

  Runtime& runtime_;
  const DeviceParts& parts_;
  const uint32_t index_;
  Links links_;
  Departures departures_;
  Barriers barriers_;  // of device 0
  Backlog backlog_;
  uint32_t rotate_ = 0;
  uint64_t batch_ = 1;
  int batch_refusal_ = 0;
  bool unfinished_ = false;
  bool untold_ = false;  ///< There was no memory to tell who was refused.
  bool packets_wanted_ = false;
  std::vector<std::pair<Link*, OutKey*>> dry_keys_;
  std::atomic<LaneView*> lane_{nullptr};
  bool ended_ = false;  ///< Everything is being cancelled, or was: nothing more is accepted.
  std::atomic<bool> packets_came_{false};
  std::atomic<bool> room_came_elsewhere_{false};
  uint32_t generation_ = 0;
  uint32_t seen_epoch_ = 0;
  SlotTable<SendContext> sends_;
  size_t abandoned_ = 0;  // of sends_
  SlotTable<ReceiveContext> receives_;
  PendingReceives pending_receives_;
  FreeList<UnexpectedSend> spare_sends_{kSpareEntries};
  std::vector<uint32_t> scratch_;
  std::vector<uint32_t> large_;                           // packets that carried much
  std::vector<std::pair<Link*, OutKey*>> chaos_refused_;  // told nocredit without cause; healed by the next pass
  std::atomic<const Matcher*> holding_{nullptr};          // of the engine that is being inserted into; see Engine
  std::atomic<const void*> delivering_{nullptr};          // completion object or inbox to which an arrival is handed

  // Any thread: keys to look at (stack, taken whole by the owner) and matched rendezvous.
  alignas(64) WorkList work_{*this};
  TryLock handed_lock_;
  std::vector<std::unique_ptr<ReceiveContext>> handed_;
  std::vector<Queued> handed_posts_;
  std::vector<std::pair<Link*, uint64_t>> handed_declines_;
  std::atomic<bool> has_handed_{false};
};

}  // namespace lci
