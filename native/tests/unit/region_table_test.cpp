// SPDX-License-Identifier: Apache-2.0
// The table of regions lies in memory that peers can write: what they write there moves nothing of its owner's. [B3,
// SS-33] Mutation that must make this file fail: trust_shared_table.
#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "api/handles.hpp"
#include "rma/copy_guard.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

TEST(RegionTable, APeerCannotSendItsOwnerElsewhere) {
  Job job(2);
  constexpr uint64_t kBytes = 128 * 1024;  // as long as a part of the table
  const Allocated untouched(job.runtime(0), kBytes);
  std::fill_n(untouched.bytes_at, kBytes, uint8_t{0x5A});
  lci::OwnMemory& arena = job.runtime(0)->runtime->memory();
  std::atomic<uint64_t>& place = arena.header().region_chunks[0];
  const uint64_t before =
      place.exchange(static_cast<uint64_t>(untouched.bytes_at - reinterpret_cast<uint8_t*>(arena.base())));
  std::vector<Allocated> more;
  for (int i = 0; i < 10; ++i) more.emplace_back(job.runtime(0), 64);
  for (const Allocated& region : more) EXPECT_EQ(LCI_DONE, lci_memory_free(region.memory));
  EXPECT_EQ(int64_t{kBytes}, std::count(untouched.bytes_at, untouched.bytes_at + kBytes, 0x5A));
  place.store(before);
  const Allocated last(job.runtime(0), 64);
  EXPECT_NE(0u, open_remote(job.runtime(1), 0, handle_of(last.memory)));
}

// Whoever ends a region waits for the copies of this process, also where no other one copies: all that comes by
// messages is copied here. [lci_memory_deregister]
TEST(RegionTable, CopiesOfThisRankAreWaitedForHoweverMessagesCome) {
  for (const char* memory : {"all", "rings"}) {
    SCOPED_TRACE(memory);
    Job job(2, {{"peer_memory", memory}});
    lci::Runtime& runtime = *job.runtime(1)->runtime;
    lci::OwnMemory& own = runtime.memory();
    const lci::Copiers copiers = runtime.copiers();
    std::optional<lci::GracePeriod> grace;
    {
      const lci::CopyGuard copying(
          {own.header().device[0].copying, own.copying_here(0), runtime.owner_barrier().owners_pay()});
      grace.emplace(copiers);
      EXPECT_FALSE(grace->passed());
    }
    EXPECT_TRUE(grace->passed());
    EXPECT_TRUE(lci::GracePeriod(copiers).passed());
  }
}

// Ranges that come and go by chance: none overlaps another, and when all are back they are one again.
TEST(RegionTable, RangesAreSplitAndJoined) {
  Job job(1);
  lci::OwnMemory& own = job.runtime(0)->runtime->memory();
  lci::RangeAllocator ranges(own);
  struct Held {
    lci::RangeAllocator::Range range;
    uint64_t bytes;
    uint8_t full_of;
  };
  std::vector<Held> held;
  std::mt19937 random(7);
  const uint64_t before = own.allocate(64);
  const auto give_back = [&](size_t index) {
    Held& ended = held[index];
    const auto* at = reinterpret_cast<const uint8_t*>(own.at(ended.range.key()));
    ASSERT_EQ(static_cast<int64_t>(ended.bytes), std::count(at, at + ended.bytes, ended.full_of));
    ranges.release(std::move(ended.range));
    held.erase(held.begin() + static_cast<int64_t>(index));
  };
  for (int i = 0; i < 5000 && !testing::Test::HasFailure(); ++i) {
    if (held.size() == 20 || (!held.empty() && random() % 3 == 0)) {
      give_back(random() % held.size());
      continue;
    }
    const uint64_t bytes = random() % 8 == 0 ? 64 * (1 + random() % 3000) : 1 + random() % 1000;
    Held made{ranges.allocate(bytes), bytes, static_cast<uint8_t>(i)};
    ASSERT_FALSE(made.range.empty());
    std::fill_n(own.at(made.range.key()), bytes, std::byte{made.full_of});
    held.push_back(std::move(made));
  }
  while (!held.empty() && !testing::Test::HasFailure()) give_back(held.size() - 1);
  const uint64_t all = own.allocate(64) - before - 64;
  EXPECT_EQ(all, ranges.free_bytes());
  EXPECT_EQ(before + 64, ranges.allocate(all).key());
  EXPECT_EQ(0u, ranges.free_bytes());
}

}  // namespace
}  // namespace lci_test
