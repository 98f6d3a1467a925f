// SPDX-License-Identifier: Apache-2.0
// A run of a graph. [E14, E16, E17, SS-48..SS-52]
#include <array>
#include <exception>
#include <utility>

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
    return fail(LCI_ERR_ARGUMENT, "graph: a function threw: %s; functions must not throw", error.what());
  } catch (...) {
    count_as_caught();
    return fail(LCI_ERR_ARGUMENT, "graph: a function threw; functions must not throw");
  }
}

}  // namespace

/// The number of the next run, or why it cannot have the one that is given, or needs one.
int Graph::next_number(const uint64_t* given, uint64_t* number) const {
  const bool first = run_ == 0;
  if (runs_.too_far.load(std::memory_order_acquire)) {
    return fail(LCI_ERR_OVERRUN, "start graph %u: a rank sent for a run more than %lu ahead, which was dropped", id(),
                kMostRunsApart);
  }
  if (!given && !first && per_run_ && result_.code != LCI_DONE) {
    return fail(LCI_ERR_RUN_NUMBER,
                "start graph %u: run %lu has failed, so other ranks may be in another one; agree with them on a number",
                id(), number_);
  }
  *number = given ? *given : first ? 1 : number_ + 1;
  if (first || (*number > number_ && *number - number_ <= kMostRunsApart)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "start graph %u: after run %lu the next number is %lu to %lu, not %lu", id(), number_,
              number_ + 1, number_ + kMostRunsApart, *number);
}

/// What may be stored for runs before this one goes.
void Graph::begin_number(uint64_t number, bool given) {
  number_ = number;
  if (!per_run_) return;
  runs_.lowest.store(number, std::memory_order_seq_cst);
  if (given) drop_stored();
}

/// Once in each engine that a node names by whose tag runs are told apart.
void Graph::drop_stored() {
  std::array<bool, LCI_MAX_ENGINE + 1> looked_at{};
  for (Node& node : nodes_) {
    if (!node.operation || !node.operation->has_floor()) continue;
    if (!std::exchange(looked_at[node.operation->descriptor().port], true)) node.operation->drop_stored();
  }
}

int Graph::start(const uint64_t* given) {
  State before = state_.load(std::memory_order_relaxed);
  do {
    if (before == State::kRunning) return fail(LCI_ERR_BUSY, "start graph %u: its run is under way", id());
  } while (!state_.compare_exchange_weak(before, State::kRunning, std::memory_order_acquire));
  uint64_t number = 0;
  int code = plan();
  if (code == LCI_DONE) code = next_number(given, &number);
  if (code != LCI_DONE) {
    state_.store(before, std::memory_order_release);
    return code;
  }
  if (completion_ && !completion_->hold()) {
    state_.store(before, std::memory_order_release);
    return LCI_RETRY_NOMEM;
  }
  static_cast<void>(hold());  // of its own: a graph is not bounded
  ++run_;
  begin_number(number, given != nullptr);
  error_.store(LCI_DONE, std::memory_order_relaxed);
  Node& first = nodes_[kStart];
  Node& last = nodes_[kEnd];
  first.status = {LCI_DONE, 0, 0, nullptr, 0, handle(kStart), 0, 0};
  last.pending.store(last.in_degree, std::memory_order_release);  // from here on it can be cancelled
  ReadyNodes ready;
  advance(first);
  ready.fire();
  return LCI_POSTED;
}

int Graph::test(lci_status* out) const {
  switch (state_.load(std::memory_order_acquire)) {
    case State::kNew:
      return fail(LCI_ERR_ARGUMENT, "test graph %u: it was never started", id());
    case State::kRunning:
      return LCI_RETRY;
    default:
      break;
  }
  if (out) *out = result_;
  if (result_.code == LCI_DONE) return LCI_DONE;
  return fail(result_.code, "graph %u: node %u ended the run with %s", id(), static_cast<uint32_t>(result_.tag),
              code_name(result_.code));
}

