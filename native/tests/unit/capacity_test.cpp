// SPDX-License-Identifier: Apache-2.0
// What a port may store, through its openings.
#include "flow/capacity.hpp"

#include <gtest/gtest.h>

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
  ASSERT_TRUE(capacity.admit(1, 400, 1, &taken)) << "the reserve is for what is announced";
  EXPECT_EQ(1u, taken.messages);
  EXPECT_EQ(400u, taken.bytes);
  capacity.give(taken, 1);
  capacity.give(leased, 1);
  EXPECT_EQ(16u, capacity.free().messages);
  EXPECT_EQ(1000u, capacity.free().bytes);
}

// A device may not have heard yet that the port was opened again. Mutation: mix_generations.
TEST(Capacity, CreditOfAnEarlierOpeningIsVoid) {
  Capacity capacity;
  capacity.reset(16, 1000, 1);
  const Credit old = capacity.lease({4, 100}, 1);
  capacity.reset(8, 800, 2);
  EXPECT_EQ(0u, capacity.lease({4, 100}, 1).messages);
  Credit taken;
  EXPECT_FALSE(capacity.admit(1, 10, 1, &taken));
  capacity.give(old, 1);
  EXPECT_EQ(8u, capacity.free().messages);
  EXPECT_EQ(800u, capacity.free().bytes);
  EXPECT_EQ(4u, capacity.lease({4, 100}, 2).messages);
}

}  // namespace
}  // namespace lci
