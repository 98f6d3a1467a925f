// SPDX-License-Identifier: Apache-2.0
// What contexts are made of, without messages: ids, numbers, places for messages, and questions.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "collective/contexts.hpp"
#include "collective/room.hpp"
#include "collective/sequence.hpp"
#include "collective/stall.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

TEST(CollectiveIds, AreOfTheMembersInTheirOrderAndOfTheKey) {
  const uint32_t one[] = {1, 3, 5}, other[] = {3, 1, 5}, fewer[] = {1, 3};
  const std::set<uint64_t> ids{Group::id_of(one, 3, 0), Group::id_of(other, 3, 0), Group::id_of(one, 3, 1),
                               Group::id_of(fewer, 2, 0)};
  EXPECT_EQ(4u, ids.size());
  EXPECT_EQ(Group::id_of(one, 3, 7), Group::id_of(one, 3, 7));
}

// Proves: SS-60
// On: inproc
TEST(CollectiveNumbers, AreFoundAgainFromTheirLowBits) {
  for (const uint64_t near : {uint64_t{100}, (uint64_t{1} << 32) - 100, uint64_t{1} << 32, (uint64_t{7} << 32) + 50}) {
    for (const int64_t distance : {-100, -1, 0, 1, 99, 100, 101, 1 << 30, -(1 << 30)}) {
      const uint64_t sequence = near + static_cast<uint64_t>(distance);
      EXPECT_EQ(sequence, nearest(near, static_cast<uint32_t>(sequence))) << near << " " << distance;
      EXPECT_EQ(distance < 0, is_before(sequence, near)) << near << " " << distance;
    }
  }
}

TEST(CollectiveWindow, LeavesThePlaceOfTheOldestCall) {
  SendWindow window;
  uint32_t taken = 0;
  for (; window.has_room(false); ++taken) window.take();
  EXPECT_EQ(kRoomMessages - 1, taken);
  EXPECT_TRUE(window.has_room(true));
  window.take();
  EXPECT_FALSE(window.has_room(true));
  EXPECT_FALSE(window.give_back(kRoomMessages + 1)) << "more than were taken";
  EXPECT_FALSE(window.give_back(UINT32_MAX));
  EXPECT_TRUE(window.give_back(kRoomMessages));
  EXPECT_FALSE(window.give_back(1));
}

CollectiveFrame frame(uint32_t sequence, uint16_t step) {
  return {CollectiveWord::kMessage, 0, step, sequence, 0};
}

TEST(CollectiveRoom, HoldsMessagesUntilTheirCallTakesThem) {
  ReceiveRoom room;
  for (uint16_t i = 0; i < kRoomMessages; ++i) {
    ASSERT_TRUE(room.has_room());
    ASSERT_TRUE(room.hold(frame(i % 4, i), &i, sizeof i));
  }
  EXPECT_FALSE(room.has_room());
  std::vector<uint16_t> steps;
  room.for_each(2, [&](const HeldMessage& held) {
    uint16_t payload = 0;
    std::memcpy(&payload, held.payload, sizeof payload);
    EXPECT_EQ(held.frame.step, payload);
    steps.push_back(held.frame.step);
  });
  EXPECT_EQ((std::vector<uint16_t>{2, 6, 10, 14}), steps);
  EXPECT_EQ(nullptr, room.find(frame(2, 3))) << "it is of another call";
  for (const uint16_t step : steps) {
    const HeldMessage* const held = room.find(frame(2, step));
    ASSERT_NE(nullptr, held);
    room.take(*held);
    EXPECT_EQ(nullptr, room.find(frame(2, step)));
  }
  EXPECT_FALSE(room.has_room()) << "the sender does not know yet";
  EXPECT_EQ(4u, room.due());
  room.told(4);
  EXPECT_TRUE(room.has_room());
  EXPECT_EQ(12u, room.held());
}

TEST(CollectiveRoom, KnowsAMessageThatComesTwice) {
  ReceiveRoom room;
  EXPECT_TRUE(room.hold(frame(5, 1), nullptr, 0));
  EXPECT_FALSE(room.hold(frame(5, 1), nullptr, 0));
  EXPECT_TRUE(room.hold(frame(5, 2), nullptr, 0));
  EXPECT_TRUE(room.hold(frame(6, 1), nullptr, 0));
  CollectiveFrame other = frame(5, 1);
  other.segment = 1;
  EXPECT_TRUE(room.hold(other, nullptr, 0));
}

