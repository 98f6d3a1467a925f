// SPDX-License-Identifier: Apache-2.0
#include "graph/operation.hpp"

#include "base/error.hpp"
#include "base/guarded.hpp"
#include "device/shared.hpp"
#include "graph/graph.hpp"
#include "protocol/contexts.hpp"

namespace lci {
namespace {

OpTarget target_of(const Step& step) {
  const NodeOperation& of = *step.node.operation;
  Graph* const graph = &step.node.graph;
  const uint64_t context = step.run.handle(step.node.index);
  if (of.lane()) return {graph, of.lane(), context};  // both: what a lane forgets, it forgets of its graphs, too
  OpTarget target{graph, nullptr, context};
  target.outstanding = &of.device()->outstanding();
  return target;
}

/// LCI_DONE, or why the tag of an operation cannot tell runs apart.
int check_per_run(const lci_descriptor& op, const Engine* engine) {
  if (op.op != LCI_OP_SEND && op.op != LCI_OP_RECV) {
    return fail(LCI_ERR_ARGUMENT, "graph: only sends and receives have a tag for each run, not operation %u", op.op);
  }
  if (op.rank == LCI_ANY_SOURCE || op.tag == LCI_ANY_TAG || op.policy != LCI_POLICY_RANK_TAG) {
    return fail(LCI_ERR_ARGUMENT, "graph: a tag for each run needs policy rank and tag, and no wildcard (rank %u)",
                op.rank);
  }
  const Matcher* const matcher = engine ? engine->matcher() : nullptr;
  if (matcher && matcher->keyed && !matcher->make_key) {
    return fail(LCI_ERR_ARGUMENT, "graph: keys that are given with operations do not tell runs apart (engine %u)",
                op.port);
  }
  if (op.tag <= kRunTagMask) return LCI_DONE;
  return fail(LCI_ERR_TAG, "graph: a tag for each run has %u bits, the number of the run takes the others; not %lu",
              kRunBits, op.tag);
}

}  // namespace

int NodeOperation::check(const lci_descriptor& op, uint32_t entries) {
  if (MemoryOperation::is_one(op)) return MemoryWork::check(op);
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

NodeOperation::NodeOperation(Device* device, LaneView* lane, const lci_descriptor& op)
    : device_(device), lane_(lane), entries_(&op, &op + entries_of(op)) {}

NodeOperation::~NodeOperation() {
  if (floor_) device_->parts().targets.engine_at(descriptor().port).floors.remove(*floor_);
}

int NodeOperation::tell_runs_apart(GraphRuns& runs) {
  const lci_descriptor& op = descriptor();
  Engine* const engine = device_->parts().targets.engine(op.port);  // null: its post says so
  if (const int code = check_per_run(op, engine); code != LCI_DONE) return code;
  per_run_ = true;
  if (op.op != LCI_OP_RECV || !engine || floor_) return LCI_DONE;
  auto floor = std::unique_ptr<RunFloor>(new RunFloor{op.rank, op.tag, runs});
  engine->floors.add(*floor);
  floor_ = std::move(floor);
  return LCI_DONE;
}

int NodeOperation::check_place(const lci_descriptor& op) const {
  const lci_descriptor& mine = descriptor();
  const bool same = op.op == mine.op && op.flags == mine.flags && op.rank == mine.rank && op.port == mine.port &&
                    op.policy == mine.policy && op.tag == mine.tag;
  if (same) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT,
              "graph: operation %u differs from that of its node in more than its memory; add a node for it", op.op);
}

void NodeOperation::drop_stored() const {
  device_->drop_refused(descriptor().port);
}

GraphOperation::GraphOperation(const Step& step, const lci_descriptor& op)
    : WaitingOp(target_of(step)), step_(step), of_(*step.node.operation), entries_(&op, &op + entries_of(op)) {
  entries_[0].flags &= static_cast<uint8_t>(~LCI_FLAG_NO_RETRY);  // it waits here, not in the backlog
  entries_[0].user_context = target.context;
}

int GraphOperation::post(uint64_t run, lci_status* done) {
  lci_descriptor& op = entries_[0];
  if (of_.tells_runs_apart()) op.tag = tag_of_run(of_.descriptor().tag, run);
  const bool buffer = (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_BUFFER;
  *done = {LCI_DONE, op.rank, op.tag, buffer ? reinterpret_cast<void*>(op.u.ref.address) : nullptr, op.size, 0, 0, 0};
  return guarded("graph", [&] {
    Device& device = *of_.device();
    if (!target.lane) return post_or_wait_shared(device, *this, done);
    // The loop's thread posts at once; another one leaves it to the loop.
    return target.lane->is_entered() ? device.post_or_wait(*this, done) : device.leave(*this);
  });
}

bool GraphOperation::is_given_up() const {
  return step_.is_cancelled(std::memory_order_seq_cst);
}

void GraphOperation::give_up() {
  of_.device()->give_up_some();
}

/// The run does not end before the device has looked for the receive, though it may be matched long before: the next
/// run posts one of the same name, and the graph may go.
void GraphOperation::cancel() {
  step_.run.hold_end();
  if (!of_.device()->leave_cancel(*this)) step_.run.let_end();
}

void GraphOperation::cancel_ended() {
  step_.run.let_end();
}

}  // namespace lci
