// SPDX-License-Identifier: Apache-2.0
// Members agree whatever dies when, in whatever order messages and news of deaths come. Static core only.
#include "collective/agreement.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/sanitized.hpp"

namespace lci {
namespace {

using Kind = Agreement::Message::Kind;

/// All members, their messages, and deaths that the others hear of one by one.
class Simulation {
 public:
  Simulation(uint64_t seed, uint32_t size, uint32_t deaths)
      : random_(seed),
        size_(size),
        deaths_(deaths),
        dead_(size),
        gone_(size),
        values_(size),
        knows_(size, Agreement::Members(size)) {
    for (uint32_t i = 0; i < size; ++i) members_.emplace_back(i, size);
    for (uint64_t& value : values_) value = random_() | 1;
  }
  /// Steps in a random order until nothing is left to do.
  void run() {
    for (int idle = 0; idle < 200;) idle = step() ? 0 : idle + 1;
    deaths_ = 0;
    while (settle()) continue;
  }
  void expect_agreement() const {
    const Agreement::Outcome* one = nullptr;
    for (uint32_t i = 0; i < size_; ++i) {
      const auto& outcome = members_[i].outcome();
      EXPECT_TRUE(outcome || dead_[i]) << "member " << i << " has none";
      if (!outcome) continue;
      if (!one) one = &*outcome;
      EXPECT_EQ(*one, *outcome) << "member " << i << (dead_[i] ? ", which has died since" : "");
      EXPECT_EQ(0u, outcome->value & ~values_[i] & (dead_[i] ? 0 : ~uint64_t{0})) << "it has not set all that is set";
      for (uint32_t other = 0; other < size_; ++other) EXPECT_TRUE(!outcome->dead[other] || dead_[other]) << other;
    }
  }

 private:
  struct Letter {
    uint32_t from, to;
    Agreement::Message message;
  };

  uint32_t any() { return static_cast<uint32_t>(random_() % size_); }
  bool step() {
    switch (random_() % 8) {
      case 0:
        return enter(any());
      case 1:
        return random_() % 2 == 0 ? random_() % 2 == 0 && kill(any()) : leave(any());
      case 2:
      case 3:
        return tell_of_death(any(), any());
      case 4:
      case 5:
        return send(any(), any());
      default:
        return deliver();
    }
  }
  /// Everything that can be done, once.
  bool settle() {
    bool moved = false;
    for (uint32_t i = 0; i < size_; ++i) {
      moved |= enter(i);
      for (uint32_t other = 0; other < size_; ++other) {
        moved |= tell_of_death(i, other);
        moved |= send(i, other);
      }
    }
    while (deliver()) moved = true;
    return moved;
  }
  bool enter(uint32_t member) {
    if (dead_[member] || entered_ >> member & 1) return false;
    entered_ |= uint64_t{1} << member;
    members_[member].enter(values_[member]);
    members_[member].look();
    return true;
  }
  bool kill(uint32_t member) {
    if (deaths_ == 0 || dead_[member]) return false;
    --deaths_;
    dead_[member] = true;
    return true;
  }
  /// It has its outcome, owes nothing, and frees its context.
  bool leave(uint32_t member) {
    if (dead_[member] || gone_[member] || !members_[member].outcome()) return false;
    for (uint32_t other = 0; other < size_; ++other) {
      if (members_[member].owed(other)) return false;
    }
    gone_[member] = true;
    return true;
  }
  bool tell_of_death(uint32_t member, uint32_t other) {
    if (dead_[member] || !dead_[other] || knows_[member][other]) return false;
    knows_[member][other] = true;
    members_[member].died(other);
    members_[member].look();
    return true;
  }
  bool send(uint32_t from, uint32_t to) {
    if (dead_[from] || gone_[from]) return false;
    const auto message = members_[from].owed(to);
    if (!message) return false;
    members_[from].told(to, message->kind);
    letters_.push_back({from, to, *message});
    // Between two messages of one kind a death is worst.
    if (message->kind != Kind::kValue && random_() % 4 == 0) kill(from);
    return true;
  }
  bool deliver() {
    if (letters_.empty()) return false;
    const size_t which = random_() % letters_.size();
    const Letter letter = letters_[which];
    letters_.erase(letters_.begin() + static_cast<std::ptrdiff_t>(which));
    if (dead_[letter.to]) return true;
    if (gone_[letter.to]) {
      if (letter.message.kind == Kind::kOutcome) return true;
      letters_.push_back({letter.to, letter.from, {Kind::kOutcome, *members_[letter.to].outcome()}});
      return true;
    }
    if (random_() % 16 == 0 && !gone_[letter.from] &&
        letter.message.kind != Kind::kAcknowledgement) {  // its context is not there yet
      members_[letter.from].forgotten(letter.to);
      return true;
    }
    EXPECT_TRUE(members_[letter.to].heard(letter.from, letter.message));
    members_[letter.to].look();
    return true;
  }

