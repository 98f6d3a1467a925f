// SPDX-License-Identifier: Apache-2.0
#include "collective/agreement.hpp"

namespace lci {

using Kind = Agreement::Message::Kind;

Agreement::Agreement(uint32_t own, uint32_t size)
    : own_(own),
      size_(size),
      dead_(size),
      tellings_(size),
      asks_(size),
      values_(size),
      has_value_(size),
      has_acknowledged_(size) {}

uint32_t Agreement::coordinator() const {
  uint32_t member = 0;
  while (dead_[member]) ++member;  // this one is alive
  return member;
}

bool Agreement::all(const Members& have) const {
  for (uint32_t member = 0; member < size_; ++member) {
    if (!have[member] && !dead_[member]) return false;
  }
  return true;
}

void Agreement::enter(uint64_t value) {
  entered_ = true;
  value_ = value;
}

bool Agreement::heard(uint32_t from, const Message& message) {
  if (from == own_ || message.outcome.dead.size() != size_) return false;
  if (message.kind == Kind::kOutcome) {  // also of one that has died since; if it differs, who knows which one lies
    if (!outcome_) outcome_ = message.outcome;
    return true;
  }
  if (dead_[from]) return true;
  switch (message.kind) {
    case Kind::kQuestion:
      asks_[from] = true;
      break;
    case Kind::kValue:
      values_[from] = message.outcome;
      has_value_[from] = asks_[from] = true;
      break;
    case Kind::kProposal:
      if (from != coordinator() || !entered_) return false;  // it has not got our value
      accept(from, message.outcome);
      break;
    case Kind::kAcknowledgement:
      if (!proposed_) return false;
      has_acknowledged_[from] = true;
      break;
    default:
      return false;
  }
  return true;
}

void Agreement::accept(uint32_t coordinator, const Outcome& outcome) {
  accepted_ = Proposal{coordinator, outcome};
  tellings_[coordinator].acknowledgement = false;
}

void Agreement::look() {
  if (!entered_ || outcome_ || !coordinates()) return;
  has_value_[own_] = true;
  if (!proposed_) {
    if (!all(has_value_)) return;
    accept(own_, conclude());
    proposed_ = true;
    has_acknowledged_[own_] = true;
  }
  if (all(has_acknowledged_)) outcome_ = accepted_->outcome;
}

/// What this member has acknowledged may be an outcome already: then all living ones have acknowledged it. Else there
/// is none yet, and what follows is what all say together.
Agreement::Outcome Agreement::conclude() const {
  if (accepted_) return accepted_->outcome;
  Outcome together{value_, dead_};
  for (uint32_t member = 0; member < size_; ++member) {
    if (member == own_ || !has_value_[member] || dead_[member]) continue;
    together.value &= values_[member].value;
    for (uint32_t other = 0; other < size_; ++other) {
      if (values_[member].dead[other]) together.dead[other] = true;
    }
  }
  return together;
}

std::optional<Agreement::Message> Agreement::owed(uint32_t member) const {
  if (member == own_ || dead_[member]) return std::nullopt;
  const Telling& told = tellings_[member];
  const Outcome nothing{0, Members(size_)};
  if (outcome_) {
    if (told.outcome || !(coordinates() || asks_[member])) return std::nullopt;
    return Message{Kind::kOutcome, *outcome_};
  }
  if (!entered_) return std::nullopt;
  if (coordinates()) {
    if (!proposed_)
      return told.question || has_value_[member] ? std::nullopt : std::optional(Message{Kind::kQuestion, nothing});
    if (told.proposal) return std::nullopt;
    return Message{Kind::kProposal, accepted_->outcome};
  }
  if (member != coordinator()) return std::nullopt;
  if (!told.value) return Message{Kind::kValue, {value_, dead_}};
  const bool acknowledges = accepted_ && accepted_->coordinator == member && !told.acknowledgement;
  return acknowledges ? std::optional(Message{Kind::kAcknowledgement, nothing}) : std::nullopt;
}

void Agreement::told(uint32_t member, Message::Kind what) {
  Telling& told = tellings_[member];
  told.question |= what == Kind::kQuestion;
  told.value |= what == Kind::kValue;
  told.proposal |= what == Kind::kProposal;
  told.acknowledgement |= what == Kind::kAcknowledgement;
  told.outcome |= what == Kind::kOutcome;
}

}  // namespace lci
