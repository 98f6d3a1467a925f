// SPDX-License-Identifier: Apache-2.0
// Where a member is in the calls of a context that go over boards. Touched only by the owner of the device.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/memory/board.hpp"
#include "transport/memory/peer_memory.hpp"

namespace lci {

/// Of a call.
struct BoardCall {
  bool used = false;
  bool shown = false;
  uint64_t turn = 0;
  uint64_t due = 0;               ///< Chaos: the pass in which it is shown at the earliest.
  uint32_t seen = 0;              ///< Members whose boards show it, a bit each,
  uint32_t differs = UINT32_MAX;  ///< and one of them that calls something else:
  CallHeader theirs;              ///< this.
  uint64_t bytes = 0;             ///< That each member shows.
};

/// Of a context.
struct BoardTurns {
  struct Other {
    PeerMemory* memory = nullptr;  ///< Null: it is not mapped yet.
    const Board* board = nullptr;  ///< Null: it was not found yet.
    uint32_t looked = 0;
  };

  Board* own = nullptr;       ///< Null: no call needed one yet.
  std::vector<Other> others;  ///< By member; this one's is empty.
  uint32_t all = 0;           ///< A bit for each other member.
  bool mapped = false;        ///< All of them are.
  uint64_t begun = 0;         ///< Turns that calls here have.
  uint64_t shown = 0;         ///< Turns that others may read.
  uint64_t over = 0;          ///< Turns that were seen through here.
};

}  // namespace lci
