// SPDX-License-Identifier: Apache-2.0
// A device: channels to device k of every rank, and the protocols over them.
//
// Who may call: everything but the functions marked "any thread" is for the owner: the lane that has the device, or the
// thread that holds its try-lock (Device::lock). Nothing here takes another lock on the path of a short message.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/try_lock.hpp"
#include "device/channel.hpp"
#include "protocol/contexts.hpp"
#include "runtime/counters.hpp"
#include "runtime/target.hpp"

namespace lci {

class Runtime;
class Chaos;

/// Where the payload of an arriving message lies while it is handled.
struct Payload {
  const RingConsumer* ring = nullptr;  ///< In ring slots, else
  const std::byte* memory = nullptr;   ///< in a packet.
  uint32_t size = 0;
  void copy(void* to) const {
    if (size == 0) return;
    if (ring) {
      ring->read_payload(to, size);
    } else {
      std::memcpy(to, memory, size);
    }
  }
};

/// Passes that a sender without credit waits for some before it announces.
inline constexpr uint64_t kPatiencePasses = 1024;

struct Budget {
  uint32_t messages = 64;
  uint32_t bytes = 64 * 1024;
};

/// Payload of an arrival that a user will free; the credit goes back when the status is taken.
struct ArrivalBuffer {
  InKey* key;
  uint64_t charge_bytes;
  uint32_t charge_messages;
  uint32_t generation;
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  static ArrivalBuffer* create(uint32_t size);
  /// Null when the system has no memory.
  static ArrivalBuffer* try_create(uint32_t size);
  static ArrivalBuffer* of(void* buffer) { return reinterpret_cast<ArrivalBuffer*>(buffer) - 1; }
};

class Device {
 public:
  Device(Runtime& runtime, uint32_t index);
  ~Device();

  Runtime& runtime() { return runtime_; }
  uint32_t index() const { return index_; }
  /// Owner, if a lane has it. Set by the owner under the lock, read by anyone: a lane that retired stays where it is.
  Lane* lane() const { return lane_.load(std::memory_order_acquire); }
  void set_lane(Lane* owner) { lane_.store(owner, std::memory_order_release); }
  uint32_t lane_index = 0;  ///< Index among the lane's devices.
  TryLock lock;
  Counters counters;

