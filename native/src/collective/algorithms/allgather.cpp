// SPDX-License-Identifier: Apache-2.0
// Allgather, of blocks of any sizes.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/algorithms/ring.hpp"

namespace lci {

namespace {

Range brought(const Shape& shape, const Blocks& blocks) {
  return {Area::kIn, 0, blocks.bytes(shape.own)};
}

/// The own block goes to its place, after messages that read it.
void place_own(const Shape& shape, const Blocks& blocks, Schedule& to) {
  copy_some(to, blocks.block(Area::kOut, shape.own), brought(shape, blocks));
}

/// Blocks in a circle that begins with the own one.
class Turned {
 public:
  Turned(const Shape& shape, const Blocks& blocks) : shape_(shape), blocks_(blocks) {}

  /// Bytes of so many blocks, from the own one on.
  uint64_t bytes(uint32_t count) const {
    const uint64_t begin = blocks_.offset(shape_.own);
    const uint64_t to_end = std::min<uint64_t>(shape_.size, uint64_t{shape_.own} + count);
    const uint64_t wrapped = shape_.own + uint64_t{count} - to_end;
    return blocks_.offset(static_cast<uint32_t>(to_end)) - begin + blocks_.offset(static_cast<uint32_t>(wrapped));
  }
  /// Puts all of them into `out`, in their order.
  void straighten(Range turned, Schedule& to) const {
    const uint64_t tail = blocks_.total() - blocks_.offset(shape_.own);
    copy_some(to, {Area::kOut, blocks_.offset(shape_.own), tail}, turned.part(0, tail));
    copy_some(to, {Area::kOut, 0, blocks_.offset(shape_.own)}, turned.part(tail, blocks_.offset(shape_.own)));
  }

 private:
  const Shape& shape_;
  const Blocks& blocks_;
};

/// The pair of members whose blocks a member gets in this step of the neighbour exchange. Of members with even numbers
/// step 0 brings the own pair, 1 the one before it, 2 the one after it, 3 the one two before it; of the others,
/// mirrored.
uint32_t pair_of_step(const Shape& shape, uint32_t step) {
  const uint32_t pairs = shape.size / 2, distance = (step + 1) / 2;
  const bool back = (step % 2 != 0) == (shape.own % 2 == 0);
  return (shape.own / 2 + (back ? pairs - distance : distance)) % pairs;
}

}  // namespace

// In round k each member has 2^k blocks from the own one on, and gives them to the member 2^k before it.
void allgather_bruck(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  const Turned circle(shape, blocks);
  const Range turned = ScratchPieces(to).take(blocks.total());
  for (uint32_t have = 1; have < shape.size; have *= 2) {
    const uint32_t more = std::min(have, shape.size - have);
    send_some(to, before(shape, have), (have == 1 ? brought(shape, blocks) : turned).part(0, circle.bytes(more)));
    receive_some(to, after(shape, have),
                 turned.part(circle.bytes(have), circle.bytes(have + more) - circle.bytes(have)));
    if (have == 1) copy_some(to, turned.part(0, blocks.bytes(shape.own)), brought(shape, blocks));
    if (have + more == shape.size) circle.straighten(turned, to);
    to.end_round();
  }
}

void allgather_doubling(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  for (uint32_t have = 1; have < shape.size; have *= 2) {
    const uint32_t other = shape.own ^ have;
    const uint32_t first = shape.own & ~(have - 1), theirs = other & ~(have - 1);
    send_some(to, other, have == 1 ? brought(shape, blocks) : blocks.range(Area::kOut, first, first + have));
    receive_some(to, other, blocks.range(Area::kOut, theirs, theirs + have));
    if (have == 1) place_own(shape, blocks, to);
    to.end_round();
  }
}

void allgather_ring(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  ring_allgather(shape, blocks, brought(shape, blocks), to);
}

// Members exchange with the two beside them in turn, and pass on what they got in the step before.
void allgather_neighbour_exchange(const Shape& shape, Schedule& to) {
  const Blocks blocks = Blocks::of(shape);
  const bool even = shape.own % 2 == 0;
  const auto pair = [&](uint32_t index) { return blocks.range(Area::kOut, 2 * index, 2 * index + 2); };
  for (uint32_t step = 0; step < shape.size / 2; ++step) {
    const uint32_t other = even == (step % 2 == 0) ? after(shape, 1) : before(shape, 1);
    send_some(to, other, step == 0 ? brought(shape, blocks) : pair(pair_of_step(shape, step - 1)));
    receive_some(to, other, step == 0 ? blocks.block(Area::kOut, other) : pair(pair_of_step(shape, step)));
    if (step == 0) place_own(shape, blocks, to);
    to.end_round();
  }
}

}  // namespace lci
