// SPDX-License-Identifier: Apache-2.0
#include "graph/memory_operation.hpp"

#include "device/device.hpp"
#include "graph/graph.hpp"

namespace lci {

MemoryOperation::MemoryOperation(const Step& step, const lci_descriptor& op)
    : LongWork({&step.node.graph, step.node.operation->lane(), step.run.handle(step.node.index)}),
      step_(step),
      work_(op) {}

int MemoryOperation::run(lci_status* done) {
  work_.begin();
  *done = ended(LCI_DONE);
  Device* const device = step_.node.operation->device();
  return device && work_.is_long() ? device->leave(*this) : run_here();
}

int MemoryOperation::run_here() {
  while (!work_.step()) {
    if (is_given_up()) return LCI_ERR_CANCELLED;
  }
  return LCI_DONE;
}

bool MemoryOperation::is_given_up() const {
  return step_.is_cancelled(std::memory_order_acquire);
}

lci_status MemoryOperation::ended(int code) const {
  const uint32_t rank = step_.node.graph.rank();
  return {code, rank, 0, work_.destination(), code == LCI_DONE ? work_.bytes() : 0, target.context, 0, 0};
}

}  // namespace lci
