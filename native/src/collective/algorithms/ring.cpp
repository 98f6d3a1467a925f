// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/ring.hpp"

namespace lci {

void ring_reduce_scatter(const Shape& shape, const Blocks& blocks, Range result, Schedule& to) {
  ScratchPieces scratch(to);
  const uint64_t longest = blocks.longest();
  const Range first = scratch.take(longest), second = shape.size > 2 ? scratch.take(longest) : first;
  Range sum = blocks.block(Area::kIn, before(shape, 1));
  for (uint32_t step = 1; step < shape.size; ++step) {
    const uint32_t block = before(shape, step + 1);
    const Range received = (step % 2 != 0 ? first : second).part(0, blocks.bytes(block));
    send_some(to, after(shape, 1), sum);
    receive_some(to, before(shape, 1), received);
    sum = step + 1 == shape.size ? result : received;
    reduce_some(to, sum, received, blocks.block(Area::kIn, block));
    to.end_round();
  }
}

void ring_allgather(const Shape& shape, const Blocks& blocks, Range own, Schedule& to) {
  Range sent = own;
  for (uint32_t step = 1; step < shape.size; ++step) {
    const Range received = blocks.block(Area::kOut, before(shape, step));
    send_some(to, after(shape, 1), sent);
    receive_some(to, before(shape, 1), received);
    if (step == 1 && own.area != Area::kOut) copy_some(to, blocks.block(Area::kOut, shape.own), own);
    sent = received;
    to.end_round();
  }
}

}  // namespace lci
