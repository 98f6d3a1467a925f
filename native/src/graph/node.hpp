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

/**
 * A node of a graph, and where it stands in the run.
 *
 * `pending` counts the edges over which nothing has come yet; whoever takes it to 0 fires the node. `state` joins two
 * parties, each of which is there once: the thread that fired the node, when its function or post has returned, and the
 * signaller. The later of the two completes the node, so that nothing of a node runs when the nodes after it do.
 *
 * Memory order: the decrement of `pending` is acquire-release, so that what all predecessors wrote is visible to the
 * node. Bits of `state` are set acquire-release: `status` is written between kClaimed, which one signaller gets, and
 * kSignalled. Firing and cancelling order themselves by sequential consistency, see Graph::fire().
 */
struct Node {
  enum class Kind : uint8_t { kDummy, kFunction, kOperation, kMemory, kHost };
  enum State : uint8_t { kFired = 1, kReturned = 2, kClaimed = 4, kSignalled = 8, kCancel = 16 };

  Node(Graph& owner, uint32_t number, Kind what, void* given) : graph(owner), index(number), kind(what), value(given) {}

  Graph& graph;
  const uint32_t index;
  const Kind kind;
  void* const value;
  lci_node_fn function = nullptr;
  std::unique_ptr<GraphOperation> operation;
  std::unique_ptr<MemoryOperation> memory;
  lci_value_free_fn free_value = nullptr;

  // the plan: ranges of the graph's arrays
  uint32_t first_out = 0, outs = 0;
  uint32_t first_call = 0, calls = 0;
  uint32_t in_degree = 0;

  // the run
  std::atomic<uint32_t> pending{0};
  std::atomic<uint8_t> state{0};
  Node* next_ready = nullptr;
  lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
};

}  // namespace lci

#endif  // LCI_GRAPH_NODE_HPP_
