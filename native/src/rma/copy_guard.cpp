// SPDX-License-Identifier: Apache-2.0
#include "rma/copy_guard.hpp"

#include "base/try_lock.hpp"

namespace lci {

GracePeriod::GracePeriod(const Copiers& copiers) : copiers_(&copiers) {
  copiers.owner_barrier.pass();
  for (uint32_t rank = 0; rank < copiers.ranks; ++rank) {
    if (!copies(rank)) continue;
    PeerMemory* memory = nullptr;
    if (copiers.peers.memory(rank, "look at copies", &memory) != LCI_DONE) {
      copies_.push_back({rank, 0, kUnseen});
      continue;
    }
    const uint32_t devices = memory->devices();
    for (uint32_t device = 0; device < devices; ++device) {
      const uint64_t sequence = word(rank, device).load(std::memory_order_seq_cst);
      if (sequence % 2 != 0) copies_.push_back({rank, device, sequence});
    }
  }
}

/// Whether a rank may copy into or out of regions of this one, which itself copies all that comes by messages. A peer
/// that does not know this rank, or has ended, sees no region.
bool GracePeriod::copies(uint32_t rank) const {
  if (rank == copiers_->rank) return true;
  return copiers_->copies_with(rank) && copiers_->peers.is_known_to(rank) && !copiers_->peers.has_ended(rank);
}

const std::atomic<uint64_t>& GracePeriod::word(uint32_t rank, uint32_t device) const {
  PeerMemory& memory = copiers_->peers.mapped_memory(rank);
  return copiers_->transport.shares_addresses_with(rank) ? memory.copying_here(device)
                                                         : memory.header().device[device].copying;
}

bool GracePeriod::is_over(const Copy& copy) const {
  if (copy.sequence == kUnseen) return copiers_->peers.has_ended(copy.rank);
  return word(copy.rank, copy.device).load(std::memory_order_acquire) != copy.sequence ||
         copiers_->peers.has_ended(copy.rank);
}

bool GracePeriod::passed() {
  std::erase_if(copies_, [this](const Copy& copy) { return is_over(copy); });
  return copies_.empty();
}

void GracePeriod::wait_for_this_process() {
  for (const Copy& copy : copies_) {
    if (!copiers_->transport.shares_addresses_with(copy.rank) || copy.sequence == kUnseen) continue;
    const auto& here = word(copy.rank, copy.device);
    for (SpinWait wait; here.load(std::memory_order_acquire) == copy.sequence; wait.step()) {
    }
  }
}

}  // namespace lci
