// SPDX-License-Identifier: Apache-2.0
// Handles of remote memory, and the table by which their owner shares its regions: whatever they hold, opening answers
// with an error and a text, or with memory that lies in the owner's arena to its last byte; so do put and get.
#include "fuzz/input.hpp"
#include "rma/memory_handle.hpp"
#include "rma/open_remote.hpp"
#include "rma/region_table.hpp"
#include "support/hostile_peer.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

using lci_fuzz::Input;

constexpr uint64_t kBytes = 10000;

/// A job whose rank 1 has an allocation and a registration. One for all runs: what they write over is put right again.
class Owner {
 public:
  Owner()
      : job_(2, {{"packets", "16"}, {"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}}),
        allocated_(job_.runtime(1), kBytes),
        registered_(job_.runtime(1), private_, sizeof private_),
        ended_(make_queue(job_.runtime(0), 16)) {}
  lci::MemoryHandle handle(bool registered) {
    const HandleBytes bytes = handle_of(registered ? registered_.memory : allocated_.memory);
    lci::MemoryHandle handle;
    EXPECT_EQ(LCI_DONE, lci::decode(bytes.data(), bytes.size(), &handle));
    return handle;
  }
  lci_runtime* opener() { return job_.runtime(0); }
  lci_device* device() { return job_.device(0); }
  lci_comp* ended() { return ended_; }
  lci::OwnMemory& memory() { return job_.runtime(1)->runtime->memory(); }

 private:
  uint8_t private_[500] = {};
  Job job_;
  const Allocated allocated_;
  Registered registered_;
  lci_comp* const ended_;
};

/// The bytes of a handle: any at all, or a right one with other numbers.
std::vector<uint8_t> bytes_of(Input& input, lci::MemoryHandle handle) {
  const uint8_t shape = input.number<uint8_t>();
  std::vector<uint8_t> bytes(LCI_MEMORY_HANDLE_SIZE);
  if (shape & 1) handle.rank = input.number<uint8_t>();
  if (shape & 2) handle.index = input.number<uint32_t>();
  if (shape & 4) handle.key = input.number<uint64_t>();
  if (shape & 8) handle.size = input.number<uint64_t>();
  lci::encode(handle, bytes.data());
  if (shape & 16) bytes[input.number<uint8_t>() % bytes.size()] = input.number<uint8_t>();
  if (shape & 32) bytes.resize(input.number<uint8_t>());
  return bytes;
}

/// What the owner shares of one region, and where its table lies: written over for the time of one run.
class Scribble {
 public:
  Scribble(Input& input, lci::OwnMemory& arena, uint32_t index)
      : chunk_(arena.header().region_chunks[index / lci::kRegionsPerChunk]),
        entry_(reinterpret_cast<lci::RegionEntry*>(arena.at(chunk_.load()))[index % lci::kRegionsPerChunk]),
        was_at_(chunk_),
        place_(entry_.place),
        size_(entry_.size),
        kind_(entry_.kind) {
    const uint8_t shape = input.number<uint8_t>();
    if (shape & 1) entry_.place = input.number<uint64_t>();
    if (shape & 2) entry_.size = input.number<uint64_t>();
    if (shape & 4) entry_.kind = input.number<uint8_t>() % 4;
    if (shape & 8) chunk_ = input.number<uint64_t>();
  }
  ~Scribble() {
    chunk_ = was_at_;
    entry_.place = place_;
    entry_.size = size_;
    entry_.kind = kind_;
  }
  Scribble(const Scribble&) = delete;
  Scribble& operator=(const Scribble&) = delete;

 private:
  std::atomic<uint64_t>& chunk_;
  lci::RegionEntry& entry_;
  const uint64_t was_at_, place_, size_;
  const uint32_t kind_;
};

bool says_something(int code) {
  return code >= LCI_ERR_ARGUMENT && *lci_last_error() != '\0';
}

/// Its first and its last byte, there and back; and no byte more.
void touch_ends(Owner& owner, uint64_t id, uint64_t size) {
  uint8_t byte = 7;
  for (const uint64_t at : {uint64_t{0}, size - 1}) {
    const int got = lci_post_get(owner.device(), 1, &byte, 1, id, at, owner.ended(), 0);
    const int put = lci_post_put(owner.device(), 1, &byte, 1, id, at, owner.ended(), 0);
    FUZZ_EXPECT((got == LCI_DONE && put == LCI_DONE) || (says_something(got) && says_something(put)));
  }
  const int beyond = lci_post_get(owner.device(), 1, &byte, 1, id, size, owner.ended(), 0);
  FUZZ_EXPECT(says_something(beyond));
}

/// Whether the owner says that the region lies in its arena. Else it is an address of this very process, which is its
/// own affair.
bool is_in_arena(Owner& owner, const std::vector<uint8_t>& bytes) {
  lci::MemoryHandle handle;
  FUZZ_EXPECT(lci::decode(bytes.data(), bytes.size(), &handle) == LCI_DONE);
  const uint64_t chunk = owner.memory().header().region_chunks[handle.index / lci::kRegionsPerChunk];
  const auto* entries = reinterpret_cast<const lci::RegionEntry*>(owner.memory().at(chunk));
  return entries[handle.index % lci::kRegionsPerChunk].kind == static_cast<uint32_t>(lci::RegionKind::kShared);
}

void run(Owner& owner, Input& input) {
  const bool registered = input.number<uint8_t>() % 2;
  const lci::MemoryHandle right = owner.handle(registered);
  const std::vector<uint8_t> bytes = bytes_of(input, right);
  const Scribble scribble(input, owner.memory(), right.index);
  uint64_t id = 0, size = 0;
  const int code = lci_remote_open(owner.opener(), 1, bytes.data(), bytes.size(), &id, &size);
  if (code != LCI_DONE) {
    FUZZ_EXPECT(says_something(code));
    return;
  }
  lci::Remote remote;
  FUZZ_EXPECT(owner.opener()->runtime->remotes().find(id, &remote));
  FUZZ_EXPECT(remote.rank == 1 && remote.size == size);
  if (size != 0 && is_in_arena(owner, bytes)) {
    const std::byte *base = owner.memory().base(), *end = base + owner.memory().reserve();
    FUZZ_EXPECT(remote.memory >= base && remote.memory < end && size <= static_cast<uint64_t>(end - remote.memory));
    touch_ends(owner, id, size);
  }
  FUZZ_EXPECT(lci_remote_close(owner.opener(), id) == LCI_DONE);
}

}  // namespace
}  // namespace lci_test

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  ::testing::GTEST_FLAG(break_on_failure) = true;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static lci_test::Owner owner;
  lci_fuzz::Input input(data, size);
  lci_test::run(owner, input);
  return 0;
}
