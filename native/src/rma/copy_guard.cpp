// SPDX-License-Identifier: Apache-2.0
#include "rma/copy_guard.hpp"

#include <new>

#include "base/no_memory.hpp"
#include "base/try_lock.hpp"

namespace lci {

GracePeriod::GracePeriod(const Copiers& copiers) : copiers_(&copiers) {
  copiers.owner_barrier.pass();
  noted_ = unless_no_memory([this] { note(); });
}

void GracePeriod::note() {
  copies_.clear();  // of a try that had not memory enough
  for (uint32_t rank = 0; rank < copiers_->ranks; ++rank) {
    if (!copies(rank)) continue;
    PeerMemory* memory = nullptr;
    const int code = copiers_->peers.memory(rank, "look at copies", &memory);
    if (code == LCI_ERR_NO_MEMORY) throw std::bad_alloc();  // it can be mapped another time
    if (code != LCI_DONE) {
      copies_.push_back({rank, 0, kUnseen});
      continue;
    }
    for_each_copy_of(rank, *memory, [&](uint32_t device, uint64_t sequence) {
      copies_.push_back({rank, device, sequence});
    });
  }
}

/// Calls visit(device, sequence) for each copy of a rank that is under way.
template <typename Visit>
void GracePeriod::for_each_copy_of(uint32_t rank, PeerMemory& memory, Visit visit) const {
  const uint32_t devices = memory.devices();
  for (uint32_t device = 0; device < devices; ++device) {
    const uint64_t sequence = word(rank, device).load(std::memory_order_seq_cst);
    if (sequence % 2 != 0) visit(device, sequence);
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
  noted_ = noted_ || unless_no_memory([this] { note(); });
  std::erase_if(copies_, [this](const Copy& copy) { return is_over(copy); });
  return noted_ && copies_.empty();
}

void GracePeriod::wait_for_this_process() const {
  for (uint32_t rank = 0; rank < copiers_->ranks; ++rank) {
    if (!copiers_->transport.shares_addresses_with(rank) || !copies(rank)) continue;
    PeerMemory* memory = nullptr;  // that of a rank of this process is there
    if (copiers_->peers.memory(rank, "wait for copies", &memory) != LCI_DONE) continue;
    for_each_copy_of(rank, *memory, [&](uint32_t device, uint64_t sequence) {
      const auto& here = word(rank, device);
      for (SpinWait wait; here.load(std::memory_order_acquire) == sequence; wait.step()) {
      }
    });
  }
}

}  // namespace lci
