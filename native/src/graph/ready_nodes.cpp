// SPDX-License-Identifier: Apache-2.0
#include "graph/ready_nodes.hpp"

#include <utility>

#include "graph/graph.hpp"

namespace lci {
namespace {

thread_local ReadyNodes* of_thread = nullptr;
thread_local Step* first_left = nullptr;  // of a handler that has not returned
thread_local Step* last_left = nullptr;

}  // namespace

ReadyNodes::ReadyNodes() : further_out_(of_thread) {
  if (!further_out_) of_thread = this;
}

ReadyNodes::~ReadyNodes() {
  of_thread = further_out_;
}

void ReadyNodes::add(Step& step) {
  ReadyNodes& list = *of_thread;
  step.next_ready = nullptr;
  (list.last_ ? list.last_->next_ready : list.first_) = &step;
  list.last_ = &step;
}

void ReadyNodes::fire() {
  if (further_out_ || !first_) return;
  if (in_signal_context()) {
    (last_left ? last_left->next_ready : first_left) = first_;
    last_left = last_;
    return SignalContext::at_end(&fire_left);
  }
  const SignalContext context;
  while (Step* step = first_) {
    first_ = step->next_ready;
    if (!first_) last_ = nullptr;
    step->run.fire(*step);
  }
}

void ReadyNodes::fire_left() {
  ReadyNodes ready;
  ready.first_ = std::exchange(first_left, nullptr);
  ready.last_ = std::exchange(last_left, nullptr);
  ready.fire();
}

}  // namespace lci
