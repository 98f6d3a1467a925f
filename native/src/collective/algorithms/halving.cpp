// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/halving.hpp"

namespace lci {

void fold(const Shape& shape, const Fold& fold, Partial& partial, Schedule& to) {
  if (!fold.needed()) return;
  if (fold.is_paired(shape.own)) {
    const uint32_t other = shape.own ^ 1;
    if (fold.has_place(shape.own)) {
      to.receive(other, partial.received);
      combine(to, partial.sum, partial.held, partial.received, other < shape.own);
      partial.held = partial.sum;
    } else {
      to.send(other, partial.held);
    }
  }
  to.end_round();
}

Range share(const Shape& shape, Range all, uint32_t place, uint32_t steps) {
  uint64_t first = 0, last = shape.count;
  for (uint32_t step = 0; step < steps; ++step) {
    const uint64_t middle = first + (last - first) / 2;
    ((place >> step & 1) != 0 ? first : last) = middle;
  }
  return all.part(first * shape.element, (last - first) * shape.element);
}

void halve(const Shape& shape, const Fold& fold, Partial& partial, Schedule& to) {
  const uint32_t place = fold.place(shape.own);
  for (uint32_t step = 0; step < fold.steps(); ++step) {
    if (fold.has_place(shape.own)) {
      const uint32_t other = place ^ 1u << step, member = fold.member(other);
      const Range held = share(shape, partial.held, place, step + 1), sum = share(shape, partial.sum, place, step + 1);
      const Range received = partial.received.part(0, held.bytes);
      send_some(to, member, share(shape, partial.held, other, step + 1));
      receive_some(to, member, received);
      combine(to, sum, held, received, other < place);
      partial.held = partial.sum;
    }
    to.end_round();
  }
}

}  // namespace lci
