// SPDX-License-Identifier: Apache-2.0
// Peers can write every word of an arena: what they write there must not hold up this rank, and no seal that they add
// may keep its arena from growing. [B3, L5, V15]
// Mutation that must make this file fail: none; before the private words existed, the first test hung.
#include <fcntl.h>
#include <sys/mman.h>

#include <filesystem>

#include "support/processes.hpp"
#include "transport/shm/arena.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kBytes = 100'000;

/// The word of a rank that says whether its device 0 copies, as a peer that maps the arena sees it.
std::atomic<uint64_t>& copying_word(uint64_t arena) {
  return reinterpret_cast<lci::MemoryHeader*>(arena)->device[0].copying;
}

uint64_t arena_of(lci_runtime* runtime) {
  uint64_t base = 0, length = 0;
  CHILD_EXPECT(lci_runtime_arena(runtime, &base, &length) == LCI_DONE);
  return base;
}

uint64_t counter(lci_runtime* runtime, const std::string& name) {
  std::vector<uint64_t> values(lci_runtime_snapshot(runtime, nullptr, 0));
  lci_runtime_snapshot(runtime, values.data(), static_cast<uint32_t>(values.size()));
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (name == lci_counter_name(i)) return values[i];
  }
  CHILD_EXPECT(!"such a counter");
  return 0;
}

/// Registers and deregisters memory, frees an allocation and closes, over a word that says that a copy never ends.
int ends_regions_over_odd_word() {
  lci_inproc* job = nullptr;
  lci_runtime* runtime = nullptr;
  CHILD_EXPECT(lci_inproc_create(1, &job) == LCI_DONE);
  CHILD_EXPECT(lci_runtime_create(nullptr, job, 0, &runtime) == LCI_DONE);
  copying_word(arena_of(runtime)).store(7);
  std::vector<uint8_t> heap(kBytes);
  lci_memory *registered = nullptr, *allocated = nullptr, *left = nullptr;
  void* address = nullptr;
  CHILD_EXPECT(lci_memory_register(runtime, heap.data(), kBytes, &registered) == LCI_DONE);
  CHILD_EXPECT(lci_memory_register(runtime, heap.data(), kBytes, &left) == LCI_DONE);
  CHILD_EXPECT(lci_memory_allocate(runtime, kBytes, &allocated, &address) == LCI_DONE);
  CHILD_EXPECT(lci_memory_deregister(registered) == LCI_DONE);
  CHILD_EXPECT(lci_memory_free(allocated) == LCI_DONE);
  CHILD_EXPECT(lci_runtime_close(runtime, 1000) == LCI_DONE);
  lci_inproc_free(job);
  return 0;
}

TEST(HostileWords, RegionsEndAndRuntimesCloseOverAnyCopyingWord) {
  Child rank(ends_regions_over_odd_word);
  EXPECT_EQ(0, rank.wait()) << "it waited for a word that its peers can write";
}

/// Rank 1 seems to stand in a copy until it is killed. It has talked to rank 0, else it could not copy.
int stand_in_copy(const JobDirectory& job, const Signal& stands) {
  Rank self(job, 1, 2);
  CHILD_EXPECT(self.barrier().code == LCI_DONE);
  copying_word(arena_of(self.runtime)).store(1);
  stands.give();
  for (;;) pause();
}

/// What rank 1 may still copy from is neither waited for nor given away, and comes back when rank 1 has ended.
int ends_region_under_copy(const JobDirectory& job, const Signal& stands, const Signal& freed) {
  Rank self(job, 0, 2);
  CHILD_EXPECT(self.barrier().code == LCI_DONE);
  CHILD_EXPECT(stands.take());
  lci_memory *region = nullptr, *other = nullptr;
  void *address = nullptr, *elsewhere = nullptr;
  std::vector<uint8_t> heap(kBytes);
  CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &region, &address) == LCI_DONE);
  CHILD_EXPECT(lci_memory_free(region) == LCI_DONE);
  CHILD_EXPECT(counter(self.runtime, "memory_retired") == 1);
  CHILD_EXPECT(lci_memory_register(self.runtime, heap.data(), kBytes, &region) == LCI_DONE);
  CHILD_EXPECT(lci_memory_deregister(region) == LCI_DONE);
  CHILD_EXPECT(counter(self.runtime, "memory_retired") == 2);
  CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &other, &elsewhere) == LCI_DONE);
  CHILD_EXPECT(elsewhere != address);
  freed.give();
  self.until([&] { return counter(self.runtime, "memory_retired") == 0; });
  CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &region, &elsewhere) == LCI_DONE);
  CHILD_EXPECT(elsewhere == address);
  CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
  return 0;
}

TEST(HostileWords, RegionThatAPeerNeverLeavesIsKeptAndCounted) {
  const JobDirectory job(2);
  const Signal stands, freed;
  Child peer([&] { return stand_in_copy(job, stands); });
  Child rank([&] { return ends_region_under_copy(job, stands, freed); });
  EXPECT_TRUE(freed.take());
  peer.kill();
  EXPECT_EQ(0, rank.wait());
}

/// As before, but rank 0 closes meanwhile.
int closes_under_copy(const JobDirectory& job, const Signal& stands) {
  Rank self(job, 0, 2);
  CHILD_EXPECT(self.barrier().code == LCI_DONE);
  CHILD_EXPECT(stands.take());
  lci_memory* region = nullptr;
  void* address = nullptr;
  CHILD_EXPECT(lci_memory_allocate(self.runtime, kBytes, &region, &address) == LCI_DONE);
  CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
  return 0;
}

TEST(HostileWords, CloseDoesNotWaitForAPeersCopy) {
  const JobDirectory job(2);
  const Signal stands;
  Child peer([&] { return stand_in_copy(job, stands); });
  Child rank([&] { return closes_under_copy(job, stands); });
  EXPECT_EQ(0, rank.wait());
}

/// Seals that a peer might add to each arena of this process: all are refused.
int no_seal_is_added() {
  lci_runtime* runtime = nullptr;
  CHILD_EXPECT(lci_runtime_create(nullptr, nullptr, 0, &runtime) == LCI_DONE);
  uint32_t arenas = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (gone || target.find("memfd:lci") == std::string::npos) continue;
    ++arenas;
    const int fd = std::stoi(entry.path().filename().string());
    CHILD_EXPECT((fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0);
    for (const int seal : {F_SEAL_GROW, F_SEAL_WRITE, 0x10 /* F_SEAL_FUTURE_WRITE */}) {
      CHILD_EXPECT(fcntl(fd, F_ADD_SEALS, seal) != 0);
    }
  }
  CHILD_EXPECT(arenas == 1);
  lci_memory* region = nullptr;
  void* address = nullptr;
  CHILD_EXPECT(lci_memory_allocate(runtime, uint64_t{64} << 20, &region, &address) == LCI_DONE);
  CHILD_EXPECT(lci_runtime_close(runtime, 1000) == LCI_DONE);
  return 0;
}

TEST(HostileWords, NoSealCanBeAddedToAnArena) {
  Child rank(no_seal_is_added);
  EXPECT_EQ(0, rank.wait());
}

}  // namespace
}  // namespace lci_test
