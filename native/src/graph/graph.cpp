// SPDX-License-Identifier: Apache-2.0
// A graph while it runs: which instance takes a run, and whom a signal is for.
#include "graph/graph.hpp"

#include <array>
#include <cinttypes>
#include <utility>

#include "base/error.hpp"

namespace lci {

Graph::Graph(Completion* completion, uint64_t user_context, GraphHost* host)
    : Completion(Kind::kGraph), completion_(completion), user_context_(user_context), host_(host) {
  nodes_.emplace_back(*this, kStart, Node::Kind::kDummy, nullptr);
  nodes_.emplace_back(*this, kEnd, Node::Kind::kDummy, nullptr);
  set_depth(1);
}

Graph::~Graph() {
  for (Node& node : nodes_) {
    if (node.free_value) node.free_value(node.value);
  }
}

uint64_t Graph::handle(uint32_t node, uint32_t instance) const {
  const uint64_t here = uint64_t{instance} << kNodeBits | node;
  return node < kFirst ? here : uint64_t{id()} << (kNodeBits + kInstanceBits) | here;
}

Node* Graph::find(uint64_t handle) {
  Step* const step = find_step(handle);
  return step ? &step->node : nullptr;
}

const Step* Graph::find_step(uint64_t handle) const {
  const auto node = static_cast<uint32_t>(handle) & (kMostNodes - 1);
  const auto instance = static_cast<uint32_t>(handle) >> kNodeBits;
  if (node < size() && instance < runs_.size() && handle == this->handle(node, instance)) {
    return &runs_[instance]->step(node);
  }
  fail(LCI_ERR_ARGUMENT, "graph %u: 0x%" PRIx64 " is no node of this graph", id(), handle);
  return nullptr;
}

bool Graph::any_running() const {
  for (const auto& run : runs_) {
    if (run->running()) return true;
  }
  return false;
}

/// Null: it is no run that an instance still knows.
Run* Graph::run_of(uint64_t number) {
  for (const auto& run : runs_) {
    if (run->state() != Run::State::kNew && run->number() == number) return run.get();
  }
  return nullptr;
}

/// Once in each engine that a node names by whose tag runs are told apart.
void Graph::drop_stored() {
  std::array<bool, LCI_MAX_ENGINE + 1> looked_at{};
  for (const Node& node : nodes_) {
    if (!node.operation || !node.operation->has_floor()) continue;
    if (!std::exchange(looked_at[node.operation->descriptor().port], true)) node.operation->drop_stored();
  }
}

int Graph::start(const uint64_t* given) {
  Run& run = *runs_[started_ % runs_.size()];
  Run::State before;
  if (!run.take(&before)) {
    return fail(LCI_ERR_BUSY, "start graph %u: run %" PRIu64 " is under way, and %zu may be", id(), run.number(),
                runs_.size());
  }
  uint64_t number = 0;
  int code = plan();
  if (code == LCI_DONE) code = numbers_.next(id(), given, &number);
  if (code == LCI_DONE && completion_ && !completion_->hold()) code = LCI_RETRY_NOMEM;
  if (code != LCI_DONE) {
    run.give_back(before);
    return code;
  }
  static_cast<void>(hold());  // of its own: a graph is not bounded
  ++started_;
  if (numbers_.begin(run.index(), number, given != nullptr)) drop_stored();
  run.begin(static_cast<uint32_t>(started_), number);
  return LCI_POSTED;
}

int Graph::test(const uint64_t* number, lci_status* out) {
  const Run* const run = number ? run_of(*number) : &last_run();
  if (!run) {
    return fail(LCI_ERR_ARGUMENT, "test graph %u: run %" PRIu64 " was not started, or is long over", id(), *number);
  }
  switch (run->state()) {
    case Run::State::kNew:
      return fail(LCI_ERR_ARGUMENT, "test graph %u: it was never started", id());
    case Run::State::kRunning:
      return LCI_RETRY;
    default:
      break;
  }
  const lci_status& result = run->result();
  if (out) *out = result;
  if (result.code == LCI_DONE) return LCI_DONE;
  return fail(result.code, "graph %u: node %u ended run %" PRIu64 " with %s", id(), static_cast<uint32_t>(result.tag),
              run->number(), code_name(result.code));
}

int Graph::cancel(const uint64_t* number) {
  bool any = false;
  for (const auto& run : runs_) any |= run->cancel(number);
  return any ? LCI_DONE : LCI_RETRY;
}

int Graph::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  Step* const step = find_step(status.user_context);
  return step ? step->run.signalled(*step, status) : static_cast<int>(LCI_ERR_ARGUMENT);
}

int Graph::mark_complete(uint64_t handle, const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  Step* const step = find_step(handle);
  if (!step) return LCI_ERR_ARGUMENT;
  if (step->node.kind != Node::Kind::kFunction) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no function, it completes by itself", id(), step->node.index);
  }
  return step->run.signalled(*step, status);
}

int Graph::host_answered(uint32_t index, uint32_t count, const lci_status& status) {
  if (index >= size() || nodes_[index].kind != Node::Kind::kHost) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no host node", id(), index);
  }
  for (const auto& run : runs_) {
    if (run->running() && run->count() == count) return run->signalled(run->step(index), status);
  }
  return fail(LCI_ERR_OVERRUN, "graph %u: run %u is over", id(), count);
}

void Graph::give_up(int code) {
  for (const auto& run : runs_) run->give_up(code);
}

}  // namespace lci
