// SPDX-License-Identifier: Apache-2.0
#include "rma/range_allocator.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace lci {
namespace {

/// Less is not worth a call of the system when it is freed, and another when it is used again.
constexpr uint64_t kWorthPunching = 64 * 1024;

uint64_t rounded(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + 63) / 64 * 64;
}

/// A range that lies nowhere yet, without holes.
template <typename Ranges>
typename Ranges::node_type new_node(uint64_t bytes) {
  Ranges one;
  one.emplace(0, typename Ranges::mapped_type{bytes, false});
  return one.extract(one.begin());
}

}  // namespace

RangeAllocator::Range RangeAllocator::allocate(uint64_t bytes) {
  if (bytes > memory_.reserve()) return {};
  const uint64_t size = rounded(bytes);
  const auto found = smallest_of(size);
  if (found != free_.end()) return part_of(found, size);
  Range fresh = new_node<Ranges>(size);
  fresh.key() = memory_.allocate(size);
  return fresh.key() != 0 ? std::move(fresh) : Range();
}

/// The smallest free range of so many bytes at least.
RangeAllocator::Ranges::iterator RangeAllocator::smallest_of(uint64_t bytes) {
  auto best = free_.end();
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second.bytes >= bytes && (best == free_.end() || range->second.bytes < best->second.bytes)) best = range;
  }
  return best;
}

/// The first bytes of a free range; what is left of it stays.
RangeAllocator::Range RangeAllocator::part_of(Ranges::iterator found, uint64_t bytes) {
  const bool whole = found->second.bytes == bytes;
  Range part = whole ? Range() : new_node<Ranges>(bytes);
  if (found->second.holes && !memory_.populate(found->first, bytes)) return {};
  Range taken = free_.extract(found);
  if (whole) {
    taken.mapped().holes = false;
    return taken;
  }
  part.key() = taken.key();
  taken.key() += bytes;
  taken.mapped().bytes -= bytes;
  free_.insert(std::move(taken));
  return part;
}

void RangeAllocator::release(Range range) {
  const auto joined = insert(std::move(range));
  Free& whole = joined->second;
  if (whole.bytes >= kWorthPunching && memory_.punch(joined->first, whole.bytes)) whole.holes = true;
}

RangeAllocator::Ranges::iterator RangeAllocator::insert(Range range) {
  Free& free = range.mapped();
  auto next = free_.lower_bound(range.key());
  if (next != free_.end() && range.key() + free.bytes == next->first) {
    free = {free.bytes + next->second.bytes, next->second.holes};
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    Free& joined = before->second;
    if (before->first + joined.bytes == range.key()) {
      joined = {joined.bytes + free.bytes, joined.holes || free.holes};
      return before;
    }
  }
  return free_.insert(next, std::move(range));
}

uint64_t RangeAllocator::free_bytes() const {
  uint64_t sum = 0;
  for (const auto& [offset, range] : free_) sum += range.bytes;
  return sum;
}

}  // namespace lci
