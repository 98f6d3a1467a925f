// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_OPERATION_HPP_
#define LCI_GRAPH_OPERATION_HPP_

#include <cstdint>
#include <vector>

#include "lci/lci.h"

namespace lci {

class Device;
class Graph;
class LaneView;

/// The operation of a node: a descriptor with its inline payload, posted once per run.
class GraphOperation {
 public:
  /// LCI_DONE, or why @p op, which has @p entries entries, cannot be the operation of a node.
  static int check(const lci_descriptor& op, uint32_t entries);

  /// @param op is checked
  /// @param lane that owns the device, or null
  GraphOperation(Graph& graph, Device& device, LaneView* lane, const lci_descriptor& op, uint64_t node);

  /// Any thread, in signal context; never waits, never answers retry. Fills @p done unless the answer is posted.
  int post(lci_status* done);
  /// Any thread: cancels the posted receive if it is unmatched; its own completion tells.
  void cancel();
  bool is_receive() const { return entries_[0].op == LCI_OP_RECV; }

 private:
  int post_to_device(lci_status* done);
  int post_to_lane(lci_status* done);

  Graph& graph_;
  Device& device_;
  LaneView* const lane_;
  std::vector<lci_descriptor> entries_;
};

}  // namespace lci

#endif  // LCI_GRAPH_OPERATION_HPP_
