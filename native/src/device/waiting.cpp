// SPDX-License-Identifier: Apache-2.0
#include "device/waiting.hpp"

#include <mutex>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace lci {

Waiting::Waiting(const char* operation, std::span<Device* const> devices, uint32_t timeout_ms)
    : operation_(operation),
      devices_(devices),
      timeout_ms_(timeout_ms),
      end_(timeout_ms == LCI_FOREVER ? UINT64_MAX : now_ns() + uint64_t{timeout_ms} * 1'000'000u) {}

int Waiting::allowed() const {
  if (const int code = check_outside_handlers(operation_); code != LCI_DONE) return code;
  for (const Device* device : devices_) {
    if (device->lane()) {
      return fail(LCI_ERR_DEVICE, "%s: device %u belongs to a lane, whose loop waits for it", operation_,
                  device->index());
    }
  }
  return LCI_DONE;
}

int Waiting::turn() {
  if (over_) return fail(LCI_ERR_TIMEOUT, "%s: not done after %u ms", operation_, timeout_ms_);
  bool moved = false;
  for (Device* device : devices_) {
    const int code = progress_shared(*device);
    if (is_error(code)) return code;
    moved |= code == LCI_DONE;
  }
  if (moved) idle_.reset();
  if (end_ == UINT64_MAX) {
    if (!moved) idle_.wait(UINT64_MAX);
    return LCI_DONE;
  }
  const uint64_t now = now_ns();
  over_ = now >= end_;
  if (!moved && !over_) idle_.wait(end_ - now);
  return LCI_DONE;
}

}  // namespace lci
