// SPDX-License-Identifier: Apache-2.0
// How a member goes through a schedule, told by the test what leaves and what comes. Static core only.
#include "collective/run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace lci {
namespace {

constexpr Range kNothing{};

std::shared_ptr<Schedule> exchange(Range sent, Range received) {
  auto made = std::make_shared<Schedule>();
  made->send(1, sent);
  made->receive(1, received);
  made->end_round();
  return made;
}

bool never(size_t) {
  return false;
}

TEST(ScheduleRun, OfNoRoundsIsOverAtOnce) {
  ScheduleRun run;
  run.begin(std::make_shared<Schedule>(), {}, nullptr);
  EXPECT_TRUE(run.over());
  EXPECT_FALSE(run.is_ready());
  EXPECT_FALSE(run.misses(1, never));
}

TEST(ScheduleRun, AMessageThatMayHaveMetNothingHoldsUpTheRound) {
  ScheduleRun run;
  run.begin(exchange(kNothing, kNothing), {}, nullptr);
  ASSERT_TRUE(run.has_to_leave(0));
  EXPECT_EQ(ScheduleRun::kNone, run.find_unsure(1, false));
  run.left(0, false);
  run.came(1);
  EXPECT_FALSE(run.messages_through()) << "others may be faster than the answer";
  EXPECT_EQ(0u, run.find_unsure(1, false));
  EXPECT_EQ(ScheduleRun::kNone, run.find_unsure(1, true)) << "it named no place";
  EXPECT_EQ(ScheduleRun::kNone, run.find_unsure(2, false));
  run.repeat(0);
  EXPECT_TRUE(run.has_to_leave(0));
  EXPECT_EQ(ScheduleRun::kNone, run.find_unsure(1, false));
  run.left(0, false);
  EXPECT_FALSE(run.has_to_leave(0));
  run.confirmed(0);
  EXPECT_TRUE(run.messages_through());
  EXPECT_TRUE(run.work());
  EXPECT_TRUE(run.over());
}

// The receiver says where to, and what it says may have met no context.
TEST(ScheduleRun, ALongPayloadMovesWhenItsReceiverHasAPlace) {
  std::vector<std::byte> bytes(2 * (kMostInline + 1));
  const Range first{Area::kOut, 0, kMostInline + 1}, second{Area::kOut, kMostInline + 1, kMostInline + 1};
  ScheduleRun run;
  int owner = 0;
  run.begin(exchange(first, second), {.in = nullptr, .out = bytes.data()}, &owner);
  EXPECT_EQ(&owner, run.message(0).owner);
  EXPECT_FALSE(run.has_to_leave(0)) << "nobody has said where to";
  EXPECT_TRUE(run.has_to_leave(1)) << "this one can say where to";
  EXPECT_EQ(nullptr, run.find_awaiting(0, 1, false)) << "no payload comes with a message";
  const Action* const place = run.find_awaiting(0, 1, true);
  ASSERT_NE(nullptr, place);
  EXPECT_EQ(0u, run.index_of(*place));

  run.left(1, false);
  EXPECT_EQ(1u, run.find_unsure(1, true));
  EXPECT_EQ(ScheduleRun::kNone, run.find_unsure(1, false));
  run.moved(1);
  run.message(0).place = 7;
  run.came(0);
  EXPECT_TRUE(run.has_to_move(0));
  run.message(0).transfer = 8;
  EXPECT_FALSE(run.has_to_move(0)) << "it moves";
  run.message(0).transfer = 0;
  run.confirmed(1);
  EXPECT_FALSE(run.messages_through()) << "its own bytes have not left";
  run.moved(0);
  EXPECT_FALSE(run.has_to_move(0));
  EXPECT_TRUE(run.messages_through());
}

TEST(ScheduleRun, ALongestInlinePayloadComesWithItsMessage) {
  std::vector<std::byte> bytes(2 * kMostInline);
  ScheduleRun run;
  run.begin(exchange({Area::kOut, 0, kMostInline}, {Area::kOut, kMostInline, kMostInline}), {.out = bytes.data()},
            nullptr);
  EXPECT_TRUE(run.has_to_leave(0));
  EXPECT_FALSE(run.has_to_leave(1));
  EXPECT_NE(nullptr, run.find_awaiting(0, 1, false));
  EXPECT_EQ(nullptr, run.find_awaiting(0, 1, true));
  EXPECT_EQ(nullptr, run.find_awaiting(1, 1, false)) << "there is no such round";
  EXPECT_EQ(bytes.data() + kMostInline, run.at(run.action(1).to));
}

// What a member that leaves owes, and what it is owed.
TEST(ScheduleRun, KnowsWhatIsLeftToDoWithAMember) {
  auto made = std::make_shared<Schedule>();
  made->send(1, kNothing);
  made->receive(2, kNothing);
  made->end_round();
  made->receive(3, kNothing);
  made->send(4, kNothing);
  made->receive(5, {Area::kScratch, 0, kMostInline + 1});
  made->end_round();
  made->take_scratch(kMostInline + 1);
  ScheduleRun run;
  run.begin(made, {}, nullptr);
  const auto has_come = [](size_t round) { return round == 1; };
  for (uint32_t member = 1; member <= 5; ++member) EXPECT_TRUE(run.misses(member, never)) << member;
  EXPECT_FALSE(run.misses(6, never));
  EXPECT_FALSE(run.misses(3, has_come)) << "its message waits for its round";
  EXPECT_TRUE(run.misses(4, has_come)) << "it has not got what it waits for";
  EXPECT_TRUE(run.misses(5, has_come)) << "no place for its bytes has been named";
  run.left(0, false);
  EXPECT_FALSE(run.misses(1, never)) << "it may have met it";
  run.confirmed(0);
  EXPECT_FALSE(run.misses(1, never));
  run.came(1);
  EXPECT_FALSE(run.misses(2, never));
  EXPECT_EQ(kMostInline + 1, run.bytes_expected(1, 5, false));
  EXPECT_EQ(0u, run.bytes_expected(1, 4, false)) << "it gets, and sends nothing";
  EXPECT_EQ(0u, run.bytes_expected(9, 5, false));
}

// In order, and in steps.
TEST(ScheduleRun, CopiesAndReducesWhenTheMessagesAreThrough) {
  constexpr uint64_t kCount = 100'000;
  constexpr uint64_t kBytes = kCount * sizeof(int64_t);
  static_assert(kBytes > 3 * ScheduleRun::kWorkStep);
  std::vector<int64_t> in(kCount), out(kCount);
  for (uint64_t i = 0; i < kCount; ++i) in[i] = static_cast<int64_t>(i);
  auto made = std::make_shared<Schedule>();
  const Range whole_in{Area::kIn, 0, kBytes}, whole_out{Area::kOut, 0, kBytes}, scratch{Area::kScratch, 0, kBytes};
  made->copy(scratch, whole_in);
  made->reduce(whole_out, scratch, whole_in);
  made->copy(whole_out, whole_out);
  made->end_round();
  made->reduce(whole_out.part(8, 8), whole_out.part(8, 8), whole_in.part(16, 8));
  made->end_round();
  made->take_scratch(kBytes);
  ScheduleRun run;
  run.begin(made,
            {reinterpret_cast<const std::byte*>(in.data()), reinterpret_cast<std::byte*>(out.data()),
             reduce_kernel(LCI_REDUCE_SUM, LCI_TYPE_I64), sizeof(int64_t)},
            nullptr);
  EXPECT_TRUE(run.is_ready());
  int steps = 1;
  while (!run.work()) ++steps;
  EXPECT_EQ(7, steps) << "of two times 800,000 bytes, a quarter of a mebibyte each";
  EXPECT_EQ(1u, run.round());
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(static_cast<int64_t>(2 * i), out[i]);
  EXPECT_TRUE(run.work());
  EXPECT_TRUE(run.over());
  EXPECT_EQ(4, out[1]);
  EXPECT_EQ(4, out[2]);
}

// Elements are not divided, whatever their size.
TEST(ScheduleRun, ReducesWholeElements) {
  constexpr uint64_t kCount = ScheduleRun::kWorkStep / 16 + 3;
  struct Pair {
    double value;
    int64_t index;
  };
  std::vector<Pair> in(kCount), out(kCount);
  for (uint64_t i = 0; i < kCount; ++i) {
    in[i] = {static_cast<double>(i % 7), 1};
    out[i] = {static_cast<double>(i % 5), 0};
  }
  auto made = std::make_shared<Schedule>();
  made->copy({Area::kScratch, 0, 24}, {Area::kIn, 0, 24});
  made->reduce({Area::kOut, 0, kCount * 16}, {Area::kOut, 0, kCount * 16}, {Area::kIn, 0, kCount * 16});
  made->end_round();
  made->take_scratch(24);
  ScheduleRun run;
  run.begin(made,
            {reinterpret_cast<const std::byte*>(in.data()), reinterpret_cast<std::byte*>(out.data()),
             reduce_kernel(LCI_REDUCE_MAXLOC, LCI_TYPE_F64_I64), 16},
            nullptr);
  while (!run.work()) continue;
  for (uint64_t i = 0; i < kCount; ++i) {
    const bool left = i % 5 >= i % 7;
    ASSERT_EQ(static_cast<double>(left ? i % 5 : i % 7), out[i].value) << i;
    ASSERT_EQ(left ? 0 : 1, out[i].index) << i;
  }
}

}  // namespace
}  // namespace lci
