// SPDX-License-Identifier: Apache-2.0
// The other ranks: which are there, what of their memory this rank can see, and what happens when one is gone. [area L]
#pragma once

#include <atomic>
#include <cstdint>

#include "base/counters.hpp"
#include "base/device_bell.hpp"
#include "base/device_table.hpp"
#include "base/log.hpp"
#include "peer/peer_table.hpp"
#include "transport/transport.hpp"

namespace lci {

/// Any thread may call anything but attach(), which is for the start; add() by one thread at a time.
class Peers final : public PeerTable, public PeerEvents {
 public:
  Peers(uint32_t rank, uint32_t ranks, SharedCounters& shared, Log& log);
  void attach(Transport& transport) { transport_ = &transport; }
  /// The next device: it is woken when a rank is gone.
  void add(DeviceBell& device) { devices_.add(device); }
  /// Shows the others that this rank has as many devices as were added, and wakes the one of each that talks to the
  /// last: it may have been refused.
  void show_devices();

  /// The memory of a rank, mapped if need be; what fails is said as by @p operation. A rank whose memory is none counts
  /// as failed. LCI_ERR_NO_MEMORY, LCI_ERR_PEER_FAILED.
  int memory(uint32_t rank, const char* operation, PeerMemory** out);
  /// That of a rank which was mapped before.
  PeerMemory& mapped_memory(uint32_t rank) { return *transport_->mapped(rank); }
  /// Whether a rank has mapped this one's memory; else it has sent nothing, and copies nothing.
  bool is_known_to(uint32_t rank) { return transport_->own().known_to(rank).load(std::memory_order_seq_cst) != 0; }
  /// That of a rank which has mapped ours: it may have sent something, and copy. Null: it has not, or there is no way.
  PeerMemory* memory_of_acquainted(uint32_t rank);

  /// Marks a rank as gone; false if it was.
  bool treat_as_gone(uint32_t rank, RankState state);
  /// Device @p index has delivered the last of what @p rank, which is gone, had sent it. True once: when this was the
  /// last device that the rank had ever spoken to.
  bool read_all_of(uint32_t rank, uint32_t index);

  /// Tells those that have met this rank that it leaves, or failed: what it had of them is theirs.
  void leave(RankState state, uint64_t until_ns);
  bool has_left() const { return left_.load(std::memory_order_relaxed); }

 private:
  void gone(uint32_t rank, RankState state) override;
  void failed(uint32_t rank) override { treat_as_gone(rank, RankState::kFailed); }
  void fenced(uint32_t by) override;
  void wake_devices() override;

  const uint32_t rank_, ranks_;
  SharedCounters& shared_;
  Log& log_;
  Transport* transport_ = nullptr;
  DeviceTable<DeviceBell> devices_;
  std::atomic<bool> left_{false};
};

}  // namespace lci
