// SPDX-License-Identifier: Apache-2.0
// Trees of members, by their places after the root.
#pragma once

#include <algorithm>
#include <cstdint>

#include "collective/algorithms/parts.hpp"

namespace lci {

/// The span of the round at the root: a power of @p radix, below the number of members.
inline uint32_t widest_span(const Shape& shape, uint32_t radix) {
  uint64_t span = 1;
  while (span * radix < shape.size) span *= radix;
  return static_cast<uint32_t>(span);
}

/// A round of a tree from the root: the first place of each `radix * span` tells the first one of each other span.
/// @param what the range that goes to a place: where it lies at both
template <typename F>
void tell_spans(const Shape& shape, uint32_t span, uint32_t radix, F what, Schedule& to) {
  const uint32_t own = own_place(shape), within = own % (span * radix);
  if (within == 0) {
    for (uint32_t i = 1; i < radix; ++i) {
      const uint64_t place = own + uint64_t{i} * span;
      if (place >= shape.size) break;
      send_some(to, member_at(shape, static_cast<uint32_t>(place)), what(static_cast<uint32_t>(place)));
    }
  } else if (within % span == 0) {
    receive_some(to, member_at(shape, own - within), what(own));
  }
  to.end_round();
}

/// The place behind the subtree of @p place in a binomial tree, which has all places up to it.
inline uint32_t subtree_end(const Shape& shape, uint32_t place) {
  return place == 0 ? shape.size : std::min(shape.size, place + (place & -place));
}

/// Blocks of members, by places of a binomial tree: a member has those of its own subtree, behind one another.
class SubtreeBlocks {
 public:
  explicit SubtreeBlocks(const Shape& shape) : shape_(shape) {}

  uint64_t bytes(uint32_t blocks) const { return blocks * block_bytes(shape_); }
  uint64_t bytes_of(uint32_t place) const { return bytes(subtree_end(shape_, place) - place); }
  /// Those of the own subtree, if this is neither the root, where they lie as they are to, nor a leaf.
  Range take_own(ScratchPieces& scratch) const {
    const uint32_t own = own_place(shape_);
    return own == 0 || subtree_end(shape_, own) == own + 1 ? Range{} : scratch.take(bytes_of(own));
  }
  /// Those of a subtree below the own one, of which all lie in @p held.
  Range below(const Range& held, uint32_t place) const {
    return held.part(bytes(place - own_place(shape_)), bytes_of(place));
  }

 private:
  const Shape& shape_;
};

}  // namespace lci
