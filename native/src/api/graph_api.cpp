// SPDX-License-Identifier: Apache-2.0
#include "api/global.hpp"
#include "graph/graph.hpp"
#include "lane/lane_graphs.hpp"

using namespace lci;

namespace {

int check_device(Device& device, const Graph& graph) {
  if (&device.runtime() != graph.runtime()) {
    return fail(LCI_ERR_ARGUMENT, "add operation node: device %u of rank %u belongs to another runtime than the graph",
                device.index(), device.runtime().rank());
  }
  if (!device.lane()) return LCI_DONE;
  return fail(LCI_ERR_DEVICE, "add operation node: device %u belongs to a lane", device.index());
}

}  // namespace

extern "C" {

int lci_graph_create(lci_runtime* runtime, lci_comp* comp, uint64_t user_context, lci_graph** out) {
  LCI_RUNTIME(runtime, "create graph");
  LCI_NOT_NULL(out, "create graph");
  return guarded("create graph", [&]() -> int {
    Completion* completion = comp ? lci::from_handle(comp) : nullptr;
    if (completion) {
      if (const int code = check_own(*completion, *runtime->runtime, "create graph"); code != LCI_DONE) return code;
    }
    auto graph = std::make_unique<Graph>(completion, user_context);
    auto* added = reinterpret_cast<lci_graph*>(graph.get());
    if (runtime->runtime->completions().add(std::move(graph)) == 0) {
      return fail(LCI_ERR_EXHAUSTED, "create graph: the runtime has no identifier left");
    }
    *out = added;
    return LCI_DONE;
  });
}

int lci_graph_free(lci_graph* graph) {
  if (!graph) return LCI_DONE;
  return guarded("free graph", [&] { return from_handle(graph)->runtime()->completions().remove(from_handle(graph)); });
}

int lci_graph_add_function(lci_graph* graph, lci_node_fn function, void* value, lci_node* out) {
  LCI_NOT_NULL(graph, "add function node");
  LCI_NOT_NULL(out, "add function node");
  return guarded("add function node", [&] {
    Node* node = nullptr;
    const auto kind = function ? Node::Kind::kFunction : Node::Kind::kDummy;
    const int code = from_handle(graph)->add_node(kind, value, &node);
    if (code != LCI_DONE) return code;
    node->function = function;
    *out = from_handle(graph)->handle(node->index);
    return code;
  });
}

int lci_graph_add_op(lci_graph* graph, lci_device* handle, const lci_descriptor* op, void* value, lci_node* out) {
  LCI_NOT_NULL(graph, "add operation node");
  LCI_NOT_NULL(op, "add operation node");
  if (!MemoryOperation::is_one(*op)) LCI_NOT_NULL(handle, "add operation node");
  LCI_NOT_NULL(out, "add operation node");
  return guarded("add operation node", [&]() -> int {
    Device* const device = handle ? lci::from_handle(handle) : nullptr;
    if (device) {
      if (const int code = check_device(*device, *from_handle(graph)); code != LCI_DONE) return code;
    }
    if (const int code = NodeOperation::check(*op, UINT32_MAX); code != LCI_DONE) return code;
    uint32_t index = 0;
    const int code = from_handle(graph)->add_operation(device, nullptr, *op, value, &index);
    if (code == LCI_DONE) *out = from_handle(graph)->handle(index);
    return code;
  });
}

int lci_graph_set_depth(lci_graph* graph, uint32_t depth) {
  LCI_NOT_NULL(graph, "depth of a graph");
  return guarded("depth of a graph", [&] { return from_handle(graph)->set_depth(depth); });
}

int lci_graph_set_op(lci_graph* graph, lci_node node, uint32_t instance, const lci_descriptor* op) {
  LCI_NOT_NULL(graph, "operation of an instance");
  LCI_NOT_NULL(op, "operation of an instance");
  return guarded("operation of an instance", [&] {
    const int code = NodeOperation::check(*op, UINT32_MAX);
    return code == LCI_DONE ? from_handle(graph)->set_operation(node, instance, *op) : code;
  });
}

int lci_graph_set_per_run(lci_graph* graph, lci_node node) {
  LCI_NOT_NULL(graph, "tag for each run");
  return guarded("tag for each run", [&] { return from_handle(graph)->set_per_run(node); });
}

int lci_graph_on_free(lci_graph* graph, lci_node handle, lci_value_free_fn function) {
  LCI_NOT_NULL(graph, "on free");
  Node* node = from_handle(graph)->find(handle);
  if (!node) return LCI_ERR_ARGUMENT;
  node->free_value = function;
  return LCI_DONE;
}

int lci_graph_add_edge(lci_graph* graph, lci_node from, lci_node to, lci_edge_fn function) {
  LCI_NOT_NULL(graph, "add edge");
  return guarded("add edge", [&] { return from_handle(graph)->add_edge(from, to, function); });
}

int lci_graph_start(lci_graph* graph) {
  LCI_NOT_NULL(graph, "start graph");
  return guarded("start graph", [&] { return from_handle(graph)->start(); });
}

int lci_graph_start_run(lci_graph* graph, uint64_t number) {
  LCI_NOT_NULL(graph, "start graph");
  return guarded("start graph", [&] { return from_handle(graph)->start(&number); });
}

int lci_graph_test(lci_graph* graph, lci_status* out) {
  LCI_NOT_NULL(graph, "test graph");
  return from_handle(graph)->test(nullptr, out);
}

int lci_graph_test_run(lci_graph* graph, uint64_t number, lci_status* out) {
  LCI_NOT_NULL(graph, "test graph");
  return from_handle(graph)->test(&number, out);
}

int lci_graph_cancel(lci_graph* graph) {
  LCI_NOT_NULL(graph, "cancel graph");
  return guarded("cancel graph", [&] { return from_handle(graph)->cancel(); });
}

int lci_graph_cancel_run(lci_graph* graph, uint64_t number) {
  LCI_NOT_NULL(graph, "cancel graph");
  return guarded("cancel graph", [&] { return from_handle(graph)->cancel(&number); });
}

int lci_graph_mark_complete(lci_graph* graph, lci_node node, const lci_status* status) {
  LCI_NOT_NULL(graph, "mark complete");
  return guarded("mark complete", [&] {
    const lci_status done{LCI_DONE, from_handle(graph)->runtime()->rank(), 0, nullptr, 0, 0, 0, 0};
    return from_handle(graph)->mark_complete(node, status ? *status : done);
  });
}

int lci_graph_node_get(const lci_graph* graph, lci_node handle, void** out_value, lci_status* out_status) {
  LCI_NOT_NULL(graph, "graph node");
  const Step* step = from_handle(graph)->find_step(handle);
  if (!step) return LCI_ERR_ARGUMENT;
  if (out_value) *out_value = step->node.value;
  if (out_status) *out_status = step->status;
  return LCI_DONE;
}

int lci_graph_run_number(const lci_graph* graph, lci_node handle, uint64_t* out) {
  LCI_NOT_NULL(graph, "number of a run");
  LCI_NOT_NULL(out, "number of a run");
  const Step* step = from_handle(graph)->find_step(handle);
  if (!step) return LCI_ERR_ARGUMENT;
  if (step->run.state() == Run::State::kNew) {
    return fail(LCI_ERR_ARGUMENT, "number of a run: there was none in instance %u", step->run.index());
  }
  *out = step->run.number();
  return LCI_DONE;
}

lci_comp* lci_graph_comp(lci_graph* graph) {
  return graph ? to_handle(from_handle(graph)) : nullptr;
}

int lci_lane_graph_create(lci_lane* lane, const lci_graph_node* nodes, uint32_t node_count, const lci_graph_edge* edges,
                          uint32_t edge_count, const lci_descriptor* ops, uint32_t op_count, uint64_t user_context,
                          uint32_t* out_id) {
  LCI_NOT_NULL(lane, "create graph");
  LCI_NOT_NULL(out_id, "create graph");
  if ((node_count != 0 && !nodes) || (edge_count != 0 && !edges) || (op_count != 0 && !ops)) {
    return fail(LCI_ERR_ARGUMENT, "create graph: a table is null");
  }
  return guarded("create graph", [&] {
    const GraphTable table{{nodes, node_count}, {edges, edge_count}, {ops, op_count}};
    return lane->lane->graphs().create(table, user_context, out_id);
  });
}

int lci_lane_graph_free(lci_lane* lane, uint32_t id) {
  LCI_NOT_NULL(lane, "free graph");
  return guarded("free graph", [&] { return lane->lane->graphs().free(id); });
}

int lci_lane_graph_cancel(lci_lane* lane, uint32_t id) {
  LCI_NOT_NULL(lane, "cancel graph");
  return guarded("cancel graph", [&] { return lane->lane->graphs().cancel(id); });
}

int lci_lane_graph_statuses(lci_lane* lane, uint32_t id, uint32_t first, uint32_t count, lci_status* out) {
  LCI_NOT_NULL(lane, "graph statuses");
  LCI_NOT_NULL(out, "graph statuses");
  return guarded("graph statuses", [&] { return lane->lane->graphs().statuses(id, first, count, out); });
}

}  // extern "C"
