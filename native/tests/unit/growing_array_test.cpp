// SPDX-License-Identifier: Apache-2.0
#include "base/growing_array.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace lci {
namespace {

// Proves: B24
TEST(GrowingArray, ReadsOutsideGiveTheDefault) {
  GrowingArray<int*> pointers;
  EXPECT_EQ(nullptr, pointers.get(0));
  EXPECT_EQ(nullptr, pointers.get(~size_t{0}));
  EXPECT_EQ(0u, pointers.size());
  int value = 0;
  pointers.put(5, &value);
  EXPECT_EQ(&value, pointers.get(5));
  EXPECT_EQ(nullptr, pointers.get(4)) << "never put";
  EXPECT_EQ(6u, pointers.size());
  EXPECT_EQ(6u, pointers.append(&value));
  EXPECT_EQ(&value, pointers.get(6));
  EXPECT_EQ(nullptr, pointers.get(7));
  pointers.resize(6);
  EXPECT_EQ(nullptr, pointers.get(6)) << "cut off";
  EXPECT_EQ(&value, pointers.get(5));
  pointers.resize(1000);
  EXPECT_EQ(1000u, pointers.size());
  EXPECT_EQ(nullptr, pointers.get(6)) << "not back again";
}

TEST(GrowingArray, BehavesLikeTheModel) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  GrowingArray<uint64_t> array;
  std::map<size_t, uint64_t> model;
  size_t size = 0;
  for (int step = 0; step < 5000; ++step) {
    const size_t index = random() % (step / 4 + 1);
    const uint64_t value = random();
    switch (random() % 8) {
      case 0:
        array.resize(index);
        model.erase(model.lower_bound(index), model.end());
        size = index;
        break;
      case 1:
      case 2:
        ASSERT_EQ(size, array.append(value));
        model[size++] = value;
        break;
      default:
        array.put(index, value);
        model[index] = value;
        size = std::max(size, index + 1);
    }
    const size_t look = random() % (step / 2 + 2);
    ASSERT_EQ(model.count(look) ? model[look] : 0, array.get(look)) << "step " << step;
    ASSERT_EQ(size, array.size());
  }
}

}  // namespace
}  // namespace lci
