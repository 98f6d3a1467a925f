// SPDX-License-Identifier: Apache-2.0
// Building graphs through the C ABI.
#pragma once

#include <gtest/gtest.h>

#include "lci/lci.h"
#include "support/job.hpp"

namespace lci_test {

/// A graph that is freed at the end of the scope, when no run may be under way.
class GraphUnderTest {
 public:
  explicit GraphUnderTest(lci_runtime* runtime, lci_comp* comp = nullptr, uint64_t user_context = 0) {
    EXPECT_EQ(LCI_DONE, lci_graph_create(runtime, comp, user_context, &graph_)) << lci_last_error();
  }
  ~GraphUnderTest() { EXPECT_EQ(LCI_DONE, lci_graph_free(graph_)) << lci_last_error(); }
  GraphUnderTest(const GraphUnderTest&) = delete;
  GraphUnderTest& operator=(const GraphUnderTest&) = delete;

  lci_graph* handle() { return graph_; }
  lci_node function(lci_node_fn function, void* value = nullptr) {
    lci_node node = 0;
    EXPECT_EQ(LCI_DONE, lci_graph_add_function(graph_, function, value, &node)) << lci_last_error();
    return node;
  }
  lci_node operation(lci_device* device, const lci_descriptor& op, void* value = nullptr) {
    lci_node node = 0;
    EXPECT_EQ(LCI_DONE, lci_graph_add_op(graph_, device, &op, value, &node)) << lci_last_error();
    return node;
  }
  void edge(lci_node from, lci_node to, lci_edge_fn function = nullptr) {
    EXPECT_EQ(LCI_DONE, lci_graph_add_edge(graph_, from, to, function)) << lci_last_error();
  }
  /// START, the nodes one after another, END.
  template <typename... Nodes>
  void chain(Nodes... nodes) {
    lci_node before = LCI_GRAPH_START;
    for (const lci_node node : {static_cast<lci_node>(nodes)..., lci_node{LCI_GRAPH_END}}) {
      edge(before, node);
      before = node;
    }
  }
  void start() { ASSERT_EQ(LCI_POSTED, lci_graph_start(graph_)) << lci_last_error(); }
  int test(lci_status* out = nullptr) { return lci_graph_test(graph_, out); }
  int status_code(lci_node node) {
    lci_status status{};
    EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph_, node, nullptr, &status)) << lci_last_error();
    return status.code;
  }

 private:
  lci_graph* graph_ = nullptr;
};

inline lci_descriptor send_to(uint32_t rank, uint64_t tag, const void* buffer, uint32_t size) {
  lci_descriptor op{};
  op.op = LCI_OP_SEND;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.tag = tag;
  op.size = size;
  op.u.ref.address = reinterpret_cast<uint64_t>(buffer);
  return op;
}

inline lci_descriptor receive_from(uint32_t rank, uint64_t tag, void* buffer, uint32_t size) {
  lci_descriptor op = send_to(rank, tag, buffer, size);
  op.op = LCI_OP_RECV;
  return op;
}

}  // namespace lci_test
