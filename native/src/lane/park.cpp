// SPDX-License-Identifier: Apache-2.0
// Parking a loop's thread, and waking it. [V11]
//
// The loop announces itself in its park word; then a barrier on all processors (membarrier, paid here and not by those
// who publish) makes sure that whoever published before it is seen by the look that follows, and whoever publishes
// after it sees the announcement and wakes. Where a rank cannot take part in expedited barriers, every publisher
// fences.
#include <sched.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "lane/lane.hpp"

namespace lci {
namespace {

/// Peer death is looked for at least so often.
constexpr uint64_t kLongestPark = 50'000'000;
/// How long a publisher that was preempted between publishing and waking may take before a wake counts as lost.
constexpr uint64_t kWakeGrace = 20'000'000;

}  // namespace

void Lane::wake() {
  // A loop that polls without entering looks at its bells only; within an enter it sees by itself what is left.
  if (!is_entered()) devices_.front()->ring_own_bell();
  // Local publishers use sequentially consistent read-modify-writes before this, so no fence is needed here.
  if (parts_.memory().header().park[park_slot_].word.load(std::memory_order_seq_cst) == 0) return;
  parts_.shared.add(Metric::wakes);
  parts_.transport.wake(parts_.memory(), park_slot_);
}

bool Lane::has_work() {
  if (!queue_.empty() || has_pushed()) return true;
  for (Device* device : devices_) {
    if (device->has_work()) return true;
  }
  for (const auto& inbox : inboxes_) {
    if (!inbox || inbox->closing) continue;
    if (inbox->has_pushed()) return true;
    const lci_demand& entry = demand(inbox->index());
    if (inbox->stored() && entry.delivered < entry.requested) return true;
  }
  return false;
}

int Lane::park(uint64_t timeout_ns) {
  Transport& transport = parts_.transport;
  ParkLine& line = parts_.memory().header().park[park_slot_];
  auto& word = line.word;
  if (word.load(std::memory_order_relaxed) == 0) return LCI_DONE;  // woken between announcement and call
  if (!take()) return fail(LCI_ERR_BUSY, "park: another thread is inside this lane");
  const Entered entered(*this);
  transport.park_barrier();
  transport.look(true);
  for (Device* device : devices_) device->prepare_to_sleep();
  bool woken = has_work();
  if (!woken) {
    parts_.shared.add(Metric::parks);
    transport.sleep(line, now_ns() + std::min(timeout_ns, kLongestPark));
    woken = word.load(std::memory_order_acquire) == 0;
    if (!woken && has_work()) {
      // Somebody published: is the wake on its way, or was it never tried?
      const uint64_t grace = now_ns() + kWakeGrace;
      while (word.load(std::memory_order_acquire) != 0 && now_ns() < grace) sched_yield();
      if (word.load(std::memory_order_acquire) != 0) {
        parts_.shared.add(Metric::late_wakes);
        ++control().late_wakes;
      }
      woken = true;
    }
    transport.look(true);
  }
  for (Device* device : devices_) device->awake();
  word.store(0, std::memory_order_release);
  return woken ? LCI_DONE : LCI_RETRY;
}

}  // namespace lci
