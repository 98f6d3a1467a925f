// SPDX-License-Identifier: Apache-2.0
// How a call of a context begins.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "protocol/collectives.hpp"

namespace lci {
namespace {

/// No member completes such a call before all have posted it. Where there is nothing to send, as between some members
/// of a list, one may.
bool needs_all(const Shape& shape) {
  if (shape.kind == LCI_COLLECTIVE_BARRIER) return true;
  if (shape.count == 0 || !shape.counts.empty()) return false;
  return shape.kind == LCI_COLLECTIVE_ALLREDUCE || shape.kind == LCI_COLLECTIVE_REDUCE_SCATTER ||
         shape.kind == LCI_COLLECTIVE_ALLGATHER || shape.kind == LCI_COLLECTIVE_ALLTOALL;
}

}  // namespace

int Collectives::post(const lci_descriptor& op, const OpTarget& target) {
  adopt_opened();
  ContextState* const state = table_.find(op.tag);
  if (!state || state->context->is_closed()) {
    return fail(LCI_ERR_ARGUMENT, "collective: device %u of rank %u has no context %lx", index_, parts_.rank, op.tag);
  }
  if (op.port == LCI_COLLECTIVE_AGREE) return post_agreement(*state, op, target);
  if (const int code = read(*state, op); code != LCI_DONE) return code;
  const CollectiveRequest& request = state->request.read;
  const uint64_t sequence = state->next_sequence;
  if (state->some_left && needs_all(request.shape)) fail_for_who_left(*state);
  if (state->has_failed_at(sequence)) return refuse(*state);
  if (state->refused_batch == batch_) return LCI_RETRY_ORDER;  // that one has the number
  if (state->calls.size() == ContextState::kMostCalls) return refuse_for_now(*state, LCI_RETRY_PENDING);
  std::unique_ptr<CollectiveCall> call = make_call(*state, request);
  if (!may_start(*state, *call)) {
    call->run.end(&state->scratch);
    state->spare.push_back(std::move(call));
    return refuse_for_now(*state, LCI_RETRY_NOCREDIT);
  }
  call->target = target;
  state->calls.push_back(std::move(call));
  ++state->next_sequence;
  state->context->call_began();
  ++calls_;
  if (state->calls.back()->run.over()) state->alone.add(sequence, state->calls.back()->header);
  if (state->calls.back()->board.used) {
    ++state->turns.begun;
    ++on_boards_;
  }
  list(*state);
  call_again();                                        // the next pass ends it, where nothing is missing
  unless_no_memory([&] { enter(*state, sequence); });  // what finds no memory goes on in the next pass
  return LCI_POSTED;
}

/// What is asked for is often what was asked for before.
int Collectives::read(ContextState& state, const lci_descriptor& op) {
  CollectiveRequest& request = state.request.read;
  if (!state.request.is_of(op)) {
    state.request.forget();
    request = {};
    if (const int code = read_request(op, state.group(), state.near, &request); code != LCI_DONE) return code;
    request.shape.near_on_hosts = parts_.share_memory;
    state.request.keep(op);
  }
  if (request.shape.kind == LCI_COLLECTIVE_BARRIER) {
    request.header = state.context->barrier;
    if (request.shape.algorithm != LCI_ALGORITHM_DISSEMINATION) request.header.algorithm += request.shape.algorithm;
  }
  return LCI_DONE;
}

int Collectives::refuse(const ContextState& state) {
  const FailureFrame& failure = state.failure;
  return blame(failure.rank, fail(static_cast<int>(failure.code),
                                  "collective: context %lx has failed, because of rank %u (rank %u, device %u); "
                                  "lci_context_failure() says more",
                                  state.context->id(), failure.rank, parts_.rank, index_));
}

int Collectives::refuse_for_now(ContextState& state, int code) {
  state.refused_batch = batch_;
  refused_ = true;
  return code;
}

/// A member that has left will not take part in the next call.
void Collectives::fail_for_who_left(ContextState& state) {
  if (state.has_failed_at(state.next_sequence)) return;
  const Group& group = state.group();
  uint32_t member = 0;
  while (!state.members[member].left) ++member;
  fail_from(state, {.sequence = state.next_sequence, .code = LCI_ERR_PEER_LEFT, .rank = group.rank_of(member)}, true);
}

std::unique_ptr<CollectiveCall> Collectives::make_call(ContextState& state, const CollectiveRequest& request) {
  const bool over_boards = on_boards(request.shape.algorithm) && request.shape.size > 1;
  std::shared_ptr<const Schedule> schedule;
  if (!over_boards) schedule = state.schedules.get(request.shape);
  std::unique_ptr<CollectiveCall> call;
  if (state.spare.empty()) {
    call = std::make_unique<CollectiveCall>();
  } else {
    call = std::move(state.spare.back());
    state.spare.pop_back();
  }
  call->state = &state;
  call->sequence = state.next_sequence;
  call->header = request.header;
  call->pairwise = request.pairwise;
  call->out = request.memory.out;
  call->out_bytes = request.out_bytes;
  if (over_boards) {
    call->run.begin_without_messages(request.memory);
    begin_turn(state, request, *call);
  } else {
    call->run.begin(std::move(schedule), request.memory, call.get(), &state.scratch);
  }
  return call;
}

/// Whether there are places for the first messages of a call.
bool Collectives::may_start(ContextState& state, const CollectiveCall& call) {
  for (uint32_t i = 0; i < call.run.count(); ++i) {
    if (!call.run.has_to_leave(i)) continue;
    const ContextMember& member = state.members[call.run.action(i).member];
    if (member.sure && !member.window.has_room(state.calls.empty())) return false;
  }
  return true;
}

/// Messages that have come before their call. It may end here, by what they say.
void Collectives::enter(ContextState& state, uint64_t sequence) {
  const CollectiveCall& call = *state.calls.back();
  for (uint32_t member = 0; state.held != 0 && member < state.group().size(); ++member) {
    const HeldMessage* wrong = nullptr;
    Verdict verdict = Verdict::kFine;
    state.members[member].room.for_each(static_cast<uint32_t>(sequence), [&](const HeldMessage& held) {
      const Action* action = nullptr;
      if (wrong) return;
      verdict = judge(call, member, held.frame, held.payload, held.size, &action);
      if (verdict != Verdict::kFine) wrong = &held;
    });
    if (verdict == Verdict::kDiffers) {
      CallHeader theirs;
      std::memcpy(&theirs, wrong->payload, sizeof theirs);
      return fail_by_difference(state, call.sequence, member, expected(call, member, wrong->frame), theirs);
    }
    if (verdict == Verdict::kNonsense) {
      protocol_error(links_.of_gone(state.group().rank_of(member)), "collective message out of place",
                     to_header(state.context->id(), wrong->frame, wrong->size));
      drop_held(state, member, sequence);
    }
  }
  take_held(state, *state.calls.back());  // what a member that has left sent before
  if (state.some_left) end_what_misses(state);
  if (CollectiveCall* const entered = state.find(sequence)) go_on(state, *entered);
}

/// Nothing that a member has sent for a call is used.
void Collectives::drop_held(ContextState& state, uint32_t member, uint64_t sequence) {
  ReceiveRoom& room = state.members[member].room;
  const uint32_t before = room.held();
  room.drop([&](uint32_t low) { return low == static_cast<uint32_t>(sequence); });
  state.held -= before - room.held();
}

/// Of a member that has left comes what is here, and no more.
bool Collectives::misses(ContextState& state, const CollectiveCall& call, uint32_t member) {
  if (call.board.used) return !(call.board.seen >> member & 1) && !board_of(state, call, member);
  const ReceiveRoom& room = state.members[member].room;
  const auto sequence = static_cast<uint32_t>(call.sequence);
  return call.run.misses(member, [&](size_t round) {
    return room.find({.step = static_cast<uint16_t>(round), .sequence = sequence}) != nullptr;
  });
}

void Collectives::end_what_misses(ContextState& state) {
  for (const auto& call : state.calls) {
    for (uint32_t member = 0; member < state.group().size(); ++member) {
      if (!state.members[member].left || !misses(state, *call, member)) continue;
      const uint32_t rank = state.group().rank_of(member);
      return fail_from(state, {.sequence = call->sequence, .code = LCI_ERR_PEER_LEFT, .rank = rank}, true);
    }
  }
}

}  // namespace lci
