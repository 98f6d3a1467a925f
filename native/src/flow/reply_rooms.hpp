// SPDX-License-Identifier: Apache-2.0
// Room for replies at a port: set aside when the port is made ready for them, reserved by each request before it
// leaves, used by its reply, free again when that is taken. So a reply needs no credit. [X10, 2B-55]
//
// Memory orders and callers: any thread, all functions. The counts are claims on room, not on data: relaxed. What a
// count allows is handed on by the rings and queues that carry the messages. Only who was refused and who gives room
// back must not miss each other: each writes its word, the wish or the count, and then reads the other's, all of it
// sequentially consistent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/device_set.hpp"

namespace lci {

/// Requests of a rank to be answered at one of its ports that nobody will answer, on their way to a device that tells
/// the rank. Part of the rooms, so that another thread needs no memory to leave one.
///
/// Memory orders: whoever counts the first one puts this into the list of a device, whose owner takes it out, and then
/// the count. Both are read-modify-writes with acquire and release: the owner has read `next` before it changes.
struct DeclinedRequests {
  uint32_t rank = 0;
  uint16_t port = 0;
  std::atomic<uint32_t> count{0};
  DeclinedRequests* next = nullptr;

  /// True: they are in no list, and the caller is to put them into one.
  bool add(uint32_t more) { return count.fetch_add(more, std::memory_order_acq_rel) == 0; }
  uint32_t take() { return count.exchange(0, std::memory_order_acq_rel); }
};

class ReplyRooms {
 public:
  ReplyRooms(uint32_t ranks, uint16_t port) : ranks_(std::make_unique<Rank[]>(ranks)), size_(ranks) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      ranks_[rank].declined.rank = rank;
      ranks_[rank].declined.port = port;
    }
  }

  // --- who asks -----------------------------------------------------------------------------------------------------
  void set_aside(uint32_t count, uint32_t bytes) {
    bytes_.store(bytes, std::memory_order_relaxed);
    count_.store(count, std::memory_order_relaxed);
    free_.store(count, std::memory_order_relaxed);
  }
  /// Most bytes of a reply.
  uint32_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint32_t free() const { return free_.load(std::memory_order_relaxed); }
  /// Before a request to @p rank leaves; false: all room is in use, and @p device is to be told when there is some.
  bool reserve(uint32_t rank, uint32_t device) {
    if (!take_one(free_)) {
      wanted_.add(device);
      if (!take_one(free_)) return false;
    }
    ranks_[rank].held.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  /// The request did not leave, or the peer says that it will not be answered; false: @p rank holds no room.
  bool cancel(uint32_t rank) {
    if (!take_one(ranks_[rank].held)) return false;
    give_back();
    return true;
  }
  /// After room was given back: the devices that are to be told. Empty, almost always.
  DeviceSet& wanted() { return wanted_; }
  /// A reply of @p rank has come; false: it holds no room.
  bool use(uint32_t rank) { return take_one(ranks_[rank].held); }
  /// It has not been delivered, and is handled again.
  void take_use_back(uint32_t rank) { ranks_[rank].held.fetch_add(1, std::memory_order_relaxed); }
  /// A reply was taken.
  void give_back() {
    uint32_t free = free_.load(std::memory_order_relaxed);
    const uint32_t count = count_.load(std::memory_order_relaxed);
    while (free < count && !free_.compare_exchange_weak(free, free + 1, std::memory_order_seq_cst)) {
    }
  }
  /// The peer is gone: it will not answer.
  void forget(uint32_t rank) {
    while (cancel(rank)) {
    }
  }
  /// The port opens anew: what was stored under its last opening is gone.
  void reopen() {
    uint32_t held = 0;
    for (uint32_t rank = 0; rank < size_; ++rank) held += ranks_[rank].held.load(std::memory_order_relaxed);
    const uint32_t count = count_.load(std::memory_order_relaxed);
    free_.store(held < count ? count - held : 0, std::memory_order_relaxed);
  }

  // --- who answers --------------------------------------------------------------------------------------------------
  /// A request of @p rank has come.
  void owe(uint32_t rank, uint32_t bytes) {
    ranks_[rank].bound.store(bytes, std::memory_order_relaxed);
    ranks_[rank].owed.fetch_add(1, std::memory_order_relaxed);
  }
  bool owes(uint32_t rank) const { return ranks_[rank].owed.load(std::memory_order_relaxed) != 0; }
  uint32_t bound(uint32_t rank) const { return ranks_[rank].bound.load(std::memory_order_relaxed); }
  /// Before a reply leaves; false: no request of @p rank waits for one.
  bool answer(uint32_t rank) { return take_one(ranks_[rank].owed); }
  /// It did not leave.
  void take_answer_back(uint32_t rank) { ranks_[rank].owed.fetch_add(1, std::memory_order_relaxed); }
  DeclinedRequests& declined(uint32_t rank) { return ranks_[rank].declined; }

 private:
  struct Rank {
    std::atomic<uint32_t> held{0};   ///< Rooms here that requests to it have reserved.
    std::atomic<uint32_t> owed{0};   ///< Rooms there that its requests have reserved.
    std::atomic<uint32_t> bound{0};  ///< Bytes of those.
    DeclinedRequests declined;
  };
  static bool take_one(std::atomic<uint32_t>& count) {
    uint32_t left = count.load(std::memory_order_seq_cst);
    while (left != 0) {
      if (count.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  std::atomic<uint32_t> free_{0};
  DeviceSet wanted_;  ///< By devices that were refused.
  std::atomic<uint32_t> count_{0}, bytes_{0};
  const std::unique_ptr<Rank[]> ranks_;
  const uint32_t size_;
};

}  // namespace lci
