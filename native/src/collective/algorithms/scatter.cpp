// SPDX-License-Identifier: Apache-2.0
// Scatter. Only the root has `in`; its `out` may be its own block there.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/linear.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/tree.hpp"

namespace lci {

namespace {

/// The blocks of places from the own one on that a member of the tree has, or will get.
class Stock {
 public:
  Stock(const Shape& shape, Schedule& to)
      : shape_(shape), blocks_(shape), to_(to), scratch_(to), held_(blocks_.take_own(scratch_)) {
    if (own_place(shape) != 0 && held_.bytes == 0) held_ = {Area::kOut, 0, blocks_.bytes(1)};
  }

  /// At the root, in a round without messages: blocks of a subtree that begin at the end of `in` and go on at its start
  /// become one range.
  void join() {
    if (own_place(shape_) != 0 || shape_.root == 0) return;
    const uint32_t cut = shape_.size - shape_.root;  // the place of member 0
    for (uint32_t span = widest_span(shape_, 2); span > 0; span /= 2) {
      const uint32_t end = subtree_end(shape_, span);
      if (span >= cut || end <= cut) continue;
      joined_ = span;
      held_ = scratch_.take(blocks_.bytes_of(span));
      const uint64_t head = blocks_.bytes(cut - span);
      to_.copy(held_.part(0, head), {Area::kIn, blocks_.bytes(member_at(shape_, span)), head});
      to_.copy(held_.part(head, held_.bytes - head), {Area::kIn, 0, held_.bytes - head});
    }
  }
  void send(uint32_t place) {
    const uint32_t member = member_at(shape_, place);
    if (own_place(shape_) != 0) return to_.send(member, blocks_.below(held_, place));
    to_.send(member, place == joined_ ? held_ : Range{Area::kIn, blocks_.bytes(member), blocks_.bytes_of(place)});
  }
  void receive_from(uint32_t place) {
    to_.receive(member_at(shape_, place), held_);
    if (held_.area == Area::kScratch) to_.copy({Area::kOut, 0, blocks_.bytes(1)}, held_.part(0, blocks_.bytes(1)));
  }

 private:
  const Shape& shape_;
  const SubtreeBlocks blocks_;
  Schedule& to_;
  ScratchPieces scratch_;
  Range held_;
  uint32_t joined_ = 0;  // the place whose blocks the root has in scratch; 0: none
};

}  // namespace

void scatter_linear(const Shape& shape, Schedule& to) {
  if (shape.own != shape.root) {
    skip_windows(shape, to);
    to.receive(shape.root, {Area::kOut, 0, block_bytes(shape)});
    to.end_round();
    return;
  }
  const Blocks blocks = Blocks::of(shape);
  for_others(shape, to, [&](uint32_t member) { to.send(member, blocks.block(Area::kIn, member)); });
  to.copy({Area::kOut, 0, blocks.bytes(shape.own)}, blocks.block(Area::kIn, shape.own));
  to.end_round();
}

void scatter_binomial(const Shape& shape, Schedule& to) {
  Stock stock(shape, to);
  const uint32_t own = own_place(shape);
  stock.join();
  if (own == 0)
    to.copy({Area::kOut, 0, block_bytes(shape)}, {Area::kIn, shape.own * block_bytes(shape), block_bytes(shape)});
  to.end_round();
  for (uint32_t span = widest_span(shape, 2); span > 0; span /= 2) {
    if (own % (2 * span) == span) stock.receive_from(own - span);
    if (own % (2 * span) == 0 && own + span < shape.size) stock.send(own + span);
    to.end_round();
  }
}

}  // namespace lci
