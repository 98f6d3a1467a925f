// SPDX-License-Identifier: Apache-2.0
// Alltoall. `out` may be `in`.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"

namespace lci {

namespace {

/// The blocks under way of Bruck's algorithm, by how many members they have to go on. A round takes those of which one
/// bit is set: they lie in runs, and are packed for the message.
class Travellers {
 public:
  Travellers(const Shape& shape, Schedule& to) : shape_(shape), to_(to) {
    ScratchPieces scratch(to);
    uint32_t most = 0;
    for (uint32_t bit = 1; bit < shape.size; bit *= 2) most = std::max(most, count_of(bit));
    all_ = scratch.take(shape.size * block_bytes(shape));
    packed_ = scratch.take(most * block_bytes(shape));
    received_ = scratch.take(most * block_bytes(shape));
  }

  /// Block i of `in` has to go to member i.
  void enter() {
    const uint64_t tail = bytes(shape_.size - shape_.own);
    to_.copy(all_.part(0, tail), {Area::kIn, bytes(shape_.own), tail});
    if (shape_.own != 0) to_.copy(all_.part(tail, bytes(shape_.own)), {Area::kIn, 0, bytes(shape_.own)});
  }
  void pack(uint32_t bit) {
    for_runs(bit, [&](Range run, uint64_t at) { to_.copy(packed_.part(at, run.bytes), run); });
  }
  void exchange(uint32_t bit) {
    to_.send(after(shape_, bit), packed_.part(0, bytes(count_of(bit))));
    to_.receive(before(shape_, bit), received_.part(0, bytes(count_of(bit))));
    for_runs(bit, [&](Range run, uint64_t at) { to_.copy(run, received_.part(at, run.bytes)); });
  }
  /// A block that went on by i members comes from the member i before.
  void leave() {
    for (uint32_t i = 0; i < shape_.size; ++i) {
      to_.copy({Area::kOut, bytes(before(shape_, i)), bytes(1)}, all_.part(bytes(i), bytes(1)));
    }
  }

 private:
  uint64_t bytes(uint32_t blocks) const { return blocks * block_bytes(shape_); }
  template <typename F>
  void for_runs(uint32_t bit, F use) const {
    uint64_t at = 0;
    for (uint64_t first = bit; first < shape_.size; first += 2 * uint64_t{bit}) {
      const uint64_t size = bytes(static_cast<uint32_t>(std::min<uint64_t>(bit, shape_.size - first)));
      use(all_.part(bytes(static_cast<uint32_t>(first)), size), at);
      at += size;
    }
  }
  /// Of the numbers of blocks, how many have the bit.
  uint32_t count_of(uint32_t bit) const {
    const uint32_t whole = shape_.size / (2 * bit) * bit, rest = shape_.size % (2 * bit);
    return whole + (rest > bit ? rest - bit : 0);
  }

  const Shape& shape_;
  Schedule& to_;
  Range all_, packed_, received_;
};

/// The member with which the own one exchanges in a round, each with each once. The own one: none in this round.
uint32_t partner(const Shape& shape, uint32_t round) {
  // As for a tournament: the last number stays, the others turn. An odd number of members gets one that is not there.
  const uint32_t last = (shape.size + 1) / 2 * 2 - 1;
  uint32_t other;
  if (shape.own == last) {
    other = static_cast<uint32_t>(uint64_t{round} * ((last + 1) / 2) % last);
  } else {
    other = static_cast<uint32_t>((uint64_t{round} + last - shape.own) % last);
    if (other == shape.own) other = last;
  }
  return other < shape.size ? other : shape.own;
}

/// What an exchange in pairs reads and writes at a member.
struct Sides {
  Blocks sent, received;
  Range source;   ///< Of what is sent, if it is not `in`.
  Range landing;  ///< Where blocks are received, if it is not `out`.
};

Sides sides_of(const Shape& shape) {
  if (shape.counts.empty()) return {Blocks::of(shape), Blocks::of(shape), {}, {}};
  return {Blocks::listed(shape.counts.first(shape.size), shape.element),
          Blocks::listed(shape.counts.subspan(shape.size), shape.element),
          {},
          {}};
}

/// Where `out` may be `in`: a block comes from the member for which the one in its place is in the same round, so it
/// need only wait until that one is sent. If they do not lie in the same places, all of `in` is set aside.
void keep_apart(const Shape& shape, Sides& sides, Schedule& to) {
  if (shape.apart || sides.sent.total() != sides.received.total()) return;
  ScratchPieces scratch(to);
  if (sides.sent == sides.received) {
    sides.landing = scratch.take(sides.received.longest());
  } else {
    sides.source = scratch.take(sides.sent.total());
    copy_some(to, sides.source, {Area::kIn, 0, sides.source.bytes});
  }
}

}  // namespace

void alltoall_bruck(const Shape& shape, Schedule& to) {
  Travellers travellers(shape, to);
  travellers.enter();
  travellers.pack(1);
  to.end_round();
  for (uint32_t bit = 1; bit < shape.size; bit *= 2) {
    travellers.exchange(bit);
    if (2 * bit < shape.size) {
      travellers.pack(2 * bit);
    } else {
      travellers.leave();
    }
    to.end_round();
  }
}

void alltoall_pairwise(const Shape& shape, Schedule& to) {
  Sides sides = sides_of(shape);
  keep_apart(shape, sides, to);
  const auto sent = [&](uint32_t block) {
    const Range in = sides.sent.block(Area::kIn, block);
    return sides.source.bytes != 0 ? sides.source.part(in.offset, in.bytes) : in;
  };
  copy_some(to, sides.received.block(Area::kOut, shape.own), sent(shape.own));
  to.end_round();
  for (uint32_t round = 0; round < (shape.size + 1) / 2 * 2 - 1; ++round) {
    const uint32_t other = partner(shape, round);
    if (other != shape.own) {
      const Range out = sides.received.block(Area::kOut, other);
      const bool lands = sides.landing.bytes != 0;
      send_some(to, other, sent(other));
      receive_some(to, other, lands ? sides.landing.part(0, out.bytes) : out);
      if (lands) copy_some(to, out, sides.landing.part(0, out.bytes));
    }
    to.end_round();
  }
}

}  // namespace lci
