// SPDX-License-Identifier: Apache-2.0
// Always-on counters [M1]. One block per device, written only by the device's owner with plain loads and stores
// (relaxed atomics, so that a snapshot may read at any time); the rest is shared and rare.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace lci {

// clang-format off
#define LCI_COUNTERS(X) \
  X(operations_am_done) X(operations_am_posted) X(operations_send_done) X(operations_send_posted) \
  X(operations_recv_done) X(operations_recv_posted) X(operations_barrier_posted) X(operations_error) \
  X(retries_lock) X(retries_nopacket) X(retries_nomem) X(retries_backlog) X(retries_nocredit) \
  X(retries_pending) X(retries_order) X(arrivals) X(arrival_bytes) X(sent_bytes) X(signals) X(signals_dropped) \
  X(packets_get) X(packets_put) X(packets_steal) X(packets_miss) X(packets_free) X(packets_capacity) \
  X(packets_out) X(backlog_push) X(backlog_pop) X(backlog_depth) X(grants) X(recalls) X(returns) \
  X(announcements) X(pulls) X(discarded) X(progress_calls) X(progress_idle) X(ring_full) X(rendezvous) \
  X(unexpected) X(unexpected_stored) X(credits_leased) X(parks) X(wakes) X(late_wakes) X(peers_failed) \
  X(peers_left) X(protocol_errors) X(chaos_delayed) X(chaos_reordered) X(chaos_refused) X(chaos_killed) \
  X(chaos_stalled) X(receives_pending) X(sends_pending) \
  X(operations_put_done) X(operations_put_posted) X(operations_get_done) X(operations_get_posted) X(rma_copied) \
  X(rma_streamed) X(rma_served) X(rma_refused) X(memory_regions) X(memory_allocated) X(memory_retired) \
  X(packets_held) X(statuses_pushed) X(statuses_popped) X(arrivals_overrun)
// clang-format on

enum class Metric : uint32_t {
#define LCI_COUNTER_ENUM(name) name,
  LCI_COUNTERS(LCI_COUNTER_ENUM)
#undef LCI_COUNTER_ENUM
      kCount
};
inline constexpr uint32_t kCounters = static_cast<uint32_t>(Metric::kCount);
using CounterValues = std::array<uint64_t, kCounters>;

/// Name of counter @p index, or null.
const char* counter_name(uint32_t index);

/// Counters with one writer.
class alignas(64) Counters {
 public:
  void add(Metric counter, uint64_t n = 1) {
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
