// SPDX-License-Identifier: Apache-2.0
// Memory for stored payloads: taken and given back in order, round and round.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>

#include "lane/inbox.hpp"

namespace lci {
namespace {

constexpr uint32_t kBytes = 4096;

TEST(PayloadRing, StartsOverWhenItEndsExactlyAtTheEnd) {
  PayloadRing ring;
  ASSERT_TRUE(ring.reserve(kBytes));
  std::byte* const base = ring.base();
  uint32_t taken = 0;
  for (uint32_t i = 0; i < kBytes / 64; ++i) ASSERT_EQ(base + i * 64, ring.allocate(64, &taken));
  EXPECT_EQ(nullptr, ring.allocate(64, &taken));
  ring.free(64);
  EXPECT_EQ(base, ring.allocate(64, &taken));
}

TEST(PayloadRing, NeverGivesAPlaceTwiceOrOutside) {
  PayloadRing ring;
  ASSERT_TRUE(ring.reserve(kBytes));
  struct Held {
    std::byte* place;
    uint32_t size, taken;
    int mark;
  };
  std::deque<Held> held;
  std::mt19937 random(3);
  int mark = 0;
  for (int i = 0; i < 100'000; ++i) {
    const uint32_t size = random() % 300;
    uint32_t taken = 0;
    if (std::byte* place = ring.allocate(size, &taken)) {
      ASSERT_GE(place, ring.base());
      ASSERT_LE(place + size, ring.base() + kBytes);
      std::memset(place, ++mark, size);
      held.push_back({place, size, taken, mark});
    }
    while (held.size() > 1 + random() % 30) {  // never empty: an empty ring starts over by itself
      const Held& first = held.front();
      for (uint32_t k = 0; k < first.size; ++k) ASSERT_EQ(std::byte(first.mark), first.place[k]);
      ring.free(first.taken);
      held.pop_front();
    }
  }
}

}  // namespace
}  // namespace lci
