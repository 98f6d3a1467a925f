// SPDX-License-Identifier: Apache-2.0
// One put, and one get, of more bytes than 32 bits can count. [2B-18]
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "conformance/remote.hpp"
#include "transport/memory/available.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kTile = uint64_t{64} << 20;
constexpr uint64_t kRest = 13;  // what would be left of the length if its upper half were lost

/// Many tiles of address space over three of memory, so that more can be moved than there is room for: the first, the
/// last, and one that all between them share.
class Tiled {
 public:
  explicit Tiled(uint64_t bytes) : bytes_((bytes + kTile - 1) / kTile * kTile) {
    const int file = memfd_create("tiled", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, 3 * kTile) != 0) throw std::runtime_error("no memory for tiles");
    void* range = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw std::runtime_error("no address space");
    at_ = static_cast<uint8_t*>(range);
    for (uint64_t offset = 0; offset < bytes_; offset += kTile) {
      const uint64_t part = offset == 0 ? 0 : offset + kTile == bytes_ ? 2 : 1;
      if (mmap(at_ + offset, kTile, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
               static_cast<off_t>(part * kTile)) == MAP_FAILED) {
        throw std::runtime_error("a tile cannot be mapped");
      }
    }
    close(file);
  }
  ~Tiled() { munmap(at_, bytes_); }
  Tiled(const Tiled&) = delete;
  Tiled& operator=(const Tiled&) = delete;

  uint8_t* at() const { return at_; }

 private:
  const uint64_t bytes_;
  uint8_t* at_ = nullptr;
};

/// Above 4 GiB in the soak.
uint64_t huge() {
  return (soak() ? uint64_t{4} << 30 : kTile) + kRest;
}

/// The whole of the region at the other rank, in one operation.
int move(World& world, uint8_t kind, uint8_t* local, uint64_t remote) {
  lci_comp* ended = world.queue();
  lci_device* device = world.device();
  int code = LCI_RETRY;
  world.until([&] {
    code = kind == LCI_OP_PUT ? lci_post_put(device, world.next(), local, huge(), remote, 0, ended, 5)
                              : lci_post_get(device, world.next(), local, huge(), remote, 0, ended, 5);
    return !is_retry(code);
  });
  if (code != LCI_POSTED) return code;
  const lci_status status = world.pop(ended);
  EXPECT_EQ(huge(), status.size);
  return status.code;
}

/// Rank 1 puts the same in every tile of a region of rank 0, @p memory there, and gets it when rank 0 has changed it.
void put_and_get(World& world, lci_memory* region, uint8_t* memory) {
  const Bytes handle = world.gather(region ? handle_of(region) : Bytes(1))[0];
  const Bytes tile = pattern(kTile, 7);
  const uint64_t tiles = huge() / kTile;
  if (world.rank() == 0) {
    world.barrier();
    for (uint64_t i = 0; i < tiles; ++i) {
      ASSERT_EQ(0, compare(memory + i * kTile, tile.data(), kTile)) << "tile " << i;
    }
    ASSERT_EQ(0, compare(memory + tiles * kTile, tile.data(), kRest)) << "the end";
    memory[0] = 1;
    std::fill_n(memory + tiles * kTile, kRest, uint8_t{200});
    world.barrier();
    return world.barrier();
  }
  const uint64_t remote = open_remote(world.runtime(), 0, handle);
  const Tiled local(huge());
  for (uint64_t i = 0; i <= tiles; ++i) std::copy(tile.begin(), tile.end(), local.at() + i * kTile);
  EXPECT_EQ(LCI_DONE, move(world, LCI_OP_PUT, local.at(), remote)) << lci_last_error();
  world.barrier();  // it is there
  world.barrier();  // rank 0 has looked, and changed it
  EXPECT_EQ(LCI_DONE, move(world, LCI_OP_GET, local.at(), remote)) << lci_last_error();
  EXPECT_EQ(1, local.at()[0]);
  for (uint64_t i = 0; i < tiles; ++i) {
    EXPECT_EQ(0, compare(local.at() + i * kTile + 1, tile.data() + 1, kTile - 1)) << "tile " << i;
  }
  EXPECT_EQ(Bytes(kRest, 200), Bytes(local.at() + tiles * kTile, local.at() + tiles * kTile + kRest));
  EXPECT_EQ(tile[kRest], local.at()[tiles * kTile + kRest]) << "behind the end";
  EXPECT_EQ(LCI_DONE, lci_remote_close(world.runtime(), remote));
  world.barrier();
}

void into_shared_memory(World& world) {
  Allocated region{};
  if (world.rank() == 0) region = Allocated(world.runtime(), huge());
  put_and_get(world, region.memory, region.bytes_at);
  if (region.memory) {
    EXPECT_EQ(LCI_DONE, lci_memory_free(region.memory)) << lci_last_error();
  }
}

void through_messages(World& world) {
  const Tiled memory(huge());
  const Registered region(world.runtime(), memory.at(), huge());
  put_and_get(world, region.memory, memory.at());
}

const Setting kTwoProcesses{"processes2", 2, true, 0};

// Proves: C4 C6
// On: processes
TEST(Huge, PutAndGetInSharedMemory) {
  const uint64_t needed = huge() + (uint64_t{2} << 30), available = lci::memory_available();
  if (available < needed) {  // soak() alone asks for so much
    GTEST_SKIP() << needed << " bytes of memory are needed, and " << available << " are available";
  }
  run_everywhere(kTwoProcesses, {{"arena_bytes", "6G"}}, &into_shared_memory);
}

// Proves: C4 C6
// On: processes
TEST(Huge, PutAndGetThroughMessages) {  // of as many bytes as soak() says
  run_everywhere(kTwoProcesses, {}, &through_messages);
}

}  // namespace
}  // namespace lci_test
