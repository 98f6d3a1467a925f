// SPDX-License-Identifier: Apache-2.0
// Static core only: it refuses what malloc is asked for.
// Regions of a rank that has no memory for a moment: to make one fails and changes nothing, the end of one succeeds.
// Mutations that must make this file fail: range_node_late, unnoted_period_passes.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "api/handles.hpp"
#include "rma/copy_guard.hpp"
#include "support/rma_job.hpp"
#include "support/shortage.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

lci::CopyWords copy_words(lci::Runtime& runtime) {
  lci::OwnMemory& own = runtime.memory();
  return {own.header().device[0].copying, own.copying_here(0), runtime.owner_barrier().owners_pay()};
}

/// What rank 0 allocates; each region is full of a byte of its own.
class Allocations {
 public:
  Allocations(Job& job, Shortage& shortage)
      : runtime_(job.runtime(0)), table_(runtime_->runtime->regions()), shortage_(shortage) {}

  /// Tries again when there was no memory.
  void allocate(uint64_t bytes) {
    Region made{nullptr, nullptr, bytes, ++last_};
    int code = try_to_allocate(&made);
    if (code == LCI_ERR_NO_MEMORY) {
      check_counts();
      code = try_to_allocate(&made);
    }
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    std::memset(made.address, made.full_of, bytes);
    held_.push_back(made);
    check_counts();
  }
  void free(size_t index) {
    const Region ended = held_[index];
    const auto* at = static_cast<const uint8_t*>(ended.address);
    EXPECT_EQ(static_cast<int64_t>(ended.bytes), std::count(at, at + ended.bytes, ended.full_of));
    int code = LCI_RETRY;
    shortage_.during([&] { code = lci_memory_free(ended.memory); });
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    held_.erase(held_.begin() + static_cast<int64_t>(index));
    check_counts();
  }
  size_t count() const { return held_.size(); }

 private:
  struct Region {
    lci_memory* memory;
    void* address;
    uint64_t bytes;
    uint8_t full_of;
  };
  int try_to_allocate(Region* made) {
    int code = LCI_RETRY;
    shortage_.during([&] { code = lci_memory_allocate(runtime_, made->bytes, &made->memory, &made->address); });
    return code;
  }
  void check_counts() {
    uint64_t bytes = 0;
    for (const Region& region : held_) bytes += region.bytes;
    EXPECT_EQ(bytes, table_.allocated_bytes());
    EXPECT_EQ(held_.size(), table_.count());
  }

  lci_runtime* const runtime_;
  lci::RegionTable& table_;
  Shortage& shortage_;
  std::vector<Region> held_;
  uint8_t last_ = 0;
};

TEST(NoMemoryRegion, OfAllocationsAndTheirEnds) {
  at_every_allocation([](Shortage& shortage) {
    Job job(1);
    lci::Runtime& runtime = *job.runtime(0)->runtime;
    lci::OwnMemory& own = runtime.memory();
    Allocations regions(job, shortage);
    regions.allocate(64);  // with it comes the first part of the table
    const uint64_t before = own.allocate(64);
    for (const uint64_t bytes : {64, 1000, 100'000, 64, 4096, 200'000}) regions.allocate(bytes);
    for (const size_t index : {5u, 3u, 1u}) regions.free(index);
    for (const uint64_t bytes : {64, 50'000, 4096, 30'000}) regions.allocate(bytes);
    {
      const lci::CopyGuard copying(copy_words(runtime));
      for (int i = 0; i < 3; ++i) regions.free(2);
      EXPECT_EQ(3u, runtime.regions().retired()) << "a copy may be under way there";
      for (const uint64_t bytes : {64, 1000}) regions.allocate(bytes);
    }
    while (regions.count() > 1) regions.free(regions.count() / 2);
    EXPECT_EQ(0u, runtime.regions().retired());
    const uint64_t all = own.allocate(64) - before - 64;
    regions.allocate(all);
    EXPECT_EQ(before + 64 + all + 64, own.allocate(64)) << "nothing was lost, so that it is in one piece again";
  });
}

TEST(NoMemoryRegion, OfRegistrationsAndTheirEnds) {
  at_every_allocation([](Shortage& shortage) {
    constexpr size_t kAtOnce = 4;
    Job job(1);
    const Allocated around(job.runtime(0), 64);
    std::array<uint64_t, 8> words{};
    std::set<uint32_t> indices;
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<lci_memory*> held;
      for (size_t i = 0; i < kAtOnce; ++i) {
        void* const memory = i % 2 == 0 ? static_cast<void*>(words.data()) : around.bytes_at;
        lci_memory* made = nullptr;
        int code = LCI_RETRY;
        const auto add = [&] { code = lci_memory_register(job.runtime(0), memory, 64, &made); };
        shortage.during(add);
        if (code == LCI_ERR_NO_MEMORY) shortage.during(add);
        ASSERT_EQ(LCI_DONE, code) << lci_last_error();
        indices.insert(lci::from_handle(made)->index);
        held.push_back(made);
      }
      EXPECT_EQ(LCI_ERR_BUSY, lci_memory_free(around.memory)) << "parts of it are registered";
      for (lci_memory* memory : held) {
        int code = LCI_RETRY;
        shortage.during([&] { code = lci_memory_deregister(memory); });
        ASSERT_EQ(LCI_DONE, code) << lci_last_error();
      }
    }
    EXPECT_EQ(kAtOnce, indices.size()) << "each is used again";
    EXPECT_EQ(1u, job.runtime(0)->runtime->regions().count());
    EXPECT_EQ(LCI_DONE, lci_memory_free(around.memory)) << lci_last_error();
  });
}

// The end of a registration waits for the copies of this process also if it cannot note them.
TEST(NoMemoryRegion, TheEndOfARegistrationWaitsForCopies) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers have their own malloc";
#endif
  Job job(1);
  std::array<uint64_t, 8> words{};
  lci_memory* region = nullptr;
  ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(0), words.data(), sizeof words, &region)) << lci_last_error();
  std::atomic<bool> ended{false};
  std::thread ending;
  {
    const lci::CopyGuard copying(copy_words(*job.runtime(0)->runtime));
    const uint64_t before = refused_allocations.load();
    ending = std::thread([&] {
      refused_allocation = 1;
      const int code = lci_memory_deregister(region);
      refused_allocation = 0;
      ended.store(true);
      EXPECT_EQ(LCI_DONE, code) << lci_last_error();
    });
    const lci::test::Deadline deadline(60);
    while (refused_allocations.load() == before && !deadline.passed()) std::this_thread::yield();
    EXPECT_LT(before, refused_allocations.load()) << "there was memory to note the copy";
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it could end now
    EXPECT_FALSE(ended.load());
  }
  ending.join();
  EXPECT_EQ(0u, job.runtime(0)->runtime->regions().count());
  EXPECT_EQ(0u, job.runtime(0)->runtime->regions().retired()) << "its index is free again";
}

}  // namespace
}  // namespace lci_test
