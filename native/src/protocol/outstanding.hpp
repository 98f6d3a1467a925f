// SPDX-License-Identifier: Apache-2.0
// How many operations of a device have not ended.
//
// Memory orders and callers: who holds the device counts with plain loads and stores, for that is nearly always who
// begins and ends; other threads add and subtract on a word of their own. Only the sum of the two means something, and
// only who holds the device may ask for it. Ending is a release, asking an acquire: who sees that all have ended sees
// what their signals did.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci {

class Outstanding {
 public:
  void begin_by_owner() { by_owner_.store(by_owner_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  void end_by_owner() { by_owner_.store(by_owner_.load(std::memory_order_relaxed) - 1, std::memory_order_release); }
  /// Any thread.
  void begin() { by_others_.fetch_add(1, std::memory_order_relaxed); }
  /// Any thread, also of what the owner began.
  void end() { by_others_.fetch_sub(1, std::memory_order_release); }
  /// Whether all have ended; by the owner.
  bool none() const {
    return by_owner_.load(std::memory_order_acquire) + by_others_.load(std::memory_order_acquire) == 0;
  }

 private:
  std::atomic<uint64_t> by_owner_{0};
  std::atomic<uint64_t> by_others_{0};
};

}  // namespace lci
