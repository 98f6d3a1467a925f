// SPDX-License-Identifier: Apache-2.0
// Wakes lanes that sleep on descriptors, for what comes over a network shows there: each has a socket with a name of
// its own, without a file, and to ring is to send it a datagram. Processes of the same host know the name by the
// memory of the lane's rank. A ring says no more than "look": whoever else rings costs a look.
//
// Any thread may ring. What belongs to a lane is called by that lane.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/device_set.hpp"
#include "host/file_descriptor.hpp"

namespace lci {

class LaneBells {
 public:
  LaneBells();
  ~LaneBells();
  LaneBells(const LaneBells&) = delete;
  LaneBells& operator=(const LaneBells&) = delete;

  /// What others need to ring.
  uint64_t name() const { return name_; }
  /// The lane's descriptor, which can be read when it was rung; -1: the process may open no more. Who rings before
  /// there is one rings nobody: the lane looks afterwards.
  int descriptor(uint32_t slot);
  /// Whether the lane was rung; forgets it.
  bool answer(uint32_t slot);
  /// Rings lane @p slot of whoever has @p name.
  void ring(uint64_t name, uint32_t slot);

 private:
  const uint64_t name_;
  FileDescriptor sender_;
  std::array<std::atomic<int>, kMaxDevices> sockets_;  // -1 until its lane first sleeps
};

}  // namespace lci
