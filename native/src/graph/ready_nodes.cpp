// SPDX-License-Identifier: Apache-2.0
#include "graph/ready_nodes.hpp"

#include "graph/graph.hpp"

namespace lci {
namespace {

thread_local ReadyNodes* of_thread = nullptr;

}  // namespace

ReadyNodes::ReadyNodes() : outermost_(of_thread == nullptr) {
  if (outermost_) of_thread = this;
}

ReadyNodes::~ReadyNodes() {
  if (outermost_) of_thread = nullptr;
}

void ReadyNodes::add(Node& node) {
  ReadyNodes& list = *of_thread;
  node.next_ready = nullptr;
  if (list.last_) {
    list.last_->next_ready = &node;
  } else {
    list.first_ = &node;
  }
  list.last_ = &node;
}

void ReadyNodes::fire() {
  if (!outermost_ || !first_) return;
  const SignalContext context;
  while (Node* node = first_) {
    first_ = node->next_ready;
    if (!first_) last_ = nullptr;
    node->graph.fire(*node);
  }
}

}  // namespace lci
