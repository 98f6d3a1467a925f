// SPDX-License-Identifier: Apache-2.0
#include "collective/schedule.hpp"

#include "collective/algorithms/algorithms.hpp"
#include "collective/algorithms/parts.hpp"
#include "collective/shape.hpp"

namespace lci {

namespace {

/// Whether a single member gets what it brings.
bool gets_own(uint8_t kind) {
  return kind != LCI_COLLECTIVE_BARRIER && kind != LCI_COLLECTIVE_BROADCAST && kind != LCI_COLLECTIVE_EXCLUSIVE_SCAN &&
         kind != LCI_COLLECTIVE_NEIGHBOURS;
}

/// A group of one member: a copy alone.
void make_alone(const Shape& shape, Schedule& to) {
  const uint64_t bytes = Blocks::of(shape).bytes(0);
  if (!gets_own(shape.kind) || bytes == 0) return;
  to.copy({Area::kOut, 0, bytes}, {Area::kIn, 0, bytes});
  to.end_round();
}

/// Whether all members see that nothing has to travel. Of gather and scatter they do not: the root may have a list.
bool is_empty(const Shape& shape) {
  if (shape.kind == LCI_COLLECTIVE_BARRIER || shape.algorithm == LCI_ALGORITHM_LINEAR) return false;
  return shape.count == 0 && (shape.counts.empty() || shape.kind == LCI_COLLECTIVE_NEIGHBOURS);
}

}  // namespace

std::shared_ptr<const Schedule> make_schedule(const Shape& shape) {
  const auto schedule = std::make_shared<Schedule>();
  if (shape.size == 1) {
    make_alone(shape, *schedule);
  } else if (!is_empty(shape)) {
    find_algorithm(shape.kind, shape.algorithm)->make(shape, *schedule);
  }
  return schedule;
}

}  // namespace lci
