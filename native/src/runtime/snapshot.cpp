// SPDX-License-Identifier: Apache-2.0
// What the counters say at this moment: of each device, of what belongs to none, and in all. [M1]
#include <algorithm>

#include "completion/queue.hpp"
#include "runtime/runtime.hpp"

namespace lci {

/// Messages of capacity that are leased or stored, over all open ports and engines.
uint64_t Runtime::credits_out() {
  uint64_t messages = 0;
  auto add = [&](Target& target) {
    if (target.is_open() && target.credited)
      messages += target.capacity.total().messages - target.capacity.free().messages;
  };
  targets_->for_each_port(add);
  targets_->for_each_engine(add);
  return messages;
}

/// Adds what the device has counted.
void Runtime::count_device(uint32_t index, CounterValues* sum) const {
  const Device& device = devices_[index];
  for (const Counters* counters : {&device.counters(), device.network_counters()}) {
    for (uint32_t i = 0; counters && i < kCounters; ++i) (*sum)[i] += counters->get(static_cast<Metric>(i));
  }
  const auto add = [sum](Metric counter, uint64_t n) { (*sum)[static_cast<uint32_t>(counter)] += n; };
  add(Metric::retries_lock, device.refused_by_lock.load(std::memory_order_relaxed));
  const PacketPoolCounters pool = packets_->pool().counters_of(index);
  add(Metric::packets_get, pool.gets);
  add(Metric::packets_put, pool.puts);
  add(Metric::packets_steal, pool.steals);
  add(Metric::packets_miss, pool.misses);
  add(Metric::packets_free, packets_->pool().free_in(index));
}

/// Adds what no device counts.
void Runtime::count_rest(CounterValues* sum) {
  for (uint32_t i = 0; i < kCounters; ++i) (*sum)[i] += shared.get(static_cast<Metric>(i));
  const auto add = [sum](Metric counter, uint64_t n) { (*sum)[static_cast<uint32_t>(counter)] += n; };
  add(Metric::packets_capacity, packets_->pool().capacity());
  add(Metric::memory_regions, regions_->count());
  add(Metric::memory_allocated, regions_->allocated_bytes());
  add(Metric::memory_retired, regions_->retired());
  add(Metric::credits_leased, credits_out());
  uint64_t pushed = 0, popped = 0;
  completions_->count_statuses(&pushed, &popped);
  add(Metric::statuses_pushed, pushed);
  add(Metric::statuses_popped, popped);
}

uint32_t Runtime::snapshot(uint64_t* out, uint32_t count) {
  CounterValues sum{};
  count_rest(&sum);
  for (uint32_t index = 0; index < devices_.size(); ++index) count_device(index, &sum);
  for (uint32_t i = 0; i < std::min(count, kCounters); ++i) {
    // What one device added and another took away may be seen in the wrong order.
    out[i] = static_cast<int64_t>(sum[i]) < 0 ? 0 : sum[i];
  }
  return kCounters;
}

uint32_t Runtime::snapshot_part(uint32_t index, uint64_t* out, uint32_t count) {
  if (index != LCI_NO_DEVICE && index >= devices_.size()) return 0;
  CounterValues part{};
  if (index == LCI_NO_DEVICE) {
    count_rest(&part);
  } else {
    count_device(index, &part);
  }
  std::copy_n(part.begin(), std::min(count, kCounters), out);
  return kCounters;
}

}  // namespace lci
