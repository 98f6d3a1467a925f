// SPDX-License-Identifier: Apache-2.0
// Dissemination: in round k each member tells the one 2^k after it.
#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"

namespace lci {

void barrier_dissemination(const Shape& shape, Schedule& to) {
  for (uint32_t distance = 1; distance < shape.size; distance *= 2) {
    to.send(after(shape, distance), {});
    to.receive(before(shape, distance), {});
    to.end_round();
  }
}

}  // namespace lci
