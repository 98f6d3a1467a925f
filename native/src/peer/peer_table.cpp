// SPDX-License-Identifier: Apache-2.0
#include "peer/peer_table.hpp"

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {

PeerTable::PeerTable(uint32_t size)
    : states_(std::make_unique<std::atomic<RankState>[]>(size)),
      ended_(std::make_unique<std::atomic<bool>[]>(size)),
      unread_devices_(std::make_unique<std::atomic<uint32_t>[]>(size)) {
  for (uint32_t rank = 0; rank < size; ++rank) {
    states_[rank].store(RankState::kActive, std::memory_order_relaxed);
    unread_devices_[rank].store(UINT32_MAX, std::memory_order_relaxed);
  }
}

int PeerTable::check(uint32_t rank, const char* operation) const {
  const RankState now = state(rank);
  if (now == RankState::kActive) return LCI_DONE;
  const bool left = now == RankState::kLeft;
  return fail(left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, "%s: rank %u %s", operation, rank,
              left ? "has left the job" : "has failed");
}

bool PeerTable::mark_gone(uint32_t rank, RankState state) {
  RankState expected = RankState::kActive;
  return states_[rank].compare_exchange_strong(expected, state);
}

bool PeerTable::read_all(uint32_t rank, uint32_t others) {
  // Who stores a receive asks for the word after its engine's page is touched, who is last walks the pages after this.
  const uint32_t before = unread_devices_[rank].fetch_and(others, std::memory_order_seq_cst);
  return before != 0 && (before & others) == 0;
}

}  // namespace lci
