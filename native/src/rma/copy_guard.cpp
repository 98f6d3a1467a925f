// SPDX-License-Identifier: Apache-2.0
#include "rma/copy_guard.hpp"

#include "base/mutation.hpp"
#include "base/try_lock.hpp"
#include "runtime/runtime.hpp"

namespace lci {

GracePeriod::GracePeriod(Runtime& runtime) : runtime_(&runtime) {
  if (LCI_MUTATED("reuse_under_copy")) return;
  for (uint32_t rank = 0; rank < runtime.size(); ++rank) {
    for (uint32_t device = 0; device < runtime.devices(); ++device) {
      const auto& word = runtime.peer_arena(rank).header().device[device].copying;
      const uint64_t sequence = word.load(std::memory_order_seq_cst);
      if (sequence % 2 != 0) copies_.push_back({rank, device, sequence});
    }
  }
}

bool GracePeriod::is_over(const Copy& copy) const {
  const auto& word = runtime_->peer_arena(copy.rank).header().device[copy.device].copying;
  return word.load(std::memory_order_acquire) != copy.sequence || runtime_->peer_ended(copy.rank);
}

bool GracePeriod::passed() {
  std::erase_if(copies_, [this](const Copy& copy) { return is_over(copy); });
  return copies_.empty();
}

void GracePeriod::wait_for_this_process() {
  for (const Copy& copy : copies_) {
    if (!runtime_->same_process(copy.rank)) continue;
    const auto& word = runtime_->peer_arena(copy.rank).header().device[copy.device].copying;
    for (SpinWait wait; word.load(std::memory_order_acquire) == copy.sequence; wait.step()) {
    }
  }
}

}  // namespace lci
