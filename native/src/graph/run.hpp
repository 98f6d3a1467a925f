// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "graph/node.hpp"

namespace lci {

/**
 * What a run of a graph is driven by: where each node stands, and how it ends. A graph has a few of these, the
 * instances of its runs, and takes one after another.
 *
 * Lock-free between threads: a run is driven by the counters and state words of its steps (node.hpp). The thread that
 * takes the last counter, that of END, ends the run; every other one has then made its last access. A run holds the
 * graph (Completion::hold), so that it is not freed; the hold ends when the ending thread has left.
 *
 * Memory order: starting acquires what ending released (`state_`), so a run sees all of the one before in its instance.
 * `error_` and the steps' states are sequentially consistent where cancelling meets firing.
 */
class Run {
 public:
  enum class State : uint8_t { kNew, kRunning, kOver };

  /// @param index of the instance
  Run(Graph& graph, uint32_t index) : graph_(graph), index_(index) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // --- the owner of the graph
  // -----------------------------------------------------------------------------------------
  void add(Node& node);
  /// Forgets nodes from number @p size on.
  void shrink(uint32_t size);
  /// The operation of a node as it is in the runs of this instance.
  void set_operation(Step& step, const lci_descriptor& op);
  /// Counters as at the beginning of a run.
  void prepare();
  /// False: a run is under way. Else as if it was; give_back() undoes it, begin() goes on.
  bool take(State* before);
  void give_back(State before) { state_.store(before, std::memory_order_release); }
  /// @param count of the graph's runs, this one included
  void begin(uint32_t count, uint64_t number);
  const lci_status& result() const { return result_; }

  // --- any thread
  // -----------------------------------------------------------------------------------------------------
  State state() const { return state_.load(std::memory_order_acquire); }
  bool running() const { return state() == State::kRunning; }
  uint32_t index() const { return index_; }
  Graph& graph() const { return graph_; }
  /// Handle of node @p node in the runs of this instance.
  uint64_t handle(uint32_t node) const;
  Step& step(uint32_t node) { return *by_index_[node]; }
  /// Among the graph's runs.
  uint32_t count() const { return count_; }
  /// By which programs and tags know it.
  uint64_t number() const { return number_; }
  /// Ends the run, of this number if one is given, as a failure would. False: it is not under way.
  bool cancel(const uint64_t* number = nullptr);
  /// END waits for the caller, too, until let_end(): so the run does not end, nor the next one begin, meanwhile. False:
  /// there is no run.
  bool hold_end();
  void let_end();
  /// The signal of a node, or of what it posted.
  int signalled(Step& step, const lci_status& status);
  /// Completes with @p code every node that still waits for a signal.
  void give_up(int code);
  /// For the thread's list of ready nodes.
  void fire(Step& step);

 private:
  void run_edges(const Node& node);
  int run_node(Step& step, lci_status* done);
  void returned_posted(Step& step);
  void returned_final(Step& step, const lci_status& status);
  static void note(Step& step, const lci_status& status);
  void complete(Step& step);
  void advance(const Node& node);
  void fail(const lci_status& status, uint32_t node);
  void end();
  lci_status outcome();

  Graph& graph_;
  const uint32_t index_;
  std::deque<Step> steps_;
  std::vector<Step*> by_index_;

  std::atomic<State> state_{State::kNew};
  uint32_t count_ = 0;
  uint64_t number_ = 0;
  std::atomic<int> error_{LCI_DONE};
  lci_status failure_{};  // by whoever set error_, before END can fire
  lci_status result_{};
};

}  // namespace lci
