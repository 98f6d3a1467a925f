// SPDX-License-Identifier: Apache-2.0
#include "transport/network/lane_bells.hpp"

#include <gtest/gtest.h>
#include <poll.h>

namespace lci {
namespace {

bool is_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return poll(&entry, 1, 0) == 1;
}

TEST(LaneBells, ALaneHearsItsOwnRingsWhoeverRings) {
  LaneBells sleeper, other;
  ASSERT_GE(sleeper.descriptor(3), 0);
  ASSERT_GE(sleeper.descriptor(4), 0);
  EXPECT_EQ(sleeper.descriptor(3), sleeper.descriptor(3));
  EXPECT_FALSE(sleeper.answer(3));
  for (LaneBells* ringer : {&other, &sleeper}) {
    ringer->ring(sleeper.name(), 3);
    EXPECT_TRUE(is_readable(sleeper.descriptor(3)));
    EXPECT_FALSE(is_readable(sleeper.descriptor(4)));
    EXPECT_TRUE(sleeper.answer(3));
    EXPECT_FALSE(sleeper.answer(3)) << "it was answered";
    EXPECT_FALSE(is_readable(sleeper.descriptor(3)));
  }
}

// Nor does a lane that is not asleep have to be there, and rings without end end up as one.
TEST(LaneBells, RingingWaitsForNobody) {
  LaneBells sleeper, other;
  other.ring(sleeper.name(), 7);
  other.ring(12345, 7);
  ASSERT_GE(sleeper.descriptor(7), 0);
  EXPECT_FALSE(sleeper.answer(7)) << "who rings before there is a descriptor rings nobody";
  for (int i = 0; i < 10'000; ++i) other.ring(sleeper.name(), 7);
  EXPECT_TRUE(is_readable(sleeper.descriptor(7)));
  int answers = 0;
  while (sleeper.answer(7)) ++answers;
  EXPECT_GT(answers, 0);
  EXPECT_FALSE(is_readable(sleeper.descriptor(7)));
}

}  // namespace
}  // namespace lci
