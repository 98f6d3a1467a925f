// SPDX-License-Identifier: Apache-2.0
#include "lane/lane_graphs.hpp"

#include "base/error.hpp"
#include "device/completions.hpp"
#include "lane/lane.hpp"

namespace lci {
namespace {

lci_record record_of(lci_record_kind kind, const Graph& graph, uint32_t run) {
  lci_record record{};
  record.kind = kind;
  record.tag = graph.user_context();
  record.context = uint64_t{run} << 32 | graph.id();
  return record;
}

}  // namespace

int LaneGraphs::create(const GraphTable& table, uint64_t user_context, uint32_t* id) {
  auto owned = std::make_unique<Graph>(nullptr, user_context, this);
  Graph* graph = owned.get();
  if (lane_.completions().add(std::move(owned)) == 0) {
    return fail(LCI_ERR_EXHAUSTED, "create graph: the runtime has no identifier left");
  }
  int code = fill(*graph, table);
  if (code == LCI_DONE) code = graph->plan();
  if (code != LCI_DONE) {
    lane_.completions().remove(graph);
    return code;
  }
  graphs_.push_back(graph);
  *id = graph->id();
  return LCI_DONE;
}

int LaneGraphs::fill(Graph& graph, const GraphTable& table) {
  for (const lci_graph_node& entry : table.nodes) {
    Node* node = nullptr;
    int code;
    switch (entry.kind) {
      case LCI_NODE_DUMMY:
        code = graph.add_node(Node::Kind::kDummy, nullptr, &node);
        break;
      case LCI_NODE_HOST:
        code = graph.add_node(Node::Kind::kHost, nullptr, &node);
        break;
      case LCI_NODE_OP:
      case LCI_NODE_OP_PER_RUN:
        code = add_operation(graph, table, entry);
        break;
      default:
        return fail(LCI_ERR_ARGUMENT, "create graph: unknown kind of node %u", entry.kind);
    }
    if (code != LCI_DONE) return code;
  }
  for (const lci_graph_edge& edge : table.edges) {
    if (const int code = graph.add_edge(graph.handle(edge.from), graph.handle(edge.to), nullptr); code != LCI_DONE) {
      return code;
    }
  }
  return LCI_DONE;
}

int LaneGraphs::add_operation(Graph& graph, const GraphTable& table, const lci_graph_node& entry) {
  if (entry.op >= table.ops.size()) {
    return fail(LCI_ERR_ARGUMENT, "create graph: operation %u of %zu", entry.op, table.ops.size());
  }
  const lci_descriptor& op = table.ops[entry.op];
  const int code = NodeOperation::check(op, static_cast<uint32_t>(table.ops.size() - entry.op));
  if (code != LCI_DONE) return code;
  if (op.device >= lane_.device_count()) {
    return fail(LCI_ERR_DEVICE, "create graph: device %u of a lane with %u", op.device, lane_.device_count());
  }
  uint32_t index = 0;
  const int added = graph.add_operation(&lane_.device(op.device), &lane_, op, nullptr, &index);
  const bool per_run = added == LCI_DONE && entry.kind == LCI_NODE_OP_PER_RUN;
  return per_run ? graph.set_per_run(graph.handle(index)) : added;
}

Graph* LaneGraphs::find(uint32_t id) {
  Completion* found = lane_.completions().find(id);
  if (found && found->kind() == Completion::Kind::kGraph) {
    auto* graph = static_cast<Graph*>(found);
    if (graph->host() == this) return graph;
  }
  fail(LCI_ERR_ARGUMENT, "graph: %u is no graph of this lane", id);
  return nullptr;
}

int LaneGraphs::free(uint32_t id) {
  Graph* graph = find(id);
  if (!graph) return LCI_ERR_ARGUMENT;
  const int code = lane_.completions().remove(graph);
  if (code == LCI_DONE) std::erase(graphs_, graph);
  return code;
}

int LaneGraphs::cancel(uint32_t id) {
  Graph* graph = find(id);
  return graph ? graph->cancel() : static_cast<int>(LCI_ERR_ARGUMENT);
}

int LaneGraphs::statuses(uint32_t id, uint32_t first, uint32_t count, lci_status* out) {
  Graph* graph = find(id);
  if (!graph) return LCI_ERR_ARGUMENT;
  if (first > graph->size() || count > graph->size() - first) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: it has %u nodes", id, graph->size());
  }
  Run& run = graph->last_run();
  for (uint32_t i = 0; i < count; ++i) out[i] = run.step(first + i).status;
  return LCI_DONE;
}

int LaneGraphs::submitted(const lci_descriptor& op) {
  Graph* graph = find(static_cast<uint32_t>(op.user_context));
  if (!graph) return LCI_ERR_ARGUMENT;
  if (op.op == LCI_OP_GRAPH_START) {
    if (op.size > 1) return fail(LCI_ERR_ARGUMENT, "start graph %u: size is %u, not 0 or 1", graph->id(), op.size);
    return graph->start(op.size == 1 ? &op.tag : nullptr);
  }
  int code = LCI_DONE;
  if (op.op == LCI_OP_NODE_FAILED) {
    code = op.size == 0 ? static_cast<int>(LCI_ERR_CANCELLED) : static_cast<int>(op.size);
    if (!is_error(code))
      return fail(LCI_ERR_ARGUMENT, "graph: node %u failed with %u, which is no error", op.rank, op.size);
  } else if (op.op != LCI_OP_NODE_DONE) {
    return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  }
  const lci_status answer{code, lane_.parts().rank, op.tag, nullptr, 0, 0, 0, 0};
  return graph->host_answered(op.rank, static_cast<uint32_t>(op.user_context >> 32), answer);
}

void LaneGraphs::cancel_all() {
  for (Graph* graph : graphs_) graph->cancel();
}

void LaneGraphs::retire() {
  for (Graph* graph : graphs_) {
    graph->give_up(LCI_ERR_CANCELLED);
    lane_.completions().remove(graph);
  }
  graphs_.clear();
}

void LaneGraphs::fire_host_node(const Graph& graph, uint32_t run, uint32_t node) {
  lci_record record = record_of(LCI_RECORD_HOST_NODE, graph, run);
  record.rank = node;
  lane_.graph_event(record);
}

void LaneGraphs::run_ended(const Graph& graph, uint32_t run, const lci_status& result) {
  lci_record record = record_of(LCI_RECORD_GRAPH, graph, run);
  record.code = static_cast<uint16_t>(result.code);
  record.rank = static_cast<uint32_t>(result.tag);
  lane_.graph_event(record);
}

}  // namespace lci
