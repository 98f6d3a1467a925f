// SPDX-License-Identifier: Apache-2.0
// Building a graph, and what is worked out once before its runs: who follows whom, and wiring errors. [E13, E18]
#include <algorithm>
#include <cinttypes>
#include <iterator>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace lci {

int Graph::refuse_change() const {
  return any_running() ? fail(LCI_ERR_BUSY, "graph %u: a run is under way", id()) : LCI_DONE;
}

int Graph::add_node(Node::Kind kind, void* value, Node** out) {
  return add_node(kind, value, nullptr, out);
}

int Graph::add_node(Node::Kind kind, void* value, std::unique_ptr<NodeOperation> operation, Node** out) {
  if (const int code = refuse_change(); code != LCI_DONE) return code;
  if (size() == kMostNodes) return fail(LCI_ERR_EXHAUSTED, "graph %u: it has %u nodes, which is all", id(), size());
  Node& node = nodes_.emplace_back(*this, size(), kind, value);
  node.operation = std::move(operation);
  try {
    for (const auto& run : runs_) run->add(node);
  } catch (...) {  // no memory: there is no such node
    for (const auto& run : runs_) run->shrink(node.index);
    nodes_.pop_back();
    throw;
  }
  *out = &node;
  changed_ = true;
  return LCI_DONE;
}

int Graph::add_operation(Device* device, LaneView* lane, const lci_descriptor& op, void* value, uint32_t* out) {
  Node* node = nullptr;
  const auto kind = MemoryOperation::is_one(op) ? Node::Kind::kMemory : Node::Kind::kOperation;
  const int code = add_node(kind, value, std::make_unique<NodeOperation>(device, lane, op), &node);
  if (code == LCI_DONE && out) *out = node->index;
  return code;
}

int Graph::set_depth(uint32_t depth) {
  if (depth == 0 || depth > kMostInstances) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: 1 to %u runs may be under way at once, not %u", id(), kMostInstances,
                depth);
  }
  if (started_ != 0) return fail(LCI_ERR_BUSY, "graph %u: it has begun to run with depth %zu", id(), runs_.size());
  std::vector<std::unique_ptr<Run>> more;  // all of them, or none if there is no memory
  for (auto index = static_cast<uint32_t>(runs_.size()); index < depth; ++index) {
    more.push_back(std::make_unique<Run>(*this, index));
    for (Node& node : nodes_) more.back()->add(node);
  }
  runs_.reserve(depth);
  std::move(more.begin(), more.end(), std::back_inserter(runs_));
  runs_.resize(depth);
  changed_ = true;
  return LCI_DONE;
}

int Graph::set_operation(uint64_t handle, uint32_t instance, const lci_descriptor& op) {
  if (const int code = refuse_change(); code != LCI_DONE) return code;
  const Node* node = find(handle);
  if (!node) return LCI_ERR_ARGUMENT;
  if (!node->operation) return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no operation", id(), node->index);
  if (instance >= runs_.size()) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: instance %u of %zu; see lci_graph_set_depth()", id(), instance,
                runs_.size());
  }
  if (const int code = node->operation->check_place(op); code != LCI_DONE) return code;
  Run& run = *runs_[instance];
  run.set_operation(run.step(node->index), op);
  return LCI_DONE;
}

int Graph::add_edge(uint64_t from, uint64_t to, lci_edge_fn function) {
  if (const int code = refuse_change(); code != LCI_DONE) return code;
  const Node* source = find(from);
  const Node* destination = find(to);
  if (!source || !destination) return LCI_ERR_ARGUMENT;
  if (destination->index == kStart) return fail(LCI_ERR_ARGUMENT, "graph %u: an edge into START", id());
  if (source->index == kEnd) return fail(LCI_ERR_ARGUMENT, "graph %u: an edge out of END", id());
  if (source == destination) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: an edge from node %u to itself", id(), source->index);
  }
  edges_.push_back({source->index, destination->index, function});
  changed_ = true;
  return LCI_DONE;
}

