// SPDX-License-Identifier: Apache-2.0
// A run of a graph. [E14, E16, E17, SS-48..SS-52]
#include "graph/run.hpp"

#include <exception>

#include "base/caught.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/ready_nodes.hpp"

namespace lci {
namespace {

/// Calls a user's function: what it answers, or LCI_ERR_ARGUMENT if it threw.
template <typename F>
int call_user(F function) {
  try {
    return function();
  } catch (const std::exception& error) {
    count_as_caught();
    return lci::fail(LCI_ERR_ARGUMENT, "graph: a function threw: %s; functions must not throw", error.what());
  } catch (...) {
    count_as_caught();
    return lci::fail(LCI_ERR_ARGUMENT, "graph: a function threw; functions must not throw");
  }
}

lci_status status_of(int code, uint32_t rank = 0) {
  return {code, rank, 0, nullptr, 0, 0, 0, 0};
}

}  // namespace

void Run::add(Node& node) {
  Step& step = steps_.emplace_back(*this, node);
  by_index_.push_back(&step);
  if (node.operation) set_operation(step, node.operation->descriptor());
}

void Run::shrink(uint32_t size) {
  while (by_index_.size() > size) by_index_.pop_back();
  while (steps_.size() > size) steps_.pop_back();
}

void Run::set_operation(Step& step, const lci_descriptor& op) {
  if (step.node.kind == Node::Kind::kMemory) {
    step.memory = std::make_unique<MemoryOperation>(step, op);
  } else {
    step.operation = std::make_unique<GraphOperation>(step, op);
  }
}

void Run::prepare() {
  for (Step& step : steps_) step.pending.store(step.node.in_degree, std::memory_order_relaxed);
  step(Graph::kEnd).pending.store(0, std::memory_order_relaxed);  // see begin()
}

uint64_t Run::handle(uint32_t node) const {
  return graph_.handle(node, index_);
}

bool Run::take(State* before) {
  *before = state_.load(std::memory_order_relaxed);
  do {
    if (*before == State::kRunning) return false;
  } while (!state_.compare_exchange_weak(*before, State::kRunning, std::memory_order_acquire));
  return true;
}

void Run::begin(uint32_t count, uint64_t number) {
  count_ = count;
  number_ = number;
  error_.store(LCI_DONE, std::memory_order_relaxed);
  Step& first = step(Graph::kStart);
  Step& last = step(Graph::kEnd);
  first.status = status_of(LCI_DONE);
  first.status.user_context = handle(Graph::kStart);
  last.pending.store(last.node.in_degree, std::memory_order_release);  // from here on it can be cancelled
  ReadyNodes ready;
  advance(first.node);
  ready.fire();
}

/// Runs a step, before which all have completed.
void Run::fire(Step& step) {
  if (step.node.index == Graph::kEnd) return end();
  step.pending.store(step.node.in_degree, std::memory_order_relaxed);  // for the next run
  // First the state, then the error; fail() does it the other way round: one of the two sees the other.
  step.state.store(Step::kFired, std::memory_order_seq_cst);
  if (error_.load(std::memory_order_seq_cst) != LCI_DONE) return returned_final(step, status_of(LCI_ERR_CANCELLED));
  lci_status done = status_of(LCI_DONE, graph_.rank());
  const int code = run_node(step, &done);
  if (is_posted(code)) return returned_posted(step);
  done.code = is_done(code) ? static_cast<int>(LCI_DONE) : code;
  returned_final(step, done);
}

/// What the node's function or post answers, checked.
int Run::run_node(Step& step, lci_status* done) {
  const Node& node = step.node;
  if (const int code = call_user([&] { return run_edges(node), LCI_DONE; }); code != LCI_DONE) return code;
  switch (node.kind) {
    case Node::Kind::kOperation:
      return step.operation->post(number_, done);
    case Node::Kind::kMemory:
      return step.memory->run(done);
    case Node::Kind::kHost:
      graph_.host()->fire_host_node(graph_, count_, node.index);
      return LCI_POSTED;
    case Node::Kind::kDummy:
      return LCI_DONE;
    default:
      break;
  }
  auto call = [&] { return node.function(reinterpret_cast<lci_graph*>(&graph_), handle(node.index), node.value); };
  const int code = call_user(call);
  if (is_done(code) || is_posted(code) || is_error(code)) return code;
  return lci::fail(LCI_ERR_ARGUMENT,
                   "graph %u: the function of node %u answered %s; done, posted or an error was expected", graph_.id(),
                   node.index, code_name(code));
}

void Run::run_edges(const Node& node) {
  for (uint32_t i = 0; i < node.calls; ++i) {
    const Graph::Call& call = graph_.calls_[node.first_call + i];
    const Step& source = step(call.source);
    call.function(&source.status, source.node.value, node.value);
  }
}

/// The step is completed by its signal, or here, when that came first.
void Run::returned_posted(Step& step) {
  uint8_t state = step.state.load(std::memory_order_acquire);
  bool cancelled = false;
  do {
    // Before the step may complete: END waits for it.
    if ((state & Step::kCancel) && !cancelled) {
      if (step.operation && step.operation->is_receive()) step.operation->cancel();
      cancelled = true;
    }
  } while (!step.state.compare_exchange_weak(state, state | Step::kReturned, std::memory_order_acq_rel));
  if (state & Step::kSignalled) complete(step);
}

void Run::returned_final(Step& step, const lci_status& status) {
  const uint8_t state = step.state.fetch_or(Step::kReturned | Step::kClaimed, std::memory_order_acq_rel);
  if (!(state & Step::kClaimed)) {
    note(step, status);
    return complete(step);
  }
  // It was signalled although it answered done.
  fail(status_of(is_error(status.code) ? status.code : LCI_ERR_OVERRUN, status.rank), step.node.index);
  if (state & Step::kSignalled) complete(step);
}

/// The status of a step, whose tag is without the number of the run.
void Run::note(Step& step, const lci_status& status) {
  step.status = status;
  step.status.user_context = step.run.handle(step.node.index);
  if (step.operation && step.node.operation->tells_runs_apart()) step.status.tag &= kRunTagMask;
}

int Run::signalled(Step& step, const lci_status& status) {
  const uint8_t before = step.state.fetch_or(Step::kClaimed, std::memory_order_acq_rel);
  if (!step.waits(before)) {
    return lci::fail(LCI_ERR_OVERRUN, "graph %u: node %u does not wait for a signal", graph_.id(), step.node.index);
  }
  note(step, status);
  // Whoever fired the step completes it if it has not returned yet.
  if (!(step.state.fetch_or(Step::kSignalled, std::memory_order_acq_rel) & Step::kReturned)) return LCI_DONE;
  ReadyNodes ready;
  complete(step);
  ready.fire();
  return LCI_DONE;
}

void Run::complete(Step& step) {
  if (is_error(step.status.code) && error_.load(std::memory_order_relaxed) == LCI_DONE) {
    fail(step.status, step.node.index);
  }
  advance(step.node);
}

/// Afterwards the run may be over: nothing of the graph is touched any more.
void Run::advance(const Node& node) {
  const uint32_t* next = &graph_.outs_[node.first_out];
  for (const uint32_t* const end = next + node.outs; next != end;) {
    Step& follower = step(*next++);
    if (follower.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) ReadyNodes::add(follower);
  }
}

/// The caller has something that END waits for. The first failure counts. Operations that wait for room go before any
/// of them is posted; then the receives, and what is stored for them or comes later.
void Run::fail(const lci_status& status, uint32_t index) {
  int expected = LCI_DONE;
  if (!error_.compare_exchange_strong(expected, status.code, std::memory_order_seq_cst)) return;
  failure_ = status;
  failure_.tag = index;
  for (Step& step : steps_) {
    if (!step.node.operation) continue;
    const uint8_t state = step.state.fetch_or(Step::kCancel, std::memory_order_seq_cst);
    if (!step.operation || !step.waits(state)) continue;
    step.operation->give_up();
    if ((state & Step::kReturned) && step.operation->is_receive()) step.operation->cancel();
  }
  if (graph_.numbers_.failed(index_)) graph_.drop_stored();
}

bool Run::hold_end() {
  Step& last = step(Graph::kEnd);
  uint32_t pending = last.pending.load(std::memory_order_acquire);
  do {
    if (pending == 0) return false;
  } while (!last.pending.compare_exchange_weak(pending, pending + 1, std::memory_order_acq_rel));
  return true;
}

void Run::let_end() {
  Step& last = step(Graph::kEnd);
  ReadyNodes ready;
  if (last.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) ReadyNodes::add(last);
  ready.fire();
}

bool Run::cancel(const uint64_t* number) {
  if (!hold_end()) return false;
  const bool meant = !number || *number == number_;
  if (meant) fail(status_of(LCI_ERR_CANCELLED), Graph::kStart);
  let_end();
  return meant;
}

void Run::give_up(int code) {
  for (Step& step : steps_) {
    if (step.waits(step.state.load(std::memory_order_acquire))) signalled(step, status_of(code));
  }
}

/// What the run has come to, when nothing of it is left to do.
lci_status Run::outcome() {
  lci_status result = status_of(error_.load(std::memory_order_acquire), graph_.rank());
  result.size = number_;
  result.user_context = graph_.user_context();
  if (result.code != LCI_DONE) {
    result.rank = failure_.rank;
    result.tag = failure_.tag;
    return result;
  }
  result.code = call_user([&] { return run_edges(step(Graph::kEnd).node), LCI_DONE; });
  bool stale;
  if (result.code == LCI_DONE) {
    stale = graph_.numbers_.succeeded(index_);
  } else {
    result.tag = Graph::kEnd;
    stale = graph_.numbers_.failed(index_);
  }
  if (stale) graph_.drop_stored();
  return result;
}

/// By the one thread that fired END.
void Run::end() {
  Graph& graph = graph_;
  const lci_status result = outcome();
  Step& last = step(Graph::kEnd);
  last.status = result;
  last.status.user_context = handle(Graph::kEnd);
  result_ = result;
  const uint32_t count = count_;
  graph.enter_held();  // of the run: who sees its end may free the graph
  state_.store(State::kOver, std::memory_order_release);
  // From here on another run may be under way here.
  if (graph.completion_ && graph.completion_->signal_held(result) != LCI_DONE) graph.owner()->count_discarded();
  if (graph.host_) graph.host_->run_ended(graph, count, result);
  graph.leave();
}

}  // namespace lci
