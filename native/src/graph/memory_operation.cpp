// SPDX-License-Identifier: Apache-2.0
#include "graph/memory_operation.hpp"

#include "device/device.hpp"
#include "graph/graph.hpp"

namespace lci {

MemoryOperation::MemoryOperation(Node& node, Device* device, LaneView* lane, const lci_descriptor& op)
    : LongWork({&node.graph, lane, node.graph.handle(node.index)}), node_(node), device_(device), work_(op) {}

int MemoryOperation::run(lci_status* done) {
  work_.begin();
  *done = ended(LCI_DONE);
  return device_ && work_.is_long() ? device_->leave(*this) : run_here();
}

int MemoryOperation::run_here() {
  while (!work_.step()) {
    if (is_given_up()) return LCI_ERR_CANCELLED;
  }
  return LCI_DONE;
}

bool MemoryOperation::is_given_up() const {
  return (node_.state.load(std::memory_order_acquire) & Node::kCancel) != 0;
}

lci_status MemoryOperation::ended(int code) const {
  const uint32_t rank = node_.graph.rank();
  return {code, rank, 0, work_.destination(), code == LCI_DONE ? work_.bytes() : 0, target.context, 0, 0};
}

}  // namespace lci
