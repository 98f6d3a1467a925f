// SPDX-License-Identifier: Apache-2.0
// The regions of this rank's memory that peers may name. [B3]
//
// Two tables by the same index: the shared one in the memory of the rank, by which initiators check a key and find
// allocated memory; and a private one, by which this rank does the work for others: no address that a peer could have
// written is used. An index is used again only when no copy under its old key is under way (see GracePeriod).
//
// All memory that a region needs is taken when it is made, so that its end needs none and always succeeds.
//
// Any thread may add and remove (a mutex; rare). resolve() takes no lock: its caller is inside a CopyGuard, the key is
// loaded seq_cst, and the rest of a private slot was written before the key and stays while the guard lasts.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/lazy_array.hpp"
#include "rma/copy_guard.hpp"
#include "rma/memory_handle.hpp"
#include "rma/range_allocator.hpp"
#include "wire/remote_access.hpp"

namespace lci {

class Runtime;

inline constexpr uint32_t kRegionsPerChunk = 1024;
inline constexpr uint32_t kMaxRegions = kRegionChunks * kRegionsPerChunk;

enum class RegionKind : uint32_t {
  kShared = 1,  ///< `place` is an offset in the owner's memory: initiators copy.
  kPrivate = 2  ///< `place` is an address in the owner's process.
};

/// What initiators see of a region.
struct alignas(64) RegionEntry {
  std::atomic<uint64_t> key;  ///< 0: nothing is here.
  std::atomic<uint64_t> place;
  std::atomic<uint64_t> size;
  std::atomic<uint32_t> kind;
};

/// A region as its owner holds it. Changes only under the table's lock.
struct Region {
  Runtime* runtime = nullptr;
  uint32_t index = 0;
  RegionKind kind = RegionKind::kShared;
  bool allocated = false;
  uint64_t key = 0;
  uint64_t place = 0;
  uint64_t size = 0;
  Region* allocation = nullptr;      ///< The allocation that this registration is a part of.
  uint32_t parts = 0;                ///< Registrations in this allocation.
  RangeAllocator::Range range;       ///< Of an allocation.
  std::optional<GracePeriod> grace;  ///< It has ended.
  std::list<std::unique_ptr<Region>>::iterator self;
};

class RegionTable {
 public:
  /// @param runtime that the regions say they are of
  RegionTable(Runtime& runtime, uint32_t rank, const Copiers& copiers);

  int allocate(uint64_t bytes, Region** out);
  int add(void* address, uint64_t bytes, Region** out);
  /// Ends an allocation.
  int free(Region* region);
  /// Ends a registration.
  void remove(Region* region);
  /// Ends all: the runtime closes.
  void close();

  std::byte* address(const Region& region) const;
  /// Memory that a peer names, for work that this rank does for it; inside a CopyGuard. LCI_DONE, LCI_ERR_MEMORY_CLOSED
  /// or LCI_ERR_SIZE.
  int resolve(const RemoteAccess& access, uint64_t bytes, std::byte** out) const;

  uint64_t count();
  uint64_t allocated_bytes();
  /// Regions that have ended, whose memory is kept because another process may still copy.
  uint64_t retired();

 private:
  struct Slot {
    std::atomic<uint64_t> key;
    uint64_t address;
    uint64_t size;
  };
  using Regions = std::list<std::unique_ptr<Region>>;

  bool add_chunk(uint32_t number);
  int make_room();
  uint32_t take_index();
  Region& publish(Regions& made);
  RegionEntry& entry(uint32_t index);
  Region* allocation_around(uint64_t offset, uint64_t bytes);
  void end(Region& region);
  void retire(Region& region);
  void reclaim_what_passed();
  uint64_t next_key();

  Runtime& runtime_;
  const uint32_t rank_;
  const Copiers copiers_;
  OwnMemory& memory_;
  RangeAllocator ranges_;
  LazyArray<Slot> slots_;
  std::mutex mutex_;
  Regions regions_;
  Regions retired_;                     // have ended; what may still be copied keeps their ranges and indices
  std::vector<uint32_t> free_indices_;  // with room for all that were ever used
  uint32_t indices_used_ = 0;
  std::array<uint64_t, kRegionChunks> chunks_{};  // where they are: the shared words are for peers, who can write them
  uint64_t key_state_;
  uint64_t allocated_ = 0;
};

}  // namespace lci
