// SPDX-License-Identifier: Apache-2.0
// Large memory of arrivals, used again.
#include "protocol/kept_blocks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace lci {
namespace {

constexpr size_t kMebi = size_t{1} << 20;

TEST(KeptBlocks, TheLastThatFitsIsUsedAgain) {
  KeptBlocks blocks;
  const KeptBlocks::User user(blocks);
  size_t room = 0, other_room = 0;
  void* first = blocks.take(kMebi, &room);
  void* second = blocks.take(kMebi, &other_room);
  ASSERT_TRUE(first && second);
  EXPECT_LE(kMebi, room);
  std::memset(first, 1, room);
  blocks.put_back(first, room);
  blocks.put_back(second, other_room);
  EXPECT_EQ(room + other_room, blocks.kept_bytes());

  void* again = blocks.take(kMebi - 5, &room);
  void* once_more = blocks.take(kMebi / 2 + 1, &other_room);
  EXPECT_EQ(second, again);
  EXPECT_EQ(first, once_more);
  EXPECT_EQ(0u, blocks.kept_bytes());
  blocks.put_back(again, room);
  void* small = blocks.take(kMebi / 4, &other_room);
  EXPECT_NE(second, small) << "more than twice as long as needed";
  void* large = blocks.take(2 * kMebi, &room);
  EXPECT_NE(second, large) << "too short";
  blocks.put_back(small, other_room);
  blocks.put_back(large, room);
  blocks.put_back(once_more, kMebi);
}

TEST(KeptBlocks, TheOldestGoWhenThereAreTooMany) {
  KeptBlocks blocks;
  const KeptBlocks::User user(blocks);
  std::vector<std::pair<void*, size_t>> taken;
  for (size_t i = 0; i < KeptBlocks::kMostBlocks + 5; ++i) {
    size_t room = 0;
    void* memory = blocks.take(KeptBlocks::kLeast, &room);
    taken.emplace_back(memory, room);
  }
  for (const auto& [memory, room] : taken) blocks.put_back(memory, room);
  EXPECT_EQ(KeptBlocks::kMostBlocks * taken[0].second, blocks.kept_bytes());

  size_t room = 0;
  void* longest = blocks.take(KeptBlocks::kMostBytes, &room);
  blocks.put_back(longest, room);
  EXPECT_EQ(KeptBlocks::kMostBytes, blocks.kept_bytes()) << "alone";
  void* too_long = blocks.take(2 * KeptBlocks::kMostBytes, &room);
  blocks.put_back(too_long, room);
  EXPECT_EQ(KeptBlocks::kMostBytes, blocks.kept_bytes());
}

TEST(KeptBlocks, NothingStaysWithoutUsers) {
  KeptBlocks blocks;
  size_t room = 0;
  {
    const KeptBlocks::User one(blocks);
    {
      const KeptBlocks::User other(blocks);
      void* memory = blocks.take(kMebi, &room);
      blocks.put_back(memory, room);
    }
    EXPECT_EQ(room, blocks.kept_bytes());
  }
  EXPECT_EQ(0u, blocks.kept_bytes());
  void* memory = blocks.take(kMebi, &room);
  blocks.put_back(memory, room);
  EXPECT_EQ(0u, blocks.kept_bytes());
}

}  // namespace
}  // namespace lci
