// SPDX-License-Identifier: Apache-2.0
// A rank whose graph has several runs under way, and finds out if one gets another's data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/graph.hpp"

namespace lci_test {

constexpr uint64_t kTag = 5;

inline void set_depth(GraphUnderTest& graph, uint32_t depth) {
  ASSERT_EQ(LCI_DONE, lci_graph_set_depth(graph.handle(), depth)) << lci_last_error();
}

inline lci_node per_run(GraphUnderTest& graph, lci_node node) {
  EXPECT_EQ(LCI_DONE, lci_graph_set_per_run(graph.handle(), node)) << lci_last_error();
  return node;
}

inline int test_run(GraphUnderTest& graph, uint64_t number, lci_status* out = nullptr) {
  return lci_graph_test_run(graph.handle(), number, out);
}

/// A rank that exchanges a payload with another one in each run, several of which are under way.
class Side {
 public:
  Side(Job& job, uint32_t rank, size_t words, uint32_t depth)
      : out_(depth, std::vector<uint64_t>(words)), in_(out_), rank_(rank), graph_(job.runtime(rank)) {
    const uint32_t other = 1 - rank;
    const auto bytes = static_cast<uint32_t>(words * 8);
    const auto send = [&](uint32_t i) { return send_to(other, kTag, out_[i].data(), bytes); };
    const auto receive = [&](uint32_t i) { return receive_from(other, kTag, in_[i].data(), bytes); };
    const lci_node filled = graph_.function(fill, this), compared = graph_.function(compare, this);
    const lci_node sent = per_run(graph_, graph_.operation(job.device(rank), send(0)));
    const lci_node received = per_run(graph_, graph_.operation(job.device(rank), receive(0)));
    set_depth(graph_, depth);
    for (uint32_t i = 1; i < depth; ++i) {
      const lci_descriptor ops[] = {send(i), receive(i)};
      EXPECT_EQ(LCI_DONE, lci_graph_set_op(graph_.handle(), sent, i, &ops[0])) << lci_last_error();
      EXPECT_EQ(LCI_DONE, lci_graph_set_op(graph_.handle(), received, i, &ops[1])) << lci_last_error();
    }
    graph_.edge(LCI_GRAPH_START, filled);
    graph_.edge(filled, sent);
    graph_.edge(filled, received);
    graph_.edge(sent, compared);
    graph_.edge(received, compared);
  }
  /// False: as many as may be are under way.
  bool start() {
    const int code = lci_graph_start(graph_.handle());
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_ERR_BUSY) << lci_last_error();
    number_ += code == LCI_POSTED;
    return code == LCI_POSTED;
  }
  bool start(uint64_t number) {
    const int code = lci_graph_start_run(graph_.handle(), number);
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_ERR_BUSY) << lci_last_error();
    if (code == LCI_POSTED) number_ = number;
    return code == LCI_POSTED;
  }
  void cancel() { lci_graph_cancel(graph_.handle()); }
  bool cancel(uint64_t number) { return lci_graph_cancel_run(graph_.handle(), number) == LCI_DONE; }
  /// Whether run @p number is over, however.
  bool is_over(uint64_t number) { return test_run(graph_, number) != LCI_RETRY; }
  /// Of the last one.
  uint64_t number() const { return number_; }
  uint64_t wrong() const { return wrong_; }
  uint64_t compared() const { return compared_; }
  uint32_t depth() const { return static_cast<uint32_t>(out_.size()); }
  bool idle() {
    for (uint64_t back = 0; back < depth() && back < number_; ++back) {
      if (test_run(graph_, number_ - back) == LCI_RETRY) return false;
    }
    return true;
  }

 private:
  static uint64_t word(uint64_t run, uint32_t rank, size_t index) {
    return run << 32 | rank << 24 | (index & 0xFFFFFF);
  }
  static uint64_t run_of(lci_graph* graph, lci_node node) {
    uint64_t number = 0;
    EXPECT_EQ(LCI_DONE, lci_graph_run_number(graph, node, &number));
    return number;
  }
  static int fill(lci_graph* graph, lci_node node, void* value) {
    auto& self = *static_cast<Side*>(value);
    std::vector<uint64_t>& out = self.out_[lci_node_instance(node)];
    for (size_t i = 0; i < out.size(); ++i) out[i] = word(run_of(graph, node), self.rank_, i);
    return LCI_DONE;
  }
  static int compare(lci_graph* graph, lci_node node, void* value) {
    auto& self = *static_cast<Side*>(value);
    std::vector<uint64_t>& in = self.in_[lci_node_instance(node)];
    ++self.compared_;
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i] == word(run_of(graph, node), 1 - self.rank_, i)) continue;
      ++self.wrong_;
      break;
    }
    std::fill(in.begin(), in.end(), 0);
    return LCI_DONE;
  }

  std::vector<std::vector<uint64_t>> out_, in_;
  const uint32_t rank_;
  uint64_t number_ = 0;
  uint64_t wrong_ = 0;
  uint64_t compared_ = 0;
  GraphUnderTest graph_;
};

}  // namespace lci_test
