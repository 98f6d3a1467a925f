// SPDX-License-Identifier: Apache-2.0
#include "protocol/collectives.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "collective/sequence.hpp"

namespace lci {
void Collectives::open(std::unique_ptr<ContextState> state) {
  state->near = is_near(state->group());
  {
    const std::lock_guard<TryLock> guard(lock_);
    opened_.push_back(std::move(state));
    news_.fetch_or(kOpened, std::memory_order_seq_cst);
  }
  host_.wake_owner();
}

bool Collectives::is_near(const Group& group) const {
  bool near = true;
  for (uint32_t member = 0; member < group.size(); ++member) {
    near &= parts_.shares_memory_with(group.rank_of(member));
  }
  return near;
}

void Collectives::some_ended() {
  news_.fetch_or(kEnded, std::memory_order_seq_cst);
  host_.wake_owner();
}

void Collectives::adopt_opened() {
  if (!(news_.load(std::memory_order_acquire) & kOpened)) return;
  std::vector<std::unique_ptr<ContextState>> opened;
  {
    const std::lock_guard<TryLock> guard(lock_);
    opened.swap(opened_);
    news_.fetch_and(static_cast<uint8_t>(~kOpened), std::memory_order_relaxed);
  }
  for (auto& each : opened) {
    ContextState& state = table_.add(std::move(each));
    const Group& group = state.group();
    for (uint32_t member = 0; member < group.size(); ++member) {
      const uint32_t rank = group.rank_of(member);
      const Link* const link = links_.find(rank);
      if (!link || member == group.own()) continue;
      if (!link->failed) {
        // It may have been told that there is no such context.
        if (link->in_open) tell(state, member, ContextMember::kTellOpen);
      } else if (parts_.peers.state(rank) == RankState::kLeft) {
        state.members[member].left = state.some_left = true;
      } else {
        const auto code = static_cast<uint32_t>(error_of(parts_.peers.state(rank)));
        fail_from(state, {.code = code, .rank = rank}, false);
      }
    }
  }
}

/// Contexts that programs have revoked or closed since the last time.
void Collectives::end_ended() {
  if (!(news_.load(std::memory_order_relaxed) & kEnded)) return;
  news_.fetch_and(static_cast<uint8_t>(~kEnded), std::memory_order_acq_rel);
  adopt_opened();  // one of those may have been opened since the last look
  table_.for_each([this](ContextState& state) {
    const uint32_t cause = state.context->revoked();
    if (cause == 0) return;
    fail_from(state, {.code = LCI_ERR_COLLECTIVE, .rank = parts_.rank, .cause = cause}, true);
  });
  bool rest = false;
  table_.drop_if([&](ContextState& state) {
    if (!state.context->is_closed()) return false;
    if (state.tells != 0) {  // members that wait for this one must hear why
      rest = true;
      return false;
    }
    unlist(state);
    close_board(state);
    remember(state);
    remember_agreement(state);
    return true;
  });
  if (rest) news_.fetch_or(kEnded, std::memory_order_relaxed);
}

/// As far as memory goes: it helps those that come late.
void Collectives::remember(const ContextState& state) {
  if (!state.failed) return;
  unless_no_memory([&] {
    if (past_.size() == kMostPast) past_.erase(past_.begin());
    past_.push_back({state.context->id(), state.failure});
  });
}

const FailureFrame* Collectives::past_failure(uint64_t context) const {
  for (const PastFailure& past : past_) {
    if (past.context == context) return &past.failure;
  }
  return nullptr;
}

void Collectives::list(ContextState& state) {
  if (state.busy) return;
  state.busy = true;
  state.next_busy = busy_;
  busy_ = &state;
}

void Collectives::unlist(const ContextState& state) {
  if (!state.busy) return;
  ContextState** link = &busy_;
  while (*link != &state) link = &(*link)->next_busy;
  *link = state.next_busy;
}

void Collectives::start_at(uint64_t context, uint64_t sequence) {
  adopt_opened();
  table_.find(context)->next_sequence = sequence;
}

bool Collectives::progress() {
  some_through_ = false;
  adopt_opened();
  end_ended();
  bool moved = false;
  ContextState* rest = std::exchange(busy_, nullptr);
  while (rest) {
    ContextState& state = *rest;
    rest = state.next_busy;
    state.busy = false;
    if (!unless_no_memory([&] { moved |= advance(state); })) {
      list(state);
      call_again();
    }
    const auto is_ready = [](const auto& call) { return call->run.is_ready(); };
    if (state.tells != 0 || std::any_of(state.calls.begin(), state.calls.end(), is_ready)) list(state);
  }
  return moved;
}

/// A handler that hears of an end may post: then the calls are looked at anew.
bool Collectives::advance(ContextState& state) {
  if (state.overlooked) look_at_agreements(state);
  bool moved = end_agreement(state, LCI_DONE);
  for (size_t i = 0; i < state.calls.size();) {
    const CollectiveCall* const call = state.calls[i].get();
    moved |= go_on(state, *state.calls[i]);
    if (i >= state.calls.size() || state.calls[i].get() != call) {  // its context has failed
      i = 0;
      continue;
    }
    if (!call->run.over()) {
      ++i;
      continue;
    }
    end(state, i, LCI_DONE, parts_.rank, 0);
    moved = true;
    i = 0;
  }
  return tell_waiting(state) || moved;
}

void Collectives::end(ContextState& state, size_t index, int code, uint32_t rank, uint32_t cause) {
  std::unique_ptr<CollectiveCall> ended = std::move(state.calls[index]);
  state.calls.erase(state.calls.begin() + static_cast<std::ptrdiff_t>(index));
  give_streams_up(*ended);
  if (ended->stage) stages_.give(std::exchange(ended->stage, nullptr));
  ended->run.end(&state.scratch);
  if (std::exchange(ended->board, {}).used) --on_boards_;
  const OpTarget target = ended->target;
  const uint64_t sequence = ended->sequence;
  void* const buffer = code == LCI_DONE ? ended->out : nullptr;
  const uint64_t size = code == LCI_DONE ? ended->out_bytes : cause;
  state.spare.push_back(std::move(ended));
  state.context->call_ended();
  --calls_;
  room_came_ |= std::exchange(refused_, false);
  list(state);  // another call is the oldest, perhaps
  complete(target, code, rank, sequence, buffer, size);
}

/// The call with this number and all later ones end; those before it go on, for their other members do.
void Collectives::fail_from(ContextState& state, const FailureFrame& failure, bool tell_members) {
  if (state.has_failed_at(failure.sequence)) return;
  state.failed = true;
  state.failure = failure;
  state.context->show_failure(failure);
  const Group& group = state.group();
  const uint64_t near = state.next_sequence;
  for (uint32_t member = 0; member < group.size(); ++member) {
    if (tell_members && member != group.own()) tell(state, member, ContextMember::kTellFailed);
    ReceiveRoom& room = state.members[member].room;
    const uint32_t before = room.held();
    room.drop([&](uint32_t sequence) { return nearest(near, sequence) >= failure.sequence; });
    state.held -= before - room.held();
    if (room.due() != 0) tell(state, member, ContextMember::kTellRoom);
  }
  for (size_t i = 0; i < state.calls.size();) {
    if (state.calls[i]->sequence < failure.sequence) {
      ++i;
    } else {
      end(state, i, static_cast<int>(failure.code), failure.rank, failure.cause);
    }
  }
}

/// Calls of this rank that nobody here waits for any more, nor has memory for.
void Collectives::give_up_from(ContextState& state, uint64_t sequence) {
  fail_from(state, {.sequence = sequence, .code = LCI_ERR_COLLECTIVE, .rank = parts_.rank, .cause = LCI_ERR_CANCELLED},
            true);
}

void Collectives::tell(ContextState& state, uint32_t member, uint8_t what) {
  uint8_t& waits = state.members[member].tell;
  if (waits == 0) ++state.tells;
  waits |= what;
  list(state);
}

/// Words to members, as far as the rings have room.
bool Collectives::tell_waiting(ContextState& state) {
  bool moved = false;
  const uint64_t id = state.context->id();
  for (uint32_t i = 0; state.tells != 0 && i < state.group().size(); ++i) {
    ContextMember& member = state.members[i];
    if (member.tell == 0) continue;
    const uint32_t rank = state.group().rank_of(i);
    int error = LCI_DONE;
    Link* const link = links_.has_failed(rank) ? nullptr : links_.open(rank, &error);
    if (!link) {
      if (!links_.has_failed(rank)) {
        call_again();
        continue;
      }
      member.tell = 0;
    }
    const uint8_t before = member.tell;
    if ((member.tell & ContextMember::kTellOpen) && emit(*link, id, {.word = CollectiveWord::kOpen})) {
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellOpen);
    }
    CollectiveFrame known = member.known;
    known.word = CollectiveWord::kKnown;
    if ((member.tell & ContextMember::kTellKnown) && emit(*link, id, known)) {
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellKnown);
    }
    if ((member.tell & ContextMember::kTellAsk) && emit_question(*link, state, i)) {
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellAsk);
    }
    if ((member.tell & ContextMember::kTellAgree) && emit_agreements(*link, state, i)) {
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellAgree);
    }
    if ((member.tell & ContextMember::kTellAnswer) && emit_answer(*link, state, i)) {
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellAnswer);
    }
    const uint32_t due = member.room.due();
    if ((member.tell & ContextMember::kTellRoom) &&
        (due == 0 || emit(*link, id, {.word = CollectiveWord::kRoom, .segment = due}))) {
      member.room.told(due);
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellRoom);
    }
    if ((member.tell & ContextMember::kTellFailed) && emit_failure(*link, id, state.failure)) {
      member.tell &= static_cast<uint8_t>(~ContextMember::kTellFailed);
    }
    moved |= member.tell != before;
    if (member.tell == 0) --state.tells;
  }
  return moved;
}

