// SPDX-License-Identifier: Apache-2.0
// Short puts and gets of a batch that follow each other: copied one after the other under one CopyGuard, whose exchange
// costs more than such a copy.
#pragma once

#include <cstdint>
#include <optional>

#include "lci/lci.h"
#include "rma/copy_guard.hpp"
#include "rma/remote_table.hpp"

namespace lci {

class Device;

class CopyRun {
 public:
  /// What is longer takes a guard of its own: who ends a region waits for a whole run.
  static constexpr uint32_t kMost = 4096;

  CopyRun() = default;
  CopyRun(const CopyRun&) = delete;
  CopyRun& operator=(const CopyRun&) = delete;

  /// Does a short put or get without signal, of one range of memory that is at hand. False: take Device::post(),
  /// nothing was done, and the run is over.
  bool copy(Device& device, const lci_descriptor& op) {
    if (device_ != nullptr && &device != device_) end();
    if ((op.op == LCI_OP_PUT || op.op == LCI_OP_GET) && try_copy(device, op)) return true;
    end();
    return false;
  }
  void end() {
    guard_.reset();
    device_ = nullptr;
  }

 private:
  bool try_copy(Device& device, const lci_descriptor& op);

  Device* device_ = nullptr;  ///< Whose guard it is.
  std::optional<CopyGuard> guard_;
};

}  // namespace lci
