// SPDX-License-Identifier: Apache-2.0
#include "peer/peer_table.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace lci {
namespace {

std::vector<ProcessName> processes_of(const std::vector<Profile>& profiles, uint32_t rank) {
  std::vector<ProcessName> names;
  for (const Profile& profile : profiles) {
    const bool own = profile.process == profiles[rank].process;
    names.push_back({own ? 0 : profile.process, profile.process_start});
  }
  return names;
}

}  // namespace

PeerTable::PeerTable(uint32_t rank, std::vector<Profile> profiles, Met met)
    : rank_(rank),
      profiles_(std::move(profiles)),
      board_(std::move(met.board)),
      liveness_(rank, processes_of(profiles_, rank), *board_),
      mapped_(std::make_unique<std::atomic<PeerMemory*>[]>(profiles_.size())),
      descriptors_(std::move(met.descriptors)),
      arenas_(std::move(met.arenas)) {
  mapped_[rank_].store(arenas_[rank_].get(), std::memory_order_release);
  arenas_[rank_]->known_to(rank_).store(1, std::memory_order_seq_cst);
  count_ = 1;
}

int PeerTable::memory(uint32_t rank, PeerMemory** out) {
  if (PeerMemory* known = mapped(rank)) {
    *out = known;
    return LCI_DONE;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!mapped(rank)) {
    if (const int code = map(rank); code != LCI_DONE) return blame(rank, code);
  }
  *out = mapped(rank);
  return LCI_DONE;
}

int PeerTable::map(uint32_t rank) {
  if (!arenas_[rank]) {
    // A copy: if it fails another try needs the descriptor again.
    const int descriptor = fcntl(descriptors_[rank].get(), F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0) return fail(LCI_ERR_NO_MEMORY, "map arena of rank %u: %s", rank, std::strerror(errno));
    const Profile& own = profiles_[rank_];
    std::shared_ptr<Arena> arena;
    const int code = Arena::map_peer(descriptor, rank, own.size, own.devices, &arena);
    if (code != LCI_DONE) return code;
    if (arena->reserve() != profiles_[rank].reserve) {
      return fail(LCI_ERR_PROTOCOL, "map arena of rank %u: it is not the one that the rank spoke of", rank);
    }
    arenas_[rank] = std::move(arena);
    descriptors_[rank] = FileDescriptor();
  }
  arenas_[rank]->known_to(rank_).store(1, std::memory_order_seq_cst);
  mapped_[rank].store(arenas_[rank].get(), std::memory_order_release);
  count_.fetch_add(1, std::memory_order_relaxed);
  return LCI_DONE;
}

}  // namespace lci
