// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_OPERATION_HPP_
#define LCI_GRAPH_OPERATION_HPP_

#include <cstdint>
#include <memory>
#include <vector>

#include "lci/lci.h"
#include "protocol/run_floors.hpp"
#include "protocol/waiting_ops.hpp"

namespace lci {

class Device;
class Graph;
class LaneView;
struct Node;

/// The operation of a node: a descriptor with its inline payload, posted once per run. It waits here if there is no
/// room for it.
class GraphOperation final : public WaitingOp {
 public:
  /// LCI_DONE, or why @p op, which has @p entries entries, cannot be the operation of a node.
  static int check(const lci_descriptor& op, uint32_t entries);

  /// @param op is checked
  /// @param lane that owns the device, or null
  GraphOperation(Node& node, Device& device, LaneView* lane, const lci_descriptor& op);
  ~GraphOperation();

  /// From the next run on the number of the run is a part of the tag. LCI_DONE, or why that cannot tell runs apart.
  /// @param runs of the graph
  int tell_runs_apart(GraphRuns& runs);
  bool tells_runs_apart() const { return per_run_; }
  /// Whether sends of runs that are over are dropped where it would receive them.
  bool has_floor() const { return floor_ != nullptr; }

  /// Any thread, in signal context; never waits, never answers retry. Fills @p done unless the answer is posted.
  /// @param run its number
  int post(uint64_t run, lci_status* done);
  /// Any thread, when the node was marked as cancelled: the operation goes if it waits for room.
  void give_up();
  /// Any thread: cancels the posted receive if it is unmatched; its own completion tells.
  void cancel();
  /// Any thread: drops what is stored for runs that are over.
  void drop_stored();
  bool is_receive() const { return entries_[0].op == LCI_OP_RECV; }

  const lci_descriptor& descriptor() const override { return entries_[0]; }
  bool is_given_up() const override;
  const Device& device() const { return device_; }

 private:
  Node& node_;
  Device& device_;
  std::vector<lci_descriptor> entries_;
  const uint64_t tag_;
  bool per_run_ = false;
  std::unique_ptr<RunFloor> floor_;
};

}  // namespace lci

#endif  // LCI_GRAPH_OPERATION_HPP_
