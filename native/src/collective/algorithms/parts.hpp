// SPDX-License-Identifier: Apache-2.0
// What algorithms are written with: numbers of members, blocks of memory, and messages that both sides leave out if
// they are empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/round_up.hpp"
#include "collective/schedule.hpp"
#include "collective/shape.hpp"

namespace lci {

// --- members
/// The member so many places after the own one, in a circle. @p distance at most the number of members.
inline uint32_t after(const Shape& shape, uint32_t distance) {
  return static_cast<uint32_t>((uint64_t{shape.own} + distance) % shape.size);
}
/// So many places before it.
inline uint32_t before(const Shape& shape, uint32_t distance) {
  return static_cast<uint32_t>((uint64_t{shape.own} + shape.size - distance) % shape.size);
}
/// The own place if the root has place 0, and others follow it in a circle.
inline uint32_t own_place(const Shape& shape) {
  return before(shape, shape.root);
}
/// The member that has this place.
inline uint32_t member_at(const Shape& shape, uint32_t place) {
  return static_cast<uint32_t>((uint64_t{shape.root} + place) % shape.size);
}

// --- memory
/// Bytes of a block, where all have the same size.
inline uint64_t block_bytes(const Shape& shape) {
  return shape.count * shape.element;
}

/// Blocks that lie behind one another, one for each member.
class Blocks {
 public:
  static Blocks equal(uint32_t size, uint64_t bytes) {
    Blocks blocks(size);
    for (uint32_t i = 0; i < size; ++i) blocks.add(bytes);
    return blocks;
  }
  static Blocks listed(std::span<const uint64_t> counts, uint64_t element) {
    Blocks blocks(counts.size());
    for (const uint64_t count : counts) blocks.add(count * element);
    return blocks;
  }
  /// So many elements, shared out as evenly as can be.
  static Blocks shares(uint32_t size, uint64_t count, uint64_t element) {
    Blocks blocks(size);
    for (uint32_t i = 0; i < size; ++i) blocks.add((count / size + (i < count % size)) * element);
    return blocks;
  }
  /// Those of a call in which all members know them.
  static Blocks of(const Shape& shape) {
    return shape.counts.empty() ? equal(shape.size, block_bytes(shape)) : listed(shape.counts, shape.element);
  }

  uint64_t total() const { return offsets_.back(); }
  uint64_t offset(uint32_t block) const { return offsets_[block]; }
  uint64_t bytes(uint32_t block) const { return offsets_[block + 1] - offsets_[block]; }
  uint64_t longest() const {
    uint64_t longest = 0;
    for (uint32_t i = 0; i + 1 < offsets_.size(); ++i) longest = std::max(longest, bytes(i));
    return longest;
  }
  /// Blocks from @p first to before @p last, in an area that begins with block 0.
  Range range(Area area, uint32_t first, uint32_t last) const {
    return {area, offsets_[first], offsets_[last] - offsets_[first]};
  }
  Range block(Area area, uint32_t block) const { return range(area, block, block + 1); }
  /// They have the same sizes.
  bool operator==(const Blocks&) const = default;

 private:
  explicit Blocks(size_t size) {
    offsets_.reserve(size + 1);
    offsets_.push_back(0);
  }
  void add(uint64_t bytes) { offsets_.push_back(offsets_.back() + bytes); }

  std::vector<uint64_t> offsets_;
};

/// Takes scratch for a schedule, piece by piece.
class ScratchPieces {
 public:
  explicit ScratchPieces(Schedule& schedule) : schedule_(schedule) {}
  Range take(uint64_t bytes) {
    constexpr uint64_t kLine = 64;
    const Range piece{Area::kScratch, schedule_.scratch(), bytes};
    schedule_.take_scratch(piece.offset + round_up(bytes, kLine));
    return piece;
  }

 private:
  Schedule& schedule_;
};

// --- actions; of no bytes, there is none. For sizes that both sides know.
inline void send_some(Schedule& schedule, uint32_t member, Range from) {
  if (from.bytes != 0) schedule.send(member, from);
}
inline void receive_some(Schedule& schedule, uint32_t member, Range to) {
  if (to.bytes != 0) schedule.receive(member, to);
}
inline void copy_some(Schedule& schedule, Range to, Range from) {
  if (to.bytes != 0) schedule.copy(to, from);
}
inline void reduce_some(Schedule& schedule, Range to, Range left, Range right) {
  if (to.bytes != 0) schedule.reduce(to, left, right);
}
/// Both are partial results, @p theirs of members that are all lower, or all higher.
inline void combine(Schedule& schedule, Range to, Range own, Range theirs, bool theirs_is_lower) {
  if (theirs_is_lower) {
    reduce_some(schedule, to, theirs, own);
  } else {
    reduce_some(schedule, to, own, theirs);
  }
}

}  // namespace lci
