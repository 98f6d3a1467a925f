// SPDX-License-Identifier: Apache-2.0
// Who has sent something: the summary line, and the rings of peers that speak for the first time.
#include "device/device.hpp"

namespace lci {

void Device::scan_summary() {
  std::atomic<uint8_t>* summary = parts_.memory().summary(index_);
  const uint32_t size = parts_.ranks;
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (size > 8 && rank % 8 == 0) {  // eight bytes at a look; a byte that appears meanwhile is seen next time
      while (rank + 8 <= size &&
             reinterpret_cast<std::atomic<uint64_t>*>(summary + rank)->load(std::memory_order_acquire) == 0) {
        rank += 8;
      }
      if (rank >= size) break;
    }
    if (summary[rank].load(std::memory_order_relaxed) == 0) continue;
    if (!links_[rank] && rank != parts_.rank) {  // ours is rung by ring_own_bell(), too
      int ignored = LCI_DONE;
      open_link(rank, &ignored);  // may throw: then the bell is left for the next pass
      if (!links_[rank] && parts_.peers.state(rank) == RankState::kActive) {
        unfinished_ = true;  // its memory cannot be mapped just now
        continue;
      }
    }
    // Cleared before the rings are read: what is published later sets it again.
    summary[rank].exchange(0, std::memory_order_acq_rel);
    Link* link = links_[rank].get();
    if (link && (link->in_open || accept_link(*link))) make_ready(*link);
  }
}

void Device::ring_own_bell() {
  parts_.memory().summary(index_)[parts_.rank].store(1, std::memory_order_release);
}

bool Device::accept_link(Link& link) {
  if (link.failed || !link.peer) return false;
  const uint64_t offset = link.peer->ring_pair_offset(index_, parts_.rank).load(std::memory_order_acquire);
  if (offset == 0) return false;
  const Attributes& attributes = parts_.attributes;
  const uint32_t data = attributes.ring_bytes / kSlotBytes, control = attributes.control_ring_bytes / kSlotBytes;
  if (offset % 64 != 0 || !link.peer->contains(offset, RingPair::bytes(control, data))) {
    protocol_error(link, "ring outside its memory", {});
    return false;
  }
  auto* rings = reinterpret_cast<RingPair*>(link.peer->at(offset));
  link.control_in = RingConsumer(rings->control(control));
  link.data_in = RingConsumer(rings->data(control, data));
  link.in_open = true;
  ++in_open_;
  return true;
}

}  // namespace lci
