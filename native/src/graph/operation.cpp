// SPDX-License-Identifier: Apache-2.0
#include "graph/operation.hpp"

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "device/shared.hpp"
#include "graph/graph.hpp"
#include "protocol/contexts.hpp"

namespace lci {
int GraphOperation::check(const lci_descriptor& op, uint32_t entries) {
  if (op.op == 0 || op.op == LCI_OP_CANCEL || op.op >= LCI_OP_NODE_DONE) {
    return fail(LCI_ERR_ARGUMENT, "graph: operation %u cannot be a node", op.op);
  }
  if (op.flags & LCI_FLAG_WAIT) return fail(LCI_ERR_ARGUMENT, "graph: LCI_FLAG_WAIT, but nodes do not block");
  if (op.flags & LCI_FLAG_COMP) {
    return fail(LCI_ERR_ARGUMENT, "graph: LCI_FLAG_COMP, but the graph is the completion object of its operations");
  }
  const int form = op.flags & LCI_FLAG_PAYLOAD_MASK;
  if (form == LCI_FLAG_PACKET) {
    return fail(LCI_ERR_ARGUMENT, "graph: a packet is consumed by its first post; use a buffer");
  }
  if (form == LCI_FLAG_INLINE && op.op != LCI_OP_RECV && op.size > LCI_INLINE_MAX) {
    return fail(LCI_ERR_SIZE, "graph: an inline payload has at most %u bytes, not %u; use a buffer", LCI_INLINE_MAX,
                op.size);
  }
  if (entries_of(op) > entries) return fail(LCI_ERR_SIZE, "graph: an inline payload goes beyond the table");
  return LCI_DONE;
}

GraphOperation::GraphOperation(Graph& graph, Device& device, LaneView* lane, const lci_descriptor& op, uint64_t node)
    : graph_(graph), device_(device), lane_(lane), entries_(&op, &op + entries_of(op)) {
  entries_[0].flags |= LCI_FLAG_NO_RETRY;
  entries_[0].user_context = node;
}

int GraphOperation::post(lci_status* done) {
  lci_descriptor& op = entries_[0];
  const bool buffer = (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_BUFFER;
  *done = {LCI_DONE, op.rank, op.tag, buffer ? reinterpret_cast<void*>(op.u.ref.address) : nullptr, op.size, 0, 0, 0};
  const int code = guarded("graph", [&] { return lane_ ? post_to_lane(done) : post_to_device(done); });
  if (is_retry(code)) return fail(LCI_ERR_EXHAUSTED, "graph: an operation was refused (%s)", code_name(code));
  return code;
}

int GraphOperation::post_to_device(lci_status* done) {
  OpTarget target{&graph_, nullptr, entries_[0].user_context};
  target.outstanding = &device_.outstanding();
  return post_shared(device_, entries_[0], target, done);
}

/// The loop's thread posts at once; another one leaves it to the loop.
int GraphOperation::post_to_lane(lci_status* done) {
  const lci_descriptor& op = entries_[0];
  const OpTarget target{&graph_, lane_, op.user_context};  // both: what a lane forgets, it forgets of its graphs, too
  if (lane_->is_entered()) return device_.post(op, op.u.inline_payload, target, done);
  return device_.hand_over(op, op.u.inline_payload, target);
}

void GraphOperation::cancel() {
  lci_descriptor cancel{};
  cancel.op = LCI_OP_CANCEL;
  cancel.rank = entries_[0].rank;
  cancel.port = entries_[0].port;
  cancel.tag = entries_[0].user_context;
  device_.hand_over(cancel, nullptr, {&graph_, lane_, cancel.tag});
}

}  // namespace lci
