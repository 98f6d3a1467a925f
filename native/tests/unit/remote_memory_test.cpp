// SPDX-License-Identifier: Apache-2.0
// Static core only: it replaces posix_fallocate().
// Regions and their handles: allocation, registration, opening, and what ends them. [B3-B5]
// Mutation that must make this file fail: reserve_at_once.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "support/rma_job.hpp"

namespace lci_test {
namespace {

/// Bytes that are reserved from one signal to the next; 0: there are none.
off_t signal_each = 0;
off_t until_signal = 0;
int signals_seen = 0;

class Interrupted {
 public:
  explicit Interrupted(off_t each) {
    signals_seen = 0;
    signal_each = until_signal = each;
  }
  ~Interrupted() { signal_each = 0; }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;
  int signals() const { return signals_seen; }
};

}  // namespace

/// As Linux did it until 2024 for files in memory: with a signal pending it undoes what it has done, and gives up. In
/// place of the C library's for the whole program.
extern "C" int posix_fallocate(int fd, off_t offset, off_t length) {
  if (signal_each != 0) {
    if (length >= until_signal) {
      until_signal = signal_each;
      ++signals_seen;
      return EINTR;
    }
    until_signal -= length;
  }
  return syscall(SYS_fallocate, fd, 0, offset, length) == 0 ? 0 : errno;
}

namespace {

int try_open(lci_runtime* runtime, uint32_t rank, const HandleBytes& handle) {
  uint64_t id = 0;
  return lci_remote_open(runtime, rank, handle.data(), handle.size(), &id, nullptr);
}

// [B5]
TEST(RemoteMemory, AHandleOpensItsRegionAtAnyRank) {
  Job job(2);
  for (const uint64_t size : {0ull, 1ull, 8ull, 4096ull, 1ull << 20}) {
    const Allocated region(job.runtime(1), size);
    EXPECT_EQ(size == 0, region.bytes_at == nullptr);
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(region.bytes_at) % 64);
    const HandleBytes handle = handle_of(region.memory);
    for (const uint32_t from : {0u, 1u}) {
      uint64_t id = 0, opened = 99;
      ASSERT_EQ(LCI_DONE, lci_remote_open(job.runtime(from), 1, handle.data(), handle.size(), &id, &opened))
          << lci_last_error();
      EXPECT_EQ(size, opened);
      EXPECT_EQ(LCI_DONE, lci_remote_close(job.runtime(from), id));
      EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, lci_remote_close(job.runtime(from), id));
    }
    EXPECT_EQ(LCI_DONE, lci_memory_free(region.memory));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, try_open(job.runtime(0), 1, handle));
  }
  EXPECT_EQ(0u, job.counter(1, "memory_regions"));
  EXPECT_EQ(0u, job.counter(1, "memory_allocated"));
}

// [B3] nested, repeated, empty
TEST(RemoteMemory, RegistrationsNestAndRepeat) {
  Job job(2);
  std::vector<uint8_t> heap(1000);
  const Allocated region(job.runtime(0), 5000);
  std::vector<lci_memory*> registered;
  auto add = [&](void* address, uint64_t bytes) {
    lci_memory* memory = nullptr;
    ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(0), address, bytes, &memory)) << lci_last_error();
    registered.push_back(memory);
    EXPECT_NE(0u, open_remote(job.runtime(1), 0, handle_of(memory)));
  };
  add(heap.data(), 1000);
  add(heap.data(), 1000);
  add(heap.data() + 7, 100);
  add(nullptr, 0);
  add(region.bytes_at, 5000);
  add(region.bytes_at + 13, 1);
  EXPECT_EQ(7u, job.counter(0, "memory_regions"));
  EXPECT_EQ(LCI_ERR_BUSY, lci_memory_free(region.memory)) << "parts of it are registered";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_memory_deregister(region.memory)) << "it was allocated";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_memory_free(registered[0])) << "it was registered";
  for (lci_memory* memory : registered) EXPECT_EQ(LCI_DONE, lci_memory_deregister(memory)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_memory_free(region.memory)) << lci_last_error();
  lci_memory* memory = nullptr;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_memory_register(job.runtime(0), nullptr, 8, &memory));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_memory_register(job.runtime(0), heap.data(), UINT64_MAX, &memory));
}

// Bytes of strangers: typed errors, never a crash. [B5]
TEST(RemoteMemory, ForeignHandleBytesAreRefused) {
  Job job(2), other(2);
  const Allocated region(job.runtime(1), 4096);
  const HandleBytes good = handle_of(region.memory);
  const uint64_t seed = ::testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {  // every single bit counts
    HandleBytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    ASSERT_EQ(LCI_ERR_ARGUMENT, try_open(job.runtime(0), 1, bad)) << "bit " << bit;
  }
  for (int i = 0; i < 20000; ++i) {
    HandleBytes noise(random() % 4 == 0 ? random() % 100 : good.size());
    for (auto& byte : noise) byte = static_cast<uint8_t>(random());
    ASSERT_EQ(LCI_ERR_ARGUMENT, try_open(job.runtime(0), static_cast<uint32_t>(random() % 2), noise));
  }
  EXPECT_EQ(LCI_ERR_ARGUMENT, try_open(job.runtime(0), 0, good)) << "a handle of another rank";
  EXPECT_EQ(LCI_ERR_RANK, try_open(job.runtime(0), 2, good));
  const Allocated same_place(other.runtime(1), 4096);
  EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, try_open(other.runtime(0), 1, good)) << "a handle of another job";
  EXPECT_NE(0u, open_remote(job.runtime(0), 1, good));
}

