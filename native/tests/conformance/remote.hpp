// SPDX-License-Identifier: Apache-2.0
// What tests of rows about remote memory share: a region at every rank, and operations that are waited for.
#pragma once

#include <algorithm>
#include <memory>

#include "conformance/world.hpp"
#include "support/rma_job.hpp"

namespace lci_test {

/// Of the owner's arena, or memory of the test, which other processes reach by messages only.
enum class RegionKind { kAllocated, kRegistered };
inline constexpr RegionKind kRegionKinds[] = {RegionKind::kAllocated, RegionKind::kRegistered};

/// A region of each rank, opened by all.
class Regions {
 public:
  /// @p before: bytes of the memory that lie in front of the region.
  Regions(World& world, RegionKind kind, uint64_t bytes, uint64_t before = 0) : world_(world), kind_(kind) {
    if (kind == RegionKind::kAllocated && before == 0) {
      const Allocated made(world.runtime(), bytes);
      region_ = made.memory;
      mine_ = made.bytes_at;
    } else {
      memory_ = std::make_unique<uint8_t[]>(before + bytes + 1);
      mine_ = memory_.get() + before;
      kind_ = RegionKind::kRegistered;
      EXPECT_EQ(LCI_DONE, lci_memory_register(world.runtime(), mine_, bytes, &region_)) << lci_last_error();
    }
    std::fill_n(mine_, bytes, uint8_t{0xEE});
    handles_ = world.gather(handle_of(region_));
    for (uint32_t rank = 0; rank < world.size(); ++rank) {
      ids_.push_back(open_remote(world.runtime(), rank, handles_[rank]));
    }
  }
  ~Regions() { end_mine(); }
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  uint8_t* mine() const { return mine_; }
  uint64_t of(uint32_t rank) const { return ids_[rank]; }
  const Bytes& handle(uint32_t rank) const { return handles_[rank]; }
  /// Nobody uses them any more.
  void close() {
    world_.barrier();
    for (const uint64_t id : ids_) EXPECT_EQ(LCI_DONE, lci_remote_close(world_.runtime(), id)) << lci_last_error();
    end_mine();
  }
  /// Ends this rank's region, whatever others do with it.
  void end_mine() {
    if (!region_) return;
    const bool allocated = kind_ == RegionKind::kAllocated;
    EXPECT_EQ(LCI_DONE, allocated ? lci_memory_free(region_) : lci_memory_deregister(region_)) << lci_last_error();
    region_ = nullptr;
  }

 private:
  World& world_;
  RegionKind kind_;
  lci_memory* region_ = nullptr;
  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* mine_ = nullptr;
  std::vector<Bytes> handles_;
  std::vector<uint64_t> ids_;
};

/// Posts until taken, and waits for the end: what the caller learns, by the answer or by the signal.
inline lci_status finish(World& world, const lci_descriptor& op, lci_comp* ended, uint32_t device = 0) {
  lci_status status{};
  const int code = world.post(op, ended, &status, device);
  if (code == LCI_POSTED || code == LCI_POSTED_BACKLOG) return world.pop(ended);
  if (code != LCI_DONE) status.code = code;
  return status;
}

/// Whether @p bytes begin at @p at.
inline bool holds(const uint8_t* at, const Bytes& bytes) {
  return compare(at, bytes.data(), bytes.size()) == 0;
}

/// Whether @p count bytes from @p at on are as Regions made them.
inline bool untouched(const uint8_t* at, uint64_t count) {
  return std::all_of(at, at + count, [](uint8_t byte) { return byte == 0xEE; });
}

}  // namespace lci_test
