// SPDX-License-Identifier: Apache-2.0
// Neighbours: all blocks in one round.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"

namespace lci {

void neighbours_direct(const Shape& shape, Schedule& to) {
  const std::span<const uint64_t> sent = shape.counts.subspan(1, shape.counts[0]);
  const std::span<const uint64_t> received = shape.counts.subspan(sent.size() + 2);
  const uint64_t bytes = block_bytes(shape);
  const Range out{Area::kOut, 0, received.size() * bytes};
  // `out` may be `in`, of which all is sent at the same time.
  const bool lands = !shape.apart && sent.size() == received.size();
  const Range landing = lands ? ScratchPieces(to).take(out.bytes) : out;
  for (size_t i = 0; i < sent.size(); ++i) to.send(static_cast<uint32_t>(sent[i]), {Area::kIn, i * bytes, bytes});
  for (size_t i = 0; i < received.size(); ++i) {
    to.receive(static_cast<uint32_t>(received[i]), landing.part(i * bytes, bytes));
  }
  if (lands) copy_some(to, out, landing);
  to.end_round();
}

}  // namespace lci
