// SPDX-License-Identifier: Apache-2.0
// What a port may store, through its openings.
#include "flow/capacity.hpp"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace lci {
namespace {

TEST(Capacity, LeasesLeaveTheReserve) {
  Capacity capacity;
  capacity.reset(16, 1000, 1);
  EXPECT_EQ(13u, capacity.leasable().messages);
  const Credit leased = capacity.lease({100, 10'000}, 1);
  EXPECT_EQ(13u, leased.messages);
  EXPECT_EQ(500u, leased.bytes);
  EXPECT_EQ(0u, capacity.lease({1, 1}, 1).messages);
  Credit taken;
  ASSERT_TRUE(capacity.admit(Capacity::Coming::kHere, {1, 400}, 100, 1, &taken))
      << "the reserve is for what is announced";
  EXPECT_EQ(1u, taken.messages);
  EXPECT_EQ(400u, taken.bytes);
  capacity.give(taken, {}, 1);
  capacity.give(leased, leased, 1);
  EXPECT_EQ(16u, capacity.free().messages);
  EXPECT_EQ(1000u, capacity.free().bytes);
}

constexpr uint64_t kPacket = 100;

// A lease takes all that it may. Of 16 and 64 messages 3 and 8 are in reserve: what is to come leaves one of them, and
// further ones of a sender another one.
TEST(Capacity, WhatIsToComeLeavesAMessage) {
  for (const auto& [messages, left, left_by_further] :
       {std::array{16u, 1u, 2u}, {64u, 1u, 2u}, {2u, 1u, 2u}, {1u, 0u, 1u}}) {
    Capacity capacity;
    Credit taken;
    for (const auto& [coming, expected] :
         {std::pair{Capacity::Coming::kLong, left}, std::pair{Capacity::Coming::kFurther, left_by_further},
          std::pair{Capacity::Coming::kShort, 0u}, std::pair{Capacity::Coming::kHere, 0u}}) {
      capacity.reset(messages, 1000, 1);
      capacity.lease({messages, 1000}, 1);
      while (capacity.admit(coming, {1, 1}, kPacket, 1, &taken)) {
      }
      EXPECT_EQ(expected, capacity.free().messages) << messages;
    }
  }
}

TEST(Capacity, WhatIsToComeLeavesAPacket) {
  Capacity capacity;
  Credit taken;
  capacity.reset(64, 1000, 1);
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kLong, {1, 5000}, kPacket, 1, &taken)) << "alone";
  EXPECT_EQ(1000 - kPacket, taken.bytes);
  EXPECT_FALSE(capacity.admit(Capacity::Coming::kLong, {1, 1}, kPacket, 1, &taken));
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kHere, {1, kPacket}, kPacket, 1, &taken));
  capacity.reset(64, 1000, 2);
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kLong, {1, 1}, kPacket, 2, &taken));
  EXPECT_FALSE(capacity.admit(Capacity::Coming::kFurther, {1, 838}, kPacket, 2, &taken))
      << "a packet and an eighth of the reserve of 500";
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kFurther, {1, 837}, kPacket, 2, &taken));
}

// What has come waits for the port's user alone: it leaves nothing, and what comes after it finds all that is free.
TEST(Capacity, WhatHasComeLeavesNothing) {
  Capacity capacity;
  Credit taken;
  capacity.reset(2, 1000, 1);
  for (const Credit wanted : {Credit{1, 600}, {1, 400}}) {
    ASSERT_TRUE(capacity.admit(Capacity::Coming::kLong, wanted, kPacket, 1, &taken));
    EXPECT_EQ(wanted.bytes, taken.bytes);
    EXPECT_FALSE(capacity.admit(Capacity::Coming::kLong, {1, 1}, kPacket, 1, &taken)) << "one is still to come";
    capacity.came(taken, wanted.bytes, 1);
  }
  EXPECT_EQ(0u, capacity.free().messages);
  EXPECT_EQ(0u, capacity.free().bytes);
}

// One that is cut to what there is keeps others from that, but not those that find room for all they have.
TEST(Capacity, OneMessageAtATimeIsCut) {
  Capacity capacity;
  Credit taken, other;
  capacity.reset(64, 1000, 1);
  ASSERT_TRUE(capacity.admit(Capacity::Coming::kLong, {1, 100}, kPacket, 1, &other));
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kLong, {1, 5000}, kPacket, 1, &taken))
      << "though another one is to come";
  EXPECT_EQ(800u, taken.bytes);
  capacity.came(other, 100, 1);
  capacity.give(other, {}, 1);
  EXPECT_FALSE(capacity.admit(Capacity::Coming::kLong, {1, 5000}, kPacket, 1, &other));
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kLong, {1, 100}, kPacket, 1, &other));
  capacity.came(taken, 5000, 1);
  capacity.give(taken, {}, 1);
  EXPECT_TRUE(capacity.admit(Capacity::Coming::kLong, {1, 5000}, kPacket, 1, &taken));
}

// A device may not have heard yet that the port was opened again. Mutation: mix_generations.
TEST(Capacity, CreditOfAnEarlierOpeningIsVoid) {
  Capacity capacity;
  capacity.reset(16, 1000, 1);
  const Credit old = capacity.lease({4, 100}, 1);
  capacity.reset(8, 800, 2);
  EXPECT_EQ(0u, capacity.lease({4, 100}, 1).messages);
  Credit taken;
  EXPECT_FALSE(capacity.admit(Capacity::Coming::kHere, {1, 10}, kPacket, 1, &taken));
  capacity.give(old, old, 1);
  EXPECT_EQ(8u, capacity.free().messages);
  EXPECT_EQ(800u, capacity.free().bytes);
  EXPECT_EQ(4u, capacity.lease({4, 100}, 2).messages);
}

}  // namespace
}  // namespace lci
