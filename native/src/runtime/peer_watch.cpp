// SPDX-License-Identifier: Apache-2.0
// What the ranks know of each other: who is there, who has left, who has died; and how one wakes another. [area L]
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/mutation.hpp"
#include "runtime/runtime.hpp"

namespace lci {

void wake_park_word(std::atomic<uint32_t>& word);

namespace {

constexpr uint64_t kLookInterval = 20'000'000;

uint64_t coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

void Runtime::announce_state(RankState state) {
  left_.store(true, std::memory_order_relaxed);
  peers_->board().write(rank_, state);
  ring_peers();
}

/// Those whose memory is mapped look at the notices in their next pass; the others do so every 50 ms at the latest.
void Runtime::ring_peers() {
  for (uint32_t rank = 0; rank < size(); ++rank) {
    PeerMemory* memory = peers_->mapped(rank);
    if (rank == this->rank() || !memory) continue;
    for (uint32_t device = 0; device < attributes_.devices; ++device) {
      memory->summary(device)[this->rank()].store(1, std::memory_order_release);
      fence_seq_cst();
      wake_device(rank, device);
    }
  }
}

int Runtime::peer_memory(uint32_t rank, const char* operation, PeerMemory** out) {
  const int code = peers_->memory(rank, out);
  if (code != LCI_ERR_PROTOCOL) return code;
  shared.add(Metric::protocol_errors);
  LCI_LOG(*log_, LogLevel::kStatus, "peer", "%s", last_error());
  peer_gone(rank, RankState::kFailed);
  return blame(
      rank, fail(LCI_ERR_PEER_FAILED, "%s: rank %u has failed: what it gave as its memory is none", operation, rank));
}

PeerMemory* Runtime::memory_of_acquainted(uint32_t rank) {
  if (!is_known_to(rank)) return peers_->mapped(rank);
  PeerMemory* memory = nullptr;
  return peer_memory(rank, "look at peer", &memory) == LCI_DONE ? memory : nullptr;
}

/// Of a rank whose memory is mapped: who wakes it has written to it.
void Runtime::wake_device(uint32_t rank, uint32_t device) {
  MemoryHeader& header = peers_->mapped(rank)->header();
  const uint32_t slot = header.device[device].park_slot.load(std::memory_order_relaxed);
  if (slot < kMaxDevices) wake_park_word(header.park[slot].word);
}

void Runtime::park_barrier() const {
  if (parkers_pay_) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  } else {
    fence_seq_cst();
  }
}

void Runtime::owner_barrier() const {
  if (freers_pay_) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    fence_seq_cst();
  }
}

void Runtime::look_at_peers(bool now) {
  if (size() == 1) return;
  const uint64_t time = coarse_now();
  const bool due = time >= next_look_.load(std::memory_order_relaxed);
  NoticeBoard& board = peers_->board();
  if (!now && !due && board.changes() == seen_notices_.load(std::memory_order_relaxed)) return;
  TryLockGuard guard(looking_);
  if (!guard) return;
  if (due) next_look_.store(time + kLookInterval, std::memory_order_relaxed);
  if ((now || due) && peers_->liveness().look(due)) ring_peers();
  const uint32_t changes = board.changes();
  if (changes == seen_notices_.load(std::memory_order_relaxed)) return;
  seen_notices_.store(changes, std::memory_order_relaxed);
  read_notices();
}

void Runtime::read_notices() {
  std::vector<uint32_t> left;
  auto collect = [&](RankState wanted, std::vector<uint32_t>* into) {
    for (uint32_t rank = 0; rank < size(); ++rank) {
      if (rank == this->rank() || peer_ended(rank)) continue;
      if (peers_->board().state(rank) == wanted) into->push_back(rank);
    }
  };
  std::vector<uint32_t> failed;
  // The dead first: who left may have left because of them, and the cause is to be named. They are read last: such a
  // rank has read of the death before it left.
  collect(RankState::kLeft, &left);
  collect(RankState::kFailed, &failed);
  for (const uint32_t rank : failed) peer_has_ended(rank, RankState::kFailed);
  for (const uint32_t rank : left) peer_has_ended(rank, RankState::kLeft);
}

int Runtime::check_peer(uint32_t rank, const char* operation) const {
  const RankState state = peer_state(rank);
  if (state == RankState::kActive) return LCI_DONE;
  const bool left = state == RankState::kLeft;
  return fail(left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, "%s: rank %u %s", operation, rank,
              left ? "has left the job" : "has failed");
}

/// By the thread that looks at the peers.
void Runtime::peer_has_ended(uint32_t rank, RankState state) {
  peers_ended_[rank].store(true, std::memory_order_release);
  if (!peer_gone(rank, state)) tell_of_peers();
}

bool Runtime::read_all_of(uint32_t rank, uint32_t index) {
  uint32_t unread = 0;
  PeerMemory* memory = peers_->mapped(rank);
  for (uint32_t device = 0; device < devices(); ++device) {
    // Nobody may progress a device that nobody talks to.
    const bool spoken_to = memory && memory->ring_pair_offset(device, rank_).load(std::memory_order_acquire) != 0;
    if (spoken_to && device != index) unread |= 1u << device;
  }
  // Who stores a receive asks for the word after its engine's page is touched, who is last walks the pages after this.
  const uint32_t before = unread_devices_[rank].fetch_and(unread, std::memory_order_seq_cst);
  return before != 0 && (before & unread) == 0;
}

bool Runtime::peer_gone(uint32_t rank, RankState state) {
  RankState expected = RankState::kActive;
  if (!peer_states_[rank].compare_exchange_strong(expected, state)) return false;
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
  peer_epoch_.fetch_add(1, std::memory_order_seq_cst);
  for (auto& device : devices_) device->wake_owner();
}

}  // namespace lci
