// SPDX-License-Identifier: Apache-2.0
#include "transport/peers.hpp"

#include "base/error.hpp"

namespace lci {

Peers::Peers(uint32_t rank, uint32_t ranks, SharedCounters& shared, Log& log)
    : PeerTable(ranks), rank_(rank), ranks_(ranks), shared_(shared), log_(log) {}

int Peers::memory(uint32_t rank, const char* operation, PeerMemory** out) {
  const int code = transport_->open(rank, out);
  if (code != LCI_ERR_PROTOCOL) return code;
  shared_.add(Metric::protocol_errors);
  LCI_LOG(log_, LogLevel::kStatus, "peer", "%s", last_error());
  treat_as_gone(rank, RankState::kFailed);
  return blame(
      rank, fail(LCI_ERR_PEER_FAILED, "%s: rank %u has failed: what it gave as its memory is none", operation, rank));
}

PeerMemory* Peers::memory_of_acquainted(uint32_t rank) {
  if (!is_known_to(rank)) return transport_->mapped(rank);
  PeerMemory* found = nullptr;
  return memory(rank, "look at peer", &found) == LCI_DONE ? found : nullptr;
}

void Peers::leave(RankState state, uint64_t until_ns) {
  left_.store(true, std::memory_order_relaxed);
  transport_->leave(state, until_ns);
}

void Peers::show_devices() {
  const uint32_t index = devices_.size() - 1;
  transport_->own().show_devices(index + 1);
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_ || state(rank) != RankState::kActive) continue;
    PeerMemory* const memory = memory_of_acquainted(rank);
    if (memory && memory->devices() > index) transport_->ring(*memory, index);
  }
}

/// By the thread that looks at the peers.
void Peers::gone(uint32_t rank, RankState state) {
  mark_ended(rank);
  if (!treat_as_gone(rank, state)) wake_devices();
}

void Peers::fenced(uint32_t by) {
  if (!mark_fenced()) return;
  shared_.add(Metric::fenced);
  LCI_LOG(log_, LogLevel::kError, "peer", "rank %u counts as failed, as rank %u has said; it takes part no more", rank_,
          by);
  for (uint32_t rank = 0; rank < ranks_; ++rank) {
    if (rank != rank_) treat_as_gone(rank, RankState::kFenced);
  }
}

bool Peers::treat_as_gone(uint32_t rank, RankState state) {
  if (!mark_gone(rank, state)) return false;
  switch (state) {
    case RankState::kFenced:  // which has been said
      break;
    case RankState::kLeft:
      shared_.add(Metric::peers_left);
      LCI_LOG(log_, LogLevel::kInfo, "peer", "rank %u has left the job", rank);
      break;
    default:
      shared_.add(Metric::peers_failed);
      LCI_LOG(log_, LogLevel::kStatus, "peer", "rank %u has failed", rank);  // callers learn it by their operations
  }
  wake_devices();
  return true;
}

bool Peers::read_all_of(uint32_t rank, uint32_t index) {
  DeviceBits unread{};
  for (uint32_t device = 0; device < devices_.size(); ++device) {
    // Nobody may progress a device that nobody talks to.
    if (device != index && transport_->has_spoken(rank, device)) set_bit(unread, device);
  }
  return read_all(rank, unread);
}

void Peers::wake_devices() {
  advance_epoch();
  for (DeviceBell& device : devices_) device.wake_owner();
}

}  // namespace lci
