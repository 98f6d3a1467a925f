// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_GRAPH_HPP_
#define LCI_GRAPH_GRAPH_HPP_

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "completion/completion.hpp"
#include "graph/node.hpp"

namespace lci {

/// Runs the host nodes of a graph, and is told of the end of its runs.
class GraphHost {
 public:
  virtual ~GraphHost() = default;
  /// Any thread. Answered by Graph::host_answered().
  virtual void fire_host_node(const Graph& graph, uint32_t node) = 0;
  /// Any thread; the graph may be started again, or go, as soon as it was told.
  virtual void run_ended(const Graph& graph, uint32_t run, const lci_status& result) = 0;
};

/**
 * Completion graph, and completion object of its nodes' operations. lci.h says what it does and who may call what.
 *
 * Lock-free between threads: a run is driven by the counters and state words of its nodes (node.hpp). The thread that
 * takes the last counter, that of END, ends the run; every other one has then made its last access. A run holds the
 * graph (Completion::hold), so that it is not freed; the hold ends when the ending thread has left.
 *
 * Memory order: starting acquires what ending released (`state_`), so a run sees all of the one before. `error_` and
 * the nodes' states are sequentially consistent where cancelling meets firing.
 */
class Graph final : public Completion {
 public:
  static constexpr uint32_t kStart = 0, kEnd = 1, kFirst = 2;

  /// @param completion signalled at the end of each run, or null; @param host or null
  Graph(Completion* completion, uint64_t user_context, GraphHost* host = nullptr);
  ~Graph() override;

  // --- building: one thread, no run under way; LCI_ERR_BUSY otherwise -----------------------------------------------
  int add_node(Node::Kind kind, void* value, Node** out);
  /// @param device null is for copies and reductions; @param lane that owns it, or null; @param op is checked;
  /// @param out may be null
  int add_operation(Device* device, LaneView* lane, const lci_descriptor& op, void* value, uint32_t* out);
  int add_edge(uint64_t from, uint64_t to, lci_edge_fn function);
  /// The operation of a node has a tag of its own in each run.
  int set_per_run(uint64_t node);
  /// Finds wiring errors and prepares the next run.
  int plan();

  // --- running ------------------------------------------------------------------------------------------------------
  /// @param number of the run, or null: that of the last one plus one
  int start(const uint64_t* number = nullptr);
  int test(lci_status* out) const;
  /// Any thread: ends the run as a failure would.
  int cancel();
  /// Any thread. The signal of an operation: user_context names the node.
  int signal(const lci_status& status) override;
  bool stores() const override { return false; }
  /// Any thread: the answer of a function node that said posted.
  int mark_complete(uint64_t node, const lci_status& status);
  /// Any thread: the host's answer for a node that it was told to fire in run @p run.
  int host_answered(uint32_t node, uint32_t run, const lci_status& status);
  /// Completes with @p code every node that still waits for a signal: none will come.
  void give_up(int code);

  /// The node of handle @p handle, or null with an error text.
  Node* find(uint64_t handle);
  const Node* find(uint64_t handle) const { return const_cast<Graph*>(this)->find(handle); }
  uint64_t handle(uint32_t index) const { return index < kFirst ? index : uint64_t{id()} << 32 | index; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  uint32_t run() const { return run_; }
  bool running() const { return state_.load(std::memory_order_acquire) == State::kRunning; }
  uint64_t user_context() const { return user_context_; }
  GraphHost* host() const { return host_; }
  uint32_t rank() const { return owner()->rank(); }

  /// For the thread's list of ready nodes.
  void fire(Node& node);

 private:
  enum class State : uint8_t { kNew, kRunning, kOver };
  struct Edge {
    uint32_t from, to;
    lci_edge_fn function;
  };
  struct Call {
    lci_edge_fn function;
    const Node* source;
  };

  int refuse_change() const;
  int next_number(const uint64_t* given, uint64_t* number) const;
  void begin_number(uint64_t number, bool given);
  void drop_stored();
  static void note(Node& node, const lci_status& status);
  // plan.cpp
  int check_circles();
  std::vector<bool> reached() const;

  // running
  void run_edges(const Node& node);
  int run_node(Node& node, lci_status* done);
  void returned_posted(Node& node);
  void returned_final(Node& node, const lci_status& status);
  int signalled(Node& node, const lci_status& status);
  void complete(Node& node);
  void advance(const Node& node);
  void fail_run(const lci_status& status, uint32_t node);
  void end_run();

  Completion* const completion_;
  const uint64_t user_context_;
  GraphHost* const host_;
  std::deque<Node> nodes_;
  std::vector<Edge> edges_;
  bool changed_ = true;

  // the plan
  std::vector<Node*> outs_;
  std::vector<Call> calls_;

  // the run
  std::atomic<State> state_{State::kNew};
  uint32_t run_ = 0;      // runs so far
  uint64_t number_ = 0;   // of this run: the users', part of tags
  bool per_run_ = false;  // some tags have it
  GraphRuns runs_;
  std::atomic<int> error_{LCI_DONE};
  lci_status failure_{};  // by whoever set error_, before END can fire
  lci_status result_{};
};

}  // namespace lci

#endif  // LCI_GRAPH_GRAPH_HPP_
