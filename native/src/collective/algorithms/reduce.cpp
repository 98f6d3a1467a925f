// SPDX-License-Identifier: Apache-2.0
// Reduce. Only the root has `out`.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/halving.hpp"
#include "collective/algorithms/parts.hpp"

namespace lci {

namespace {

/// Where a member of the tree collects: at the root in `out`; elsewhere where it has just received, so that it receives
/// in two places in turn.
class Collector {
 public:
  Collector(const Shape& shape, Schedule& to)
      : shape_(shape), to_(to), scratch_(to), held_{Area::kIn, 0, block_bytes(shape)} {}

  Range held() const { return held_; }
  /// From a member whose interval is behind the own one.
  void receive(uint32_t member) {
    const Range received = next_place();
    to_.receive(member, received);
    const Range sum = shape_.own == shape_.root ? Range{Area::kOut, 0, received.bytes} : received;
    to_.reduce(sum, held_, received);
    held_ = sum;
  }

 private:
  Range next_place() {
    Range& place = places_[held_.area == Area::kScratch && held_.offset == places_[0].offset];
    if (place.bytes == 0) place = scratch_.take(held_.bytes);
    return place;
  }

  const Shape& shape_;
  Schedule& to_;
  ScratchPieces scratch_;
  Range held_;
  Range places_[2];
};

/// The reverse of halving, for the root alone: each share goes to its place.
void gather_shares(const Shape& shape, const Fold& fold, Range sum, Schedule& to) {
  const uint32_t place = fold.place(shape.own), root = fold.place(shape.root);
  for (uint32_t step = fold.steps(); step-- > 0;) {
    const bool still_has = ((place ^ root) >> step) <= 1 && fold.has_place(shape.own);
    const uint32_t other = place ^ 1u << step;
    if (still_has && ((place ^ root) >> step) == 1) {
      send_some(to, fold.member(other), share(shape, sum, place, step + 1));
    } else if (still_has) {
      receive_some(to, fold.member(other), share(shape, sum, other, step + 1));
    }
    to.end_round();
  }
}

}  // namespace

// To member 0 always, so that every member of the tree has an interval of members, and then on to the root.
void reduce_binomial(const Shape& shape, Schedule& to) {
  Collector collector(shape, to);
  for (uint32_t span = 1; span < shape.size; span *= 2) {
    if (shape.own % (2 * span) == span) {
      to.send(shape.own - span, collector.held());
    } else if (shape.own % (2 * span) == 0 && shape.own + span < shape.size) {
      collector.receive(shape.own + span);
    }
    to.end_round();
  }
  if (shape.root == 0) return;
  if (shape.own == 0) to.send(shape.root, collector.held());
  if (shape.own == shape.root) to.receive(0, {Area::kOut, 0, block_bytes(shape)});
  to.end_round();
}

void reduce_rabenseifner(const Shape& shape, Schedule& to) {
  const Fold places(shape.size, shape.root);
  const uint64_t bytes = block_bytes(shape);
  ScratchPieces scratch(to);
  Partial partial{.held = {Area::kIn, 0, bytes}, .sum = {Area::kOut, 0, bytes}, .received = {}};
  if (places.has_place(shape.own)) {
    if (shape.own != shape.root) partial.sum = scratch.take(bytes);
    const bool receives_all = places.is_paired(shape.own);
    partial.received =
        scratch.take(receives_all ? bytes : share(shape, partial.held, places.place(shape.own), 1).bytes);
  }
  fold(shape, places, partial, to);
  halve(shape, places, partial, to);
  gather_shares(shape, places, partial.sum, to);
}

}  // namespace lci
