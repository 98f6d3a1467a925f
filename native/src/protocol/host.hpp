// SPDX-License-Identifier: Apache-2.0
// The protocols of a device have this in common: who they are, what they count, and whom they tell.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/counters.hpp"
#include "protocol/contexts.hpp"
#include "protocol/outstanding.hpp"
#include "protocol/parts.hpp"
#include "wire/message.hpp"

namespace lci {

class Device;
struct Link;
struct Queued;

/// That of a device, whose owner calls everything but what says "any thread".
class ProtocolHost {
 public:
  ProtocolHost(const DeviceParts& device_parts, Device& of, uint32_t device_index)
      : parts(device_parts), device(of), index(device_index) {}
  ProtocolHost(const ProtocolHost&) = delete;
  ProtocolHost& operator=(const ProtocolHost&) = delete;

  const DeviceParts& parts;
  Device& device;  ///< Lanes and inboxes know it by this.
  const uint32_t index;
  Counters counters;
  /// Operations posted here that will be signalled; ended by whichever device or thread does that.
  Outstanding outstanding;
  /// The operation that is being posted out of the backlog; null: a new one is.
  const Queued* retrying = nullptr;

  /// Owner, if a lane has it. Set by the owner under the lock, read by anyone: a lane that retired stays where it is.
  LaneView* lane() const { return lane_.load(std::memory_order_acquire); }
  void set_lane(LaneView* owner) { lane_.store(owner, std::memory_order_release); }
  /// Any thread: the lane that owns the device finds something, and is woken if it is parked.
  void wake_owner() {
    if (LaneView* owner = lane()) owner->wake();
  }

  /// An operation has ended: whoever is to hear of it does. @p received: @p buffer is memory that a receive took, and
  /// goes to who hears. False: nobody heard, or keeps no buffers.
  bool complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size,
                bool received = false);
  /// A peer sent nonsense.
  void protocol_error(Link& link, const char* what, const MessageHeader& header);

  /// Something is left that no doorbell will announce: there must be another pass.
  void call_again() { again_ = true; }
  bool again() const { return again_; }
  void begin_pass() { again_ = false; }

 private:
  std::atomic<LaneView*> lane_{nullptr};
  bool again_ = false;
};

}  // namespace lci
