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
  EXPECT_EQ(14u, capacity.leasable().messages);
  const Credit leased = capacity.lease({100, 10'000}, 1);
  EXPECT_EQ(14u, leased.messages);
  EXPECT_EQ(500u, leased.bytes);
  EXPECT_EQ(0u, capacity.lease({1, 1}, 1).messages);
  Credit taken;
  ASSERT_TRUE(capacity.admit(Capacity::Leaves::kNothing, 1, 400, 1, &taken)) << "the reserve is for what is announced";
  EXPECT_EQ(1u, taken.messages);
  EXPECT_EQ(400u, taken.bytes);
  capacity.give(taken, 1);
  capacity.give(leased, 1);
  EXPECT_EQ(16u, capacity.free().messages);
  EXPECT_EQ(1000u, capacity.free().bytes);
}

// Rooms of 16 and 64 messages: of 2 and 8 in reserve a long message leaves 1 and 2, a further one 1 and 4.
TEST(Capacity, WhatIsToComeLeavesPartOfTheReserve) {
  for (const auto& [messages, left, left_by_further] : {std::array{16u, 1u, 1u}, {64u, 2u, 4u}, {1u, 0u, 0u}}) {
    Capacity capacity;
    Credit taken;
    for (const auto& [leaves, expected] :
         {std::pair{Capacity::Leaves::kAQuarter, left}, std::pair{Capacity::Leaves::kAHalf, left_by_further},
          std::pair{Capacity::Leaves::kNothing, 0u}}) {
      capacity.reset(messages, 1000, 1);
      while (capacity.admit(leaves, 1, 1, 1, &taken)) {
      }
      EXPECT_EQ(expected, capacity.free().messages) << messages;
    }
  }
}

TEST(Capacity, WhatIsToComeLeavesBytes) {
  Capacity capacity;
  Credit taken;
  capacity.reset(64, 1000, 1);
  EXPECT_TRUE(capacity.admit(Capacity::Leaves::kAQuarter, 1, 5000, 1, &taken)) << "alone, above the reserve";
  EXPECT_EQ(875u, taken.bytes);
  EXPECT_FALSE(capacity.admit(Capacity::Leaves::kAQuarter, 1, 1, 1, &taken));
  EXPECT_TRUE(capacity.admit(Capacity::Leaves::kNothing, 1, 125, 1, &taken));
  capacity.reset(64, 1000, 2);
  EXPECT_FALSE(capacity.admit(Capacity::Leaves::kAHalf, 1, 751, 2, &taken));
  EXPECT_TRUE(capacity.admit(Capacity::Leaves::kAHalf, 1, 750, 2, &taken));
  EXPECT_EQ(250u, capacity.free().bytes);
}

// A device may not have heard yet that the port was opened again. Mutation: mix_generations.
TEST(Capacity, CreditOfAnEarlierOpeningIsVoid) {
  Capacity capacity;
  capacity.reset(16, 1000, 1);
  const Credit old = capacity.lease({4, 100}, 1);
  capacity.reset(8, 800, 2);
  EXPECT_EQ(0u, capacity.lease({4, 100}, 1).messages);
  Credit taken;
  EXPECT_FALSE(capacity.admit(Capacity::Leaves::kNothing, 1, 10, 1, &taken));
  capacity.give(old, 1);
  EXPECT_EQ(8u, capacity.free().messages);
  EXPECT_EQ(800u, capacity.free().bytes);
  EXPECT_EQ(4u, capacity.lease({4, 100}, 2).messages);
}

}  // namespace
}  // namespace lci