  std::mt19937_64 random_;
  const uint32_t size_;
  uint32_t deaths_;
  std::vector<Agreement> members_;
  Agreement::Members dead_, gone_;
  std::vector<uint64_t> values_;
  std::vector<Agreement::Members> knows_;
  std::vector<Letter> letters_;
  uint64_t entered_ = 0;
};

TEST(AgreementTest, AllThatReturnReturnTheSame) {
  for (uint64_t seed = 1; seed <= (lci_test::kSanitized ? 3'000 : 30'000); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto size = static_cast<uint32_t>(1 + seed % 7);
    Simulation simulation(seed, size, static_cast<uint32_t>(seed / 7 % size));
    simulation.run();
    simulation.expect_agreement();
    if (HasFailure()) return;
  }
}

TEST(AgreementTest, WithoutDeathsItIsWhatAllSay) {
  Agreement low(0, 2), high(1, 2);
  low.enter(6);
  low.look();
  const auto question = low.owed(1);
  ASSERT_TRUE(question);
  EXPECT_EQ(Kind::kQuestion, question->kind);
  low.told(1, question->kind);
  EXPECT_FALSE(low.owed(1)) << "it waits for the other one";
  high.enter(12);
  high.look();
  EXPECT_TRUE(high.heard(0, *question));
  high.look();
  const auto value = high.owed(0);
  ASSERT_TRUE(value);
  EXPECT_EQ(Kind::kValue, value->kind);
  high.told(0, Kind::kValue);
  EXPECT_FALSE(high.owed(0));
  EXPECT_TRUE(low.heard(1, *value));
  low.look();
  const auto proposal = low.owed(1);
  ASSERT_TRUE(proposal);
  EXPECT_EQ(Kind::kProposal, proposal->kind);
  EXPECT_EQ(4u, proposal->outcome.value);
  low.told(1, Kind::kProposal);
  EXPECT_TRUE(high.heard(0, *proposal));
  high.look();
  EXPECT_FALSE(high.outcome()) << "the other one does not know that it knows";
  const auto acknowledgement = high.owed(0);
  ASSERT_TRUE(acknowledgement);
  EXPECT_EQ(Kind::kAcknowledgement, acknowledgement->kind);
  high.told(0, Kind::kAcknowledgement);
  EXPECT_TRUE(low.heard(1, *acknowledgement));
  low.look();
  ASSERT_TRUE(low.outcome());
  const auto outcome = low.owed(1);
  ASSERT_TRUE(outcome);
  low.told(1, Kind::kOutcome);
  EXPECT_FALSE(low.owed(1));
  EXPECT_TRUE(high.heard(0, *outcome));
  high.look();
  ASSERT_TRUE(high.outcome());
  EXPECT_EQ(4u, high.outcome()->value);
}

TEST(AgreementTest, NonsenseIsKnown) {
  Agreement low(0, 3);
  const Agreement::Outcome fine{1, Agreement::Members(3)};
  EXPECT_FALSE(low.heard(1, {Kind::kValue, {1, Agreement::Members(2)}})) << "of another group";
  Agreement high(1, 3);
  EXPECT_FALSE(high.heard(0, {Kind::kProposal, fine})) << "this member has not taken part";
  low.enter(1);
  low.look();
  EXPECT_FALSE(low.heard(1, {Kind::kProposal, fine})) << "this member coordinates";
  EXPECT_FALSE(low.heard(1, {Kind::kAcknowledgement, fine})) << "of nothing";
  EXPECT_FALSE(low.heard(0, {Kind::kValue, fine})) << "from itself";
  EXPECT_TRUE(low.heard(1, {Kind::kOutcome, fine}));
  low.look();
  EXPECT_TRUE(low.heard(2, {Kind::kOutcome, {2, Agreement::Members(3)}}));
  low.look();
  EXPECT_EQ(fine, *low.outcome()) << "the first one counts";
}

}  // namespace
}  // namespace lci