// A sender that may be short of places hears of each, so that the oldest call never waits for others.
TEST(CollectiveRoom, IsToldInTime) {
  ReceiveRoom room;
  SendWindow window;
  for (uint32_t i = 0; i + 1 < kRoomMessages; ++i) {
    window.take();
    ASSERT_TRUE(room.hold(frame(100 + i, 0), nullptr, 0));
  }
  for (int i = 0; i < 100; ++i) {  // messages of the oldest call, through the last place
    ASSERT_TRUE(window.has_room(true));
    window.take();
    ASSERT_TRUE(room.has_room());
    room.use_one();
    const uint32_t due = room.due();
    ASSERT_EQ(1u, due);
    ASSERT_TRUE(window.give_back(due));
    room.told(due);
  }
  room.drop([](uint32_t sequence) { return sequence >= 100; });
  EXPECT_EQ(0u, room.held());
  EXPECT_EQ(kRoomMessages - 1, room.due());
}

TEST(StallQuestion, AsksEachMemberOnce) {
  StallQuestion question(7, 0, 5);
  EXPECT_EQ(StallQuestion::kNobody, question.asked());
  EXPECT_TRUE(question.add(0)) << "it does not ask itself";
  EXPECT_EQ(StallQuestion::kNobody, question.asked());
  EXPECT_TRUE(question.add(3));
  EXPECT_TRUE(question.add(3));
  EXPECT_FALSE(question.add(5)) << "there is no such member";
  EXPECT_EQ(3u, question.asked());
  question.has_entered();
  EXPECT_TRUE(question.add(4));
  EXPECT_TRUE(question.add(1));
  EXPECT_TRUE(question.add(3));
  EXPECT_EQ(4u, question.asked());
  question.is_absent();
  EXPECT_EQ(1u, question.asked());
  question.is_silent();
  EXPECT_EQ(StallQuestion::kNobody, question.asked());
  EXPECT_EQ((std::vector<uint32_t>{4}), question.absent());
  EXPECT_EQ((std::vector<uint32_t>{1}), question.silent());
}

TEST(StallWatch, CountsFromTheLastMove) {
  StallWatch watch;
  EXPECT_EQ(0u, watch.look({1, 0, 2}, 1000));
  EXPECT_EQ(50u, watch.look({1, 0, 2}, 1050));
  EXPECT_EQ(0u, watch.look({1, 0, 1}, 1060)) << "a message has come";
  EXPECT_EQ(0u, watch.look({1, 1, 1}, 1070)) << "a round has ended";
  EXPECT_EQ(0u, watch.look({2, 1, 1}, 1080)) << "a call has ended";
  EXPECT_EQ(20u, watch.look({2, 1, 1}, 1100));
}

using Again = Contexts::Again;

class Registry : public testing::Test {
 protected:
  Group& group(std::vector<uint32_t> members = {0, 1}, uint64_t key = 0) {
    Group* out = nullptr;
    EXPECT_EQ(LCI_DONE, contexts.open_group(nothing(), 0, {0, 0, 2, 2}, members.data(),
                                            static_cast<uint32_t>(members.size()), key, &out));
    return *out;
  }
  int open(Group& of, uint64_t key, Context** out, uint32_t device = 0) {
    const auto adopt = [this](const std::shared_ptr<Context>&) {
      ++adopted;
      return adopts;
    };
    return contexts.open(of, key, device, adopt, out);
  }
  /// The groups only keep it.
  static Runtime& nothing() {
    alignas(Runtime) static char there;
    return reinterpret_cast<Runtime&>(there);
  }
  Contexts contexts;
  int adopted = 0;
  int adopts = LCI_DONE;
};

TEST_F(Registry, AGroupKnowsWhichMembersShareAHost) {
  const std::vector<uint32_t> none;
  EXPECT_EQ(none, group({0, 1}).hosts()) << "all share one";
  EXPECT_EQ(none, group({0, 2}).hosts()) << "none share one";
  EXPECT_EQ((std::vector<uint32_t>{0, 0, 2, 2}), group({0, 1, 2, 3}).hosts());
  EXPECT_EQ((std::vector<uint32_t>{0, 1, 0}), group({3, 0, 2}).hosts());
}

