// SPDX-License-Identifier: Apache-2.0
// TEMPORARY until the algorithms are there.
#include <bit>
#include "base/error.hpp"
#include "collective/shape.hpp"
namespace lci {
int choose_algorithm(Shape* shape) {
  if (shape->algorithm == 0) shape->algorithm = 1;
  return LCI_DONE;
}
std::shared_ptr<const Schedule> make_schedule(const Shape& s) {
  auto made = std::make_shared<Schedule>();
  const uint64_t bytes = s.count * s.element;
  if (s.kind == LCI_COLLECTIVE_BARRIER) {
    for (uint32_t step = 1; step < s.size; step *= 2) {
      made->send((s.own + step) % s.size, {});
      made->receive((s.own + s.size - step) % s.size, {});
      made->end_round();
    }
  } else if (s.kind == LCI_COLLECTIVE_BROADCAST) {
    for (uint32_t i = 0; i < s.size; ++i) {
      if (i == s.root) continue;
      if (s.own == s.root) made->send(i, {Area::kOut, 0, bytes});
      if (s.own == i) made->receive(s.root, {Area::kOut, 0, bytes});
    }
    made->end_round();
  } else if (s.kind == LCI_COLLECTIVE_ALLREDUCE) {
    made->take_scratch(bytes);
    made->copy({Area::kOut, 0, bytes}, {Area::kIn, 0, bytes});
    made->end_round();
    // a ring of everything, each adds its own
    const uint32_t last = s.size - 1;
    for (uint32_t i = 0; i < last; ++i) {
      if (s.own == i) made->send(i + 1, {Area::kOut, 0, bytes});
      if (s.own == i + 1) {
        made->receive(i, {Area::kScratch, 0, bytes});
        made->reduce({Area::kOut, 0, bytes}, {Area::kScratch, 0, bytes}, {Area::kOut, 0, bytes});
      }
      made->end_round();
    }
    for (uint32_t i = 0; i < last; ++i) {
      if (s.own == last) made->send(i, {Area::kOut, 0, bytes});
      if (s.own == i) made->receive(last, {Area::kOut, 0, bytes});
    }
    made->end_round();
  }
  return made;
}
}  // namespace lci
