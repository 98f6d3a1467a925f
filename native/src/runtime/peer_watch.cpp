// SPDX-License-Identifier: Apache-2.0
// What a rank does when it hears that another one has left or died. [area L]
#include "base/error.hpp"
#include "base/membarrier.hpp"
#include "runtime/runtime.hpp"

namespace lci {

void Runtime::leave(RankState state) {
  left_.store(true, std::memory_order_relaxed);
  transport_->leave(state);
}

int Runtime::peer_memory(uint32_t rank, const char* operation, PeerMemory** out) {
  const int code = transport_->open(rank, out);
  if (code != LCI_ERR_PROTOCOL) return code;
  shared.add(Metric::protocol_errors);
  LCI_LOG(*log_, LogLevel::kStatus, "peer", "%s", last_error());
  peer_gone(rank, RankState::kFailed);
  return blame(
      rank, fail(LCI_ERR_PEER_FAILED, "%s: rank %u has failed: what it gave as its memory is none", operation, rank));
}

PeerMemory* Runtime::memory_of_acquainted(uint32_t rank) {
  if (!is_known_to(rank)) return transport_->mapped(rank);
  PeerMemory* memory = nullptr;
  return peer_memory(rank, "look at peer", &memory) == LCI_DONE ? memory : nullptr;
}

void Runtime::owner_barrier() const {
  if (freers_pay_) {
    process_barrier();
  } else {
    fence_seq_cst();
  }
}

/// By the thread that looks at the peers.
void Runtime::gone(uint32_t rank, RankState state) {
  peers_->mark_ended(rank);
  if (!peer_gone(rank, state)) tell_of_peers();
}

bool Runtime::read_all_of(uint32_t rank, uint32_t index) {
  uint32_t unread = 0;
  PeerMemory* memory = transport_->mapped(rank);
  for (uint32_t device = 0; device < devices(); ++device) {
    // Nobody may progress a device that nobody talks to.
    const bool spoken_to = memory && memory->ring_pair_offset(device, rank_).load(std::memory_order_acquire) != 0;
    if (spoken_to && device != index) unread |= 1u << device;
  }
  return peers_->read_all(rank, unread);
}

bool Runtime::peer_gone(uint32_t rank, RankState state) {
  if (!peers_->mark_gone(rank, state)) return false;
  shared.add(state == RankState::kLeft ? Metric::peers_left : Metric::peers_failed);
  if (state == RankState::kLeft) {
    LCI_LOG(*log_, LogLevel::kInfo, "peer", "rank %u has left the job", rank);
  } else {
    LCI_LOG(*log_, LogLevel::kStatus, "peer", "rank %u has failed", rank);  // callers learn it by their operations
  }
  tell_of_peers();
  return true;
}

void Runtime::tell_of_peers() {
  peers_->advance_epoch();
  for (auto& device : devices_) device->wake_owner();
}

}  // namespace lci
