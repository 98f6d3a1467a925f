// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "protocol/packets.hpp"

namespace lci {

/// Whether a device was refused a packet, and may find one now. The owner of the device calls all but came().
class WantedPackets {
 public:
  WantedPackets(Packets& packets, uint32_t device) : packets_(packets), device_(device) {}

  /// A packet was wanted and there was none.
  void want() {
    wanted_ = true;
    packets_.wait(device_);
  }
  bool wanted() const { return wanted_; }
  /// Somebody said so, or the pool has packets that came before our wish was known.
  bool may_be_there() const {
    if (!wanted_) return false;
    return came_.load(std::memory_order_acquire) || packets_.pool().free_for(device_) != 0;
  }
  /// Whoever was refused is told.
  void end() {
    came_.store(false, std::memory_order_relaxed);
    wanted_ = false;
  }
  /// Any thread.
  void came() { came_.store(true, std::memory_order_release); }

 private:
  Packets& packets_;
  const uint32_t device_;
  bool wanted_ = false;
  std::atomic<bool> came_{false};
};

}  // namespace lci
