// SPDX-License-Identifier: Apache-2.0
// Always-on counters [M1]. One block per device, written only by the device's owner with plain loads and stores
// (relaxed atomics, so that a snapshot may read at any time); the rest is shared and rare.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/counter_list.hpp"

namespace lci {

enum class Metric : uint32_t {
#define LCI_COUNTER_ENUM(name, help) name,
  LCI_COUNTERS(LCI_COUNTER_ENUM)
#undef LCI_COUNTER_ENUM
      kCount
};
inline constexpr uint32_t kCounters = static_cast<uint32_t>(Metric::kCount);
using CounterValues = std::array<uint64_t, kCounters>;

/// Name of counter @p index, or null.
const char* counter_name(uint32_t index);
/// One sentence on counter @p index, or null.
const char* counter_help(uint32_t index);

/// Counters with one writer.
class alignas(64) Counters {
 public:
  /// A part of every short operation: left a call, it costs as much again as what it does.
  [[gnu::always_inline]] void add(Metric counter, uint64_t n = 1) {
    auto& value = values_[static_cast<uint32_t>(counter)];
    value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void set(Metric counter, uint64_t n) { values_[static_cast<uint32_t>(counter)].store(n, std::memory_order_relaxed); }
  uint64_t get(Metric counter) const { return values_[static_cast<uint32_t>(counter)].load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> values_[kCounters] = {};
};

/// Counters that any thread may write.
class alignas(64) SharedCounters {
 public:
  void add(Metric counter, uint64_t n = 1) {
    values_[static_cast<uint32_t>(counter)].fetch_add(n, std::memory_order_relaxed);
  }
  uint64_t get(Metric counter) const { return values_[static_cast<uint32_t>(counter)].load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> values_[kCounters] = {};
};

}  // namespace lci