TEST(RemoteMemory, WhatWasFreedIsUsedAgainAndItsPagesAreTheSystems) {
  Job job(1, {{"memory_limit_bytes", "24M"}});
  constexpr uint64_t kMiB = 1 << 20;
  for (int round = 0; round < 10; ++round) {  // without reuse the limit is met in the second round
    const Allocated large(job.runtime(0), 8 * kMiB), small(job.runtime(0), 100), next(job.runtime(0), 2 * kMiB);
    ASSERT_TRUE(large.bytes_at && small.bytes_at && next.bytes_at) << "round " << round;
    std::memset(large.bytes_at, round, 8 * kMiB);
    std::memset(next.bytes_at, round + 1, 2 * kMiB);
    ASSERT_EQ(round, large.bytes_at[8 * kMiB - 1]);
    ASSERT_EQ(LCI_DONE, lci_memory_free(large.memory));
    // The pages of one serve another of another size, elsewhere in the arena.
    const Allocated larger(job.runtime(0), 9 * kMiB);
    ASSERT_TRUE(larger.bytes_at) << "round " << round;
    std::memset(larger.bytes_at, 1, 9 * kMiB);
    for (lci_memory* memory : {small.memory, next.memory, larger.memory}) ASSERT_EQ(LCI_DONE, lci_memory_free(memory));
  }
  lci_memory* memory = nullptr;
  void* address = nullptr;
  EXPECT_EQ(LCI_ERR_NO_MEMORY, lci_memory_allocate(job.runtime(0), 64 * kMiB, &memory, &address));
  EXPECT_EQ(LCI_ERR_NO_MEMORY, lci_memory_allocate(job.runtime(0), UINT64_MAX, &memory, &address));
}

// A call of the system that takes longer than from one signal of a profiler to the next never ends well; memory is
// there nevertheless.
TEST(RemoteMemory, SignalsAreNoLackOfMemory) {
  constexpr uint64_t kBytes = 16 << 20;
  for (const off_t each : {4 << 20, 200 << 10, 70 << 10}) {
    Job job(1);
    const Interrupted interrupted(each);
    for (int round = 0; round < 2; ++round) {  // new, and where its pages went back to the system
      const Allocated region(job.runtime(0), kBytes);
      ASSERT_TRUE(region.bytes_at) << "round " << round << ", a signal each " << each << " bytes";
      region.bytes_at[0] = region.bytes_at[kBytes - 1] = 1;
      ASSERT_EQ(LCI_DONE, lci_memory_free(region.memory));
    }
    EXPECT_LT(0, interrupted.signals());
  }
}

TEST(RemoteMemory, AKeyIsNeverGivenTwice) {
  Job job(2);
  std::vector<HandleBytes> old;
  for (int round = 0; round < 100; ++round) {
    const Allocated region(job.runtime(0), 64);
    for (const HandleBytes& handle : old) ASSERT_EQ(LCI_ERR_MEMORY_CLOSED, try_open(job.runtime(1), 0, handle));
    old.push_back(handle_of(region.memory));
    ASSERT_EQ(LCI_DONE, lci_memory_free(region.memory));
  }
}

TEST(RemoteMemory, MoreRegionsThanAChunkOfTheTable) {
  Job job(2);
  std::vector<uint8_t> heap(3000);
  std::vector<lci_memory*> regions(3000);
  for (size_t i = 0; i < regions.size(); ++i) {
    ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(0), &heap[i], 1, &regions[i])) << lci_last_error();
  }
  EXPECT_NE(0u, open_remote(job.runtime(1), 0, handle_of(regions.back())));
  for (lci_memory* region : regions) ASSERT_EQ(LCI_DONE, lci_memory_deregister(region));
  EXPECT_EQ(0u, job.counter(0, "memory_regions"));
}

// The owner's close ends its regions, whoever still holds their handles.
TEST(RemoteMemory, TheOwnersCloseEndsItsRegions) {
  Job job(2);
  const Allocated region(job.runtime(1), 64);
  const HandleBytes handle = handle_of(region.memory);
  job.close(1, 100);
  EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, try_open(job.runtime(0), 1, handle)) << "before its departure was seen";
  for (int i = 0; i < 200000 && job.counter(0, "peers_left") == 0; ++i) job.progress();
  EXPECT_EQ(LCI_ERR_PEER_LEFT, try_open(job.runtime(0), 1, handle)) << lci_last_error();
}

}  // namespace
}  // namespace lci_test
