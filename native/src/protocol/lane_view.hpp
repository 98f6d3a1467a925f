// SPDX-License-Identifier: Apache-2.0
// What lies above the protocols, as they see it: a lane hears of what happened, an inbox takes what arrives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/try_lock.hpp"

namespace lci {

class Device;
struct InKey;
struct Payload;

class LaneView {
 public:
  // From devices, whose owner may be another lane's thread, or (null) from a thread that has none:
  // @p received: memory that a receive took, which goes to the loop; else null. False: nobody will hear of it.
  virtual bool operation_ended(Device* from, int code, uint32_t rank, uint64_t tag, uint64_t size, uint64_t context,
                               const void* received) = 0;
  // From devices of this lane only:
  virtual void writable(Device* from, uint32_t rank, uint16_t target, uint64_t count) = 0;
  virtual void peer_changed(Device* from, uint32_t rank, int state, int code) = 0;
  virtual void port_changed(Device* from, uint32_t rank, uint16_t target, int code) = 0;
  /// Any thread: the loop is woken if it is parked.
  virtual void wake() = 0;

  /// Whether the calling thread is inside enter.
  virtual bool is_entered() const = 0;
  bool retired() const { return retired_.load(std::memory_order_acquire); }
  /// Runs @p write, which writes into memory of this lane's user, unless the lane has retired: from devices of others.
  template <typename F>
  void write_unless_retired(F write) {
    std::lock_guard<TryLock> guard(writing_);
    if (!retired_.load(std::memory_order_relaxed)) write();
  }

 protected:
  ~LaneView() = default;

  TryLock writing_;  // held while a device of another lane writes: retiring waits for it
  std::atomic<bool> retired_{false};
};

/// What is known of a stored or recorded message besides its bytes: whom to credit, and from whom it came.
struct Arrival {
  InKey* key;
  uint32_t generation;
  uint32_t charge_messages;
  uint64_t charge_bytes;
  uint32_t rank;
  uint64_t tag;
  uint64_t request;  ///< Where its reply may go; 0: it asks for none.
};

class InboxView {
 public:
  /// A message for this inbox, or the part of its port that the tag names. Called by the owner of @p device, which may
  /// not be the home loop. @p owned: the payload lies in an ArrivalBuffer that is passed on. True: its packet stays
  /// here.
  virtual bool arrive(Device& device, const Arrival& arrival, const Payload& payload, std::byte* owned) = 0;

 protected:
  ~InboxView() = default;
};

}  // namespace lci
