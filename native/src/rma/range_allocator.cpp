// SPDX-License-Identifier: Apache-2.0
#include "rma/range_allocator.hpp"

#include <algorithm>
#include <iterator>

namespace lci {
namespace {

/// Less is not worth a call of the system when it is freed, and another when it is used again.
constexpr uint64_t kWorthPunching = 64 * 1024;

uint64_t rounded(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + 63) / 64 * 64;
}

}  // namespace

uint64_t RangeAllocator::allocate(uint64_t bytes) {
  if (bytes > memory_.reserve()) return 0;
  const uint64_t size = rounded(bytes);
  auto best = free_.end();
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second.bytes >= size && (best == free_.end() || range->second.bytes < best->second.bytes)) best = range;
  }
  if (best == free_.end()) return memory_.allocate(size);
  const auto [offset, found] = *best;
  if (found.holes && !memory_.populate(offset, size)) return 0;
  free_.erase(best);
  if (found.bytes != size) free_[offset + size] = {found.bytes - size, found.holes};
  return offset;
}

void RangeAllocator::release(uint64_t offset, uint64_t bytes) {
  const auto joined = insert(offset, {rounded(bytes), false});
  Free& range = joined->second;
  if (range.bytes >= kWorthPunching && memory_.punch(joined->first, range.bytes)) range.holes = true;
}

RangeAllocator::Ranges::iterator RangeAllocator::insert(uint64_t offset, Free range) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + range.bytes == next->first) {
    range = {range.bytes + next->second.bytes, next->second.holes};
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    Free& joined = before->second;
    if (before->first + joined.bytes == offset) {
      joined = {joined.bytes + range.bytes, joined.holes || range.holes};
      return before;
    }
  }
  return free_.emplace(offset, range).first;
}

uint64_t RangeAllocator::free_bytes() const {
  uint64_t sum = 0;
  for (const auto& [offset, range] : free_) sum += range.bytes;
  return sum;
}

}  // namespace lci
