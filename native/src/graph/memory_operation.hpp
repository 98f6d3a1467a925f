// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/long_works.hpp"
#include "reduce/memory_work.hpp"

namespace lci {

class Device;
struct Node;

/// The copy or reduction of a node, done once per run.
class MemoryOperation final : public LongWork {
 public:
  static bool is_one(const lci_descriptor& op) { return op.op == LCI_OP_COPY || op.op == LCI_OP_REDUCE; }

  /// @param device whose passes do it if it is long, or null
  /// @param lane that owns the device, or null
  /// @param op is checked
  MemoryOperation(Node& node, Device* device, LaneView* lane, const lci_descriptor& op);

  /// Any thread, in signal context: does it, or leaves it to the device. Fills @p done unless the answer is posted.
  int run(lci_status* done);

  bool step() override { return work_.step(); }
  bool is_given_up() const override;
  lci_status ended(int code) const override;

 private:
  int run_here();

  const Node& node_;
  Device* const device_;
  MemoryWork work_;
};

}  // namespace lci
