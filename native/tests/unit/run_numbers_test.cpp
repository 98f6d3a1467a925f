// SPDX-License-Identifier: Apache-2.0
// Below which run sends are not taken any more, while several are under way. Mutation that must make this file fail:
// runs_under_way_are_dropped.
#include "graph/run_numbers.hpp"

#include <gtest/gtest.h>

#include "lci/lci.h"
#include "support/threads.hpp"

namespace lci {
namespace {

uint64_t floor_of(RunNumbers& numbers) {
  return numbers.floors().lowest.load();
}

uint64_t next_of(const RunNumbers& numbers) {
  uint64_t number = 0;
  EXPECT_EQ(LCI_DONE, numbers.next(1, nullptr, &number)) << lci_last_error();
  return number;
}

int give(const RunNumbers& numbers, uint64_t given) {
  uint64_t number = 0;
  return numbers.next(1, &given, &number);
}

// Proves: E23 E25
TEST(RunNumbers, TheFloorIsTheLowestRunUnderWay) {
  RunNumbers numbers;
  numbers.tell_apart();
  EXPECT_EQ(GraphRuns::kNone, floor_of(numbers)) << "nothing is dropped before the first run";
  EXPECT_TRUE(numbers.begin(0, 10, true)) << "a number was given";
  EXPECT_FALSE(numbers.begin(1, 11, false));
  EXPECT_FALSE(numbers.begin(2, 12, false));
  EXPECT_EQ(10u, floor_of(numbers));
  EXPECT_FALSE(numbers.succeeded(1));
  EXPECT_EQ(10u, floor_of(numbers));
  EXPECT_FALSE(numbers.failed(2)) << "run 10 is below it";
  EXPECT_EQ(10u, floor_of(numbers));
  EXPECT_TRUE(numbers.succeeded(0)) << "now what is stored for run 12 goes";
  EXPECT_EQ(13u, floor_of(numbers));
  EXPECT_TRUE(numbers.begin(0, 20, true));
  EXPECT_EQ(20u, floor_of(numbers));
  EXPECT_TRUE(numbers.failed(0)) << "none is below it";
  EXPECT_EQ(21u, floor_of(numbers));
}

// Proves: E23 E25
TEST(RunNumbers, AFailureAsksForANumberUntilThereIsOne) {
  RunNumbers numbers;
  numbers.tell_apart();
  EXPECT_EQ(1u, next_of(numbers));
  numbers.begin(0, 1, false);
  EXPECT_EQ(2u, next_of(numbers));
  numbers.begin(1, 2, false);
  numbers.failed(0);
  uint64_t number = 0;
  EXPECT_EQ(LCI_ERR_RUN_NUMBER, numbers.next(1, nullptr, &number));
  EXPECT_EQ(LCI_DONE, give(numbers, 7));
  numbers.begin(2, 7, true);
  EXPECT_EQ(8u, next_of(numbers));
  numbers.failed(1);
  EXPECT_EQ(LCI_ERR_RUN_NUMBER, numbers.next(1, nullptr, &number)) << "one from before the number has failed since";
}

// Tags tell 32,767 runs apart, so the earliest one under way counts.
// Proves: E23 E25
TEST(RunNumbers, AreNotFartherApartThanTagsTell) {
  RunNumbers numbers;
  numbers.tell_apart();
  numbers.begin(0, 1000, true);
  EXPECT_EQ(LCI_ERR_ARGUMENT, give(numbers, 1000));
  EXPECT_EQ(LCI_DONE, give(numbers, 1000 + 32767));
  numbers.begin(1, 1000 + 32767, true);
  EXPECT_EQ(LCI_ERR_ARGUMENT, give(numbers, 1000 + 32768)) << "run 1000 is under way";
  numbers.succeeded(0);
  EXPECT_EQ(LCI_DONE, give(numbers, 1000 + 32768));
}

// One thread begins runs, others end them: the floor is never above a run under way, and is where it should be at last.
// Proves: E25
TEST(RunNumbers, TheFloorIsNeverAboveARunUnderWay) {
  constexpr uint64_t kRuns = 20'000;
  RunNumbers numbers;
  numbers.tell_apart();
  std::array<std::atomic<uint64_t>, 3> under_way{};
  std::atomic<uint64_t> faults{0};
  std::atomic<bool> stop{false};
  lci::test::run_threads(3, [&](uint32_t self) {
    if (self == 0) {
      for (uint64_t run = 1; run <= kRuns; ++run) {
        const auto instance = static_cast<uint32_t>(run % under_way.size());
        while (under_way[instance].load() != 0) std::this_thread::yield();
        numbers.begin(instance, run, true);
        under_way[instance].store(run);
      }
      for (const auto& run : under_way) {
        while (run.load() != 0) std::this_thread::yield();
      }
      stop.store(true);
      return;
    }
    while (!stop.load()) {
      for (uint32_t instance = self - 1; instance < under_way.size(); instance += 2) {
        const uint64_t run = under_way[instance].load();
        if (run == 0) continue;
        faults += floor_of(numbers) > run;
        static_cast<void>(run % 3 == 0 ? numbers.failed(instance) : numbers.succeeded(instance));
        under_way[instance].store(0);
      }
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(0u, faults.load());
  EXPECT_EQ(kRuns + 1, floor_of(numbers));
}

}  // namespace
}  // namespace lci
