// SPDX-License-Identifier: Apache-2.0
// A root that has to do with each member, some at a time. Messages are sent also of no bytes: members do not know which
// sizes the others have.
#pragma once

#include "collective/algorithms/parts.hpp"
#include "collective/bounds.hpp"

namespace lci {

/// At the root: calls @p use with each other member, in rounds. The last one is not ended.
template <typename F>
void for_others(const Shape& shape, Schedule& to, F use) {
  uint32_t used = 0;
  for (uint32_t member = 0; member < shape.size; ++member) {
    if (member == shape.root) continue;
    if (used != 0 && used % kLinearWindow == 0) to.end_round();
    use(member);
    ++used;
  }
}

/// At another one: the rounds before its own.
inline void skip_windows(const Shape& shape, Schedule& to) {
  const uint32_t index = shape.own < shape.root ? shape.own : shape.own - 1;
  for (uint32_t round = 0; round < index / kLinearWindow; ++round) to.end_round();
}

}  // namespace lci
