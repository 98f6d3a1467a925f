// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocol/long_works.hpp"
#include "reduce/memory_work.hpp"

namespace lci {

struct Step;

/// The copy or reduction of a step, done once per run.
class MemoryOperation final : public LongWork {
 public:
  static bool is_one(const lci_descriptor& op) { return op.op == LCI_OP_COPY || op.op == LCI_OP_REDUCE; }

  /// @param op that of the node, or one that differs in its memory
  MemoryOperation(const Step& step, const lci_descriptor& op);

  /// Any thread, in signal context: does it, or leaves it to the device of the node. Fills @p done unless the answer is
  /// posted.
  int run(lci_status* done);

  bool step() override { return work_.step(); }
  bool is_given_up() const override;
  lci_status ended(int code) const override;

 private:
  int run_here();

  const Step& step_;
  MemoryWork work_;
};

}  // namespace lci
