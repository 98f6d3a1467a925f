// SPDX-License-Identifier: Apache-2.0
// What a member of a group shows the others in short calls of a context, in the memory of its rank: they look at it,
// and nobody else writes there. Calls over boards have turns, numbered alike on all members; each member sees one
// through before it shows the next. So a slot of two is written again only when all have shown the turn after it, that
// is, when all have read what was there.
//
// Memory orders and callers: the owner of the device of its context writes, those of the peers read. A slot is
// published by a release store of `shown`, its last one, and read when an acquire load has found the number of the
// call; then it stays as it is until the reader shows its next turn. A board may have been given to another context:
// so the slot says whose it is, written before `shown`, and there never is the number of a later call of the one
// before. `read` is stored by a release when the slots of a turn were read: whoever acquires it may use the board for
// something else. That may happen under a reader whose context has failed, and who has not heard of it: whoever has
// used what a slot says fences (acquire) and looks at it again, and the owner fences (release) between the stores that
// take the calls of the context before away and what it shows next. The bytes are a peer's word, as all of its memory:
// nothing is done with them but a comparison and a copy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/fences.hpp"
#include "base/prefetch.hpp"
#include "transport/memory/ring.hpp"
#include "wire/collective.hpp"

namespace lci {

/// Longest payload of a member.
inline constexpr uint32_t kBoardPayload = 1024;

struct alignas(64) BoardSlot {
  std::atomic<uint64_t> shown;  ///< Number of the call, plus 1. 0: there was none.
  std::atomic<uint64_t> context;
  CallHeader call;
  std::byte payload[kBoardPayload];  ///< The first 16 bytes lie in the line of the rest.
};
static_assert(offsetof(BoardSlot, payload) == 48);

struct Board {
  alignas(64) std::atomic<uint64_t> context;  ///< Whose it is; 0: nobody's.
  std::atomic<uint64_t> read;                 ///< Turns that its owner has seen through.
  BoardSlot slots[2];

  // --- the owner
  /// For a context that has not had it.
  void give_to(uint64_t id) {
    read.store(0, std::memory_order_relaxed);
    for (BoardSlot& slot : slots) {
      slot.context.store(id, std::memory_order_relaxed);
      slot.shown.store(0, std::memory_order_release);
    }
    context.store(id, std::memory_order_release);
    fence_release();
  }
  void show(uint64_t turn, uint64_t sequence, const CallHeader& call, const void* payload, uint64_t size) {
    BoardSlot& slot = slots[turn & 1];
    slot.call = call;
    if (size == 8) {
      std::memcpy(slot.payload, payload, 8);
    } else if (size != 0) {
      std::memcpy(slot.payload, payload, size);
    }
    slot.shown.store(sequence + 1, std::memory_order_release);
    prefetch_for_write(&slots[(turn + 1) & 1]);
  }
  void has_read(uint64_t turns) { read.store(turns, std::memory_order_release); }
  /// It has given the context up.
  void reads_no_more() { has_read(UINT64_MAX); }

  // --- a reader
  /// What its owner shows of a call of a context; null: nothing yet.
  const BoardSlot* look(uint64_t turn, uint64_t id, uint64_t sequence) const {
    const BoardSlot& slot = slots[turn & 1];
    if (slot.shown.load(std::memory_order_acquire) != sequence + 1) return nullptr;
    return slot.context.load(std::memory_order_relaxed) == id ? &slot : nullptr;
  }
  /// The same by whoever does not know the turn.
  const BoardSlot* look(uint64_t id, uint64_t sequence) const {
    const BoardSlot* const slot = look(0, id, sequence);
    return slot ? slot : look(1, id, sequence);
  }
  /// Whether what was read of a slot since a look that found it was what it showed.
  bool shows_still(uint64_t turn, uint64_t id, uint64_t sequence) const {
    fence_acquire();
    return look(turn, id, sequence) != nullptr;
  }
  /// Whether its owner needs nothing any more that others have shown in so many turns.
  bool is_done(uint64_t id, uint64_t turns) const {
    return context.load(std::memory_order_acquire) != id || read.load(std::memory_order_acquire) >= turns;
  }
};

}  // namespace lci
