// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_GRAPH_HPP_
#define LCI_GRAPH_GRAPH_HPP_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "completion/completion.hpp"
#include "graph/node.hpp"
#include "graph/run.hpp"
#include "graph/run_numbers.hpp"

namespace lci {

/// Runs the host nodes of a graph, and is told of the end of its runs. @p run: see Run::count().
class GraphHost {
 public:
  virtual ~GraphHost() = default;
  /// Any thread. Answered by Graph::host_answered().
  virtual void fire_host_node(const Graph& graph, uint32_t run, uint32_t node) = 0;
  /// Any thread; the instance may be started again, and the graph may go, as soon as it was told.
  virtual void run_ended(const Graph& graph, uint32_t run, const lci_status& result) = 0;
};

/**
 * Completion graph, and completion object of its nodes' operations. lci.h says what it does and who may call what.
 *
 * The graph is the plan of its runs. What changes in a run lies in an instance (Run), of which it has `depth`; runs
 * take them in turn. Whoever builds changes nothing of a run, so there is none under way then.
 */
class Graph final : public Completion {
 public:
  static constexpr uint32_t kStart = 0, kEnd = 1, kFirst = 2;
  /// A handle: graph 32 | instance 8 | node 24 bits.
  static constexpr uint32_t kNodeBits = 24, kInstanceBits = 8;
  static constexpr uint32_t kMostNodes = uint32_t{1} << kNodeBits;

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
  /// So many runs may be under way at once. Before the first one.
  int set_depth(uint32_t depth);
  /// The operation of a node in the runs of an instance. @param op is checked
  int set_operation(uint64_t node, uint32_t instance, const lci_descriptor& op);
  /// Finds wiring errors and prepares the next runs.
  int plan();

  // --- running ------------------------------------------------------------------------------------------------------
  /// @param number of the run, or null: that of the last one plus one
  int start(const uint64_t* number = nullptr);
  /// Of the run of that number, or null: of the last one.
  int test(const uint64_t* number, lci_status* out);
  /// Any thread: ends runs as a failure would: that of this number, or all.
  int cancel(const uint64_t* number = nullptr);
  /// Any thread. The signal of an operation: user_context names the node.
  int signal(const lci_status& status) override;
  bool stores() const override { return false; }
  /// Any thread: the answer of a function node that said posted.
  int mark_complete(uint64_t node, const lci_status& status);
  /// The host's answer for a node that it was told to fire in run @p run.
  int host_answered(uint32_t node, uint32_t run, const lci_status& status);
  /// Completes with @p code every node that still waits for a signal: none will come.
  void give_up(int code);

  /// The node of handle @p handle, whatever the instance, or null with an error text.
  Node* find(uint64_t handle);
  /// The same in the instance that the handle names.
  const Step* find_step(uint64_t handle) const;
  Step* find_step(uint64_t handle) { return const_cast<Step*>(std::as_const(*this).find_step(handle)); }
  uint64_t handle(uint32_t node, uint32_t instance = 0) const;
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  /// The last run, or that which will be the first one.
  Run& last_run() { return *runs_[started_ == 0 ? 0 : (started_ - 1) % runs_.size()]; }
  uint64_t user_context() const { return user_context_; }
  GraphHost* host() const { return host_; }
  uint32_t rank() const { return owner()->rank(); }

 private:
  friend class Run;
  struct Edge {
    uint32_t from, to;
    lci_edge_fn function;
  };
  struct Call {
    lci_edge_fn function;
    uint32_t source;
  };

  int add_node(Node::Kind kind, void* value, std::unique_ptr<NodeOperation> operation, Node** out);
  bool any_running() const;
  int refuse_change() const;
  Run* run_of(uint64_t number);
  void drop_stored();
  // plan.cpp
  void sort_edges();
  int check_circles();
  std::vector<bool> reached() const;

  Completion* const completion_;
  const uint64_t user_context_;
  GraphHost* const host_;
  std::deque<Node> nodes_;
  std::vector<Edge> edges_;
  bool changed_ = true;

  // the plan
  std::vector<uint32_t> outs_;
  std::vector<Call> calls_;

  std::vector<std::unique_ptr<Run>> runs_;
  uint64_t started_ = 0;  // runs so far
  RunNumbers numbers_;
};

}  // namespace lci

#endif  // LCI_GRAPH_GRAPH_HPP_
