// SPDX-License-Identifier: Apache-2.0
// The ranks of a host meet: each gets the descriptors of all arenas, and sees the notice board. What a rank has sent is
// in its arena, so nothing is lost when it leaves or dies before somebody has looked: the descriptor keeps the memory.
//
// The lowest rank leads: it listens at an abstract socket that its address names. Each other rank says hello there,
// with its descriptor; when all have come the leader hands all descriptors out, waits until all have them, and says so.
// The ranks of one process give each other their arenas by reference.
//
// It is joined by all or by none: a death before the last word, or a rank that gives up, ends it for all.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"
#include "host/file_descriptor.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/host_address.hpp"
#include "transport/shm/notice_board.hpp"

namespace lci {

/// By rank of the job: a descriptor, or, of this rank and where all ranks are of one process, the arena itself. Of
/// those on other hosts there is neither.
struct Met {
  std::vector<FileDescriptor> descriptors;
  std::vector<std::shared_ptr<Arena>> arenas;
  std::shared_ptr<NoticeBoard> board;
};

class Meeting {
 public:
  /// @param ranks those on this host, in their order.
  Meeting(Bootstrap& bootstrap, lci_inproc* job, std::vector<uint32_t> ranks)
      : bootstrap_(bootstrap), job_(job), ranks_(std::move(ranks)) {}

  /// Before the profiles are exchanged: puts into @p address where this rank, which has the arena @p own, can be met.
  int open(std::shared_ptr<Arena> own, HostAddress* address);
  /// After it. Collective; LCI_ERR_TIMEOUT names the ranks that did not come, LCI_ERR_PEER_FAILED one that has died.
  int meet(const std::vector<HostAddress>& addresses, uint64_t deadline_ns, Met* out);

 private:
  int meet_in_process(Met* out);
  uint32_t leader() const { return ranks_.front(); }
  bool is_member(uint32_t rank) const;
  /// The number of the word after all descriptors: a board, and an arena of each rank.
  uint32_t last_word() const { return static_cast<uint32_t>(ranks_.size()) + 1; }
  int lead(const std::vector<HostAddress>& addresses, uint64_t deadline, Met* out);
  int gather(const std::vector<HostAddress>& addresses, uint64_t deadline, std::vector<FileDescriptor>* members,
             Met* out);
  int hand_out(const std::vector<FileDescriptor>& members, uint64_t deadline, const Met& met);
  int follow(const HostAddress& where, uint64_t deadline, Met* out);
  int connect_to(const HostAddress& where, uint64_t deadline, FileDescriptor* out);
  int say_hello(int socket, uint64_t deadline);
  int await(int socket, uint64_t deadline);

  Bootstrap& bootstrap_;
  lci_inproc* const job_;
  const std::vector<uint32_t> ranks_;
  std::shared_ptr<Arena> own_;
  FileDescriptor listener_;
};

}  // namespace lci
