// SPDX-License-Identifier: Apache-2.0
// Who of a host has left or died: a word for each rank in memory that all of them share, made by one of them. Whoever
// leaves says so in its own word, whoever finds a rank dead in that rank's: all others hear of it when they look next,
// also when the one who wrote it is dead by then. And how many barriers each rank has completed: of a rank that is gone
// this decides which barriers go on without it.
//
// Memory orders: a word changes once, from active, by a compare-and-swap; then the count of changes is increased. Both
// are seq_cst, so whoever sees the count sees the words; and a rank that leaves because of a death that it has noticed
// writes after that death was written.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "host/file_descriptor.hpp"
#include "peer/rank_state.hpp"

namespace lci {

class NoticeBoard {
 public:
  /// For ranks of one process.
  static std::shared_ptr<NoticeBoard> in_process(uint32_t ranks);
  /// In a memfd, all ranks active. LCI_ERR_NO_MEMORY.
  static int create(uint32_t ranks, std::shared_ptr<NoticeBoard>* out);
  /// That of another process, from its descriptor, which must be sealed and large enough. LCI_ERR_PROTOCOL,
  /// LCI_ERR_NO_MEMORY.
  static int map(FileDescriptor fd, uint32_t ranks, std::shared_ptr<NoticeBoard>* out);
  ~NoticeBoard();
  NoticeBoard(const NoticeBoard&) = delete;
  NoticeBoard& operator=(const NoticeBoard&) = delete;

  /// What was last said of a rank; words that no rank writes count as active.
  RankState state(uint32_t rank) const;
  /// True: nobody had said anything of that rank, and now this is said.
  bool write(uint32_t rank, RankState state);
  /// Moves when any word has changed.
  uint32_t changes() const { return words_[0].load(std::memory_order_seq_cst); }
  /// Written by that rank, in a line of its own.
  std::atomic<uint64_t>& barriers_completed(uint32_t rank) const {
    return *reinterpret_cast<std::atomic<uint64_t>*>(words_ + counts_ + uint64_t{rank} * kLine);
  }
  int fd() const { return fd_.get(); }

 private:
  NoticeBoard() = default;
  static constexpr uint32_t kLine = 64 / sizeof(uint32_t);  // in words
  /// The count of changes has the first line, then come the states, then the counts of barriers.
  static constexpr uint32_t kFirst = kLine;
  static uint64_t first_count(uint32_t ranks) { return (kFirst + uint64_t{ranks} + kLine - 1) / kLine * kLine; }
  static uint64_t bytes(uint32_t ranks) { return (first_count(ranks) + uint64_t{ranks} * kLine) * sizeof(uint32_t); }
  bool map_words(uint32_t ranks);

  std::atomic<uint32_t>* words_ = nullptr;
  uint64_t counts_ = 0;
  uint64_t mapped_ = 0;  // bytes
  FileDescriptor fd_;
};

}  // namespace lci
