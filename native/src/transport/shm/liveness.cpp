// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/liveness.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "host/process.hpp"

namespace lci {
namespace {

/// Ranks that are watched all the time, and that are looked at besides at each look.
constexpr size_t kWatched = 2;
constexpr uint32_t kOthersPerLook = 4;

bool is_another(const ProcessName& name) {
  const uint64_t start = name.start == 0 ? 0 : process_start(name.process);
  return start != 0 && start != name.start;
}

}  // namespace

bool Liveness::look(bool others) {
  // What others have written opens the ring as well.
  if (const uint32_t changes = board_.changes(); changes != seen_changes_) {
    seen_changes_ = changes;
    ring_changed_ = true;
  }
  bool found = look_at_ring();
  while (ring_changed_) {  // whoever is watched next may be dead, too
    ring_changed_ = false;
    found |= close_ring();
    found |= look_at_ring();
  }
  return (others && look_at_others()) || found;
}

/// Watches the next living ranks. True: one of them was dead.
bool Liveness::close_ring() {
  std::erase_if(ring_, [this](const Watched& watched) { return board_.state(watched.rank) != RankState::kActive; });
  bool found = false;
  const auto size = static_cast<uint32_t>(processes_.size());
  for (uint32_t step = 1; step < size && ring_.size() < kWatched; ++step) {
    const uint32_t rank = (rank_ + step) % size;
    const bool watchable = processes_[rank].process != 0 && board_.state(rank) == RankState::kActive;
    if (watchable && !is_watched(rank) && !watch(rank)) found |= tell_death(rank);
  }
  return found;
}

/// False: it is dead.
bool Liveness::watch(uint32_t rank) {
  FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, processes_[rank].process, 0)));
  if (process.get() < 0 && errno == ESRCH) return false;
  if (is_another(processes_[rank])) return false;
  ring_.push_back({rank, std::move(process)});
  return true;
}

bool Liveness::is_watched(uint32_t rank) const {
  return std::any_of(ring_.begin(), ring_.end(), [rank](const Watched& watched) { return watched.rank == rank; });
}

bool Liveness::look_at_ring() {
  pollfd entries[kWatched];
  for (size_t i = 0; i < ring_.size(); ++i) entries[i] = {ring_[i].process.get(), POLLIN, 0};
  if (ring_.empty() || poll(entries, ring_.size(), 0) < 0) return false;
  bool found = false;
  for (size_t i = 0; i < ring_.size(); ++i) {
    const bool handle = ring_[i].process.get() >= 0;  // else no descriptor was left for it
    if (handle ? entries[i].revents != 0 : process_gone(processes_[ring_[i].rank].process)) {
      found |= tell_death(ring_[i].rank);
      ring_changed_ = true;
    }
  }
  return found;
}

bool Liveness::look_at_others() {
  bool found = false;
  const auto size = static_cast<uint32_t>(processes_.size());
  uint32_t looks = 0;
  for (uint32_t step = 0; step < size && looks < kOthersPerLook; ++step) {
    next_ = (next_ + 1) % size;
    if (next_ == rank_ || processes_[next_].process == 0 || is_watched(next_)) continue;
    if (board_.state(next_) != RankState::kActive) continue;
    ++looks;
    if (process_gone(processes_[next_].process)) found |= tell_death(next_);
  }
  return found;
}

/// False: something was said of it before, be it that it has left.
bool Liveness::tell_death(uint32_t rank) {
  return board_.write(rank, RankState::kFailed);
}

}  // namespace lci
