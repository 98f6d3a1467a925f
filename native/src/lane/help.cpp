// SPDX-License-Identifier: Apache-2.0
// A lane whose thread is busy with its user's code is helped: another thread progresses its devices. What moves is what
// others wait for: credit, packets, rendezvous, gets that peers ask for, messages to objects of other threads. What is
// for this lane's loop is stored, and its next enter tells it.
#include "base/error.hpp"
#include "lane/lane.hpp"

namespace lci {
namespace {

/// Few, since the lane's own thread waits for a pass that has begun.
constexpr Budget kHelpBudget{32, 64 * 1024};

}  // namespace

int Lane::help() {
  Inside found = Inside::kNobody;
  if (!inside_.compare_exchange_strong(found, Inside::kHelper, std::memory_order_acquire)) return LCI_RETRY;
  const Entered entered(*this);
  if (retired()) return LCI_RETRY;
  parts_.transport.look(false);
  parts_.shared.add(Metric::lane_helps);
  const bool moved = progress(kHelpBudget);
  bool left = moved;
  for (const Device* device : devices_) left = left || device->must_enter();
  if (left) devices_.front()->ring_own_bell();  // a loop that looks at its bells alone enters
  return moved ? LCI_DONE : LCI_RETRY;
}

}  // namespace lci
