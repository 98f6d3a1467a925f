// SPDX-License-Identifier: Apache-2.0
// The boards of a rank, and where its peers find them: by the id of the context, in a directory that its memory has
// when there is something in it. Any thread.
//
// Memory orders: an entry's id is stored last, by a release, and found by an acquire; it goes by a store of 0.
// `changes` goes up by a release when an entry was added, so that those who did not find theirs know when to look
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "transport/memory/board.hpp"
#include "transport/memory/own_memory.hpp"

namespace lci {

/// As it lies in a rank's memory.
struct BoardDirectory {
  static constexpr uint32_t kEntries = 2048;
  struct Entry {
    std::atomic<uint64_t> context;  ///< 0: there is none.
    std::atomic<uint64_t> board;    ///< Its offset.
  };
  alignas(64) std::atomic<uint32_t> changes;
  alignas(64) Entry entries[kEntries];
};

class Boards {
 public:
  /// A member that may still read a board.
  struct Reader {
    const Board* board;  ///< Its own.
    uint32_t rank;
  };
  /// Whether a rank reads no more.
  using Gone = std::function<bool(uint32_t rank)>;

  explicit Boards(OwnMemory& memory) : memory_(memory) {}

  /// A board for a context, which others find from now on. Null: there is no memory, or no entry.
  Board* open(uint64_t context, const Gone& gone);
  /// Nobody writes to it any more, and its owner reads no others of its context. It is used again when each reader has
  /// read as many turns as were shown.
  void close(Board& board, uint64_t turns, std::vector<Reader> readers, const Gone& gone);
  /// The board of a context in the memory of a peer. Null: there is none yet. @p looked: what the last look found, at
  /// first 0
  static const Board* find(PeerMemory& memory, uint64_t context, uint32_t* looked);

  // For tests
  size_t waiting() const { return closed_.size(); }

 private:
  struct Closed {
    Board* board;
    uint32_t entry;
    uint64_t turns;
    std::vector<Reader> readers;
  };
  bool has_directory();
  Board* take();
  uint32_t free_entry(uint64_t context) const;
  void collect(const Gone& gone);

  OwnMemory& memory_;
  std::mutex mutex_;
  BoardDirectory* directory_ = nullptr;
  std::vector<Board*> by_entry_;  // peers could write to the directory
  std::vector<Board*> free_;
  std::vector<Closed> closed_;
};

}  // namespace lci