int Graph::set_per_run(uint64_t handle) {
  if (const int code = refuse_change(); code != LCI_DONE) return code;
  const Node* node = find(handle);
  if (!node) return LCI_ERR_ARGUMENT;
  if (node->kind != Node::Kind::kOperation) {
    return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no operation that is posted", id(), node->index);
  }
  if (const int code = node->operation->tell_runs_apart(numbers_.floors()); code != LCI_DONE) return code;
  numbers_.tell_apart();
  return LCI_DONE;
}

/// Takes away nodes without predecessors until none is left: what remains lies on, or behind, a circle.
int Graph::check_circles() {
  std::vector<uint32_t> before(size(), 0), free;
  for (const Edge& edge : edges_) ++before[edge.to];
  for (uint32_t node = 0; node < size(); ++node) {
    if (before[node] == 0) free.push_back(node);
  }
  for (size_t i = 0; i < free.size(); ++i) {
    const Node& node = nodes_[free[i]];
    for (uint32_t out = 0; out < node.outs; ++out) {
      const uint32_t next = outs_[node.first_out + out];
      if (--before[next] == 0) free.push_back(next);
    }
  }
  if (free.size() == size()) return LCI_DONE;
  uint32_t left = 0;
  while (before[left] == 0) ++left;
  return fail(LCI_ERR_ARGUMENT, "graph %u: the edges make a circle: node %u would wait for itself", id(), left);
}

/// The nodes to which a path from START leads.
std::vector<bool> Graph::reached() const {
  std::vector<bool> reached(size(), false);
  std::vector<uint32_t> found{kStart};
  reached[kStart] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    const Node& node = nodes_[found[i]];
    for (uint32_t out = 0; out < node.outs; ++out) {
      const uint32_t next = outs_[node.first_out + out];
      if (!reached[next]) found.push_back(next);
      reached[next] = true;
    }
  }
  return reached;
}

/// Lays out who follows each node, and the functions of the edges into it.
void Graph::sort_edges() {
  for (Node& node : nodes_) node.outs = node.calls = node.in_degree = 0;
  for (const Edge& edge : edges_) {
    ++nodes_[edge.from].outs;
    ++nodes_[edge.to].in_degree;
    if (edge.function) ++nodes_[edge.to].calls;
  }
  // One place more for each node: that of an edge to END.
  uint32_t out = 0, call = 0;
  for (Node& node : nodes_) {
    node.first_out = out;
    node.first_call = call;
    out += node.outs + 1;
    call += node.calls;
    node.outs = node.calls = 0;
  }
  outs_.assign(out, 0);
  calls_.assign(call, {});
  for (const Edge& edge : edges_) {
    Node& from = nodes_[edge.from];
    Node& to = nodes_[edge.to];
    outs_[from.first_out + from.outs++] = edge.to;
    if (edge.function) calls_[to.first_call + to.calls++] = {edge.function, edge.from};
  }
}

int Graph::plan() {
  if (!changed_) return LCI_DONE;
  sort_edges();
  if (const int code = check_circles(); code != LCI_DONE) return code;
  const std::vector<bool> reached = this->reached();
  for (const Edge& edge : edges_) {
    if (reached[edge.from] || (!reached[edge.to] && edge.to != kEnd)) continue;
    return fail(LCI_ERR_ARGUMENT, "graph %u: node %u would wait for ever: no path from START leads to node %u", id(),
                edge.to, edge.from);
  }
  // What has no successor leads to END: nothing runs after the run. [E18]
  Node& end = nodes_[kEnd];
  for (Node& node : nodes_) {
    if (!reached[node.index] || node.outs != 0 || node.index == kEnd) continue;
    outs_[node.first_out + node.outs++] = kEnd;
    ++end.in_degree;
  }
  for (const auto& run : runs_) run->prepare();
  changed_ = false;
  return LCI_DONE;
}

}  // namespace lci
