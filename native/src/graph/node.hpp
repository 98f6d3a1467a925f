// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_GRAPH_NODE_HPP_
#define LCI_GRAPH_NODE_HPP_

#include <atomic>
#include <cstdint>
#include <memory>

#include "graph/memory_operation.hpp"
#include "graph/operation.hpp"
#include "lci/lci.h"

namespace lci {

class Graph;
class Run;

/// A node of a graph: what is the same in all runs.
struct Node {
  enum class Kind : uint8_t { kDummy, kFunction, kOperation, kMemory, kHost };

  Node(Graph& owner, uint32_t number, Kind what, void* given) : graph(owner), index(number), kind(what), value(given) {}

  Graph& graph;
  const uint32_t index;
  const Kind kind;
  void* const value;
  lci_node_fn function = nullptr;
  std::unique_ptr<NodeOperation> operation;
  lci_value_free_fn free_value = nullptr;

  // the plan: ranges of the graph's arrays
  uint32_t first_out = 0, outs = 0;
  uint32_t first_call = 0, calls = 0;
  uint32_t in_degree = 0;
};

/**
 * Where a node stands in a run.
 *
 * `pending` counts the edges over which nothing has come yet; whoever takes it to 0 fires the node. `state` joins two
 * parties, each of which is there once: the thread that fired the node, when its function or post has returned, and the
 * signaller. The later of the two completes the node, so that nothing of a node runs when the nodes after it do.
 *
 * Memory order: the decrement of `pending` is acquire-release, so that what all predecessors wrote is visible to the
 * node. Bits of `state` are set acquire-release: `status` is written between kClaimed, which one signaller gets, and
 * kSignalled. Firing and cancelling order themselves by sequential consistency, see Run::fire().
 */
struct Step {
  enum State : uint8_t { kFired = 1, kReturned = 2, kClaimed = 4, kSignalled = 8, kCancel = 16 };

  Step(Run& of, Node& what) : run(of), node(what) {}

  /// A signal comes, or may come.
  bool waits(uint8_t seen) const { return (seen & kFired) && !(seen & kClaimed); }
  bool is_cancelled(std::memory_order order) const { return (state.load(order) & kCancel) != 0; }

  Run& run;
  Node& node;
  std::unique_ptr<GraphOperation> operation;
  std::unique_ptr<MemoryOperation> memory;

  std::atomic<uint32_t> pending{0};
  std::atomic<uint8_t> state{0};
  Step* next_ready = nullptr;
  lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
};

}  // namespace lci

#endif  // LCI_GRAPH_NODE_HPP_
