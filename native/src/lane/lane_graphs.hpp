// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_LANE_LANE_GRAPHS_HPP_
#define LCI_LANE_LANE_GRAPHS_HPP_

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "lci/lci.h"

namespace lci {

class Lane;

/// A graph as a lane's loop uploads it.
struct GraphTable {
  std::span<const lci_graph_node> nodes;
  std::span<const lci_graph_edge> edges;
  std::span<const lci_descriptor> ops;
};

/**
 * The graphs of a lane: host nodes and ends of runs become its records, descriptors answer. [V13]
 *
 * All but the two functions of GraphHost belong to the loop's thread. The graphs themselves are the runtime's, as all
 * completion objects: an operation on its way to a graph may outlive the lane.
 */
class LaneGraphs final : public GraphHost {
 public:
  explicit LaneGraphs(Lane& lane) : lane_(lane) {}

  int create(const GraphTable& table, uint64_t user_context, uint32_t* id);
  int free(uint32_t id);
  int cancel(uint32_t id);
  int statuses(uint32_t id, uint32_t first, uint32_t count, lci_status* out);
  /// The outcome of an LCI_OP_NODE_DONE, LCI_OP_NODE_FAILED or LCI_OP_GRAPH_START.
  int submitted(const lci_descriptor& op);
  /// Before the lane's devices forget its operations: nothing more is to be posted.
  void cancel_all();
  /// Afterwards: ends what is under way, and frees what nobody can signal any more; the rest goes with the runtime.
  void retire();

  void fire_host_node(const Graph& graph, uint32_t run, uint32_t node) override;
  void run_ended(const Graph& graph, uint32_t run, const lci_status& result) override;

 private:
  Graph* find(uint32_t id);
  int fill(Graph& graph, const GraphTable& table);
  int add_operation(Graph& graph, const GraphTable& table, const lci_graph_node& entry);

  Lane& lane_;
  std::vector<Graph*> graphs_;
};

}  // namespace lci

#endif  // LCI_LANE_LANE_GRAPHS_HPP_
