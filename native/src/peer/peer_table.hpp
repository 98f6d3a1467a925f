// SPDX-License-Identifier: Apache-2.0
// The other ranks of a job: what they said of themselves, their memory, and whether they are there. A peer's arena is
// mapped at first talk, from a descriptor that this rank has since it joined: nothing of the peer is needed for it, be
// it stopped, gone or dead.
//
// Memory orders: the pointer to a mapped arena is published by a release and read with acquire; it stays as long as the
// table. Before anything is done with a peer's memory its owner can see that this rank has mapped it (known_to,
// seq_cst).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "peer/profile.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/liveness.hpp"
#include "transport/shm/meeting.hpp"

namespace lci {

class PeerTable {
 public:
  PeerTable(uint32_t rank, std::vector<Profile> profiles, Met met);

  const Profile& profile(uint32_t rank) const { return profiles_[rank]; }
  NoticeBoard& board() { return *board_; }
  Liveness& liveness() { return liveness_; }

  /// Its arena, if it is mapped. Any thread.
  PeerMemory* mapped(uint32_t rank) const { return mapped_[rank].load(std::memory_order_acquire); }
  /// Its arena, mapped if need be. LCI_ERR_NO_MEMORY: another time, perhaps; LCI_ERR_PROTOCOL: it is none. Any thread.
  int memory(uint32_t rank, PeerMemory** out);
  /// Arenas that are mapped, this rank's own included. Any thread.
  uint32_t count_mapped() const { return count_.load(std::memory_order_relaxed); }

 private:
  int map(uint32_t rank);

  const uint32_t rank_;
  const std::vector<Profile> profiles_;
  const std::shared_ptr<NoticeBoard> board_;
  Liveness liveness_;
  std::unique_ptr<std::atomic<PeerMemory*>[]> mapped_;
  std::atomic<uint32_t> count_{0};
  std::mutex mutex_;  // of mapping, which is rare
  std::vector<FileDescriptor> descriptors_;
  std::vector<std::shared_ptr<Arena>> arenas_;
};

}  // namespace lci
