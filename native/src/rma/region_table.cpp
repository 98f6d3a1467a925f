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

/// More places in the shared table, and room for their indices among the free ones.
bool RegionTable::add_chunk(uint32_t number) {
  free_indices_.reserve((number + 1) * kRegionsPerChunk);
  const uint64_t offset = memory_.allocate(kRegionsPerChunk * sizeof(RegionEntry));
  if (offset == 0) return false;
  chunks_[number] = offset;
  memory_.header().region_chunks[number].store(offset, std::memory_order_release);
  return true;
}

/// Has an index for one more region, with a place in the shared table, and room to note it when it is free again.
int RegionTable::make_room() {
  if (!free_indices_.empty()) return LCI_DONE;
  const uint32_t number = indices_used_ / kRegionsPerChunk;
  if (number < kRegionChunks && (chunks_[number] != 0 || add_chunk(number))) return LCI_DONE;
  return fail(LCI_ERR_EXHAUSTED, "remote memory: rank %u has %u regions, or no memory to note one more", rank_,
              indices_used_);
}

uint32_t RegionTable::take_index() {
  if (free_indices_.empty()) return indices_used_++;
  const uint32_t index = free_indices_.back();
  free_indices_.pop_back();
  return index;
}

/// Shows a region to peers, when there is room for it. Needs no memory.
Region& RegionTable::publish(Regions& made) {
  regions_.splice(regions_.begin(), made);
  Region& added = *regions_.front();
  added.runtime = &runtime_;
  added.index = take_index();
  added.key = next_key();
  added.self = regions_.begin();
  if (added.allocation) ++added.allocation->parts;
  Slot& slot = slots_[added.index];
  slot.address = reinterpret_cast<uint64_t>(address(added));
  slot.size = added.size;
  slot.key.store(added.key, std::memory_order_release);
  RegionEntry& shared = entry(added.index);  // release: who reads a new field sees that the old key has gone
  shared.place.store(added.place, std::memory_order_release);
  shared.size.store(added.size, std::memory_order_release);
  shared.kind.store(static_cast<uint32_t>(added.kind), std::memory_order_release);
  shared.key.store(added.key, std::memory_order_release);
  return added;
}

int RegionTable::allocate(uint64_t bytes, Region** out) {
  std::lock_guard<std::mutex> guard(mutex_);
  reclaim_what_passed();
  Regions made;
  Region& region = *made.emplace_front(std::make_unique<Region>());
  if (const int code = make_room(); code != LCI_DONE) return code;
  region.allocated = true;
  region.size = bytes;
  if (bytes != 0) {
    region.range = ranges_.allocate(bytes);  // last: what fails after it would lose it
    if (region.range.empty()) {
      return fail(LCI_ERR_NO_MEMORY,
                  "allocate remote memory: no room for %" PRIu64
                  " bytes; raise arena_bytes, memory_limit_bytes or the container's limit",
                  bytes);
    }
    region.place = region.range.key();
  }
  *out = &publish(made);
  allocated_ += bytes;
  return LCI_DONE;
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
  Regions made;
  Region& region = *made.emplace_front(std::make_unique<Region>());
  if (const int code = make_room(); code != LCI_DONE) return code;
  region.size = bytes;
  region.kind = RegionKind::kPrivate;
  region.place = start;
  const auto base = reinterpret_cast<uint64_t>(memory_.base());
  if (bytes != 0 && start >= base && start - base < memory_.reserve()) {
    region.allocation = allocation_around(start - base, bytes);
    if (region.allocation) {
      region.kind = RegionKind::kShared;
      region.place = start - base;
    }
  }
  *out = &publish(made);
  return LCI_DONE;
}

/// Clears the keys; what was seen under them lasts for a GracePeriod that begins after this.
void RegionTable::end(Region& region) {
  slots_[region.index].key.store(0, std::memory_order_seq_cst);
  entry(region.index).key.store(0, std::memory_order_seq_cst);
  if (region.allocation) --region.allocation->parts;
}

/// Ends a region and keeps what it had until nobody copies there. Needs no memory.
void RegionTable::retire(Region& region) {
  end(region);
  retired_.splice(retired_.end(), regions_, region.self);
  region.grace.emplace(copiers_);
}

void RegionTable::reclaim_what_passed() {
  retired_.remove_if([this](const std::unique_ptr<Region>& ended) {
    if (!ended->grace->passed()) return false;
    if (!ended->range.empty()) ranges_.release(std::move(ended->range));
    free_indices_.push_back(ended->index);
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
  allocated_ -= region->size;
  retire(*region);
  reclaim_what_passed();
  return LCI_DONE;
}

void RegionTable::remove(Region* region) {
  std::lock_guard<std::mutex> guard(mutex_);
  retire(*region);
  region->grace->wait_for_this_process();
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
