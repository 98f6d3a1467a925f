// SPDX-License-Identifier: Apache-2.0
// Readers of an array that grows under them.
#include "base/growing_array.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/threads.hpp"

namespace lci {
namespace {

struct Item {
  uint64_t index, twice;
};

// Two writers append while six readers run through at least ten growths; every reader in the end has seen every item,
// and each whole.
// Proves: B24
TEST(GrowingArrayStress, ReadersSeeWholeItemsThroughGrowths) {
  constexpr uint32_t kReaders = 6, kWriters = 2, kItems = 20'000;
  GrowingArray<const Item*> array;
  std::atomic<uint64_t> wrong{0}, seen{0};
  const test::Deadline deadline(30);
  test::run_threads(kReaders + kWriters, [&](uint32_t thread) {
    if (thread < kWriters) {
      for (uint64_t i = 0; i < kItems; ++i) {
        // Its place is known only afterwards: an item says what it is, not where.
        const uint64_t number = thread * kItems + i;
        array.append(new Item{number, 2 * number});
      }
      return;
    }
    uint64_t found = 0;
    for (uint64_t next = 0; next < kWriters * kItems && !deadline.passed();) {
      const Item* item = array.get(next);
      if (!item) continue;  // not there yet
      if (item->twice != 2 * item->index) wrong.fetch_add(1);
      const Item* earlier = array.get(next / 2);
      if (!earlier || earlier->twice != 2 * earlier->index) wrong.fetch_add(1);
      ++next;
      ++found;
    }
    seen.fetch_add(found);
  });
  EXPECT_EQ(0u, wrong.load());
  EXPECT_EQ(uint64_t{kReaders} * kWriters * kItems, seen.load());
  EXPECT_EQ(kWriters * kItems, array.size());
  std::vector<bool> there(kWriters * kItems);
  for (size_t i = 0; i < array.size(); ++i) {
    there[array.get(i)->index] = true;
    delete array.get(i);
  }
  EXPECT_EQ(there, std::vector<bool>(there.size(), true));
}

}  // namespace
}  // namespace lci
