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
  if (!state) return;  // it is gone, and was told of the same as the others
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
      return list(*state);
    case CollectiveWord::kFailed:
      return handle_failed(link, header, *state);
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
  if (state->has_failed_at(sequence)) {
    room.use_one();
    tell(*state, member, ContextMember::kTellFailed);
  } else if (!is_before(sequence, state->next_sequence)) {
    if (!room.hold(frame, payload, header.size)) return protocol_error(link, "collective message twice", header);
    ++state->held;
  } else {
    room.use_one();
    const char* const wrong = take_part(*state, sequence, member, frame, payload, header.size);
    if (wrong) return protocol_error(link, wrong, header);
    list(*state);
  }
  if (room.due() != 0) tell(*state, member, ContextMember::kTellRoom);
}

/// There is no such context: not yet, or no longer.
void Collectives::handle_stray(Link& link, const MessageHeader& header, const CollectiveFrame& frame) {
  constexpr size_t kMost = Contexts::kMost * kRoomMessages;
  if (link.unknown.size() == kMost) return protocol_error(link, "messages of too many contexts", header);
  make_room(&link.unknown);
  link.unknown.push_back({header.arg, header.tag, frame.step});
  links_.make_busy(link);
  flush_unknown(link);
}

bool Collectives::flush_unknown(Link& link) {
  size_t told = 0;
  for (; told < link.unknown.size(); ++told) {
    const UnknownMessage& message = link.unknown[told];
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
  CollectiveCall* const call = state.find(sequence);
  if (!call) {  // over here
    counters_.add(Metric::discarded);
    return nullptr;
  }
  if (frame.flags & kFlagFirst) {
    CallHeader theirs;
    std::memcpy(&theirs, payload, sizeof theirs);
    if (theirs != call->header) {
      const uint32_t rank = state.group().rank_of(member);
      fail_from(state,
                {.sequence = sequence,
                 .code = LCI_ERR_MISMATCH,
                 .rank = rank,
                 .ranks = {parts_.rank, rank},
                 .calls = {call->header, theirs}},
                true);
      return nullptr;
    }
  }
  if (!(frame.flags & kFlagFirst) || size != sizeof(CallHeader) || frame.segment != 0 ||
      !call->steps.expects(frame.step, member)) {
    return "collective message out of place";
  }
  if (call->steps.has_arrived(frame.step)) return "collective message twice";
  call->steps.arrived(frame.step);
  return nullptr;
}

/// A message met no context there. It is sent again when the member has opened that, which may be known already: words
/// overtake each other.
void Collectives::handle_unknown(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  ContextMember& of = state.members[member];
  if (of.sure) return;  // it has freed the context, and hears nothing more
  CollectiveCall* call = nullptr;
  if (!find_unsure(state, member, to_collective(header), &call) || !of.window.give_back(1)) {
    return protocol_error(link, "answer to a collective message that was not sent", header);
  }
  if (call) call->steps.repeat(to_collective(header).step);
  of.asked = false;
  of.unknown = !std::exchange(of.opened, false);
  list(state);
}

/// A message has met its context, and so will all that follow.
void Collectives::handle_known(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  CollectiveCall* call = nullptr;
  if (!find_unsure(state, member, to_collective(header), &call)) {
    return protocol_error(link, "answer to a collective message that was not sent", header);
  }
  if (call) call->steps.confirmed(to_collective(header).step);
  state.members[member].asked = false;
  state.members[member].sure = true;
  list(state);
}

/// The call of the message that a member answers; null if that has failed meanwhile. False: there is no such message.
bool Collectives::find_unsure(ContextState& state, uint32_t member, const CollectiveFrame& frame,
                              CollectiveCall** out) {
  *out = state.find(nearest(state.next_sequence, frame.sequence));
  if (!state.members[member].asked || frame.segment != 0) return false;
  return !*out || ((*out)->steps.is_unsure(frame.step) && (*out)->steps.to(frame.step) == member);
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
