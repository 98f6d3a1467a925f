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
class LaneView;
struct Step;

/// The operation of a node as it is in all runs: a descriptor with its inline payload, over a device.
class NodeOperation {
 public:
  /// LCI_DONE, or why @p op, which has @p entries entries, cannot be the operation of a node.
  static int check(const lci_descriptor& op, uint32_t entries);

  /// @param device null: none, see MemoryOperation; @param lane that owns it, or null; @param op is checked
  NodeOperation(Device* device, LaneView* lane, const lci_descriptor& op);
  ~NodeOperation();
  NodeOperation(const NodeOperation&) = delete;
  NodeOperation& operator=(const NodeOperation&) = delete;

  /// From the next run on the number of the run is a part of the tag. LCI_DONE, or why that cannot tell runs apart.
  /// @param runs of the graph
  int tell_runs_apart(GraphRuns& runs);
  bool tells_runs_apart() const { return per_run_; }
  /// LCI_DONE, or why @p op cannot take its place in some runs: they differ in more than their memory.
  int check_place(const lci_descriptor& op) const;
  /// Whether sends of runs that are over are dropped where it would receive them.
  bool has_floor() const { return floor_ != nullptr; }
  /// Any thread: drops what is stored for runs that are over.
  void drop_stored() const;

  const lci_descriptor& descriptor() const { return entries_[0]; }
  Device* device() const { return device_; }
  LaneView* lane() const { return lane_; }

 private:
  Device* const device_;
  LaneView* const lane_;
  const std::vector<lci_descriptor> entries_;
  bool per_run_ = false;
  std::unique_ptr<RunFloor> floor_;
};

/// That of a step, posted once per run. It waits here if there is no room for it.
class GraphOperation final : public WaitingOp {
 public:
  /// @param op that of the node, or one that differs in its memory
  GraphOperation(const Step& step, const lci_descriptor& op);

  /// Any thread, in signal context; never waits, never answers retry. Fills @p done unless the answer is posted.
  /// @param run its number
  int post(uint64_t run, lci_status* done);
  /// Any thread, when the step was marked as cancelled: the operation goes if it waits for room.
  void give_up();
  /// Any thread, while END waits for the caller: cancels the posted receive if it is unmatched; its own completion
  /// tells.
  void cancel();
  bool is_receive() const { return entries_[0].op == LCI_OP_RECV; }

  const lci_descriptor& descriptor() const override { return entries_[0]; }
  bool is_given_up() const override;
  void cancel_ended() override;

 private:
  const Step& step_;
  const NodeOperation& of_;
  std::vector<lci_descriptor> entries_;
};

}  // namespace lci

#endif  // LCI_GRAPH_OPERATION_HPP_
