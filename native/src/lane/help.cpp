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

/// Rings for the loop at the end of a helper's pass if that left it anything, also when memory ran out in it. What
/// others have rung for is left alone.
class Lane::Telling {
 public:
  explicit Telling(Lane& lane) : lane_(lane) {}
  ~Telling() {
    bool left = moved || lane_.has_pushed() || !lane_.queue_.empty() || lane_.generations() != lane_.told_generations_;
    for (const Device* device : lane_.devices_) left = left || device->must_enter();
    if (left) lane_.devices_.front()->ring_own_bell();  // a loop that looks at its bells alone enters
  }
  Telling(const Telling&) = delete;
  Telling& operator=(const Telling&) = delete;

  bool moved = true;

 private:
  Lane& lane_;
};

int Lane::help() {
  if (owner_waits_.load(std::memory_order_relaxed)) return LCI_RETRY;
  Inside found = Inside::kNobody;
  if (!inside_.compare_exchange_strong(found, Inside::kHelper, std::memory_order_acquire)) return LCI_RETRY;
  const Entered entered(*this);
  if (retired()) return LCI_RETRY;
  parts_.transport.look(false);
  parts_.shared.add(Metric::lane_helps);
  Telling telling(*this);
  telling.moved = progress(kHelpBudget, Device::By::kHelper);
  return telling.moved ? LCI_DONE : LCI_RETRY;
}

}  // namespace lci
