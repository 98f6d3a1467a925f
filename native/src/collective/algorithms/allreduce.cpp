// SPDX-License-Identifier: Apache-2.0
// Allreduce. Where two members compute the same, they do so with the same operands on the same sides; what is computed
// once is sent to the others. So all have the same bits.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/halving.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/ring.hpp"

namespace lci {

namespace {

Partial partial_of(const Shape& shape) {
  const uint64_t bytes = block_bytes(shape);
  return {.held = {Area::kIn, 0, bytes}, .sum = {Area::kOut, 0, bytes}, .received = {}};
}

/// The reverse of fold(): members without a place get what the other one of the two has.
void unfold(const Shape& shape, const Fold& fold, Range sum, Schedule& to) {
  if (!fold.needed()) return;
  if (fold.is_paired(shape.own)) {
    if (fold.has_place(shape.own)) {
      to.send(shape.own ^ 1, sum);
    } else {
      to.receive(shape.own ^ 1, sum);
    }
  }
  to.end_round();
}

/// The reverse of halve(): places give each other the shares that they have.
void exchange_shares(const Shape& shape, const Fold& fold, Range sum, Schedule& to) {
  const uint32_t place = fold.place(shape.own);
  for (uint32_t step = fold.steps(); step-- > 0;) {
    const uint32_t other = place ^ 1u << step;
    send_some(to, fold.member(other), share(shape, sum, place, step + 1));
    receive_some(to, fold.member(other), share(shape, sum, other, step + 1));
    to.end_round();
  }
}

}  // namespace

void allreduce_doubling(const Shape& shape, Schedule& to) {
  const Fold places(shape.size);
  Partial partial = partial_of(shape);
  if (places.has_place(shape.own)) partial.received = ScratchPieces(to).take(partial.sum.bytes);
  fold(shape, places, partial, to);
  const uint32_t place = places.place(shape.own);
  for (uint32_t step = 0; step < places.steps(); ++step) {
    if (places.has_place(shape.own)) {
      const uint32_t other = place ^ 1u << step;
      to.send(places.member(other), partial.held);
      to.receive(places.member(other), partial.received);
      combine(to, partial.sum, partial.held, partial.received, other < place);
      partial.held = partial.sum;
    }
    to.end_round();
  }
  unfold(shape, places, partial.sum, to);
}

void allreduce_rabenseifner(const Shape& shape, Schedule& to) {
  const Fold places(shape.size);
  Partial partial = partial_of(shape);
  partial.received = ScratchPieces(to).take(share(shape, partial.held, shape.own, 1).bytes);
  halve(shape, places, partial, to);
  exchange_shares(shape, places, partial.sum, to);
}

void allreduce_ring(const Shape& shape, Schedule& to) {
  const Blocks shares = Blocks::shares(shape.size, shape.count, shape.element);
  const Range own = shares.block(Area::kOut, shape.own);
  ring_reduce_scatter(shape, shares, own, to);
  ring_allgather(shape, shares, own, to);
}

}  // namespace lci
