// SPDX-License-Identifier: Apache-2.0
// Which ranks are there, which have left or failed, and whether something of theirs is still to be read.
//
// Any thread may call anything. Memory orders: a state changes once, from active, by a compare-and-swap; the epoch is
// moved after it, seq_cst, so a device that sees the epoch sees the state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/device_set.hpp"
#include "peer/rank_state.hpp"

namespace lci {

class PeerTable {
 public:
  /// All ranks are active.
  explicit PeerTable(uint32_t size);

  RankState state(uint32_t rank) const { return states_[rank].load(std::memory_order_acquire); }
  /// LCI_DONE, or the error that names why @p rank takes part no more.
  int check(uint32_t rank, const char* operation) const;
  /// False: it was gone.
  bool mark_gone(uint32_t rank, RankState state);

  /// Others count this rank as failed: what it waits for from no rank in particular does not come either.
  bool is_fenced() const { return fenced_.load(std::memory_order_acquire); }
  /// False: it was.
  bool mark_fenced() { return !fenced_.exchange(true, std::memory_order_seq_cst); }

  /// Whether a rank that is gone touches nothing of the others any more: it has said so, or its process has ended. One
  /// that is treated as failed may go on reading for a while.
  bool has_ended(uint32_t rank) const { return ended_[rank].load(std::memory_order_acquire); }
  void mark_ended(uint32_t rank) { ended_[rank].store(true, std::memory_order_release); }

  /// Changes when any rank is gone or has ended.
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  void advance_epoch() { epoch_.fetch_add(1, std::memory_order_seq_cst); }

  /// A device has delivered the last of what @p rank, which is gone, had sent it. @param others the other devices that
  /// the rank had spoken to. True once: when this was the last one.
  bool read_all(uint32_t rank, const DeviceBits& others);
  /// Whether all of them have: no message of @p rank comes any more.
  bool all_read(uint32_t rank) const { return unread_[rank].devices.empty(); }

 private:
  struct Unread {
    DeviceSet devices;  // that may hear of the rank
    std::atomic<bool> told{false};
  };

  const std::unique_ptr<std::atomic<RankState>[]> states_;
  const std::unique_ptr<std::atomic<bool>[]> ended_;
  const std::unique_ptr<Unread[]> unread_;
  std::atomic<bool> fenced_{false};
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace lci
