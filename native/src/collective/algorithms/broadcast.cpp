// SPDX-License-Identifier: Apache-2.0
// Broadcast. All members, the root as well, have the bytes in `out`.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/tree.hpp"

namespace lci {

namespace {

Range all_of(const Shape& shape) {
  return {Area::kOut, 0, block_bytes(shape)};
}

void tree(const Shape& shape, uint32_t radix, Schedule& to) {
  for (uint32_t span = widest_span(shape, radix); span > 0; span /= radix) {
    tell_spans(
        shape, span, radix, [&](uint32_t) { return all_of(shape); }, to);
  }
}

/// A share of the bytes for each place, and for all behind it in its tree.
void scatter(const Shape& shape, const Blocks& shares, Schedule& to) {
  for (uint32_t span = widest_span(shape, 2); span > 0; span /= 2) {
    tell_spans(
        shape, span, 2, [&](uint32_t place) { return shares.range(Area::kOut, place, subtree_end(shape, place)); }, to);
  }
}

/// All shares go round. A member gets no share that the tree has brought to it: the root gets none.
void pass_round(const Shape& shape, const Blocks& shares, Schedule& to) {
  const uint32_t size = shape.size, own = own_place(shape), next = (own + 1) % size;
  const auto has = [&](uint32_t place, uint32_t share) { return share >= place && share < subtree_end(shape, place); };
  for (uint32_t round = 0; round + 1 < size; ++round) {
    const uint32_t sent = (own + size - round) % size, received = (own + size - round - 1) % size;
    if (!has(next, sent)) send_some(to, after(shape, 1), shares.block(Area::kOut, sent));
    if (!has(own, received)) receive_some(to, before(shape, 1), shares.block(Area::kOut, received));
    to.end_round();
  }
}

}  // namespace

void broadcast_binomial(const Shape& shape, Schedule& to) {
  tree(shape, 2, to);
}

void broadcast_knomial(const Shape& shape, Schedule& to) {
  tree(shape, 4, to);
}

void broadcast_chain(const Shape& shape, Schedule& to) {
  const Range all = all_of(shape);
  const uint32_t own = own_place(shape);
  const uint64_t segments = (all.bytes + shape.segment_bytes - 1) / shape.segment_bytes;
  const auto segment = [&](uint64_t index) {
    const uint64_t from = index * shape.segment_bytes;
    return all.part(from, std::min(shape.segment_bytes, all.bytes - from));
  };
  // Segment i leaves place p in round p + i.
  for (uint64_t round = 0; round < segments + shape.size - 2; ++round) {
    if (own + 1 < shape.size && round >= own && round - own < segments) {
      to.send(after(shape, 1), segment(round - own));
    }
    if (own > 0 && round + 1 >= own && round + 1 - own < segments) {
      to.receive(before(shape, 1), segment(round + 1 - own));
    }
    to.end_round();
  }
}

void broadcast_scatter_allgather(const Shape& shape, Schedule& to) {
  const Blocks shares = Blocks::shares(shape.size, shape.count, shape.element);
  scatter(shape, shares, to);
  pass_round(shape, shares, to);
}

}  // namespace lci
