// SPDX-License-Identifier: Apache-2.0
// The simulation of schedules finds what is wrong in one: else the tests that use it would prove nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collective/schedule.hpp"
#include "support/collective_model.hpp"
#include "support/schedule_simulation.hpp"

namespace lci {
namespace {

using lci_test::MemberMemory;
using lci_test::Simulation;

constexpr Range kIn{Area::kIn, 0, 8}, kOut{Area::kOut, 0, 8}, kScratch{Area::kScratch, 0, 8};

/// Two members, each of which has 8 bytes in each area; `out` may be `in`.
class ScheduleRules : public testing::Test {
 protected:
  Schedule& member(size_t index) { return *schedules_[index]; }
  std::string run(bool in_place = false) {
    std::vector<MemberMemory> memory;
    for (const auto& schedule : schedules_) {
      memory.push_back(in_place ? MemberMemory(0, 8, 0, 8, schedule->scratch()) : MemberMemory::apart(8, 8, 8));
    }
    return Simulation({schedules_.begin(), schedules_.end()}, memory, lci_test::kSum64, 1).run();
  }
  /// Each sends this to the other, who receives it there.
  void exchange(Range from, Range to) {
    for (uint32_t i = 0; i < 2; ++i) {
      member(i).send(1 - i, from);
      member(i).receive(1 - i, to);
    }
  }
  void end_rounds() {
    for (const auto& schedule : schedules_) schedule->end_round();
  }

 private:
  std::vector<std::shared_ptr<Schedule>> schedules_{std::make_shared<Schedule>(), std::make_shared<Schedule>()};
};

TEST_F(ScheduleRules, AnExchangeKeepsThem) {
  exchange(kIn, kScratch);
  member(0).reduce(kOut, kIn, kScratch);
  end_rounds();
  EXPECT_EQ("", run());
}

TEST_F(ScheduleRules, WhatIsSentIsReceivedInTheSameRound) {
  member(0).send(1, kIn);
  member(1).end_round();
  member(1).receive(0, kOut);
  end_rounds();
  EXPECT_EQ("what is sent is not what is received", run());
}

TEST_F(ScheduleRules, BothSidesAgreeOnTheBytes) {
  member(0).send(1, kIn);
  member(1).receive(0, kOut.part(0, 4));
  end_rounds();
  EXPECT_EQ("what is sent is not what is received", run());
}

TEST_F(ScheduleRules, NothingIsReceivedIntoWhatIsSent) {
  exchange(kIn, kOut);
  end_rounds();
  EXPECT_EQ("", run());
  EXPECT_EQ("member 0, round 0: receives into what is under way", run(true));
}

TEST_F(ScheduleRules, RangesLieInTheirAreas) {
  exchange(kIn, kOut.part(1, 8));
  end_rounds();
  EXPECT_EQ("member 0, round 0: outside its area", run());
}

TEST_F(ScheduleRules, ScratchIsTaken) {
  exchange(kIn, kScratch);
  end_rounds();
  EXPECT_EQ("member 0, round 0: outside its area", run(true)) << "nothing was taken";
  member(0).take_scratch(8);
  member(1).take_scratch(8);
  EXPECT_EQ("", run(true));
}

TEST_F(ScheduleRules, WhatAMemberBringsIsNotWritten) {
  member(0).copy(kIn, kOut);
  end_rounds();
  EXPECT_EQ("member 0, round 0: writes what the program brings", run());
}

TEST_F(ScheduleRules, OperandsAreEqualOrApart) {
  member(0).copy(kOut.part(4, 4), kOut.part(2, 4));
  end_rounds();
  EXPECT_EQ("member 0, round 0: operands that overlap, or differ in size", run());
}

TEST_F(ScheduleRules, ReductionsAreOfWholeElements) {
  member(0).reduce(kOut.part(0, 4), kIn.part(0, 4), kScratch.part(0, 4));
  end_rounds();
  EXPECT_EQ("member 0, round 0: operands that overlap, or differ in size", run());
}

TEST_F(ScheduleRules, OneMessageGoesEachWay) {
  exchange(kIn.part(0, 4), kOut.part(0, 4));
  exchange(kIn.part(4, 4), kOut.part(4, 4));
  end_rounds();
  EXPECT_EQ("member 0, round 0: two messages with one member", run());
}

TEST_F(ScheduleRules, MessagesComeFirst) {
  member(0).copy(kOut, kIn);
  exchange(kIn, kScratch);
  end_rounds();
  EXPECT_EQ("member 0, round 0: a message after a copy", run());
}

TEST_F(ScheduleRules, EveryRoundEnds) {
  exchange(kIn, kOut);
  EXPECT_EQ("member 0: the last round has no end", run());
}

TEST_F(ScheduleRules, ResultsAreCompared) {
  lci_test::GroupCall call;
  call.kind = LCI_COLLECTIVE_ALLREDUCE;
  call.size = 3;
  call.count = 2;
  const std::vector<lci_test::Bytes> in{lci_test::Bytes(16, std::byte{1}), lci_test::Bytes(16, std::byte{2}),
                                        lci_test::Bytes(16, std::byte{3})};
  EXPECT_EQ(std::vector<lci_test::Bytes>(3, lci_test::Bytes(16, std::byte{6})),
            lci_test::CollectiveModel(call).results(in, in));
}

}  // namespace
}  // namespace lci
