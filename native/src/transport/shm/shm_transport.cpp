// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/shm_transport.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/fences.hpp"
#include "base/membarrier.hpp"
#include "bootstrap/inproc.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

constexpr uint64_t kLookInterval = 20'000'000;  // ns

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns) {
  timespec timeout{static_cast<time_t>(timeout_ns / 1'000'000'000u), static_cast<long>(timeout_ns % 1'000'000'000u)};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

/// By rank; those of other hosts are not to be watched from here.
std::vector<ProcessName> processes_of(const std::vector<HostAddress>& addresses, uint32_t rank) {
  std::vector<ProcessName> names;
  for (const HostAddress& address : addresses) {
    const bool own = address.process == addresses[rank].process;
    names.push_back({own ? 0 : address.process, address.process_start});
  }
  return names;
}

}  // namespace

ShmTransport::ShmTransport(const TransportParts& parts)
    : Transport(parts),
      devices_(parts.attributes.devices),
      uses_membarrier_(parts.attributes.membarrier == MembarrierMode::kAuto),
      events_(parts.events),
      hosts_(parts.hosts),
      in_process_(parts.job != nullptr),
      meeting_(parts.bootstrap, parts.job, hosts_.ranks_at(rank_)),
      told_(size_) {}

std::string ShmTransport::availability() {
  const int fd = memfd_create("lci-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return std::string("unavailable: memfd_create: ") + std::strerror(errno);
  close(fd);
  const auto self = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  if (self < 0) return std::string("unavailable: pidfd_open: ") + std::strerror(errno);
  close(self);
  return "available (default on one host)";
}

int ShmTransport::describe(TransportAddress* out) {
  address_ = address_of_this_process();
  address_.membarrier = uses_membarrier_ && register_global_barrier();
  if (const int code = meeting_.open(arena_, &address_); code != LCI_DONE) return code;
  *out = encode(address_);
  return LCI_DONE;
}

int ShmTransport::meet(const std::vector<Profile>& profiles, uint64_t deadline_ns) {
  std::vector<HostAddress> addresses;
  int code = decode_addresses(profiles, rank_, hosts_.ranks_at(rank_), &addresses);
  if (code != LCI_DONE) return code;
  parkers_pay_ = true;
  for (const uint32_t rank : hosts_.ranks_at(rank_)) parkers_pay_ = parkers_pay_ && addresses[rank].membarrier != 0;
  for (const Profile& profile : profiles) reserves_.push_back(profile.reserve);
  code = meeting_.meet(addresses, deadline_ns, &met_);
  if (!has_met()) return code;  // if others may have joined by now they are told that this rank has not
  liveness_ = std::make_unique<Liveness>(rank_, processes_of(addresses, rank_), *met_.board);
  show(rank_, *arena_);
  return code;
}

void ShmTransport::leave(RankState state, uint64_t) {
  if (has_met()) tell(rank_, state);
}

void ShmTransport::tell(uint32_t rank, RankState state) {
  if (met_.board->write(rank, state) || rank == rank_) ring_peers();
}

int ShmTransport::map(uint32_t rank, PeerMemory** out) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!mapped(rank)) {
    if (const int code = map_arena(rank); code != LCI_DONE) return blame(rank, code);
  }
  *out = mapped(rank);
  return LCI_DONE;
}

int ShmTransport::map_arena(uint32_t rank) {
  std::shared_ptr<Arena>& arena = met_.arenas[rank];
  if (!arena) {
    // A copy: if it fails another try needs the descriptor again.
    const int descriptor = fcntl(met_.descriptors[rank].get(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return fail(LCI_ERR_NO_MEMORY, "map arena of rank %u: %s", rank, std::strerror(errno));
    std::shared_ptr<Arena> fresh;
    const int code = Arena::map_peer(descriptor, rank, size_, devices_, &fresh);
    if (code != LCI_DONE) return code;
    if (fresh->reserve() != reserves_[rank]) {
      return fail(LCI_ERR_PROTOCOL, "map arena of rank %u: it is not the one that the rank spoke of", rank);
    }
    arena = std::move(fresh);
    met_.descriptors[rank] = FileDescriptor();
  }
  show(rank, *arena);
  return LCI_DONE;
}

/// Those whose memory is mapped look at the notices in their next pass; the others do so every 50 ms at the latest.
void ShmTransport::ring_peers() {
  for (uint32_t rank = 0; rank < size_; ++rank) {
    PeerMemory* memory = mapped(rank);
    if (rank == rank_ || !memory) continue;
    const uint32_t devices = memory->devices();
    for (uint32_t device = 0; device < devices; ++device) {
      ring(*memory, device);
    }
  }
}

void ShmTransport::look(bool now) {
  if (size_ == 1) return;
  const uint64_t time = coarse_now_ns();
  const bool due = time >= next_look_.load(std::memory_order_relaxed);
  const NoticeBoard& board = *met_.board;
  if (!now && !due && board.changes() == seen_notices_.load(std::memory_order_relaxed)) return;
  TryLockGuard guard(looking_);
  if (!guard) return;
  if (due) next_look_.store(time + kLookInterval, std::memory_order_relaxed);
  if ((now || due) && liveness_->look(due)) ring_peers();
  const uint32_t changes = board.changes();
  if (changes == seen_notices_.load(std::memory_order_relaxed)) return;
  read_notices();  // without memory for it they are not seen, and the next look reads them
  seen_notices_.store(changes, std::memory_order_relaxed);
}

void ShmTransport::read_notices() {
  auto collect = [&](RankState wanted) {
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < size_; ++rank) {
      if (rank != rank_ && !told_[rank] && met_.board->state(rank) == wanted) ranks.push_back(rank);
    }
    return ranks;
  };
  // The dead first: a rank may have left because of them, and the cause is to be named. They are read last: such a
  // rank has read of the death before it left.
  const std::vector<uint32_t> left = collect(RankState::kLeft);
  const std::vector<uint32_t> failed = collect(RankState::kFailed);
  auto tell = [&](const std::vector<uint32_t>& ranks, RankState state) {
    for (const uint32_t rank : ranks) {
      told_[rank] = true;
      events_.gone(rank, state);
    }
  };
  tell(failed, RankState::kFailed);
  tell(left, RankState::kLeft);
}

void ShmTransport::park_barrier() {
  if (parkers_pay_) {
    global_barrier();
  } else {
    fence_seq_cst();
  }
}

void ShmTransport::sleep(ParkLine& line, uint64_t until_ns) {
  for (uint64_t now = now_ns(); now < until_ns && line.word.load(std::memory_order_acquire) != 0; now = now_ns()) {
    futex_wait(line.word, 1, until_ns - now);
  }
}

void ShmTransport::wake_sleeper(const PeerMemory& memory, uint32_t slot) {
  if (bells_) return bells_->ring(memory.header().bells, slot);
  syscall(SYS_futex, &memory.header().park[slot].word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace lci
