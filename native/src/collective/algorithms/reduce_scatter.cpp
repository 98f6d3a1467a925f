// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter, of blocks of any sizes. The order of operands is not that of members.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/ring.hpp"

namespace lci {

// Distances go from half of the members down to 1, so that each ends with its own block.
void reduce_scatter_halving(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  ScratchPieces scratch(to);
  uint32_t first = 0;  // of the blocks that are held
  Range held = blocks.range(Area::kIn, 0, shape.size);
  Range received;
  for (uint32_t half = shape.size / 2; half > 0; half /= 2) {
    const uint32_t other = shape.own ^ half;
    const uint32_t kept = shape.own & ~(half - 1), sent = other & ~(half - 1);
    const auto part = [&](uint32_t block) {
      return held.part(blocks.offset(block) - blocks.offset(first), blocks.range(Area::kIn, block, block + half).bytes);
    };
    const Range mine = part(kept);
    // The first sum lies where it was received. What comes later comes beside it, and is added there.
    const bool is_first = half == shape.size / 2;
    if (is_first || half == shape.size / 4) received = scratch.take(mine.bytes);
    const Range theirs = received.part(0, mine.bytes);
    const Range sum = half == 1 ? Range{Area::kOut, 0, mine.bytes} : is_first ? theirs : mine;
    send_some(to, other, part(sent));
    receive_some(to, other, theirs);
    combine(to, sum, mine, theirs, other < shape.own);
    to.end_round();
    held = sum;
    first = kept;
  }
}

void reduce_scatter_pairwise(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  const Range received = ScratchPieces(to).take(blocks.bytes(shape.own));
  const Range sum{Area::kOut, 0, received.bytes};
  Range held = blocks.block(Area::kIn, shape.own);
  for (uint32_t distance = 1; distance < shape.size; ++distance) {
    send_some(to, after(shape, distance), blocks.block(Area::kIn, after(shape, distance)));
    receive_some(to, before(shape, distance), received);
    reduce_some(to, sum, received, held);
    to.end_round();
    held = sum;
  }
}

void reduce_scatter_ring(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  ring_reduce_scatter(shape, blocks, {Area::kOut, 0, blocks.bytes(shape.own)}, to);
}

}  // namespace lci
