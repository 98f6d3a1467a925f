// SPDX-License-Identifier: Apache-2.0
// Which processes of a host live. A rank watches the next two ranks that live, in a ring: what it finds it writes on
// the notice board, where all others read it. The ring closes over those that have gone, so whoever dies with the ranks
// that watch it is watched by the next one. Besides, each rank looks at a few others in turn: a death is found also
// where those who watch do not progress for long, or are stopped.
//
// By one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "host/file_descriptor.hpp"
#include "transport/shm/notice_board.hpp"

namespace lci {

/// A process, so that another one that gets its number is not taken for it.
struct ProcessName {
  pid_t process;   ///< 0: not to be watched, it is our own.
  uint64_t start;  ///< See process_start(); 0: not known.
};

class Liveness {
 public:
  Liveness(uint32_t rank, std::vector<ProcessName> processes, NoticeBoard& board)
      : rank_(rank), processes_(std::move(processes)), board_(board), next_(rank) {}

  /// Looks at the ranks that this one watches; @p others: at some others, too. True: it found one dead, and wrote so.
  bool look(bool others);

  /// Ranks that are watched just now.
  size_t watched() const { return ring_.size(); }

 private:
  struct Watched {
    uint32_t rank;
    FileDescriptor process;
  };

  bool close_ring();
  bool watch(uint32_t rank);
  bool is_watched(uint32_t rank) const;
  bool look_at_ring();
  bool look_at_others();
  bool tell_death(uint32_t rank);

  const uint32_t rank_;
  const std::vector<ProcessName> processes_;
  NoticeBoard& board_;
  std::vector<Watched> ring_;
  bool ring_changed_ = true;
  uint32_t seen_changes_ = 0;
  uint32_t next_;
};

}  // namespace lci
