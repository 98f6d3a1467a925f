// SPDX-License-Identifier: Apache-2.0
// What members send of their contexts: messages of calls, and words about them. All of it is checked before use.
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "collective/contexts.hpp"
#include "collective/sequence.hpp"
#include "protocol/collectives.hpp"

namespace lci {

void Collectives::handle(Link& link, const MessageHeader& header) {
  const CollectiveFrame frame = to_collective(header);
  if (header.size > LCI_INLINE_MAX) return protocol_error(link, "collective message too long", header);
  if (frame.word == CollectiveWord::kMessage) return handle_message(link, header, frame);
  adopt_opened();
  ContextState* const state = table_.find(header.arg);
  if (!state) {  // not there, or gone, and told of the same as the others
    if (frame.word == CollectiveWord::kAsk) answer_stray(link, header);
    if (frame.word == CollectiveWord::kAgree) handle_past_agree(link, header);
    if (frame.word == CollectiveWord::kOpen) answer_opened(link, header.arg);
    return;
  }
  const uint32_t member = state->group().member_of(link.rank);
  if (member == Group::kNone) return protocol_error(link, "word of no member", header);
  switch (frame.word) {
    case CollectiveWord::kRoom:
      if (frame.segment == 0 || !state->members[member].window.give_back(frame.segment)) {
        return protocol_error(link, "places that were not taken", header);
      }
      room_came_ |= std::exchange(refused_, false);
      return list(*state);
    case CollectiveWord::kUnknown:
      return handle_unknown(link, header, *state, member);
    case CollectiveWord::kKnown:
      return handle_known(link, header, *state, member);
    case CollectiveWord::kOpen:
      if (!std::exchange(state->members[member].unknown, false)) state->members[member].opened = true;
      for (const auto& agreement : state->agreements) {
        if (agreement) agreement->agreement.forgotten(member);
      }
      tell_agreements(*state);
      if (state->failed) tell(*state, member, ContextMember::kTellFailed);  // it had no context when it was told
      return list(*state);
    case CollectiveWord::kFailed:
      return handle_failed(link, header, *state);
    case CollectiveWord::kAgree:
      return handle_agree(link, header, *state, member);
    case CollectiveWord::kAsk:
      return handle_ask(link, header, *state, member);
    case CollectiveWord::kAnswer:
      return handle_answer(link, header, *state, member);
    default:
      return protocol_error(link, "unknown word of a collective", header);
  }
}

void Collectives::handle_message(Link& link, const MessageHeader& header, const CollectiveFrame& frame) {
  if (frame.flags & ~(kFlagFirst | kFlagUnsure))
    return protocol_error(link, "collective message with unknown flags", header);
  if ((frame.flags & kFlagFirst) && header.size < sizeof(CallHeader)) {
    return protocol_error(link, "collective message without its header", header);
  }
  adopt_opened();
  ContextState* const state = table_.find(header.arg);
  if (!state) return handle_stray(link, header, frame);
  const uint32_t member = state->group().member_of(link.rank);
  if (member == Group::kNone) return protocol_error(link, "collective message of no member", header);
  ReceiveRoom& room = state->members[member].room;
  if (!room.has_room()) return protocol_error(link, "more collective messages than there is room for", header);
  std::byte payload[LCI_INLINE_MAX];
  link.control_in.read_payload(payload, header.size);
  if (frame.flags & kFlagUnsure) {
    state->members[member].known = {.step = frame.step, .sequence = frame.sequence, .segment = frame.segment};
    tell(*state, member, ContextMember::kTellKnown);
  }
  const uint64_t sequence = nearest(state->next_sequence, frame.sequence);
  const char* wrong = nullptr;
  if (state->has_failed_at(sequence)) {
    room.use_one();
    tell(*state, member, ContextMember::kTellFailed);
  } else if (is_before(sequence, state->next_sequence)) {
    wrong = take_part(*state, sequence, member, frame, payload, header.size);
  } else {
    wrong = hold(*state, member, frame, payload, header.size);
  }
  if (wrong) return protocol_error(link, wrong, header);
  if (room.due() != 0) tell(*state, member, ContextMember::kTellRoom);
}

const char* Collectives::hold(ContextState& state, uint32_t member, const CollectiveFrame& frame,
                              const std::byte* payload, uint32_t size) {
  if (!state.members[member].room.hold(frame, payload, size)) return "collective message twice";
  ++state.held;
  return nullptr;
}

/// A member has opened a context that is no longer here, and has not heard how it ended. Without room now, it hears
/// that when it says or asks something.
void Collectives::answer_opened(Link& link, uint64_t context) {
  if (const FailureFrame* const failure = past_failure(context)) emit_failure(link, context, *failure);
}

/// There is no such context: not yet, or no longer.
void Collectives::handle_stray(Link& link, const MessageHeader& header, const CollectiveFrame& frame) {
  constexpr size_t kMost = Contexts::kMost * kRoomMessages;
  if (link.unknown.size() == kMost) return protocol_error(link, "messages of too many contexts", header);
  make_room(&link.unknown);
  link.unknown.push_back({header.arg, header.tag, frame.step, false});
  links_.make_busy(link);
  flush_unknown(link);
}

bool Collectives::flush_unknown(Link& link) {
  size_t told = 0;
  for (; told < link.unknown.size(); ++told) {
    const UnknownMessage& message = link.unknown[told];
    if (message.agrees) {
      if (!emit_past_agreement(link, message)) break;
      continue;
    }
    if (const FailureFrame* const failure = past_failure(message.context)) {
      if (!emit_failure(link, message.context, *failure)) break;
      continue;
    }
    const CollectiveFrame frame{CollectiveWord::kUnknown, 0, message.step, static_cast<uint32_t>(message.tag),
                                static_cast<uint32_t>(message.tag >> 32)};
    if (!emit(link, message.context, frame)) break;
  }
  link.unknown.erase(link.unknown.begin(), link.unknown.begin() + static_cast<std::ptrdiff_t>(told));
  return told != 0;
}

/// A message for a call that this rank has entered. @return what is wrong with it, or null
const char* Collectives::take_part(ContextState& state, uint64_t sequence, uint32_t member,
                                   const CollectiveFrame& frame, const std::byte* payload, uint32_t size) {
  ReceiveRoom& room = state.members[member].room;
  CollectiveCall* const call = state.find(sequence);
  if (!call) {  // over here
    room.use_one();
    counters_.add(Metric::discarded);
    CallHeader theirs;
    const CallHeader* const alone = frame.flags & kFlagFirst ? state.alone.find(sequence) : nullptr;
    if (!alone) return nullptr;
    std::memcpy(&theirs, payload, sizeof theirs);
    if (*alone != theirs) fail_by_difference(state, sequence, member, *alone, theirs);
    return nullptr;
  }
  const Action* action = nullptr;
  const Verdict verdict = judge(*call, member, frame, payload, size, &action);
  if (verdict == Verdict::kNonsense) return "collective message out of place";
  if (verdict == Verdict::kDiffers) {
    CallHeader theirs;
    std::memcpy(&theirs, payload, sizeof theirs);
    room.use_one();
    fail_by_difference(state, sequence, member, expected(*call, member, frame), theirs);
    return nullptr;
  }
  list(state);
  if (frame.step != call->run.round()) return hold(state, member, frame, payload, size);
  if (call->run.message(call->run.index_of(*action)).has_come()) return "collective message twice";
  room.use_one();
  take(*call, *action, payload);
  return nullptr;
}

/// @param action the one that awaits the message, if it is fine
Collectives::Verdict Collectives::judge(const CollectiveCall& call, uint32_t member, const CollectiveFrame& frame,
                                        const std::byte* payload, uint32_t size, const Action** action) {
  CallHeader theirs;
  if (!(frame.flags & kFlagFirst)) return Verdict::kNonsense;
  std::memcpy(&theirs, payload, sizeof theirs);
  if (!call.agrees(theirs)) return Verdict::kDiffers;
  if (frame.segment > kPlaceSegment || frame.step < call.run.round()) return Verdict::kNonsense;
  const bool place = frame.segment == kPlaceSegment;
  *action = call.run.find_awaiting(frame.step, member, place);
  if (!*action) return call.pairwise ? Verdict::kDiffers : Verdict::kNonsense;
  if (call.header_of(bytes_of(**action)) != theirs) return Verdict::kDiffers;
  const uint64_t expected = place ? sizeof(uint64_t) : (*action)->to.bytes;
  if (size != sizeof theirs + expected) return Verdict::kNonsense;
  uint64_t id = 1;
  if (place) std::memcpy(&id, payload + sizeof theirs, sizeof id);
  return id != 0 ? Verdict::kFine : Verdict::kNonsense;
}

/// A message that is fine, in its round.
void Collectives::take(CollectiveCall& call, const Action& action, const std::byte* payload) {
  const uint32_t index = call.run.index_of(action);
  const std::byte* const behind = payload + sizeof(CallHeader);
  if (is_long(action)) {
    std::memcpy(&call.run.message(index).place, behind, sizeof(uint64_t));
  } else if (action.to.bytes != 0) {
    std::memcpy(call.run.to(action.to), behind, action.to.bytes);
  }
  call.run.came(index);
}

/// What a member should have said in its message.
CallHeader Collectives::expected(const CollectiveCall& call, uint32_t member, const CollectiveFrame& frame) {
  return call.header_of(call.run.bytes_expected(frame.step, member, frame.segment == kPlaceSegment));
}

void Collectives::fail_by_difference(ContextState& state, uint64_t sequence, uint32_t member, const CallHeader& ours,
                                     const CallHeader& theirs) {
  const uint32_t rank = state.group().rank_of(member);
  fail_from(state,
            {.sequence = sequence,
             .code = LCI_ERR_MISMATCH,
             .rank = rank,
             .ranks = {parts_.rank, rank},
             .calls = {ours, theirs}},
            true);
}

/// A message met no context there. It is sent again when the member has opened that, which may be known already: words
/// overtake each other.
void Collectives::handle_unknown(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  ContextMember& of = state.members[member];
  if (of.sure) return;  // it has freed the context, and hears nothing more
  Unsure unsure{};
  if (!find_unsure(state, member, to_collective(header), &unsure) || !of.window.give_back(1)) {
    return protocol_error(link, "answer to a collective message that was not sent", header);
  }
  if (unsure.call && unsure.call->run.message(unsure.index).has_moved()) {  // it has sent to the place that it got
    return protocol_error(link, "place that is unknown, and was used", header);
  }
  if (unsure.call) unsure.call->run.repeat(unsure.index);
  of.asked = false;
  of.unknown = !std::exchange(of.opened, false);
  list(state);
}

/// A message has met its context, and so will all that follow.
void Collectives::handle_known(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  Unsure unsure{};
  if (!find_unsure(state, member, to_collective(header), &unsure)) {
    return protocol_error(link, "answer to a collective message that was not sent", header);
  }
  if (unsure.call) unsure.call->run.confirmed(unsure.index);
  state.members[member].asked = false;
  state.members[member].sure = true;
  list(state);
}

/// The message that a member answers. False: there is none.
bool Collectives::find_unsure(ContextState& state, uint32_t member, const CollectiveFrame& frame, Unsure* out) {
  if (!state.members[member].asked || frame.segment > kPlaceSegment) return false;
  out->call = state.find(nearest(state.next_sequence, frame.sequence));
  if (!out->call) return true;
  out->index = out->call->run.find_unsure(member, frame.segment == kPlaceSegment);
  return out->index != ScheduleRun::kNone && frame.step == out->call->run.round();
}

void Collectives::handle_failed(Link& link, const MessageHeader& header, ContextState& state) {
  FailureFrame failure;
  if (header.size != sizeof failure && header.size != kShortFailure) {
    return protocol_error(link, "failure of another length", header);
  }
  link.control_in.read_payload(&failure, header.size);
  const bool differs = failure.code == LCI_ERR_MISMATCH;
  const bool known = differs || failure.code == LCI_ERR_COLLECTIVE || failure.code == LCI_ERR_PEER_FAILED ||
                     failure.code == LCI_ERR_PEER_LEFT;
  const auto is_member = [&](uint32_t rank) {
    return rank < parts_.ranks && state.group().member_of(rank) != Group::kNone;
  };
  if (!known || !is_member(failure.rank) || differs != (header.size == sizeof failure) ||
      (differs && !(is_member(failure.ranks[0]) && is_member(failure.ranks[1])))) {
    return protocol_error(link, "failure that says nothing", header);
  }
  fail_from(state, failure, false);
}

}  // namespace lci
