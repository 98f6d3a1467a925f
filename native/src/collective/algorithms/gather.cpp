// SPDX-License-Identifier: Apache-2.0
// Gather. Only the root has `out`; `in` of the root may be its own block there.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/linear.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/tree.hpp"

namespace lci {

namespace {

/// What a member of the tree has collected: the blocks of places from its own one on. The root has them where they are
/// to lie; of those that begin at the end of `out` and go on at its start, in scratch first.
class Collection {
 public:
  Collection(const Shape& shape, Schedule& to)
      : shape_(shape), blocks_(shape), to_(to), scratch_(to), held_(blocks_.take_own(scratch_)) {}

  void receive(uint32_t place) {
    if (own_place(shape_) != 0) return to_.receive(member_at(shape_, place), blocks_.below(held_, place));
    const uint64_t begin = blocks_.bytes(member_at(shape_, place)), end = blocks_.bytes(shape_.size);
    const uint64_t size = blocks_.bytes_of(place);
    if (begin + size <= end) return to_.receive(member_at(shape_, place), {Area::kOut, begin, size});
    const Range received = scratch_.take(size);
    to_.receive(member_at(shape_, place), received);
    to_.copy({Area::kOut, begin, end - begin}, received.part(0, end - begin));
    to_.copy({Area::kOut, 0, begin + size - end}, received.part(end - begin, begin + size - end));
  }
  /// The own block. After it, receives only.
  void place_own() {
    const Range in{Area::kIn, 0, blocks_.bytes(1)};
    if (own_place(shape_) == 0) to_.copy({Area::kOut, blocks_.bytes(shape_.own), in.bytes}, in);
    if (held_.bytes != 0) to_.copy(held_.part(0, in.bytes), in);
  }
  void send_to(uint32_t place) {
    to_.send(member_at(shape_, place), held_.bytes != 0 ? held_ : Range{Area::kIn, 0, blocks_.bytes(1)});
  }

 private:
  const Shape& shape_;
  const SubtreeBlocks blocks_;
  Schedule& to_;
  ScratchPieces scratch_;
  const Range held_;
};

}  // namespace

void gather_linear(const Shape& shape, Schedule& to) {
  if (shape.own != shape.root) {
    skip_windows(shape, to);
    to.send(shape.root, {Area::kIn, 0, block_bytes(shape)});
    to.end_round();
    return;
  }
  const Blocks blocks = Blocks::of(shape);
  for_others(shape, to, [&](uint32_t member) { to.receive(member, blocks.block(Area::kOut, member)); });
  to.copy(blocks.block(Area::kOut, shape.own), {Area::kIn, 0, blocks.bytes(shape.own)});
  to.end_round();
}

void gather_binomial(const Shape& shape, Schedule& to) {
  Collection collection(shape, to);
  const uint32_t own = own_place(shape);
  for (uint32_t span = 1; span < shape.size; span *= 2) {
    if (own % (2 * span) == span) collection.send_to(own - span);
    if (own % (2 * span) == 0 && own + span < shape.size) collection.receive(own + span);
    if (span == 1) collection.place_own();
    to.end_round();
  }
}

}  // namespace lci
