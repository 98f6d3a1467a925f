// SPDX-License-Identifier: Apache-2.0
// A lane whose operations signal a bounded queue: refused while it is full, and told when it has a place. [D4, V4]
// Mutation that must make this file fail: queue_place_untold.
#include <thread>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

class LaneFullQueue : public testing::Test {
 protected:
  LaneFullQueue() {
    EXPECT_EQ(LCI_DONE, lci_queue_create_kind(job_.runtime(0), LCI_QUEUE_ARRAY, 2, &queue_)) << lci_last_error();
  }
  /// Submits a receive that signals the queue; its outcome.
  int receive(uint64_t tag) {
    auto op = operation(LCI_OP_RECV, 0, 0, tag, &received_, sizeof received_, lci_comp_id(queue_));
    op.flags |= LCI_FLAG_COMP;
    lci_descriptor& submitted = lane_.add(op);
    lane_.enter();
    return submitted.outcome;
  }
  void send(uint64_t tag) {
    auto op = operation(LCI_OP_SEND, 0, 0, tag, nullptr, 0);
    op.flags = LCI_FLAG_INLINE;
    const lci_descriptor& submitted = lane_.add(op);
    lane_.enter();
    ASSERT_EQ(LCI_DONE, submitted.outcome);
    for (int i = 0; i < 10; ++i) lane_.enter();
  }
  uint32_t generation() { return lane_.control().generation[0]; }
  /// A loop without anything to do: it enters when it is told to.
  bool is_told() {
    for (int quiet = 0; quiet < 100 && lane_.rings(); ++quiet) lane_.enter();
    return generation() != seen_;
  }
  void see() {
    for (int i = 0; i < 100; ++i) lane_.enter();
    seen_ = generation();
  }

  Job job_{1};
  LaneDriver lane_{job_, 0};
  lci_comp* queue_ = nullptr;
  uint64_t received_ = 0;
  uint32_t seen_ = 0;
};

TEST_F(LaneFullQueue, IsToldWhenASignalIsPopped) {
  ASSERT_EQ(LCI_POSTED, receive(1));
  ASSERT_EQ(LCI_POSTED, receive(2));
  ASSERT_EQ(LCI_RETRY_NOMEM, receive(3));
  send(1);
  ASSERT_EQ(LCI_RETRY_NOMEM, receive(3)) << "the status is still in it";
  see();
  lci_status status{};
  std::thread([&] { EXPECT_EQ(LCI_DONE, lci_queue_pop(queue_, &status)); }).join();
  EXPECT_TRUE(is_told());
  EXPECT_EQ(LCI_POSTED, receive(3)) << lci_last_error();
  EXPECT_EQ(LCI_RETRY_NOMEM, receive(4));
}

// The run of a graph has a place until its signal is popped.
TEST_F(LaneFullQueue, IsToldWhenTheSignalOfAGraphIsPopped) {
  ASSERT_EQ(LCI_POSTED, receive(1));
  lci_graph* graph = nullptr;
  lci_node node = 0;
  ASSERT_EQ(LCI_DONE, lci_graph_create(job_.runtime(0), queue_, 0, &graph));
  ASSERT_EQ(LCI_DONE, lci_graph_add_function(
                          graph, [](lci_graph*, lci_node, void*) -> int { return LCI_POSTED; }, nullptr, &node));
  ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, node, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_graph_start(graph)) << lci_last_error();
  ASSERT_EQ(LCI_RETRY_NOMEM, receive(2)) << "the run has the last place";
  see();
  ASSERT_EQ(LCI_DONE, lci_graph_mark_complete(graph, node, nullptr));
  EXPECT_FALSE(is_told()) << "its signal has the place";
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_queue_pop(queue_, &status));
  EXPECT_TRUE(is_told());
  EXPECT_EQ(LCI_POSTED, receive(2)) << lci_last_error();
}

// One that parks wakes up.
TEST_F(LaneFullQueue, WakesFromParking) {
  ASSERT_EQ(LCI_POSTED, receive(1));
  ASSERT_EQ(LCI_POSTED, receive(2));
  send(1);
  ASSERT_EQ(LCI_RETRY_NOMEM, receive(3));
  see();
  lci_status status{};
  std::thread popper([&] { EXPECT_EQ(LCI_DONE, lci_queue_pop(queue_, &status)); });
  for (const lci::test::Deadline deadline(30); generation() == seen_ && !deadline.passed();) {
    lane_.park_word().store(1);
    lci_lane_park(lane_.handle(), 50'000'000);
    lane_.enter();
  }
  EXPECT_NE(seen_, generation());
  popper.join();
  EXPECT_EQ(LCI_POSTED, receive(3)) << lci_last_error();
}

}  // namespace
}  // namespace lci_test
