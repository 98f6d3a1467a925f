// SPDX-License-Identifier: Apache-2.0
// Ids of operations under way: index and generation, so that one that has ended is not taken for the next one.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "protocol/contexts.hpp"

namespace lci {
namespace {

TEST(SlotTable, AnIdEndsWithItsObject) {
  SlotTable<int> table;
  const uint64_t first = table.add(std::make_unique<int>(1));
  EXPECT_EQ(1, *table.find(first));
  EXPECT_EQ(1, *table.remove(first));
  EXPECT_EQ(nullptr, table.find(first));
  const uint64_t second = table.add(std::make_unique<int>(2));
  EXPECT_NE(first, second);
  EXPECT_EQ(nullptr, table.find(first));
  EXPECT_EQ(2, *table.find(second));
  EXPECT_EQ(1u, table.live());
}

// Generations wrap after 2^32 objects in one slot. 0 stands for "none" where an id is kept.
TEST(SlotTable, NoIdIsZeroAroundTheWrapOfGenerations) {
  SlotTable<int> table(0u - 3);
  std::set<uint64_t> seen;
  for (int i = 0; i < 8; ++i) {
    const uint64_t id = table.add(std::make_unique<int>(i));
    EXPECT_NE(0u, id) << i;
    EXPECT_TRUE(seen.insert(id).second) << i;
    EXPECT_EQ(i, *table.find(id));
    EXPECT_EQ(i, *table.remove(id));
    EXPECT_EQ(nullptr, table.find(id));
  }
}

}  // namespace
}  // namespace lci
