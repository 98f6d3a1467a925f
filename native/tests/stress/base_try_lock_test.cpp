// SPDX-License-Identifier: Apache-2.0
// Mutation that must make this file fail: try_lock_always.
#include "base/try_lock.hpp"

#include <gtest/gtest.h>

#include <mutex>

#include "support/threads.hpp"

namespace lci {
namespace {

// Proves: H16
TEST(TryLockStress, ExcludesAndPublishes) {
  constexpr uint32_t kThreads = 8;
  constexpr uint64_t kRounds = 20'000;
  TryLock lock;
  uint64_t first = 0;
  uint64_t second = 0;  // equal to `first` whenever the lock is free
  uint64_t torn = 0;
  test::run_threads(kThreads, [&](uint32_t) {
    for (uint64_t i = 0; i < kRounds; ++i) {
      const std::lock_guard<TryLock> guard(lock);
      torn += first != second;
      ++first;
      ++second;
    }
  });
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(first, kThreads * kRounds);
  EXPECT_EQ(second, kThreads * kRounds);
}

/// The store-load order that parking rests on: with a full fence in between, two threads cannot both miss the other.
TEST(FenceStress, FullFenceOrdersStoreBeforeLoad) {
  constexpr uint32_t kRounds = 50'000;
  std::atomic<uint32_t> mine[2] = {0, 0};
  std::atomic<uint32_t> arrived{0};
  std::vector<uint32_t> seen[2] = {std::vector<uint32_t>(kRounds), std::vector<uint32_t>(kRounds)};
  const test::Deadline deadline(60);
  test::run_threads(2, [&](uint32_t self) {
    for (uint32_t round = 1; round <= kRounds; ++round) {
      arrived.fetch_add(1);
      for (SpinWait wait; arrived.load() < 2 * round && !deadline.passed();) wait.step();
      mine[self].store(round, std::memory_order_relaxed);
      fence_seq_cst();
      seen[self][round - 1] = mine[1 - self].load(std::memory_order_relaxed);
    }
  });
  uint32_t both_missed = 0;
  for (uint32_t i = 0; i < kRounds; ++i) both_missed += seen[0][i] < i + 1 && seen[1][i] < i + 1;
  EXPECT_EQ(both_missed, 0u);
  EXPECT_EQ(arrived.load(), 2 * kRounds);
}

}  // namespace
}  // namespace lci
