// SPDX-License-Identifier: Apache-2.0
// Scans by recursive doubling: before round k a member holds the blocks of the 2^k members up to it, combined, and
// sends that to the member 2^k after it.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"

namespace lci {

namespace {

bool has_before(const Shape& shape, uint32_t distance) {
  return shape.own >= distance;
}
bool has_after(const Shape& shape, uint64_t distance) {
  return shape.own + distance < shape.size;
}

}  // namespace

void scan_doubling(const Shape& shape, Schedule& to) {
  const Range out{Area::kOut, 0, block_bytes(shape)};
  const Range received = shape.own != 0 ? ScratchPieces(to).take(out.bytes) : Range{};
  Range held{Area::kIn, 0, out.bytes};
  for (uint32_t distance = 1; distance < shape.size; distance *= 2) {
    if (has_after(shape, distance)) to.send(shape.own + distance, held);
    if (has_before(shape, distance)) {
      to.receive(shape.own - distance, received);
      to.reduce(out, received, held);
      held = out;
    }
    if (shape.own == 0 && distance == 1) to.copy(out, held);
    to.end_round();
  }
}

// The result is what was received, combined. What is sent has the own block as well, and lies apart.
void exclusive_scan_doubling(const Shape& shape, Schedule& to) {
  const Range out{Area::kOut, 0, block_bytes(shape)};
  ScratchPieces scratch(to);
  const Range received = shape.own != 0 ? scratch.take(out.bytes) : Range{};
  const Range sum = shape.own != 0 && has_after(shape, 2) ? scratch.take(out.bytes) : Range{};
  Range held{Area::kIn, 0, out.bytes};
  for (uint32_t distance = 1; distance < shape.size; distance *= 2) {
    if (has_after(shape, distance)) to.send(shape.own + distance, held);
    if (has_before(shape, distance)) {
      to.receive(shape.own - distance, received);
      if (has_after(shape, 2 * uint64_t{distance})) {
        to.reduce(sum, received, held);
        held = sum;
      }
      if (distance == 1) {
        to.copy(out, received);
      } else {
        to.reduce(out, received, out);
      }
    }
    to.end_round();
  }
}

}  // namespace lci
