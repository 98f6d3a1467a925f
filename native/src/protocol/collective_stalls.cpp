// SPDX-License-Identifier: Apache-2.0
// A call that does not go on for long: who is waited for is asked, and whoever has not made it is named in the log.
// What is asked says what the call is, so that members find out that they differ, also where no message of theirs
// meets.
#include <array>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "collective/sequence.hpp"
#include "protocol/collectives.hpp"

namespace lci {
namespace {

/// A member that has not answered for so long is silent.
constexpr uint64_t kAnswerNs = 1'000'000'000;

std::string ranks_of(const Group& group, const std::vector<uint32_t>& members) {
  std::string text;
  for (const uint32_t member : members) {
    if (!text.empty()) text += ", ";
    text += std::to_string(group.rank_of(member));
  }
  return text;
}

/// Calls @p visit with each member that a call waits for.
template <typename F>
void for_each_awaited(const ContextState& state, const CollectiveCall& call, F visit) {
  call.run.for_each_awaited(visit);
  if (!call.board.used) return;
  for (uint32_t member = 0; member < state.turns.others.size(); ++member) {
    if ((state.turns.all & ~call.board.seen) >> member & 1) visit(member);
  }
}

/// Each member once for each context, before anybody waits for long: nothing is said of that.
bool may_ask_quietly(const ContextState& state) {
  return state.watch.next_question < state.group().size();
}

/// The words of its question have not gone out.
bool is_to_be_asked(const ContextState& state) {
  const uint32_t member = state.question ? state.question->asked() : StallQuestion::kNobody;
  return member != StallQuestion::kNobody && (state.members[member].tell & ContextMember::kTellAsk);
}

uint32_t waiting_of(const ContextState& state, const CollectiveCall& call) {
  uint32_t count = 0;
  for_each_awaited(state, call, [&](uint32_t) { ++count; });
  return count;
}

}  // namespace

void Collectives::look_for_stalls() {
  const uint64_t stall_ns = uint64_t{parts_.attributes.coll_stall_ms} * 1'000'000u;
  const uint64_t now = coarse_now_ns();
  table_.for_each([&](ContextState& state) {
    if (state.calls.empty()) return;
    const CollectiveCall& oldest = *state.calls.front();
    const uint64_t still = state.watch.look({oldest.sequence, oldest.run.round(), waiting_of(state, oldest)}, now);
    if (still != 0 && differs_on_boards(state, oldest)) return;
    const bool is_soon = still < stall_ns || stall_ns == 0;
    if (is_soon && is_to_be_asked(state)) return;  // another question, or none, would take this one's place
    if (still != 0 && oldest.board.used && may_ask_quietly(state)) {
      // Whoever made its context after that had failed on the others hears it so: it has sent them nothing.
      state.question = std::make_unique<StallQuestion>(oldest.sequence, state.group().own(), state.group().size());
      state.question->add(static_cast<uint32_t>(state.watch.next_question++));
      const uint32_t member = state.question->asked();
      if (member != StallQuestion::kNobody) tell(state, member, ContextMember::kTellAsk);
      return;
    }
    if (is_soon) {
      state.question.reset();
    } else if (state.question) {
      if (now < state.watch.answer_until) return;
      state.question->is_silent();
      ask_next(state, now);
    } else if (now >= state.watch.next_question) {
      state.watch.next_question = now + stall_ns;
      ask(state, oldest, now);
    }
  });
}

void Collectives::ask(ContextState& state, const CollectiveCall& call, uint64_t now) {
  state.question = std::make_unique<StallQuestion>(call.sequence, state.group().own(), state.group().size());
  for_each_awaited(state, call, [&](uint32_t member) { state.question->add(member); });
  ask_next(state, now);
}

/// Or says what was found out.
void Collectives::ask_next(ContextState& state, uint64_t now) {
  const uint32_t member = state.question->asked();
  if (member != StallQuestion::kNobody) {
    state.watch.answer_until = now + std::min(kAnswerNs, uint64_t{parts_.attributes.coll_stall_ms} * 1'000'000u);
    return tell(state, member, ContextMember::kTellAsk);
  }
  report_stall(state, *state.question);
  state.question.reset();
}

void Collectives::report_stall(const ContextState& state, const StallQuestion& question) {
  const CollectiveCall* const call = state.find(question.sequence());
  if (state.watch.next_question <= state.group().size()) return;  // it was a quiet one
  if (!call || (question.absent().empty() && question.silent().empty())) return;
  counters_.add(Metric::collective_stalls);
  std::string who;
  if (!question.absent().empty()) who = "not made by rank " + ranks_of(state.group(), question.absent());
  if (!question.silent().empty()) {
    if (!who.empty()) who += "; ";
    who += "no answer of rank " + ranks_of(state.group(), question.silent());
  }
  LCI_LOG(parts_.log, LogLevel::kWarn, "collective", "%s %lu of context %lx waits for more than %u ms: %s",
          collective_name(call->header.kind), call->sequence, state.context->id(), parts_.attributes.coll_stall_ms,
          who.c_str());
}

void Collectives::handle_ask(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  if (header.size != sizeof(CallHeader)) return protocol_error(link, "question of another length", header);
  CallHeader theirs;
  link.control_in.read_payload(&theirs, sizeof theirs);
  const uint32_t low = to_collective(header).sequence;
  const uint64_t sequence = nearest(state.next_sequence, low);
  if (state.has_failed_at(sequence)) return tell(state, member, ContextMember::kTellFailed);
  const CollectiveCall* const call = state.find(sequence);
  if (call && !call->agrees(theirs)) return fail_by_difference(state, sequence, member, call->header, theirs);
  const CallHeader* const alone = call ? nullptr : state.alone.find(sequence);
  if (alone && *alone != theirs) return fail_by_difference(state, sequence, member, *alone, theirs);
  state.members[member].asked_about = low;
  tell(state, member, ContextMember::kTellAnswer);
}

/// A context that is not there. If there is no room for the answer the member asks again.
void Collectives::answer_stray(Link& link, const MessageHeader& header) {
  if (const FailureFrame* const failure = past_failure(header.arg)) {
    emit_failure(link, header.arg, *failure);
    return;
  }
  emit(link, header.arg, {.word = CollectiveWord::kAnswer, .sequence = to_collective(header).sequence});
}

bool Collectives::emit_question(Link& link, const ContextState& state, uint32_t member) {
  if (!state.question || state.question->asked() != member) return true;
  const CollectiveCall* const call = state.find(state.question->sequence());
  if (!call) return true;
  return emit(link, state.context->id(),
              {.word = CollectiveWord::kAsk, .sequence = static_cast<uint32_t>(call->sequence)}, &call->header,
              sizeof call->header);
}

bool Collectives::emit_answer(Link& link, const ContextState& state, uint32_t member) {
  const uint32_t low = state.members[member].asked_about;
  const uint64_t sequence = nearest(state.next_sequence, low);
  const CollectiveCall* const call = state.find(sequence);
  std::array<uint32_t, kMostNamed> awaited{};
  uint32_t count = 0;
  if (call) {
    for_each_awaited(state, *call, [&](uint32_t other) {
      if (count < kMostNamed) awaited[count++] = other;
    });
  }
  const auto progress = call                                       ? CallProgress::kEntered
                        : is_before(sequence, state.next_sequence) ? CallProgress::kOver
                                                                   : CallProgress::kAbsent;
  return emit(link, state.context->id(),
              {.word = CollectiveWord::kAnswer, .step = static_cast<uint16_t>(progress), .sequence = low},
              awaited.data(), count * static_cast<uint32_t>(sizeof awaited[0]));
}

void Collectives::handle_answer(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  const CollectiveFrame frame = to_collective(header);
  std::array<uint32_t, kMostNamed> awaited{};
  if (header.size > sizeof awaited || header.size % sizeof awaited[0] != 0 ||
      frame.step > static_cast<uint16_t>(CallProgress::kOver)) {
    return protocol_error(link, "answer that says nothing", header);
  }
  link.control_in.read_payload(awaited.data(), header.size);
  if (!state.question || state.question->asked() != member ||
      static_cast<uint32_t>(state.question->sequence()) != frame.sequence) {
    return;  // late
  }
  if (frame.step == static_cast<uint16_t>(CallProgress::kAbsent)) {
    state.question->is_absent();
  } else {
    state.question->has_entered();
  }
  for (uint32_t i = 0; i < header.size / sizeof awaited[0]; ++i) {
    if (state.question->add(awaited[i])) continue;
    state.question.reset();
    return protocol_error(link, "answer that says nothing", header);
  }
  ask_next(state, coarse_now_ns());
}

}  // namespace lci