TEST_F(Registry, EqualArgumentsAreTheSameGroup) {
  Group& one = group();
  EXPECT_EQ(&one, &group());
  EXPECT_NE(&one, &group({1, 0}));
  EXPECT_NE(&one, &group({0, 1}, 1));
  EXPECT_EQ(1u, one.member_of(1));
  EXPECT_EQ(Group::kNone, one.member_of(2));
  EXPECT_EQ(1u, group({1, 0}).own());
}

TEST_F(Registry, EqualArgumentsAreTheSameContextWhileItLives) {
  Context *one = nullptr, *same = nullptr, *other = nullptr;
  ASSERT_EQ(LCI_DONE, open(group(), 7, &one));
  ASSERT_EQ(LCI_DONE, open(group(), 7, &same));
  EXPECT_EQ(one, same);
  EXPECT_EQ(1, adopted);
  ASSERT_EQ(LCI_DONE, open(group(), 8, &other));
  EXPECT_NE(one->id(), other->id());
  ASSERT_EQ(LCI_DONE, open(group(), 7, &other, 1));
  EXPECT_NE(one->id(), other->id()) << "the device is a part of it";
  const uint64_t id = one->id();
  bool closed = true;
  EXPECT_EQ(LCI_DONE, contexts.close(*one, Again::kMayCome, &closed));
  EXPECT_FALSE(closed) << "it was made twice";
  EXPECT_EQ(LCI_DONE, contexts.close(*one, Again::kMayCome, &closed));
  EXPECT_TRUE(closed);
  ASSERT_EQ(LCI_DONE, open(group(), 7, &same));
  EXPECT_NE(id, same->id()) << "what is under way of the one before does not reach it";
}

TEST_F(Registry, ACallUnderWayKeepsItsContext) {
  Context* one = nullptr;
  ASSERT_EQ(LCI_DONE, open(group(), 7, &one));
  one->call_began();
  bool closed = false;
  EXPECT_EQ(LCI_ERR_BUSY, contexts.close(*one, Again::kMayCome, &closed));
  one->call_ended();
  EXPECT_EQ(LCI_DONE, contexts.close(*one, Again::kMayCome, &closed));
}

TEST_F(Registry, HasABound) {
  Context* one = nullptr;
  Group& of = group();
  for (uint64_t key = 0; key < Contexts::kMost; ++key) ASSERT_EQ(LCI_DONE, open(of, key, &one));
  Context* more = nullptr;
  EXPECT_EQ(LCI_ERR_EXHAUSTED, open(of, Contexts::kMost, &more));
  bool closed = false;
  ASSERT_EQ(LCI_DONE, contexts.close(*one, Again::kMayCome, &closed));
  EXPECT_EQ(LCI_DONE, open(of, Contexts::kMost, &more));
}

/// Of the others their lives are counted.
TEST_F(Registry, WhatNeverComesAgainLeavesNothing) {
  Group& of = group();
  bool closed = false;
  Context* one = nullptr;
  for (uint64_t key = 0; key < 3 * Contexts::kMost; ++key) {
    ASSERT_EQ(LCI_DONE, open(of, key, &one));
    ASSERT_EQ(LCI_DONE, contexts.close(*one, Again::kNever, &closed));
    ASSERT_TRUE(closed);
  }
  EXPECT_EQ(0u, contexts.known());
  ASSERT_EQ(LCI_DONE, open(of, 7, &one));
  ASSERT_EQ(LCI_DONE, open(of, 7, &one));
  ASSERT_EQ(LCI_DONE, contexts.close(*one, Again::kNever, &closed));
  EXPECT_FALSE(closed) << "it is held once more";
  EXPECT_EQ(1u, contexts.known());
  ASSERT_EQ(LCI_DONE, contexts.close(*one, Again::kMayCome, &closed));
  EXPECT_EQ(1u, contexts.known());
}

TEST_F(Registry, WhatNoDeviceTakesIsNotThere) {
  Context* one = nullptr;
  adopts = LCI_ERR_NO_MEMORY;
  EXPECT_EQ(LCI_ERR_NO_MEMORY, open(group(), 7, &one));
  EXPECT_EQ(0u, contexts.known());
  adopts = LCI_DONE;
  EXPECT_EQ(LCI_DONE, open(group(), 7, &one));
  EXPECT_EQ(2, adopted);
}

}  // namespace
}  // namespace lci
