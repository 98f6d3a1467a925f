// SPDX-License-Identifier: Apache-2.0
// Which peers have something for a device: the summary line, the rings of those who speak for the first time, and those
// who are gone. [area L]
#include "device/device.hpp"

namespace lci {

void Device::scan_summary(By by) {
  std::atomic<uint8_t>* summary = parts().memory().summary(index());
  const uint32_t size = parts().ranks;
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (size > 8 && rank % 8 == 0) {  // eight bytes at a look; a byte that appears meanwhile is seen next time
      while (rank + 8 <= size &&
             reinterpret_cast<std::atomic<uint64_t>*>(summary + rank)->load(std::memory_order_acquire) == 0) {
        rank += 8;
      }
      if (rank >= size) break;
    }
    if (summary[rank].load(std::memory_order_relaxed) == 0) continue;
    if (!links_.find(rank) && rank != parts().rank) {  // ours is rung by ring_own_bell(), too
      int ignored = LCI_DONE;
      links_.open(rank, &ignored);  // may throw: then the bell is left for the next pass
      if (!links_.find(rank) && parts().peers.state(rank) == RankState::kActive) {
        host_.call_again();
        continue;  // its memory cannot be mapped just now
      }
    }
    // Cleared before the rings are read: what is published later sets it again.
    if (by == By::kOwner || rank != parts().rank) summary[rank].exchange(0, std::memory_order_acq_rel);
    Link* link = links_.find(rank);
    if (link && (link->in_open || accept(*link))) links_.make_ready(*link);
  }
}

/// Peers have added a device for which operations were refused.
bool Device::meet_devices() {
  bool met = false;
  links_.meet_devices([&](Link& link) {
    met = true;
    protocols_.spending.tell_refused(link);
  });
  if (met) room_came();
  return met;
}

bool Device::accept(Link& link) {
  const Links::Accepted accepted = links_.accept(link);
  if (accepted == Links::Accepted::kNonsense) host_.protocol_error(link, "ring outside its memory", {});
  return accepted == Links::Accepted::kOpen;
}

bool Device::look_for_failures() {
  const uint32_t epoch = parts().peers.epoch();
  if (epoch == seen_epoch_) return false;
  bool all = true;
  bool moved = fail_links(RankState::kFailed, &all);  // first: others may have left because of them
  moved |= fail_links(RankState::kLeft, &all);
  if (all) seen_epoch_ = epoch;
  return moved;
}

/// Fails the links to all ranks in @p state; @p all becomes false if one still has messages to read.
bool Device::fail_links(RankState state, bool* all) {
  bool moved = false;
  for (uint32_t rank = 0; rank < parts().ranks; ++rank) {
    if (parts().peers.state(rank) != state) continue;
    Link& link = links_.of_gone(rank);
    if (link.failed) {
      moved |= protocols_.packets.reclaim_packets(link);
      continue;
    }
    if (!link.in_open && accept(link)) links_.make_ready(link);
    // What it sent before the end is delivered first.
    if (link.in_open && !link.broken && (link.data_in.has_message() || link.control_in.has_message())) {
      links_.make_ready(link);
      host_.call_again();
      *all = false;
      continue;
    }
    protocols_.peer_gone(link, state);
    moved = true;
  }
  return moved;
}

}  // namespace lci