/// Messages leave a part of the ring to credits and notices, of which the short words are some.
bool Collectives::emit(Link& link, uint64_t context, const CollectiveFrame& frame, const void* payload, uint32_t size) {
  const uint32_t slots = parts_.attributes.control_ring_bytes / kSlotBytes;
  const uint32_t kept = frame.word == CollectiveWord::kMessage ? slots / 4 : 0;
  return links_.emit_control(link, to_header(context, frame, size), payload, size, kept);
}

bool Collectives::emit_failure(Link& link, uint64_t context, const FailureFrame& failure) {
  const uint32_t size = failure.code == LCI_ERR_MISMATCH ? sizeof failure : kShortFailure;
  return emit(link, context, {.word = CollectiveWord::kFailed}, &failure, size);
}

/// A member that died ends every call. One that left had taken part in what it completed, and has sent all that others
/// wait for of it: only a call that misses something of it ends, and the others hear of it from the members that do.
void Collectives::peer_gone(uint32_t rank, RankState rank_state) {
  adopt_opened();
  const auto code = static_cast<uint32_t>(error_of(rank_state));
  table_.for_each([&](ContextState& state) {
    const uint32_t member = state.group().member_of(rank);
    if (member == Group::kNone) return;
    list(state);  // nothing is sent to it any more
    agreements_without(state, member, rank_state);
    if (rank_state != RankState::kLeft) return fail_from(state, {.code = code, .rank = rank}, false);
    state.members[member].left = state.some_left = true;
    for (const auto& call : state.calls) {
      for (const bool place : {false, true}) {
        const uint32_t index = call->run.find_unsure(member, place);
        if (index != ScheduleRun::kNone) call->run.confirmed(index);
      }
    }
    end_what_misses(state);
  });
}

void Collectives::cancel_all(int code) {
  adopt_opened();
  table_.for_each([&](ContextState& state) {
    while (!state.calls.empty()) end(state, 0, code, parts_.rank, 0);
    end_agreement(state, code);
  });
}

bool Collectives::drained() const {
  bool rest = (news_.load(std::memory_order_acquire) & kEnded) != 0;
  table_.for_each(
      [&](const ContextState& state) { rest |= !state.calls.empty() || state.agreeing || state.tells != 0; });
  return !rest;
}

}  // namespace lci