  // --- posting ------------------------------------------------------------------------------------------------------
  /// Starts a batch: refusals in it make later descriptors of the same key answer retry_order.
  void begin_batch() {
    ++batch_;
    batch_refusal_ = 0;
  }
  /// Any thread that may not wait for the device: the operation starts when its owner passes.
  int hand_over(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  /// Sends an inline active message without flags if nothing stands in its way; false: take post(), nothing was done.
  bool post_short_am(const lci_descriptor& op);
  /// Attempts one descriptor whose target is checked; fills @p done when the answer is done.
  int post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  /// Shows peers that poll what was written to them.
  void publish_rings();
  /// Publishes, and rings the doorbells of all peers written to since the last call.
  void ring_doorbells();

  // --- progress -----------------------------------------------------------------------------------------------------
  /// Control, backlog, arrivals. True if anything moved.
  bool progress(const Budget& budget);
  /// Something is left that no doorbell will announce.
  bool must_enter() const { return unfinished_ || delayed_pending(); }
  /// Whether a look at the device could find work: for parking. Reads shared memory, changes nothing.
  bool has_work() const;
  /// Everything posted has left this rank: no rendezvous under way, nothing delayed, backlog empty.
  bool drained() const;
  uint32_t generation() const { return generation_; }

  // --- flow control -------------------------------------------------------------------------------------------------
  /// Any thread: what a key's user took or released. @p owner: the caller owns this device.
  void release(InKey& key, uint32_t generation, uint32_t messages, uint64_t bytes, bool owner);
  /// Any thread: asks the owner to look at the key.
  void request_work(InKey& key);
  /// Any thread: gives a packet back to its sender at once.
  void return_packet_now(Channel& channel, uint32_t handle);
  /// Any thread: hands a matched rendezvous to the device of its request. [SS-17]
  void start_rendezvous(std::unique_ptr<ReceiveContext> context);
  /// Wakes the lane that owns this device, if it is parked. Any thread.
  void wake_owner();
  /// Owner: a packet was wanted and there was none; the generation moves, and the lane is woken, when one may be there.
  void wait_for_packets();
  void packets_came() { packets_came_.store(true, std::memory_order_release); }

  // --- end of a runtime ---------------------------------------------------------------------------------------------
  /// Ends everything outstanding with @p code.
  void cancel_all(int code);
  /// Drops the operations of a lane that goes: their buffers may go with it. Barriers still take part.
  void forget(const Lane& gone);

 private:
  friend class ChannelChaos;
  enum class PayloadForm { kMemory, kPacket };
  struct Outgoing {
    const void* bytes;  ///< Null when the payload is in `packet` already.
    uint32_t packet;
    uint32_t size;
    uint64_t tag;
    uint8_t policy;
  };
  struct Queued {  // an operation in the backlog
    lci_descriptor op;
    std::vector<std::byte> payload;
    OpTarget target;
  };

  // posting (post.cpp)
  Channel* open_channel(uint32_t rank, int* error);
  int check(const lci_descriptor& op) const;
  bool may_be_posted(const lci_descriptor& op) const;
  int attempt(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done);
  int post_message(Channel& channel, const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  int send_with_credit(Channel& channel, OutKey& key, Message inline_kind, const Outgoing& message);
  bool awaits_credit(Channel& channel, OutKey& key);
  int announce(Channel& channel, OutKey& key, const Outgoing& message);
  int post_rendezvous(Channel& channel, OutKey& key, const lci_descriptor& op, const OpTarget& target);
  int refuse(Channel* channel, OutKey* key, int code);
  int refused_earlier(Channel& channel, OutKey& key);
  uint32_t take_packet(Channel& channel);
  uint32_t fill_packet(Channel& channel, const Outgoing& message);
  OutKey& out_key(Channel& channel, uint16_t target);
  bool emit_data(Channel& channel, const SlotHeader& header, const void* payload, uint32_t payload_size);
  bool emit_control(Channel& channel, const SlotHeader& header);
  void touch(Channel& channel);

  // receives (receive.cpp)
  int post_receive(const lci_descriptor& op, const OpTarget& target, lci_status* done);
  int cancel_receive(const lci_descriptor& op);
  int match_unexpected(std::unique_ptr<PostedReceive> receive, std::unique_ptr<UnexpectedSend> send, lci_status* done);
  void match_arrival(std::unique_ptr<PostedReceive> receive, Channel& channel, InKey& key, const SlotHeader& header,
                     const Payload& payload);
  void handle_send(Channel& channel, InKey& key, const SlotHeader& header, const Payload& payload, bool credited);
  void handle_send_announcement(Channel& channel, InKey& key, const SlotHeader& header);
  int finish_receive(PostedReceive& receive, uint32_t rank, uint64_t tag, uint32_t size, const std::byte* from,
                     lci_status* done);
  void fill(const OpTarget& target, std::byte* to, const std::byte* from, uint32_t size);

  // arrivals (progress.cpp)
  void end_patience();
  bool drain_control(Channel& channel);
  void make_busy(Channel& channel);
  bool drain_data(Channel& channel, Budget& budget);
  void handle_control(Channel& channel, const SlotHeader& header);
  bool handle_data(Channel& channel, const SlotHeader& header, uint32_t* payload_bytes, uint32_t* slots);
  void handle_message(Channel& channel, const SlotHeader& header, const Payload& payload);
  bool deliver(Port& port, InKey& key, uint32_t rank, uint64_t tag, const Payload& payload, uint32_t charge_messages,
               uint64_t charge_bytes, std::byte* owned);
  void scan_summary();
  void make_ready(Channel& channel);
  bool accept_channel(Channel& channel);
  bool take_returned_packets();
  bool packets_may_be_there() const;
  void give_packets_back(Channel& channel);
  const std::byte* packet_of(Channel& channel, uint64_t handle, uint32_t size);
  void protocol_error(Channel& channel, const char* what, const SlotHeader& header);
  bool flush_control(Channel& channel);

  // credit (credit.cpp)
  InKey* in_key(Channel& channel, uint16_t target);
  void handle_announcement(Channel& channel, const SlotHeader& header);
  void admit_waiting(InKey& key);
  void grow_lease(InKey& key);
  void process_returned(InKey& key);
  void set_thresholds(InKey& key);
  bool process_work();
  void renew(InKey& key);
  void handle_grant(Channel& channel, const SlotHeader& header);
  void handle_recall(Channel& channel, const SlotHeader& header);
  void handle_return(Channel& channel, const SlotHeader& header);
  void handle_refusal(Channel& channel, const SlotHeader& header);
  void refuse_sender(InKey& key, int code);
  void queue_control(InKey& key);
  void tell_writable(Channel& channel, OutKey& key);
  bool spend_lease(InKey& key, const SlotHeader& header, uint32_t bytes);

  // backlog (backlog.cpp)
  int to_backlog(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  void take_handed_posts(std::vector<Queued> posts);
  int backlog_answer(const lci_descriptor& op) const;
  Queued keep(const lci_descriptor& op, const void* inline_payload, const OpTarget& target);
  void enter_backlog(Queued queued);
  void leave_backlog(const Queued& queued, int code);
  bool retry_backlog();

  // rendezvous (rendezvous.cpp)
  bool admit_rendezvous(InKey& key, const Announcement& announcement, uint32_t charge_messages, uint64_t charge_bytes);
  void add_receive_context(std::unique_ptr<ReceiveContext> context);
  bool take_handed();
  void handle_ready(Channel& channel, const SlotHeader& header);
  bool handle_chunk(Channel& channel, const SlotHeader& header, const std::byte* offset_bytes);
  void finish_receive_context(uint64_t id, int code);
  bool stream(Channel& channel);
  bool stream_chunk(Channel& channel, SendContext& context);
  void finish_send_context(SendContext& context, int code);
  void withdraw(Channel& channel, uint64_t receiver);
  void abandon(SendContext& context);
  void handle_withdrawal(Channel& channel, const SlotHeader& header);
  size_t sends_live() const { return sends_.live() - abandoned_; }

  // barrier (barrier.cpp)
  struct Barrier {
    OpTarget target;
    bool entered = false;
    uint32_t round = 0;
    bool sent = false;
    uint64_t arrived = 0;  // bit per round
  };
  int post_barrier(const OpTarget& target);
  void handle_barrier(Channel& channel, const SlotHeader& header);
  bool advance_barriers();
  void finish_barrier(uint64_t sequence, int code, uint32_t rank);

  // failure (failure.cpp)
  bool look_for_failures();
  bool fail_channels(RankState state, bool* all);
  void fail_channel(Channel& channel, RankState state);
  void fail_receives(uint32_t rank, int code);

  void count_answer(const lci_descriptor& op, int code);
  void complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size);
  bool delayed_pending() const;

  Runtime& runtime_;
  const uint32_t index_;
  std::vector<std::unique_ptr<Channel>> channels_;  // by rank; created when first used
  std::vector<Channel*> ready_;
  std::vector<Channel*> touched_;
  std::vector<Channel*> busy_;  // channels with streams or queued control
  uint32_t in_open_ = 0;
  uint32_t rotate_ = 0;
  uint64_t batch_ = 1;
  int batch_refusal_ = 0;
  bool unfinished_ = false;
  bool packets_wanted_ = false;
  bool retrying_backlog_ = false;
  std::vector<std::pair<Channel*, OutKey*>> dry_keys_;
  std::atomic<Lane*> lane_{nullptr};
  bool ended_ = false;  ///< Everything was cancelled: nothing more is accepted.
  std::atomic<bool> packets_came_{false};
  uint32_t generation_ = 0;
  uint32_t seen_epoch_ = 0;
  SlotTable<SendContext> sends_;
  size_t abandoned_ = 0;  // of sends_
  SlotTable<ReceiveContext> receives_;
  std::map<uint32_t, std::deque<Queued>> backlog_;  // by rank; data class
  uint64_t backlog_bytes_ = 0;
  std::map<uint64_t, Barrier> barriers_;
  uint64_t next_barrier_ = 0;
  std::vector<uint32_t> scratch_;
  std::vector<std::pair<Channel*, OutKey*>> chaos_refused_;  // told nocredit without cause; healed by the next pass

  // Any thread: keys to look at (stack, taken whole by the owner) and matched rendezvous.
  alignas(64) std::atomic<InKey*> work_{nullptr};
  TryLock handed_lock_;
  std::vector<std::unique_ptr<ReceiveContext>> handed_;
  std::vector<Queued> handed_posts_;
  std::atomic<bool> has_handed_{false};
};

/// Marks the device that this thread progresses or ends, with its lock held: handlers may post through it without the
/// lock. Nests.
class Progressing {
 public:
  explicit Progressing(Device& device);
  ~Progressing();
  Progressing(const Progressing&) = delete;
  Progressing& operator=(const Progressing&) = delete;
  static bool is(const Device& device);

 private:
  Device* const before_;
};

}  // namespace lci
