// SPDX-License-Identifier: Apache-2.0
// How a call goes through its rounds.
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "base/no_memory.hpp"
#include "protocol/collectives.hpp"

namespace lci {
namespace {

/// A payload that is the only one of its member in a round is read where it lies, all of it, from so many bytes on.
constexpr uint64_t kAloneInPlace = 256 << 10;
/// Less leaves in packets, for each of several members.
constexpr uint64_t kLeastStaged = 16 << 10;

}  // namespace

/// As far as it can now. True if anything moved.
bool Collectives::go_on(ContextState& state, CollectiveCall& call) {
  if (call.board.used) return go_on_board(state, call);
  bool moved = false;
  while (!call.run.over()) {
    take_held(state, call);
    moved |= send(state, call);
    if (!call.run.messages_through()) return moved;
    if (!call.run.work()) {  // others have their turn meanwhile
      call_again();
      return true;
    }
    moved = true;
  }
  return moved;
}

/// What has come before its round.
void Collectives::take_held(ContextState& state, CollectiveCall& call) {
  for (uint32_t i = 0; state.held != 0 && i < call.run.count(); ++i) {
    const Action& action = call.run.action(i);
    if (call.run.message(i).has_come() || (action.kind == Action::Kind::kSend) != is_long(action)) continue;
    ReceiveRoom& room = state.members[action.member].room;
    const HeldMessage* const held = room.find({.step = static_cast<uint16_t>(call.run.round()),
                                               .sequence = static_cast<uint32_t>(call.sequence),
                                               .segment = is_long(action) ? kPlaceSegment : kPayloadSegment});
    if (!held) continue;
    take(call, action, held->payload);
    room.take(*held);
    --state.held;
    if (room.due() != 0) tell(state, action.member, ContextMember::kTellRoom);
  }
}

bool Collectives::send(ContextState& state, CollectiveCall& call) {
  bool moved = false;
  for (uint32_t i = 0; i < call.run.count(); ++i) {
    if (call.run.has_to_leave(i)) {
      moved |= send_message(state, call, i);
    } else if (call.run.has_to_move(i)) {
      moved |= start_stream(state, call, i);
    }
  }
  return moved;
}

/// False: its message waits for a place, for room in the ring, for memory, or for the receiver to have the context.
bool Collectives::send_message(ContextState& state, CollectiveCall& call, uint32_t index) {
  const Action& action = call.run.action(index);
  ContextMember& member = state.members[action.member];
  const uint32_t rank = state.group().rank_of(action.member);
  const bool oldest = &call == state.calls.front().get();
  if (links_.has_failed(rank) || !member.may_send() || !member.window.has_room(oldest)) return false;
  int error = LCI_DONE;
  Link* const link = links_.open(rank, &error);
  const bool place = action.kind == Action::Kind::kReceive;
  if (!link || (place && !open_place(*link, call, index))) {
    call_again();
    return false;
  }
  std::byte payload[LCI_INLINE_MAX];
  const CallHeader header = call.header_of(bytes_of(action));
  std::memcpy(payload, &header, sizeof header);
  const uint64_t bytes = place ? sizeof(uint64_t) : action.from.bytes;
  const void* const from =
      place ? &call.run.message(index).transfer : static_cast<const void*>(call.run.at(action.from));
  if (bytes != 0) std::memcpy(payload + sizeof header, from, bytes);
  const uint8_t flags = member.sure ? kFlagFirst : kFlagFirst | kFlagUnsure;
  const CollectiveFrame frame{CollectiveWord::kMessage, flags, static_cast<uint16_t>(call.run.round()),
                              static_cast<uint32_t>(call.sequence), place ? kPlaceSegment : kPayloadSegment};
  if (!emit(*link, state.context->id(), frame, payload, static_cast<uint32_t>(sizeof header + bytes))) return false;
  member.window.take();
  member.asked = !member.sure;
  call.run.left(index, member.sure);
  return true;
}

/// So many bytes from the start the receiver is to read where they lie. While it reads a part of a payload of a
/// middling length, a member that has nothing else to send copies the rest into packets: so the receiver need not wait
/// for the first one, not all that is written next has been in another one's cache, and the sender is through first.
uint64_t Collectives::bytes_in_place(const ScheduleRun& run, const Action& action) {
  const uint64_t bytes = action.from.bytes;
  return run.count() > 1 || bytes >= kAloneInPlace ? bytes : bytes / 8 * 3;
}

OpTarget Collectives::stream_target(ScheduleRun::Message& message) {
  return {&streams_, nullptr, reinterpret_cast<uint64_t>(&message)};
}

/// Where the payload of the sender is to go. False: there is no memory to say so.
bool Collectives::open_place(Link& link, CollectiveCall& call, uint32_t index) {
  ScheduleRun::Message& message = call.run.message(index);
  if (message.transfer != 0) return true;
  const Range& range = call.run.action(index).to;
  return unless_no_memory([&] {
    auto context = std::make_unique<ReceiveContext>();
    context->link = &link;
    context->buffer = call.run.to(range);
    context->capacity = context->size = range.bytes;
    context->tag = call.sequence;
    context->target = stream_target(message);
    message.transfer = incoming_.expect(std::move(context));
    std::ignore = streams_.hold();  // it has no bound
  });
}

/// Where the payload is sent from. If several members get it in a broadcast, they all read one copy of it.
const std::byte* Collectives::source_of(const Link& link, CollectiveCall& call, const Action& action) {
  const std::byte* const data = call.run.at(action.from);
  const uint64_t bytes = action.from.bytes;
  const bool whole = call.header.kind == LCI_COLLECTIVE_BROADCAST && bytes == call.out_bytes;
  const bool for_several = whole && call.run.count() > 1;
  if (!for_several || bytes < kLeastStaged || bytes > CollectiveStages::kBytes) return data;
  if (!link.shares_memory || parts_.memory().holds(data, bytes)) return data;
  if (!call.stage) {
    call.stage = stages_.take();
    if (!call.stage) return data;
    std::memcpy(call.stage, data, bytes);  // the same in all rounds
  }
  return call.stage;
}

/// The bytes can be given up at any time: they are copied on their way, or what is read of them after that does not
/// count.
bool Collectives::start_stream(ContextState& state, CollectiveCall& call, uint32_t index) {
  const Action& action = call.run.action(index);
  const uint32_t rank = state.group().rank_of(action.member);
  ScheduleRun::Message& message = call.run.message(index);
  int error = LCI_DONE;
  Link* const link = links_.has_failed(rank) ? nullptr : links_.open(rank, &error);
  const bool started = link && unless_no_memory([&] {
                         auto context = std::make_unique<SendContext>();
                         context->link = link;
                         context->data = source_of(*link, call, action);
                         context->size = action.from.bytes;
                         context->tag = call.sequence;
                         context->receiver = message.place;
                         context->target = stream_target(message);
                         context->in_place = bytes_in_place(call.run, action);
                         message.transfer = outgoing_.start(std::move(context));
                         std::ignore = streams_.hold();  // it has no bound
                       });
  if (!started) call_again();
  return started;
}

int Collectives::Streams::signal(const lci_status& status) {
  of_.stream_ended(*reinterpret_cast<ScheduleRun::Message*>(status.user_context), status.code);
  return LCI_DONE;
}

/// With an error: its peer is gone, or has given the call up, and tells that itself.
void Collectives::stream_ended(ScheduleRun::Message& message, int code) {
  counters_.add(Metric::signals, -1);  // no program hears it
  message.transfer = 0;
  message.place = 0;
  if (code != LCI_DONE) return;
  auto& call = *static_cast<CollectiveCall*>(message.owner);
  const auto index = static_cast<uint32_t>(&message - &call.run.message(0));
  if (call.run.has_to_leave(index)) return;  // a place that nobody was told of: there will be another one
  call.run.moved(index);
  some_through_ |= call.run.messages_through();
  list(*call.state);
  call_again();
}

void Collectives::give_streams_up(CollectiveCall& call) {
  for (uint32_t i = 0; i < call.run.count(); ++i) {
    ScheduleRun::Message& message = call.run.message(i);
    const uint64_t stream = std::exchange(message.transfer, 0);
    if (stream == 0) continue;
    if (call.run.action(i).kind == Action::Kind::kSend) {
      outgoing_.give_up(stream, stream_target(message));
    } else {
      incoming_.give_up(stream);
    }
  }
}

}  // namespace lci
