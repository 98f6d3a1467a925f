// SPDX-License-Identifier: Apache-2.0
// Mutation that must make this file fail: matching_no_lock.
#include "matching/matching_engine.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "support/threads.hpp"

namespace lci {
namespace {

struct Item {
  uint64_t key = 0;
  Side side = Side::kSend;
  uint64_t payload = 0;  // plain: the engine's locks must order it
  std::atomic<uint32_t> ended{0};
};

class MatchingStress : public testing::TestWithParam<std::tuple<MatchingEngineType, uint32_t>> {};

/// Random sends, receives and removals of eight threads: every item ends exactly once, by a match with an item of its
/// own key and the other side, by removal, or by the extraction at the end. [B17]
// Proves: B17 B18 B19
TEST_P(MatchingStress, EveryItemEndsExactlyOnce) {
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kItems = 10'000;
  constexpr uint64_t kKeys = 40;
  const auto engine = MatchingEngine::create(std::get<0>(GetParam()), std::get<1>(GetParam()));
  std::vector<std::vector<Item>> items;
  for (uint32_t i = 0; i < kThreads; ++i) items.emplace_back(kItems);
  std::atomic<uint64_t> faults{0};
  const test::Deadline deadline(60);
  test::run_threads(kThreads, [&](uint32_t self) {
    std::mt19937_64 random(self);
    for (uint32_t i = 0; i < kItems && !deadline.passed(); ++i) {
      Item& item = items[self][i];
      item.key = random() % kKeys;
      item.side = random() % 2 == 0 ? Side::kSend : Side::kReceive;
      item.payload = item.key * 1'000'003;
      if (auto* match = static_cast<Item*>(engine->insert(item.key, &item, item.side))) {
        faults += match->key != item.key || match->side == item.side || match->payload != match->key * 1'000'003;
        ++match->ended;
        ++item.ended;
      } else if (random() % 4 == 0 && engine->remove(item.key, &item, item.side)) {
        ++item.ended;
      }
    }
  });
  ASSERT_FALSE(deadline.passed());
  size_t left = 0;
  engine->extract([&](uint64_t key, void* value, Side side) {
    auto* item = static_cast<Item*>(value);
    faults += item->key != key || item->side != side;
    ++item->ended;
    ++left;
    return true;
  });
  EXPECT_EQ(faults.load(), 0u);
  EXPECT_EQ(engine->size(), 0u);
  uint64_t wrong = 0;
  for (const auto& each : items) {
    for (const Item& item : each) wrong += item.ended.load() != 1;
  }
  EXPECT_EQ(wrong, 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, MatchingStress,
                         testing::Values(std::make_tuple(MatchingEngineType::kMap, 65536u),
                                         std::make_tuple(MatchingEngineType::kMap, 1u),
                                         std::make_tuple(MatchingEngineType::kQueue, 1u)));

}  // namespace
}  // namespace lci
