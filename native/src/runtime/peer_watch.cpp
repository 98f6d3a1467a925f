// SPDX-License-Identifier: Apache-2.0
// What the ranks know of each other: who is there, who has left, who has died; and how one wakes another. [area L]
#include <linux/membarrier.h>
#include <poll.h>
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
  arena_->header().state.store(static_cast<uint32_t>(state), std::memory_order_seq_cst);
  for (uint32_t rank = 0; rank < size(); ++rank) {
    if (rank == this->rank() || rank >= peers_.arenas.size() || !peers_.arenas[rank]) continue;
    const uint32_t theirs = peers_.arenas[rank]->header().devices;  // another number is why this rank cannot join
    for (uint32_t device = 0; device < std::min(devices(), theirs); ++device) {
      peers_.arenas[rank]->summary(device)[this->rank()].store(1, std::memory_order_release);
      fence_seq_cst();
      wake_device(rank, device);
    }
  }
}

void Runtime::wake_device(uint32_t rank, uint32_t device) {
  ArenaHeader& header = peers_.arenas[rank]->header();
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
  if (!now && time < next_look_.load(std::memory_order_relaxed)) return;
  TryLockGuard guard(looking_);
  if (!guard) return;
  next_look_.store(time + kLookInterval, std::memory_order_relaxed);
  std::vector<pollfd> entries;
  std::vector<uint32_t> ranks, left;
  for (uint32_t rank = 0; rank < size(); ++rank) {
    if (rank == this->rank() || peer_ended(rank)) continue;
    const auto said = static_cast<RankState>(peers_.arenas[rank]->header().state.load(std::memory_order_acquire));
    if (said == RankState::kLeft) left.push_back(rank);
    if (said == RankState::kFailed) peer_has_ended(rank, said);
    if (said == RankState::kLeft || said == RankState::kFailed) continue;
    if (peers_.pidfds[rank] < 0) continue;
    entries.push_back({peers_.pidfds[rank], POLLIN, 0});
    ranks.push_back(rank);
  }
  if (!entries.empty() && poll(entries.data(), entries.size(), 0) <= 0) entries.clear();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents == 0 || LCI_MUTATED("ignore_death")) continue;
    // It may have said goodbye just before it ended.
    if (peers_.arenas[ranks[i]]->header().state.load() == static_cast<uint32_t>(RankState::kLeft)) {
      left.push_back(ranks[i]);
    } else {
      peer_has_ended(ranks[i], RankState::kFailed);
    }
  }
  // The dead first: who left may have left because of them, and the cause is to be named.
  for (const uint32_t rank : left) peer_has_ended(rank, RankState::kLeft);
}

int Runtime::check_peer(uint32_t rank, const char* operation) const {
  const RankState state = peer_state(rank);
  if (state == RankState::kActive) return LCI_DONE;
  const bool left = state == RankState::kLeft;
  return fail(left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, "%s: rank %u %s", operation, rank,
              left ? "has left the job" : "has failed");
}

/// By who looks at the peers.
void Runtime::peer_has_ended(uint32_t rank, RankState state) {
  peers_ended_[rank].store(true, std::memory_order_release);
  if (!peer_gone(rank, state)) tell_of_peers();
}

bool Runtime::read_all_of(uint32_t rank, uint32_t index) {
  uint32_t unread = 0;
  for (uint32_t device = 0; device < devices(); ++device) {
    // Nobody may progress a device that nobody talks to.
    const bool spoken_to = peer_arena(rank).channel_offset(device, rank_).load(std::memory_order_acquire) != 0;
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