/// Runs @p node, whose predecessors have all completed.
void Graph::fire(Node& node) {
  if (node.index == kEnd) return end_run();
  node.pending.store(node.in_degree, std::memory_order_relaxed);  // for the next run
  // First the state, then the error; fail_run() does it the other way round: one of the two sees the other.
  node.state.store(Node::kFired, std::memory_order_seq_cst);
  if (error_.load(std::memory_order_seq_cst) != LCI_DONE) {
    return returned_final(node, {LCI_ERR_CANCELLED, 0, 0, nullptr, 0, 0, 0, 0});
  }
  lci_status done{LCI_DONE, owner()->rank(), 0, nullptr, 0, 0, 0, 0};
  const int code = run_node(node, &done);
  if (is_posted(code)) return returned_posted(node);
  done.code = is_done(code) ? static_cast<int>(LCI_DONE) : code;
  returned_final(node, done);
}

/// What the node's function or post answers, checked.
int Graph::run_node(Node& node, lci_status* done) {
  if (const int code = call_user([&] { return run_edges(node), LCI_DONE; }); code != LCI_DONE) return code;
  switch (node.kind) {
    case Node::Kind::kOperation:
      return node.operation->post(number_, done);
    case Node::Kind::kMemory:
      return node.memory->run(done);
    case Node::Kind::kHost:
      host_->fire_host_node(*this, node.index);
      return LCI_POSTED;
    case Node::Kind::kDummy:
      return LCI_DONE;
    default:
      break;
  }
  auto call = [&] { return node.function(reinterpret_cast<lci_graph*>(this), handle(node.index), node.value); };
  const int code = call_user(call);
  if (is_done(code) || is_posted(code) || is_error(code)) return code;
  return fail(LCI_ERR_ARGUMENT, "graph %u: the function of node %u answered %s; done, posted or an error was expected",
              id(), node.index, code_name(code));
}

void Graph::run_edges(const Node& node) {
  for (uint32_t i = 0; i < node.calls; ++i) {
    const Call& call = calls_[node.first_call + i];
    call.function(&call.source->status, call.source->value, node.value);
  }
}

/// The node is completed by its signal, or here, when that came first.
void Graph::returned_posted(Node& node) {
  uint8_t state = node.state.load(std::memory_order_acquire);
  bool cancelled = false;
  do {
    // Before the node may complete: afterwards the next run could have posted the same receive.
    if ((state & Node::kCancel) && !cancelled) {
      if (node.operation && node.operation->is_receive()) node.operation->cancel();
      cancelled = true;
    }
  } while (!node.state.compare_exchange_weak(state, state | Node::kReturned, std::memory_order_acq_rel));
  if (state & Node::kSignalled) complete(node);
}

void Graph::returned_final(Node& node, const lci_status& status) {
  const uint8_t state = node.state.fetch_or(Node::kReturned | Node::kClaimed, std::memory_order_acq_rel);
  if (!(state & Node::kClaimed)) {
    note(node, status);
    return complete(node);
  }
  // It was signalled although it answered done.
  fail_run({is_error(status.code) ? status.code : LCI_ERR_OVERRUN, status.rank, 0, nullptr, 0, 0, 0, 0}, node.index);
  if (state & Node::kSignalled) complete(node);
}

/// The status of a node, whose tag is without the number of the run.
void Graph::note(Node& node, const lci_status& status) {
  node.status = status;
  node.status.user_context = node.graph.handle(node.index);
  if (node.operation && node.operation->tells_runs_apart()) node.status.tag &= kRunTagMask;
}

int Graph::signalled(Node& node, const lci_status& status) {
  const uint8_t before = node.state.fetch_or(Node::kClaimed, std::memory_order_acq_rel);
  const bool waits = (before & Node::kFired) && !(before & Node::kClaimed);
  if (!waits) {
    return fail(LCI_ERR_OVERRUN, "graph %u: node %u does not wait for a signal", id(), node.index);
  }
  note(node, status);
  // Whoever fired the node completes it if it has not returned yet.
  if (!(node.state.fetch_or(Node::kSignalled, std::memory_order_acq_rel) & Node::kReturned)) return LCI_DONE;
  ReadyNodes ready;
  complete(node);
  ready.fire();
  return LCI_DONE;
}

int Graph::signal(const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  Node* node = find(status.user_context);
  return node ? signalled(*node, status) : static_cast<int>(LCI_ERR_ARGUMENT);
}

