// SPDX-License-Identifier: Apache-2.0
// Short calls of members that read each other's memory: each shows what it brings on its board, and looks at those of
// the others. Calls of a context have turns, one after the other. See transport/memory/board.hpp, ADR 0025.
//
// Lost wakes: who shows something looks afterwards whether the loops of the others sleep, with the fence of everything
// that is published (Transport::publication_fence); a loop that is about to sleep announces it, and looks at the boards
// after that, in Device::has_work().
#include <algorithm>
#include <cstring>
#include <new>

#include "base/fences.hpp"
#include "collective/bounds.hpp"
#include "protocol/collectives.hpp"

namespace lci {

/// What is shown has room in the board, and all members have one: they choose alike. May throw std::bad_alloc.
void Collectives::begin_turn(ContextState& state, const CollectiveRequest& request, CollectiveCall& call) {
  BoardTurns& turns = state.turns;
  if (!turns.own) open_board(state);
  call.board.used = true;
  call.board.turn = turns.begun;
  call.board.bytes = request.shape.count * request.shape.element;
  if (chaos_) {
    const uint64_t delay = chaos_->delay();
    if (delay != 0) counters_.add(Metric::chaos_delayed);
    call.board.due = counters_.get(Metric::progress_calls) + delay;
  }
}

void Collectives::open_board(ContextState& state) {
  const Group& group = state.group();
  BoardTurns& turns = state.turns;
  turns.others.resize(group.size());
  turns.own = parts_.transport.boards().open(state.context->id(), reads_no_more());
  if (!turns.own) throw std::bad_alloc();
  for (uint32_t member = 0; member < group.size(); ++member) {
    if (member != group.own()) turns.all |= 1u << member;
  }
}

/// Its own is used again when nobody can need what it shows.
void Collectives::close_board(ContextState& state) {
  BoardTurns& turns = state.turns;
  if (!turns.own) return;
  std::vector<Boards::Reader> readers;
  for (uint32_t member = 0; member < turns.others.size(); ++member) {
    const Board* const board = find_board(state, member);
    if (board) readers.push_back({board, state.group().rank_of(member)});
  }
  parts_.transport.boards().close(*turns.own, turns.shown, std::move(readers), reads_no_more());
  turns.own = nullptr;
}

/// One that is treated as failed may live, and read.
Boards::Gone Collectives::reads_no_more() const {
  return [this](uint32_t rank) { return parts_.peers.has_ended(rank); };
}

/// True: the call is over, or has ended. It is not if a board has changed hands meanwhile: then its context has failed,
/// and this member hears of it.
bool Collectives::go_on_board(ContextState& state, CollectiveCall& call) {
  if (call.run.over()) return false;
  if (!call.board.shown && !show(state, call)) return false;
  if (!sees_all(state, call)) return false;
  if (call.board.differs != Group::kNone) {
    const CallHeader theirs = call.board.theirs;
    fail_by_difference(state, call.sequence, call.board.differs, call.header, theirs);
    return true;
  }
  combine_boards(state, call);
  if (call.board.bytes != 0 && !shows_all_still(state, call)) return false;
  state.turns.own->has_read(++state.turns.over);
  return call.run.work();
}

/// Whoever has shown something may be read at any time, also when it has left: so its memory must be mapped before.
bool Collectives::map_others(ContextState& state) {
  BoardTurns& turns = state.turns;
  bool all = true;
  for (uint32_t member = 0; member < turns.others.size(); ++member) {
    BoardTurns::Other& other = turns.others[member];
    if (member == state.group().own() || other.memory) continue;
    const uint32_t rank = state.group().rank_of(member);
    if (parts_.peers.memory(rank, "collective", &other.memory) != LCI_DONE) {
      other.memory = nullptr;
      all = false;
    }
  }
  turns.mapped = all;
  return all;
}

bool Collectives::may_show(ContextState& state, const CollectiveCall& call) const {
  return call.board.turn == state.turns.over && counters_.get(Metric::progress_calls) >= call.board.due;
}

/// False: the call before is not over, chaos holds it back, or memory of a member cannot be mapped now.
bool Collectives::show(ContextState& state, CollectiveCall& call) {
  BoardTurns& turns = state.turns;
  if (!may_show(state, call)) {
    if (call.board.turn == turns.over) call_again();
    return false;
  }
  if (!turns.mapped && !map_others(state)) {
    call_again();
    return false;
  }
  turns.own->show(call.board.turn, call.sequence, call.header, call.run.memory().in, call.board.bytes);
  turns.shown = call.board.turn + 1;
  call.board.shown = true;
  parts_.transport.publication_fence();
  for (const BoardTurns::Other& other : turns.others) {
    if (other.memory) parts_.transport.wake_owner(*other.memory, index_);
  }
  return true;
}

/// Null: it has none, or its memory is not mapped.
const Board* Collectives::find_board(ContextState& state, uint32_t member) {
  BoardTurns::Other& other = state.turns.others[member];
  if (!other.board && other.memory) {
    other.board = Boards::find(*other.memory, state.context->id(), &other.looked);
  }
  return other.board;
}

const BoardSlot* Collectives::board_of(ContextState& state, const CollectiveCall& call, uint32_t member) {
  const Board* const board = find_board(state, member);
  return board ? board->look(call.board.turn, state.context->id(), call.sequence) : nullptr;
}

/// Looks at the boards that did not show the call before.
bool Collectives::sees_all(ContextState& state, CollectiveCall& call) {
  const auto size = static_cast<uint32_t>(state.turns.others.size());
  for (uint32_t member = 0; member < size; ++member) {
    const uint32_t bit = 1u << member;
    if (!(state.turns.all & ~call.board.seen & bit)) continue;
    const BoardSlot* const slot = board_of(state, call, member);
    if (!slot) continue;
    const CallHeader theirs = slot->call;
    if (!(theirs == call.header)) {
      if (!state.turns.others[member].board->shows_still(call.board.turn, state.context->id(), call.sequence)) continue;
      call.board.differs = member;
      call.board.theirs = theirs;
    }
    call.board.seen |= bit;
  }
  return call.board.seen == state.turns.all;
}

/// After the payloads were used. Whose board does not show the call any more has not been seen.
bool Collectives::shows_all_still(ContextState& state, CollectiveCall& call) {
  for (uint32_t member = 0; member < state.turns.others.size(); ++member) {
    if (member == state.group().own()) continue;
    const Board& board = *state.turns.others[member].board;
    if (board.shows_still(call.board.turn, state.context->id(), call.sequence)) continue;
    call.board.seen &= ~(1u << member);
  }
  return call.board.seen == state.turns.all;
}

/// This member's own is where the program has it, unless the result was written over it: the line of its slot may have
/// gone to whoever has read it.
const std::byte* Collectives::shown_by(const ContextState& state, const CollectiveCall& call, uint32_t member) {
  const CallMemory& memory = call.run.memory();
  if (member != state.group().own()) return state.turns.others[member].board->slots[call.board.turn & 1].payload;
  const bool is_whole = member < 2 || memory.in != memory.out;
  return is_whole && call.header.kind == LCI_COLLECTIVE_ALLREDUCE ? memory.in
                                                                  : state.turns.own->slots[call.board.turn & 1].payload;
}

/// In the order of the members, whoever does it.
void Collectives::combine_boards(ContextState& state, CollectiveCall& call) {
  if (call.board.bytes == 0) return;
  const CallMemory& memory = call.run.memory();
  const uint64_t bytes = call.board.bytes;
  const uint64_t count = bytes / memory.element;
  const std::byte* before = nullptr;
  for (uint32_t member = 0; member < state.turns.others.size(); ++member) {
    const std::byte* const payload = shown_by(state, call, member);
    if (call.header.kind == LCI_COLLECTIVE_ALLGATHER) {
      std::memcpy(memory.out + member * bytes, payload, bytes);
    } else if (before) {
      memory.kernel(memory.out, before, payload, count);
      before = memory.out;
    } else {
      before = payload;
    }
  }
}

/// Its place among the calls; behind the last: none has its turn. Calls by messages may be before it.
size_t Collectives::call_in_turn(const ContextState& state) {
  const auto has_turn = [&](const auto& call) {
    return call->board.used && (call->run.over() || call->board.turn == state.turns.over);
  };
  return static_cast<size_t>(std::ranges::find_if(state.calls, has_turn) - state.calls.begin());
}

bool Collectives::is_seen_by_all(ContextState& state, size_t index) {
  if (index == state.calls.size()) return false;
  CollectiveCall& call = *state.calls[index];
  return call.run.over() || (call.board.shown && sees_all(state, call));
}

bool Collectives::boards_ready() {
  for (ContextState* state = busy_; state; state = state->next_busy) {
    if (is_seen_by_all(*state, call_in_turn(*state))) return true;
  }
  return false;
}

/// One call: whoever hears of it may change the list of what is busy.
bool Collectives::end_over_boards() {
  for (ContextState* state = busy_; state; state = state->next_busy) {
    const size_t index = call_in_turn(*state);
    if (!is_seen_by_all(*state, index)) continue;
    const CollectiveCall* const call = state->calls[index].get();
    if (!call->run.over() && !go_on_board(*state, *state->calls[index])) continue;
    const bool is_there = index < state->calls.size() && state->calls[index].get() == call;  // else it has failed
    if (!is_there || !call->run.over()) return true;
    if (index + 1 < state->calls.size()) call_again();  // one of those has its turn now
    end(*state, index, LCI_DONE, parts_.rank, 0);
    return true;
  }
  return false;
}

/// What members show of a call that this one makes otherwise, or waits for elsewhere. True: its context has failed.
bool Collectives::differs_on_boards(ContextState& state, const CollectiveCall& call) {
  if (!state.near || state.group().size() > kBoardMembersMost) return false;
  BoardTurns& turns = state.turns;
  turns.others.resize(state.group().size());
  map_others(state);
  for (uint32_t member = 0; member < turns.others.size(); ++member) {
    const Board* const board = find_board(state, member);
    const BoardSlot* const slot = board ? board->look(state.context->id(), call.sequence) : nullptr;
    if (!slot) continue;
    const CallHeader theirs = slot->call;
    fence_acquire();
    if (theirs == call.header || board->look(state.context->id(), call.sequence) != slot) continue;
    fail_by_difference(state, call.sequence, member, call.header, theirs);
    return true;
  }
  return false;
}

}  // namespace lci
