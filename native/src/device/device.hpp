// SPDX-License-Identifier: Apache-2.0
// A device: links to device k of every rank, and the protocols over them.
//
// Who may call: everything but the functions marked "any thread" is for the owner: the lane that has the device, or the
// thread that holds its try-lock (Device::lock). Nothing here takes another lock on the path of a short message.
#pragma once

#include <atomic>

#include "base/try_lock.hpp"
#include "protocol/protocols.hpp"

namespace lci {

class Runtime;

class Device final : public DeviceBell {
 public:
  enum class By { kOwner, kHelper };

  /// @param runtime that it says it is of
  Device(Runtime& runtime, const DeviceParts& parts, uint32_t index);

  Runtime& runtime() { return runtime_; }
  const DeviceParts& parts() const { return protocols_.host.parts; }
  uint32_t index() const { return protocols_.host.index; }
  Counters& counters() { return protocols_.host.counters; }
  const Counters& counters() const { return protocols_.host.counters; }
  /// Operations posted here that will be signalled; ended by whichever device or thread does that.
  Outstanding& outstanding() { return protocols_.host.outstanding; }
  const Outstanding& outstanding() const { return protocols_.host.outstanding; }
  /// Owner, if a lane has it. Any thread.
  LaneView* lane() const { return protocols_.host.lane(); }
  void set_lane(LaneView* owner) { protocols_.host.set_lane(owner); }
  uint32_t lane_index = 0;  ///< Index among the lane's devices.
  TryLock lock;
  /// Refusals because another thread had the lock, which therefore cannot be in the counters.
  alignas(64) std::atomic<uint64_t> refused_by_lock{0};

  // --- posting ------------------------------------------------------------------------------------------------------
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
  /// Shows peers that poll what was written to them.
  void publish_rings() { protocols_.links.publish(); }
  /// Publishes, and rings the doorbells of all peers written to since the last call.
  void ring_doorbells() { protocols_.links.ring(); }

  // --- progress -----------------------------------------------------------------------------------------------------
  /// Control, backlog, and arrivals as far as @p budget goes, which they use up. True if anything moved.
  /// @param by a helper leaves the bell of this rank alone, which is for the owner
  bool progress(Budget& budget, By by = By::kOwner);
  /// Before it, for calls whose end many wait for: ends one over boards, and nothing else. False: there was none, or
  /// there were many without a pass between them.
  bool short_pass();
  /// Something is left that no doorbell will announce.
  bool must_enter() const;
  /// Before its lane sleeps, and after.
  void prepare_to_sleep();
  void awake();
  /// What comes over a network, or over boards, rings no bell until somebody enters.
  bool comes_without_bell() const {
    return protocols_.links.network() != nullptr || protocols_.collectives.watches_boards();
  }
  /// What its links over a network have counted; null: none goes there.
  const Counters* network_counters() const;
  /// Whether a look at the device could find work: for parking. Reads shared memory; a call over boards keeps what was
  /// found of its members, so the owner alone may ask.
  bool has_work();
  /// Everything posted has left this rank: no rendezvous under way, nothing delayed, backlog empty.
  bool drained() const { return protocols_.drained(); }
  /// As drained(), and everything that was posted here has ended, receives included; and no message that arrives in
  /// pieces is under way. [C20]
  bool all_ended() const;
  /// Begins a fence, behind everything that was left here for this device.
  uint64_t begin_fence();
  Fences& fences() { return protocols_.fences; }
  Collectives& collectives() { return protocols_.collectives; }
  /// Moves when whoever was refused may try again.
  uint32_t generation() const { return generation_; }
  /// Any thread of this rank: an enter would find something, though it is no message.
  void ring_own_bell();
  /// A packet was wanted and there was none; the generation moves, and the lane is woken, when one may be there.
  void wait_for_packets() { protocols_.wanted.want(); }

  // --- any thread ---------------------------------------------------------------------------------------------------
  /// A key's user took or released something. @p by_owner: the caller owns this device.
  void release(InKey& key, uint32_t generation, uint32_t messages, uint64_t bytes, bool by_owner) {
    protocols_.grants.release(key, generation, messages, bytes, by_owner);
  }
  /// Gives a packet back to its sender at once.
  void return_packet_now(Link& link, uint32_t handle) { protocols_.packets.return_packet_now(link, handle); }
  /// A request that was stored is discarded.
  void decline_stored(Link& link, uint64_t request);
  /// Whether an arrival is being handed to an object.
  bool is_delivering_to(const void* object) const { return protocols_.delivery.is_delivering_to(object); }
  /// Drops what an engine has stored for runs of graphs that are over.
  void drop_refused(uint32_t engine) { protocols_.receives.drop_refused(engine); }
  /// Waits while this device inserts into an engine that was closed. A few instructions.
  void wait_until_not_holding(const Matcher* matcher) const { protocols_.receives.wait_until_not_holding(matcher); }
  void wake_owner() override { protocols_.host.wake_owner(); }
  void packets_came() override;
  void room_came_elsewhere() override;

  // --- end of a runtime ---------------------------------------------------------------------------------------------
  /// Nothing more is accepted here. Before any device is cancelled: handlers that are told may want to post.
  void stop_accepting() { protocols_.handed.close(); }
  /// Ends everything outstanding with @p code, when no device accepts more.
  void cancel_all(int code);
  /// Says goodbye over the network. Nothing is sent or read there afterwards.
  void leave(RankState state);
  /// Drops the operations of a lane that goes: their buffers may go with it. Barriers still take part.
  void forget(const LaneView& gone);
  /// Receives that cancels have looked at; for tests.
  uint64_t receives_looked_at() const { return protocols_.receives.looked_at(); }

 private:
  // posting (post.cpp)
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

  // one pass (progress.cpp, peers.cpp)
  bool pass_delayed(Budget& budget);
  bool take_handed();
  void scan_summary(By by);
  bool accept(Link& link);
  bool meet_devices();
  bool look_for_failures();
  bool fail_links(RankState state, bool* all);
  bool retry_backlog();
  bool retry_waiting();
  bool send_to_busy();
  bool drain_ready(Budget& budget);
  void leave_ready();
  void tell_room();
  void room_came();
  void collect_packets();

  Runtime& runtime_;
  Protocols protocols_;
  uint32_t rotate_ = 0;
  uint32_t generation_ = 0;
  uint32_t seen_epoch_ = 0;
  uint32_t short_passes_ = 0;       // in a row
  uint64_t passes_with_calls_ = 0;  // that were not short
  std::atomic<bool> room_came_elsewhere_{false};
};

}  // namespace lci
