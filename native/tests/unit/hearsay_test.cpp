// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/hearsay.hpp"

#include <gtest/gtest.h>

namespace lci {
namespace {

TEST(Hearsay, IsTakenWhenItIsDue) {
  Hearsay hearsay;
  EXPECT_TRUE(hearsay.take_due(UINT64_MAX).empty());
  EXPECT_TRUE(hearsay.add({1, 5, 100}));
  EXPECT_TRUE(hearsay.add({2, 5, 200}));
  EXPECT_TRUE(hearsay.add({1, 5, 50})) << "said again: the first time counts";
  EXPECT_TRUE(hearsay.take_due(99).empty());
  const auto first = hearsay.take_due(100);
  ASSERT_EQ(1u, first.size());
  EXPECT_EQ(1u, first[0].speaker);
  EXPECT_EQ(5u, first[0].rank);
  EXPECT_EQ(1u, hearsay.take_due(200).size());
  EXPECT_TRUE(hearsay.take_due(UINT64_MAX).empty());
}

}  // namespace
}  // namespace lci