int Graph::mark_complete(uint64_t handle, const lci_status& status) {
  if (const int code = check_signal(status); code != LCI_DONE) return code;
  Node* node = find(handle);
  if (!node) return LCI_ERR_ARGUMENT;
  if (node->kind != Node::Kind::kFunction) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no function, it completes by itself", id(), node->index);
  }
  return signalled(*node, status);
}

int Graph::host_answered(uint32_t index, uint32_t run, const lci_status& status) {
  if (index >= size() || nodes_[index].kind != Node::Kind::kHost) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no host node", id(), index);
  }
  if (!running() || run != run_) return fail(LCI_ERR_OVERRUN, "graph %u: run %u is over", id(), run);
  return signalled(nodes_[index], status);
}

void Graph::complete(Node& node) {
  if (is_error(node.status.code) && error_.load(std::memory_order_relaxed) == LCI_DONE) {
    fail_run(node.status, node.index);
  }
  advance(node);
}

/// Afterwards the run may be over: nothing of the graph is touched any more.
void Graph::advance(const Node& node) {
  Node* const* next = &outs_[node.first_out];
  for (Node* const* const end = next + node.outs; next != end;) {
    Node& follower = **next++;
    if (follower.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) ReadyNodes::add(follower);
  }
}

/// The caller has something that END waits for. The first failure counts. Operations that wait for room go before any
/// of them is posted; then the receives, and what is stored for them or comes later.
void Graph::fail_run(const lci_status& status, uint32_t index) {
  int expected = LCI_DONE;
  if (!error_.compare_exchange_strong(expected, status.code, std::memory_order_seq_cst)) return;
  failure_ = status;
  failure_.tag = index;
  for (Node& node : nodes_) {
    if (!node.operation && !node.memory) continue;
    const uint8_t state = node.state.fetch_or(Node::kCancel, std::memory_order_seq_cst);
    if (!node.operation || !(state & Node::kFired) || (state & Node::kClaimed)) continue;
    node.operation->give_up();
    if ((state & Node::kReturned) && node.operation->is_receive()) node.operation->cancel();
  }
  if (!per_run_) return;
  runs_.lowest.store(number_ + 1, std::memory_order_seq_cst);
  drop_stored();
}

int Graph::cancel() {
  // END is made to wait for us, too: so the run does not end, nor the next one begin, meanwhile.
  Node& last = nodes_[kEnd];
  uint32_t pending = last.pending.load(std::memory_order_acquire);
  do {
    if (pending == 0) return LCI_RETRY;
  } while (!last.pending.compare_exchange_weak(pending, pending + 1, std::memory_order_acq_rel));
  fail_run({LCI_ERR_CANCELLED, 0, 0, nullptr, 0, 0, 0, 0}, kStart);
  ReadyNodes ready;
  if (last.pending.fetch_sub(1, std::memory_order_acq_rel) == 1) ReadyNodes::add(last);
  ready.fire();
  return LCI_DONE;
}

void Graph::give_up(int code) {
  for (Node& node : nodes_) {
    const uint8_t state = node.state.load(std::memory_order_acquire);
    const bool waits = (state & Node::kFired) && !(state & Node::kClaimed);
    if (waits) signalled(node, {code, 0, 0, nullptr, 0, 0, 0, 0});
  }
}

/// By the one thread that fired END.
void Graph::end_run() {
  lci_status result{error_.load(std::memory_order_acquire), owner()->rank(), 0, nullptr, 0, user_context_, 0, 0};
  Node& last = nodes_[kEnd];
  if (result.code == LCI_DONE) {
    result.code = call_user([&] { return run_edges(last), LCI_DONE; });
    if (result.code != LCI_DONE) result.tag = kEnd;
  } else {
    result.rank = failure_.rank;
    result.tag = failure_.tag;
  }
  last.status = result;
  last.status.user_context = handle(kEnd);
  result_ = result;
  const uint32_t run = run_;
  enter_held();  // of the run: who sees its end may free the graph
  state_.store(State::kOver, std::memory_order_release);
  // From here on another run may be under way.
  if (completion_ && completion_->signal_held(result) != LCI_DONE) owner()->count_discarded();
  if (host_) host_->run_ended(*this, run, result);
  leave();
}

}  // namespace lci
