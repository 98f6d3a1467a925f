// SPDX-License-Identifier: Apache-2.0
// Building a graph, and what is worked out once before its runs: who follows whom, and wiring errors. [E13, E18]
#include <cinttypes>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace lci {

Graph::Graph(Completion* completion, uint64_t user_context, GraphHost* host)
    : Completion(Kind::kGraph), completion_(completion), user_context_(user_context), host_(host) {
  nodes_.emplace_back(*this, kStart, Node::Kind::kDummy, nullptr);
  nodes_.emplace_back(*this, kEnd, Node::Kind::kDummy, nullptr);
}

Graph::~Graph() {
  for (Node& node : nodes_) {
    if (node.free_value) node.free_value(node.value);
  }
}

int Graph::refuse_change() const {
  return running() ? fail(LCI_ERR_BUSY, "graph %u: a run is under way", id()) : LCI_DONE;
}

int Graph::add_node(Node::Kind kind, void* value, Node** out) {
  if (const int code = refuse_change(); code != LCI_DONE) return code;
  *out = &nodes_.emplace_back(*this, size(), kind, value);
  changed_ = true;
  return LCI_DONE;
}

int Graph::add_operation(Device* device, LaneView* lane, const lci_descriptor& op, void* value, uint32_t* out) {
  Node* node = nullptr;
  const bool in_memory = MemoryOperation::is_one(op);
  const auto kind = in_memory ? Node::Kind::kMemory : Node::Kind::kOperation;
  if (const int code = add_node(kind, value, &node); code != LCI_DONE) return code;
  if (in_memory) {
    node->memory = std::make_unique<MemoryOperation>(*node, device, lane, op);
  } else {
    node->operation = std::make_unique<GraphOperation>(*node, *device, lane, op);
  }
  if (out) *out = node->index;
  return LCI_DONE;
}

Node* Graph::find(uint64_t handle) {
  const auto index = static_cast<uint32_t>(handle);
  if (index >= size() || handle != this->handle(index)) {
    fail(LCI_ERR_ARGUMENT, "graph %u: 0x%" PRIx64 " is no node of this graph", id(), handle);
    return nullptr;
  }
  return &nodes_[index];
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
  if (!node->operation) return fail(LCI_ERR_ARGUMENT, "graph %u: node %u is no operation", id(), node->index);
  if (const int code = node->operation->tell_runs_apart(runs_); code != LCI_DONE) return code;
  per_run_ = true;
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
      const uint32_t next = outs_[node.first_out + out]->index;
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
      const uint32_t next = outs_[node.first_out + out]->index;
      if (!reached[next]) found.push_back(next);
      reached[next] = true;
    }
  }
  return reached;
}

int Graph::plan() {
  if (!changed_) return LCI_DONE;
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
  outs_.assign(out, nullptr);
  calls_.assign(call, {});
  for (const Edge& edge : edges_) {
    Node& from = nodes_[edge.from];
    Node& to = nodes_[edge.to];
    outs_[from.first_out + from.outs++] = &to;
    if (edge.function) calls_[to.first_call + to.calls++] = {edge.function, &from};
  }
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
    outs_[node.first_out + node.outs++] = &end;
    ++end.in_degree;
  }
  for (Node& node : nodes_) node.pending.store(node.in_degree, std::memory_order_relaxed);
  end.pending.store(0, std::memory_order_relaxed);  // see start()
  changed_ = false;
  return LCI_DONE;
}

}  // namespace lci
