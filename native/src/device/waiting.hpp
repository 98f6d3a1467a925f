// SPDX-License-Identifier: Apache-2.0
// The blocking forms: a loop of progress outside the post path. [E10, C10, C20]
#pragma once

#include <cstdint>
#include <span>

#include "base/idle.hpp"
#include "device/shared.hpp"

namespace lci {

/// One wait of one thread: which devices it progresses, until when, and how it spends the time when nothing moves.
class Waiting {
 public:
  /// @param operation name for messages
  Waiting(const char* operation, std::span<Device* const> devices, uint32_t timeout_ms);

  /// LCI_DONE, or why nobody may wait so: LCI_ERR_SIGNAL_CONTEXT [SS-47], LCI_ERR_DEVICE (owned by a lane).
  int allowed() const;
  /// Between two looks of the caller: progresses the devices, or waits politely. LCI_DONE: look again; LCI_ERR_DEVICE:
  /// a lane took one; LCI_ERR_TIMEOUT: the time was over at the last look.
  int turn();

 private:
  const char* const operation_;
  const std::span<Device* const> devices_;
  const uint32_t timeout_ms_;
  const uint64_t end_;  // UINT64_MAX: never
  bool over_ = false;
  Idle idle_;
};

}  // namespace lci
