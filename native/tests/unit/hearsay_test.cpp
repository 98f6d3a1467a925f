// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/hearsay.hpp"

#include <gtest/gtest.h>

namespace lci {
namespace {

TEST(Hearsay, IsTakenWhenItIsDue) {
  Hearsay hearsay;
  EXPECT_TRUE(hearsay.take_due(UINT64_MAX).empty());
  EXPECT_TRUE(hearsay.add({1, 5, RankState::kFailed, 100}));
  EXPECT_TRUE(hearsay.add({2, 5, RankState::kFailed, 200}));
  EXPECT_TRUE(hearsay.add({1, 5, RankState::kFailed, 50})) << "said again: the first time counts";
  EXPECT_TRUE(hearsay.take_due(99).empty());
  const auto first = hearsay.take_due(100);
  ASSERT_EQ(1u, first.size());
  EXPECT_EQ(1u, first[0].speaker);
  EXPECT_EQ(5u, first[0].rank);
  EXPECT_EQ(1u, hearsay.take_due(200).size());
  EXPECT_TRUE(hearsay.take_due(UINT64_MAX).empty());
}

TEST(Hearsay, OfARankThatHasLeftIsDueWhenItSaysNothingItselfAnyMore) {
  Hearsay hearsay;
  hearsay.hurry_departure(5);
  EXPECT_TRUE(hearsay.add({1, 5, RankState::kLeft, 100}));
  EXPECT_TRUE(hearsay.add({1, 6, RankState::kLeft, 100}));
  EXPECT_TRUE(hearsay.add({1, 7, RankState::kFailed, 100}));
  hearsay.hurry_departure(5);
  hearsay.hurry_departure(7);
  const auto due = hearsay.take_due(1);
  ASSERT_EQ(1u, due.size());
  EXPECT_EQ(5u, due[0].rank);
  EXPECT_EQ(RankState::kLeft, due[0].state);
  EXPECT_EQ(2u, hearsay.take_due(100).size());
}

}  // namespace
}  // namespace lci
