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
    if (!links_.find(rank) && rank != parts_.rank) {  // ours is rung by ring_own_bell(), too
      int ignored = LCI_DONE;
      links_.open(rank, &ignored);  // may throw: then the bell is left for the next pass
      if (!links_.find(rank) && parts_.peers.state(rank) == RankState::kActive) {
        unfinished_ = true;  // its memory cannot be mapped just now
        continue;
      }
    }
    // Cleared before the rings are read: what is published later sets it again.
    summary[rank].exchange(0, std::memory_order_acq_rel);
    Link* link = links_.find(rank);
    if (link && (link->in_open || accept_link(*link))) links_.make_ready(*link);
  }
}

void Device::ring_own_bell() {
  parts_.memory().summary(index_)[parts_.rank].store(1, std::memory_order_release);
}

bool Device::accept_link(Link& link) {
  const Links::Accepted accepted = links_.accept(link);
  if (accepted == Links::Accepted::kNonsense) protocol_error(link, "ring outside its memory", {});
  return accepted == Links::Accepted::kOpen;
}

}  // namespace lci
