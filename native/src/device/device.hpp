// SPDX-License-Identifier: Apache-2.0
// A device: links to device k of every rank, and the protocols over them.
//
// Who may call: everything but the functions marked "any thread" is for the owner: the lane that has the device, or the
// thread that holds its try-lock (Device::lock). Nothing here takes another lock on the path of a short message.
#pragma once

#include <atomic>

#include "base/try_lock.hpp"
#include "device/posting.hpp"

namespace lci {

class Runtime;

class Device final : public DeviceBell, public Posting {
 public:
  enum class By { kOwner, kHelper };

  /// @param runtime that it says it is of
  Device(Runtime& runtime, const DeviceParts& parts, uint32_t index);

  Runtime& runtime() { return runtime_; }
  /// Operations posted here that will be signalled; ended by whichever device or thread does that.
  Outstanding& outstanding() { return protocols_.host.outstanding; }
  const Outstanding& outstanding() const { return protocols_.host.outstanding; }
  void set_lane(LaneView* owner) { protocols_.host.set_lane(owner); }
  uint32_t lane_index = 0;  ///< Index among the lane's devices.
  TryLock lock;
  /// Refusals because another thread had the lock, which therefore cannot be in the counters.
  alignas(64) std::atomic<uint64_t> refused_by_lock{0};

  // --- sending ------------------------------------------------------------------------------------------------------
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
  bool short_pass() { return protocols_.collectives.watches_boards() && end_over_boards(); }
  /// Something is left that no doorbell will announce.
  bool must_enter() const {
    return protocols_.host.again() || protocols_.delayed() || !protocols_.grants.work().empty() ||
           !protocols_.handed.empty() || protocols_.waiting.some_given_up() || protocols_.collectives.has_news();
  }
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
  using Posting::leave;
  /// Drops the operations of a lane that goes: their buffers may go with it. Barriers still take part.
  void forget(const LaneView& gone);
  /// Receives that cancels have looked at; for tests.
  uint64_t receives_looked_at() const { return protocols_.receives.looked_at(); }

 private:
  // one pass (progress.cpp, peers.cpp)
  bool end_over_boards();
  bool pass_delayed(Budget& budget);
  void scan_summary(By by);
  bool accept(Link& link);
  bool meet_devices();
  bool look_for_failures();
  bool fail_links(RankState state, bool* all);
  bool end_link(Link& link, RankState state, bool* all);
  bool retry_backlog();
  bool retry_waiting();
  bool send_to_busy();
  bool drain_ready(Budget& budget);
  void leave_ready();
  void tell_room();
  void room_came();
  void collect_packets();

  Runtime& runtime_;
  uint32_t rotate_ = 0;
  uint32_t generation_ = 0;
  uint32_t seen_epoch_ = 0;
  uint32_t short_passes_ = 0;       // in a row
  uint64_t passes_with_calls_ = 0;  // that were not short
  std::atomic<bool> room_came_elsewhere_{false};
};

}  // namespace lci
