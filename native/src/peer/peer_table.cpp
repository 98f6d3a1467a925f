// SPDX-License-Identifier: Apache-2.0
#include "peer/peer_table.hpp"

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {

PeerTable::PeerTable(uint32_t size)
    : states_(std::make_unique<std::atomic<RankState>[]>(size)),
      ended_(std::make_unique<std::atomic<bool>[]>(size)),
      unread_(std::make_unique<Unread[]>(size)) {
  for (uint32_t rank = 0; rank < size; ++rank) {
    states_[rank].store(RankState::kActive, std::memory_order_relaxed);
    unread_[rank].devices.fill();
  }
}

int PeerTable::check(uint32_t rank, const char* operation) const {
  const RankState now = state(rank);
  if (now == RankState::kActive) return LCI_DONE;
  return fail(error_of(now), "%s: rank %u %s", operation, rank, words_of(now));
}

bool PeerTable::mark_gone(uint32_t rank, RankState state) {
  RankState expected = RankState::kActive;
  return states_[rank].compare_exchange_strong(expected, state);
}

bool PeerTable::read_all(uint32_t rank, const DeviceBits& others) {
  // Who stores a receive asks for the words after its engine's page is touched, who is last walks the pages after this.
  Unread& unread = unread_[rank];
  unread.devices.keep_only(others);
  return unread.devices.empty() && !unread.told.exchange(true, std::memory_order_seq_cst);
}

}  // namespace lci
