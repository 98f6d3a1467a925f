// SPDX-License-Identifier: Apache-2.0
// Mutation that must make this file fail: matching_lifo.
#include "matching/matching_engine.hpp"

#include <gtest/gtest.h>
#include <chrono>
#include <future>

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace lci {
namespace {

void* value_of(uint64_t number) {
  return reinterpret_cast<void*>(number);
}

TEST(MakeKey, PutsPolicyRankAndTagSideBySide) {
  EXPECT_EQ(make_key(0, 0, LCI_POLICY_RANK_TAG), 0u);
  EXPECT_EQ(make_key(5, 7, LCI_POLICY_RANK_TAG), 0x0000000500000007u);
  EXPECT_EQ(make_key(0x3FFFFFFF, 0xFFFFFFFF, LCI_POLICY_RANK_TAG), 0x3FFFFFFFFFFFFFFFu);
  EXPECT_EQ(make_key(5, 7, LCI_POLICY_RANK), 0x4000000500000000u);
  EXPECT_EQ(make_key(5, 7, LCI_POLICY_TAG), 0x8000000000000007u);
  EXPECT_EQ(make_key(5, 7, LCI_POLICY_NONE), 0xC000000000000000u);
}

TEST(MakeKey, WildcardsAgreeWithEveryRankAndTag) {
  EXPECT_EQ(make_key(LCI_ANY_SOURCE, 7, LCI_POLICY_TAG), make_key(3, 7, LCI_POLICY_TAG));
  EXPECT_EQ(make_key(3, LCI_ANY_TAG, LCI_POLICY_RANK), make_key(3, 9, LCI_POLICY_RANK));
  EXPECT_EQ(make_key(LCI_ANY_SOURCE, LCI_ANY_TAG, LCI_POLICY_NONE), make_key(3, 9, LCI_POLICY_NONE));
}

/// [2B-2] Policies, ranks and tags at their limits never meet.
// Proves: SS-13
TEST(MakeKey, KeysOfDifferentMeaningDiffer) {
  std::map<uint64_t, std::string> seen;
  for (const uint32_t policy : {0u, 1u, 2u, 3u}) {
    for (const uint32_t rank : {0u, 1u, 0x3FFFFFFFu}) {
      for (const uint64_t tag : {uint64_t{0}, uint64_t{1}, uint64_t{LCI_MAX_TAG}}) {
        const std::string meaning = std::to_string(policy) +
                                    (policy <= 1 ? " rank " + std::to_string(rank) : std::string()) +
                                    (policy == 0 || policy == 2 ? " tag " + std::to_string(tag) : std::string());
        const auto [at, inserted] = seen.try_emplace(make_key(rank, tag, policy), meaning);
        EXPECT_EQ(at->second, meaning);
      }
    }
  }
}

/// Type and number of buckets: one bucket forces every key into one chain. [B18]
class MatchingEngineTest : public testing::TestWithParam<std::tuple<MatchingEngineType, uint32_t>> {
 protected:
  std::unique_ptr<MatchingEngine> engine_ = MatchingEngine::create(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

// Proves: B17 B18 B19
TEST_P(MatchingEngineTest, SendFirst) {
  for (uint64_t key = 0; key < 1000; ++key) ASSERT_EQ(engine_->insert(key, value_of(key + 1), Side::kSend), nullptr);
  EXPECT_EQ(engine_->size(), 1000u);
  for (uint64_t key = 0; key < 1000; ++key) {
    ASSERT_EQ(engine_->insert(key, value_of(key + 5000), Side::kReceive), value_of(key + 1));
  }
  EXPECT_EQ(engine_->size(), 0u);
}

// Proves: B17 B18 B19
TEST_P(MatchingEngineTest, ReceiveFirst) {
  for (uint64_t key = 0; key < 1000; ++key) ASSERT_EQ(engine_->insert(key, value_of(key + 1), Side::kReceive), nullptr);
  for (uint64_t key = 1000; key-- > 0;) {
    ASSERT_EQ(engine_->insert(key, value_of(key + 5000), Side::kSend), value_of(key + 1));
  }
  EXPECT_EQ(engine_->size(), 0u);
}

TEST_P(MatchingEngineTest, StoresNothingOfWhoMakesNothing) {
  auto make = []() -> void* { return nullptr; };
  EXPECT_EQ(nullptr, engine_->match_or_store(1, Side::kReceive, ValueMaker(make)));
  EXPECT_EQ(0u, engine_->size());
  EXPECT_EQ(nullptr, engine_->insert(1, value_of(1), Side::kSend));
  EXPECT_EQ(value_of(1), engine_->match_or_store(1, Side::kReceive, ValueMaker(make))) << "a match is one all the same";
  EXPECT_EQ(0u, engine_->size());
}

// A walk that begins while a value is made has to wait for it, also where nothing was ever stored.
TEST_P(MatchingEngineTest, AWalkFindsWhatIsBeingStored) {
  std::future<size_t> walk;
  auto make = [&]() -> void* {
    walk = std::async(std::launch::async, [&] {
      size_t found = 0;
      engine_->extract([&](uint64_t, void*, Side) { return ++found != 0; });
      return found;
    });
    walk.wait_for(std::chrono::milliseconds(50));  // one that does not wait is over by then
    return value_of(1);
  };
  EXPECT_EQ(nullptr, engine_->match_or_store(7, Side::kReceive, ValueMaker(make)));
  EXPECT_EQ(1u, walk.get());
  EXPECT_EQ(0u, engine_->size());
}

/// [SS-19] One key a hundred times: two inline entries, then nodes of six.
// Proves: B17 B18 B19 SS-19
TEST_P(MatchingEngineTest, OneKeyIsFirstInFirstOut) {
  for (uint64_t i = 1; i <= 100; ++i) ASSERT_EQ(engine_->insert(42, value_of(i), Side::kSend), nullptr);
  for (uint64_t i = 1; i <= 50; ++i) ASSERT_EQ(engine_->insert(42, value_of(9), Side::kReceive), value_of(i));
  for (uint64_t i = 101; i <= 150; ++i) ASSERT_EQ(engine_->insert(42, value_of(i), Side::kSend), nullptr);
  for (uint64_t i = 51; i <= 150; ++i) ASSERT_EQ(engine_->insert(42, value_of(9), Side::kReceive), value_of(i));
  EXPECT_EQ(engine_->size(), 0u);
  EXPECT_EQ(engine_->insert(42, value_of(7), Side::kReceive), nullptr) << "the other side may start now";
  EXPECT_EQ(engine_->insert(42, value_of(8), Side::kSend), value_of(7));
}

TEST_P(MatchingEngineTest, RemoveTakesOneEntryOnce) {
  for (uint64_t i = 1; i <= 20; ++i) engine_->insert(1, value_of(i), Side::kReceive);
  EXPECT_FALSE(engine_->remove(1, value_of(3), Side::kSend)) << "other side";
  EXPECT_FALSE(engine_->remove(2, value_of(3), Side::kReceive)) << "other key";
  EXPECT_FALSE(engine_->remove(1, value_of(21), Side::kReceive)) << "other value";
  for (const uint64_t gone : {1u, 2u, 3u, 10u, 20u}) {
    EXPECT_TRUE(engine_->remove(1, value_of(gone), Side::kReceive)) << gone;
    EXPECT_FALSE(engine_->remove(1, value_of(gone), Side::kReceive)) << gone;
  }
  EXPECT_EQ(engine_->size(), 15u);
  const std::set<uint64_t> removed{1, 2, 3, 10, 20};
  for (uint64_t i = 1; i <= 20; ++i) {
    if (removed.count(i) == 0) {
      EXPECT_EQ(engine_->insert(1, value_of(99), Side::kSend), value_of(i));
    }
  }
  EXPECT_FALSE(engine_->remove(1, value_of(4), Side::kReceive)) << "already matched";
  EXPECT_EQ(engine_->size(), 0u);
}

TEST_P(MatchingEngineTest, RemoveTakesOneOfEqualValues) {
  engine_->insert(1, value_of(5), Side::kSend);
  engine_->insert(1, value_of(5), Side::kSend);
  EXPECT_TRUE(engine_->remove(1, value_of(5), Side::kSend));
  EXPECT_EQ(engine_->size(), 1u);
  EXPECT_TRUE(engine_->remove(1, value_of(5), Side::kSend));
  EXPECT_FALSE(engine_->remove(1, value_of(5), Side::kSend));
}

TEST_P(MatchingEngineTest, ExtractShowsAllAndTakesTheChosen) {
  std::map<uint64_t, std::vector<uint64_t>> expected;
  for (uint64_t i = 1; i <= 300; ++i) {
    const uint64_t key = i % 30;
    engine_->insert(key, value_of(i), key % 2 == 0 ? Side::kSend : Side::kReceive);
    expected[key].push_back(i);
  }
  std::map<uint64_t, std::vector<uint64_t>> shown;
  engine_->extract([&](uint64_t key, void* value, Side side) {
    EXPECT_EQ(side, key % 2 == 0 ? Side::kSend : Side::kReceive);
    shown[key].push_back(reinterpret_cast<uint64_t>(value));
    return reinterpret_cast<uint64_t>(value) % 3 == 0 || key < 5;
  });
  EXPECT_EQ(shown, expected) << "every entry once, oldest first";
  size_t left = 0;
  for (const auto& [key, values] : expected) {
    for (const uint64_t value : values) {
      if (value % 3 == 0 || key < 5) continue;
      ++left;
    }
  }
  EXPECT_EQ(engine_->size(), left);
  for (const auto& [key, values] : expected) {
    for (const uint64_t value : values) {
      if (value % 3 == 0 || key < 5) continue;
      EXPECT_EQ(engine_->insert(key, value_of(1000), key % 2 == 0 ? Side::kReceive : Side::kSend), value_of(value));
    }
  }
  EXPECT_EQ(engine_->size(), 0u);
  engine_->extract([](uint64_t, void*, Side) {
    ADD_FAILURE() << "nothing is left";
    return false;
  });
}

/// Against plain maps of queues, over keys that come and go: chains grow and shrink, queues change sides.
// Proves: B18 B19
TEST_P(MatchingEngineTest, BehavesLikeTheModel) {
  std::mt19937_64 random(7);
  std::map<std::pair<uint64_t, Side>, std::deque<uint64_t>> model;
  uint64_t next = 1;
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t key = random() % (1 + step / 200);
    const Side side = random() % 2 == 0 ? Side::kSend : Side::kReceive;
    const Side other = side == Side::kSend ? Side::kReceive : Side::kSend;
    auto& own = model[{key, side}];
    auto& others = model[{key, other}];
    if (random() % 8 == 0 && !own.empty()) {
      const size_t at = random() % own.size();
      ASSERT_TRUE(engine_->remove(key, value_of(own[at]), side));
      own.erase(own.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    void* matched = engine_->insert(key, value_of(next), side);
    if (others.empty()) {
      ASSERT_EQ(matched, nullptr);
      own.push_back(next);
    } else {
      ASSERT_EQ(matched, value_of(others.front()));
      others.pop_front();
    }
    ++next;
  }
  size_t stored = 0;
  for (const auto& [key, values] : model) stored += values.size();
  EXPECT_EQ(engine_->size(), stored);
}

struct PlacedReceive {
  Place place;
  uint64_t number;
};

/// Receives that know their place: sends match the oldest that is left, whichever were taken out between, and taking
/// one out looks at a few entries, however many its key has.
TEST_P(MatchingEngineTest, PlacedReceivesLeaveFromAnywhere) {
  const auto [type, buckets] = GetParam();
  const auto engine = MatchingEngine::create(type, buckets, Values::kPlacedReceives);
  std::mt19937_64 random(11);
  std::map<uint64_t, std::deque<std::unique_ptr<PlacedReceive>>> model;
  uint64_t next = 0;
  const auto is_stored = [](const PlacedReceive& receive) { return receive.place.at != nullptr; };
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t key = random() % 3;
    auto& own = model[key];
    const uint64_t action = random() % (step < 10'000 ? 4 : 9);  // grows first, shrinks then
    if (action < 2) {
      own.push_back(std::make_unique<PlacedReceive>(PlacedReceive{{}, next++}));
      ASSERT_EQ(nullptr, engine->insert(key, own.back().get(), Side::kReceive));
    } else if (!own.empty() && action % 2 == 0) {
      const auto at = own.begin() + static_cast<std::ptrdiff_t>(random() % own.size());
      const uint64_t before = engine->walked();
      ASSERT_TRUE(engine->remove(key, at->get(), Side::kReceive));
      ASSERT_LE(engine->walked() - before, 8u) << own.size() << " of this key";
      ASSERT_FALSE(is_stored(**at));
      ASSERT_FALSE(engine->remove(key, at->get(), Side::kReceive)) << "it has left";
      own.erase(at);
    } else if (!own.empty()) {
      void* matched = engine->insert(key, value_of(1), Side::kSend);
      ASSERT_EQ(own.front().get(), matched);
      ASSERT_FALSE(is_stored(*own.front()));
      ASSERT_FALSE(engine->remove(key, matched, Side::kReceive)) << "it has left";
      own.pop_front();
    }
    if (step % 1000 == 0) {  // a walk moves them
      engine->extract([](uint64_t, void*, Side) { return false; });
    }
  }
  size_t stored = 0;
  for (const auto& [key, receives] : model) stored += receives.size();
  EXPECT_EQ(stored, engine->size());
  engine->extract([](uint64_t, void*, Side) { return true; });
  EXPECT_EQ(0u, engine->size());
  for (const auto& [key, receives] : model) {
    for (const auto& receive : receives) EXPECT_FALSE(is_stored(*receive));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatchingEngineTest,
                         testing::Values(std::make_tuple(MatchingEngineType::kMap, 65536u),
                                         std::make_tuple(MatchingEngineType::kMap, 16u),
                                         std::make_tuple(MatchingEngineType::kMap, 1u),
                                         std::make_tuple(MatchingEngineType::kQueue, 1u)));

}  // namespace
}  // namespace lci
