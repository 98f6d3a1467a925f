// SPDX-License-Identifier: Apache-2.0
// Agreements of members, over words of their context: they go on where calls have failed.
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "collective/sequence.hpp"
#include "protocol/collectives.hpp"

namespace lci {
namespace {

using Kind = Agreement::Message::Kind;

AgreeFrame to_frame(const Agreement::Outcome& outcome) {
  AgreeFrame frame{.value = outcome.value};
  for (size_t i = 0; i < outcome.dead.size(); ++i) {
    if (outcome.dead[i]) frame.dead[i / 8] |= static_cast<uint8_t>(1u << i % 8);
  }
  return frame;
}

Agreement::Outcome to_outcome(const AgreeFrame& frame, uint32_t size) {
  Agreement::Outcome outcome{frame.value, Agreement::Members(size)};
  for (uint32_t i = 0; i < size; ++i) outcome.dead[i] = (frame.dead[i / 8] >> i % 8 & 1) != 0;
  return outcome;
}

}  // namespace

int Collectives::post_agreement(ContextState& state, const lci_descriptor& op, const OpTarget& target) {
  const auto& given = op.u.collective;
  if (given.out == 0 || (op.rank | op.size | op.policy) != 0 || (given.count | given.counts) != 0) {
    return fail(LCI_ERR_ARGUMENT,
                "agree: it needs memory for the outcome, and nothing but a value; see lci_post_agree()");
  }
  if (state.group().size() > LCI_MAX_AGREE) {
    return fail(LCI_ERR_SIZE, "agree: a group of %u members; %u may agree", state.group().size(), LCI_MAX_AGREE);
  }
  if (parts_.peers.is_fenced()) {
    return fail(LCI_ERR_FENCED, "agree: the others count rank %u as failed, and agree without it", parts_.rank);
  }
  if (state.agreeing) return refuse_for_now(state, LCI_RETRY_PENDING);
  AgreementCall& call = agreement_at(state, state.next_agreement);
  call.agreement.enter(given.in);
  call.target = target;
  call.out = reinterpret_cast<std::byte*>(given.out);
  state.agreeing = true;
  ++state.next_agreement;
  state.context->call_began();
  look_at_agreements(state);
  list(state);
  call_again();  // the next pass ends it, where nothing is missing
  return LCI_POSTED;
}

/// A message may come before this member has posted.
AgreementCall& Collectives::agreement_at(ContextState& state, uint64_t number) {
  std::unique_ptr<AgreementCall>& place = state.agreements[number & 1];
  if (place && place->number == number) return *place;
  const Group& group = state.group();
  auto made = std::make_unique<AgreementCall>(number, group.own(), group.size());
  for (uint32_t member = 0; member < group.size(); ++member) {
    const RankState peer = parts_.peers.state(group.rank_of(member));
    if (member != group.own() && (peer == RankState::kLeft || peer == RankState::kFailed)) made->agreement.died(member);
  }
  place = std::move(made);
  return *place;
}

/// With its outcome, or with an error. True if there was one to end.
bool Collectives::end_agreement(ContextState& state, int code) {
  if (!state.agreeing) return false;
  AgreementCall& call = *state.agreements[(state.next_agreement - 1) & 1];
  const auto& outcome = call.agreement.outcome();
  if (code == LCI_DONE && !outcome) return false;
  if (code == LCI_DONE && call.out) {
    std::memcpy(call.out, &outcome->value, sizeof outcome->value);
    std::byte* const dead = call.out + sizeof outcome->value;
    for (size_t i = 0; i < outcome->dead.size(); ++i) dead[i] = std::byte{outcome->dead[i]};
  }
  const OpTarget target = std::exchange(call.target, {});
  std::byte* const out = std::exchange(call.out, nullptr);
  state.agreeing = false;
  state.context->call_ended();
  room_came_ |= std::exchange(refused_, false);
  complete(target, code, parts_.rank, call.number, code == LCI_DONE ? out : nullptr, 0);
  return true;
}

void Collectives::handle_agree(Link& link, const MessageHeader& header, ContextState& state, uint32_t member) {
  const CollectiveFrame frame = to_collective(header);
  const uint32_t size = state.group().size();
  const uint64_t number = nearest(state.next_agreement, frame.sequence);
  if (size > LCI_MAX_AGREE || header.size != agree_bytes(size) || frame.step > static_cast<uint16_t>(Kind::kOutcome) ||
      is_before(state.next_agreement, number)) {
    return protocol_error(link, "agreement that says nothing", header);
  }
  AgreeFrame said;
  link.control_in.read_payload(&said, header.size);
  const std::unique_ptr<AgreementCall>& place = state.agreements[number & 1];
  if (number != state.next_agreement && !(place && place->number == number)) return;  // late: all have that one
  Agreement& agreement = agreement_at(state, number).agreement;
  if (!agreement.heard(member, {static_cast<Kind>(frame.step), to_outcome(said, size)})) {
    return protocol_error(link, "agreement that nobody would say", header);
  }
  look_at_agreements(state);
  list(state);
}

/// What follows from what was said, and from who has died: nobody says it again, so without memory now the next pass
/// looks.
void Collectives::look_at_agreements(ContextState& state) {
  state.overlooked = !unless_no_memory([&] {
    for (const auto& call : state.agreements) {
      if (call) call->agreement.look();
    }
  });
  tell_agreements(state);
  if (!state.overlooked) return;
  list(state);
  call_again();
}

/// Without memory to see who is owed something all are told, if there is anything then.
void Collectives::tell_agreements(ContextState& state) {
  for (const auto& call : state.agreements) {
    if (!call) continue;
    for (uint32_t member = 0; member < state.group().size(); ++member) {
      bool owed = member != state.group().own();
      unless_no_memory([&] { owed = call->agreement.owed(member).has_value(); });
      if (owed) tell(state, member, ContextMember::kTellAgree);
    }
  }
}

/// A rank that the others have given up must not decide alone.
void Collectives::agreements_without(ContextState& state, uint32_t member, RankState rank_state) {
  if (rank_state == RankState::kFenced) {
    end_agreement(state, LCI_ERR_FENCED);
    return;
  }
  for (const auto& call : state.agreements) {
    if (call) call->agreement.died(member);
  }
  look_at_agreements(state);
}

/// False: there is no room for all.
bool Collectives::emit_agreements(Link& link, ContextState& state, uint32_t member) {
  for (const auto& call : state.agreements) {
    if (!call) continue;
    while (const auto message = call->agreement.owed(member)) {
      const AgreeFrame frame = to_frame(message->outcome);
      const bool sent = emit(link, state.context->id(),
                             {.word = CollectiveWord::kAgree,
                              .step = static_cast<uint16_t>(message->kind),
                              .sequence = static_cast<uint32_t>(call->number)},
                             &frame, agree_bytes(state.group().size()));
      if (!sent) return false;
      call->agreement.told(member, message->kind);
    }
  }
  return true;
}

/// As far as memory goes: it helps those that have no outcome yet.
void Collectives::remember_agreement(const ContextState& state) {
  for (const auto& call : state.agreements) {
    if (!call || !call->agreement.outcome()) continue;
    unless_no_memory([&] {
      if (past_agreements_.size() == kMostPast) past_agreements_.erase(past_agreements_.begin());
      past_agreements_.push_back({state.context->id(), static_cast<uint32_t>(call->number),
                                  agree_bytes(state.group().size()), to_frame(*call->agreement.outcome())});
    });
  }
}

/// Of a context that is gone, or not there yet: then its sender hears when it is.
void Collectives::handle_past_agree(Link& link, const MessageHeader& header) {
  const CollectiveFrame frame = to_collective(header);
  if (frame.step > static_cast<uint16_t>(Kind::kProposal)) return;  // nobody waits for an answer
  constexpr size_t kMost = Contexts::kMost * kRoomMessages;
  if (link.unknown.size() == kMost) return protocol_error(link, "messages of too many contexts", header);
  make_room(&link.unknown);
  link.unknown.push_back({header.arg, header.tag, frame.step, true});
  links_.make_busy(link);
  flush_unknown(link);
}

bool Collectives::emit_past_agreement(Link& link, const UnknownMessage& asked) {
  for (const PastAgreement& past : past_agreements_) {
    if (past.context != asked.context || past.number != static_cast<uint32_t>(asked.tag)) continue;
    return emit(
        link, past.context,
        {.word = CollectiveWord::kAgree, .step = static_cast<uint16_t>(Kind::kOutcome), .sequence = past.number},
        &past.frame, past.size);
  }
  return true;
}

}  // namespace lci
