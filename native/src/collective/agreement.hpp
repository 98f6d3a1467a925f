// SPDX-License-Identifier: Apache-2.0
// Members agree on a value and on who is dead, while others may die. It sends nothing itself: who holds it asks what it
// owes to whom, and tells it what has come and who has died. What is told once more does no harm. What follows from it
// is seen when it looks, which may find no memory: then it looks again. [COLLECTIVES]
//
// The lowest living member coordinates. It collects the values of all living members, proposes what follows from them,
// and commits when all living members have acknowledged that. If it dies, each member gives its value to the next
// lowest, and what it has acknowledged last, which that one must propose. A member that has given its value to a later
// coordinator hears no earlier one any more. So where one member has an outcome, every living one has acknowledged it.
// Whoever counts as dead is dead: it is heard no more.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lci {

class Agreement {
 public:
  using Members = std::vector<bool>;

  struct Outcome {
    uint64_t value = 0;  ///< All bits that every member has set.
    Members dead;        ///< Those whom some member knew of.
    bool operator==(const Outcome&) const = default;
  };
  struct Message {
    enum class Kind : uint8_t { kQuestion, kValue, kProposal, kAcknowledgement, kOutcome };
    Kind kind = Kind::kValue;
    Outcome outcome;  ///< Value: what the sender itself says. Question: nothing.
    bool operator==(const Message&) const = default;
  };
  Agreement(uint32_t own, uint32_t size);

  /// This member takes part. Before that it owes nothing but answers.
  void enter(uint64_t value);
  void died(uint32_t member) { dead_[member] = true; }
  /// False: nobody would say that. May throw std::bad_alloc, and has heard nothing of weight then.
  bool heard(uint32_t from, const Message& message);
  /// What follows from all that, for its outcome, and for what it owes. May throw std::bad_alloc.
  void look();
  /// What a member is to be told now, if anything.
  std::optional<Message> owed(uint32_t member) const;
  /// That was sent.
  void told(uint32_t member, Message::Kind what);
  /// What that member was told is lost.
  void forgotten(uint32_t member) { tellings_[member] = {}; }

  const std::optional<Outcome>& outcome() const { return outcome_; }
  bool is_dead(uint32_t member) const { return dead_[member]; }

 private:
  struct Proposal {
    uint32_t coordinator;
    Outcome outcome;
  };
  /// What a member has been told.
  struct Telling {
    bool question = false, value = false, acknowledgement = false, proposal = false, outcome = false;
  };

  uint32_t coordinator() const;
  bool coordinates() const { return coordinator() == own_; }
  /// All living ones have.
  bool all(const Members& have) const;
  Outcome conclude() const;
  void accept(uint32_t coordinator, const Outcome& outcome);

  const uint32_t own_, size_;
  Members dead_;
  bool entered_ = false;
  uint64_t value_ = 0;
  std::optional<Proposal> accepted_;  // acknowledged last
  std::optional<Outcome> outcome_;
  std::vector<Telling> tellings_;
  Members asks_;  // for the outcome
  // As coordinator.
  std::vector<Outcome> values_;
  Members has_value_, has_acknowledged_;
  bool proposed_ = false;
};

}  // namespace lci
