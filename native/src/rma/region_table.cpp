// SPDX-License-Identifier: Apache-2.0
#include "rma/region_table.hpp"

#include <algorithm>
#include <cinttypes>
#include <new>
#include <random>

#include "base/error.hpp"

namespace lci {

RegionTable::RegionTable(Runtime& runtime, uint32_t rank, const Copiers& copiers)
    : runtime_(runtime),
      rank_(rank),
      copiers_(copiers),
      memory_(copiers.transport.own()),
      ranges_(memory_),
      slots_(kMaxRegions) {
  std::random_device random;  // a handle of another job must not fit
  key_state_ = uint64_t{random()} << 32 | random();
}

uint64_t RegionTable::next_key() {
  for (;;) {  // SplitMix64: no key comes twice
    uint64_t key = key_state_ += 0x9E3779B97F4A7C15ull;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9ull;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBull;
    key ^= key >> 31;
    if (key != 0) return key;
  }
}

RegionEntry& RegionTable::entry(uint32_t index) {
  const uint32_t number = index / kRegionsPerChunk;
  auto* chunk = memory_.at(chunks_[number]);
  return reinterpret_cast<RegionEntry*>(chunk)[index % kRegionsPerChunk];
}

/// An index with a place in the shared table; false when there is none.
bool RegionTable::take_index(uint32_t* out) {
  if (!free_indices_.empty()) {
    *out = free_indices_.back();
    free_indices_.pop_back();
    return true;
  }
  if (indices_used_ == kMaxRegions) return false;
  auto& chunk = memory_.header().region_chunks[indices_used_ / kRegionsPerChunk];
  if (indices_used_ % kRegionsPerChunk == 0) {
    const uint64_t offset = memory_.allocate(kRegionsPerChunk * sizeof(RegionEntry));
    if (offset == 0) return false;
    chunks_[indices_used_ / kRegionsPerChunk] = offset;
    chunk.store(offset, std::memory_order_release);
  }
  *out = indices_used_++;
  return true;
}

int RegionTable::publish(std::unique_ptr<Region> region, Region** out) {
  uint32_t index = 0;
  if (!take_index(&index)) {
    return fail(LCI_ERR_EXHAUSTED, "remote memory: rank %u has %u regions, or no memory to note one more", rank_,
                indices_used_);
  }
  region->runtime = &runtime_;
  region->index = index;
  region->key = next_key();
  regions_.push_front(std::move(region));
  Region& added = *regions_.front();
  added.self = regions_.begin();
  if (added.allocation) ++added.allocation->parts;
  Slot& slot = slots_[index];
  slot.address = reinterpret_cast<uint64_t>(address(added));
  slot.size = added.size;
  slot.key.store(added.key, std::memory_order_release);
  RegionEntry& shared = entry(index);  // release: who reads a new field sees that the old key has gone
  shared.place.store(added.place, std::memory_order_release);
  shared.size.store(added.size, std::memory_order_release);
  shared.kind.store(static_cast<uint32_t>(added.kind), std::memory_order_release);
  shared.key.store(added.key, std::memory_order_release);
  *out = &added;
  return LCI_DONE;
}

int RegionTable::allocate(uint64_t bytes, Region** out) {
  std::lock_guard<std::mutex> guard(mutex_);
  reclaim_what_passed();
  auto region = std::make_unique<Region>();
  region->allocated = true;
  region->size = bytes;
  if (bytes != 0) {
    region->place = ranges_.allocate(bytes);
    if (region->place == 0) {
      return fail(LCI_ERR_NO_MEMORY,
                  "allocate remote memory: no room for %" PRIu64
                  " bytes; raise arena_bytes, memory_limit_bytes or the container's limit",
                  bytes);
    }
  }
  const uint64_t place = region->place;
  const int code = publish(std::move(region), out);
  if (code == LCI_DONE) {
    allocated_ += bytes;
  } else if (place != 0) {
    ranges_.release(place, bytes);
  }
  return code;
}

/// The allocation that holds all of a range, or null.
Region* RegionTable::allocation_around(uint64_t offset, uint64_t bytes) {
  for (const auto& region : regions_) {
    if (region->allocated && offset >= region->place && offset - region->place <= region->size &&
        bytes <= region->size - (offset - region->place)) {
      return region.get();
    }
  }
  return nullptr;
}

int RegionTable::add(void* address, uint64_t bytes, Region** out) {
  const auto start = reinterpret_cast<uint64_t>(address);
  if ((!address && bytes != 0) || bytes > UINT64_MAX - start) {
    return fail(LCI_ERR_ARGUMENT, "register memory: %" PRIu64 " bytes at %p are no memory", bytes, address);
  }
  std::lock_guard<std::mutex> guard(mutex_);
  reclaim_what_passed();
  auto region = std::make_unique<Region>();
  region->size = bytes;
  region->kind = RegionKind::kPrivate;
  region->place = start;
  const auto base = reinterpret_cast<uint64_t>(memory_.base());
  if (bytes != 0 && start >= base && start - base < memory_.reserve()) {
    region->allocation = allocation_around(start - base, bytes);
    if (region->allocation) {
      region->kind = RegionKind::kShared;
      region->place = start - base;
    }
  }
  return publish(std::move(region), out);
}

/// Clears the keys; what was seen under them lasts for a GracePeriod that begins after this.
void RegionTable::end(Region& region) {
  slots_[region.index].key.store(0, std::memory_order_seq_cst);
  entry(region.index).key.store(0, std::memory_order_seq_cst);
  if (region.allocation) --region.allocation->parts;
}

void RegionTable::reclaim(Retired& retired) {
  if (retired.offset != 0) ranges_.release(retired.offset, retired.bytes);
  free_indices_.push_back(retired.index);
}

void RegionTable::reclaim_what_passed() {
  std::erase_if(retired_, [this](Retired& retired) {
    if (!retired.grace.passed()) return false;
    reclaim(retired);
    return true;
  });
}

int RegionTable::free(Region* region) {
  std::lock_guard<std::mutex> guard(mutex_);
  if (!region->allocated) return fail(LCI_ERR_ARGUMENT, "free remote memory: it was registered; deregister it");
  if (region->parts != 0) {
    return fail(LCI_ERR_BUSY, "free remote memory: %u parts of it are registered; deregister them first",
                region->parts);
  }
  end(*region);
  Retired retired{GracePeriod(copiers_), region->index, region->place, region->size};
  allocated_ -= region->size;
  regions_.erase(region->self);
  retired_.push_back(std::move(retired));
  reclaim_what_passed();
  return LCI_DONE;
}

void RegionTable::remove(Region* region) {
  std::lock_guard<std::mutex> guard(mutex_);
  end(*region);
  Retired retired{GracePeriod(copiers_), region->index, 0, 0};
  regions_.erase(region->self);
  retired.grace.wait_for_this_process();
  retired_.push_back(std::move(retired));
  reclaim_what_passed();
}

void RegionTable::close() {
  std::lock_guard<std::mutex> guard(mutex_);
  for (const auto& region : regions_) end(*region);
  GracePeriod(copiers_).wait_for_this_process();
  regions_.clear();
  allocated_ = 0;
}

std::byte* RegionTable::address(const Region& region) const {
  if (region.kind == RegionKind::kPrivate) return reinterpret_cast<std::byte*>(region.place);
  return region.size == 0 ? nullptr : memory_.at(region.place);
}

int RegionTable::resolve(const RemoteAccess& access, uint64_t bytes, std::byte** out) const {
  if (access.index >= kMaxRegions || access.key == 0 ||
      slots_[access.index].key.load(std::memory_order_seq_cst) != access.key) {
    return LCI_ERR_MEMORY_CLOSED;
  }
  const Slot& slot = slots_[access.index];
  const bool outside = access.displacement > slot.size || bytes > slot.size - access.displacement;
  if (outside) return LCI_ERR_SIZE;
  *out = reinterpret_cast<std::byte*>(slot.address) + access.displacement;
  return LCI_DONE;
}

uint64_t RegionTable::count() {
  std::lock_guard<std::mutex> guard(mutex_);
  return regions_.size();
}

uint64_t RegionTable::retired() {
  std::lock_guard<std::mutex> guard(mutex_);
  reclaim_what_passed();
  return retired_.size();
}

uint64_t RegionTable::allocated_bytes() {
  std::lock_guard<std::mutex> guard(mutex_);
  return allocated_;
}

}  // namespace lci
