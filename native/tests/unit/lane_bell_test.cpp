// SPDX-License-Identifier: Apache-2.0
// A loop that polls looks at its bells instead of entering: what others leave for its lane must ring one, also while it
// does not park. [V9, V11]
#include <string>

#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 4;

/// Enters as a loop does: only when it has something to post, or hears a bell. No park finds what rang none.
void turn(LaneDriver& lane, uint64_t* messages = nullptr) {
  if (lane.control().submit_count == 0 && !lane.rings()) return;
  lane.enter();
  const uint32_t read = lane.read([&](const lci_record& record) {
    if (messages && record.kind == LCI_RECORD_MESSAGE) ++*messages;
  });
  if (read != 0) lane.enter();  // the records go back, and credit with them
}

// Mutation: silent_push. Messages reach the inbox through another lane's device, and its credit goes back there.
TEST(LaneBell, RingsForMessagesAndCreditOfAnotherLane) {
  constexpr uint64_t kMessages = 100;
  Job job(1, {{"devices", "2"}});
  LaneDriver home(job, 0, 0), other(job, 0, 1);
  home.demand(home.open(kPort, 1)).requested = UINT64_MAX / 2;
  uint64_t sent = 0, received = 0;
  for (int pass = 0; pass < 10'000 && received < kMessages; ++pass) {
    if (sent < kMessages) {
      auto& op = other.add_am(0, kPort, sent, sent);
      other.enter();
      other.read([](const lci_record&) {});
      if (op.outcome == LCI_DONE) ++sent;
    }
    turn(other);
    turn(home, &received);
  }
  EXPECT_EQ(kMessages, sent);
  EXPECT_EQ(kMessages, received);
  for (int pass = 0; pass < 10; ++pass) turn(home), turn(other);
  EXPECT_FALSE(home.rings() || other.rings()) << "they would never rest";
}

// Mutation: silent_push.
TEST(LaneBell, RingsForASignalOfAnotherThread) {
  Job job(1);
  LaneDriver lane(job, 0);
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 1, &synchronizer)) << lci_last_error();
  for (int pass = 0; pass < 10; ++pass) turn(lane);
  ASSERT_FALSE(lane.rings());
  const lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &status)) << lci_last_error();
  ASSERT_TRUE(lane.rings());
  lane.enter();
  EXPECT_EQ(1u, lane.read([](const lci_record& record) { EXPECT_EQ(LCI_RECORD_SYNC, record.kind); }));
  EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer));
}

// A message for device 1 lets a graph post on device 0, which had its turn in this pass, or has it next.
TEST(LaneBell, NobodyHasToEnterForWhatAGraphPostsOnAnotherDevice) {
  constexpr uint64_t kGo = 1, kEnd = 2, kGraph = 77;
  Job job(2, {{"devices", "2"}});
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", counter, 0, 0)) << lci_last_error();
  const auto pass_of_rank_1 = [&] {
    for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(1, device));
  };
  LaneDriver lane(job.runtime(0), 0, 2);
  uint32_t enters = 0, ended = 0;
  const auto enter = [&] {
    lane.enter();
    ++enters;
    lane.read([&](const lci_record& record) { ended += record.kind == LCI_RECORD_GRAPH; });
  };
  uint64_t in[2] = {};
  lci_descriptor ops[3] = {receive_from(1, kGo, &in[0], 8), {}, receive_from(1, kEnd, &in[1], 8)};
  ops[0].device = ops[2].device = 1;
  ops[1].op = LCI_OP_AM;
  ops[1].rank = 1;
  ops[1].port = kPort;
  ops[1].size = 8;
  const lci_graph_node nodes[] = {{LCI_NODE_OP, 0}, {LCI_NODE_OP, 1}, {LCI_NODE_OP, 2}};
  const lci_graph_edge edges[] = {{LCI_GRAPH_START, 2}, {2, 3}, {3, 4}, {4, LCI_GRAPH_END}};
  uint32_t graph = 0;
  ASSERT_EQ(LCI_DONE, lci_lane_graph_create(lane.handle(), nodes, 3, edges, 4, ops, 3, kGraph, &graph))
      << lci_last_error();
  lane.add_am(1, kPort, 0, 0);  // from here on rank 0 knows the port
  for (int pass = 0; pass < 100; ++pass) enter(), pass_of_rank_1();
  for (const uint32_t first : {0u, 1u, 0u, 1u}) {
    SCOPED_TRACE("device " + std::to_string(first) + " first");
    const uint64_t before = lci_counter_get(counter);
    lci_descriptor start{};
    start.op = LCI_OP_GRAPH_START;
    start.user_context = graph;
    lane.add(start);
    enter();
    if (enters % 2 != first) enter();
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1, 1), 0, kGo, &graph, 4, nullptr, 0)) << lci_last_error();
    for (int pass = 0; pass < 100; ++pass) {
      if (lane.rings()) enter();
      pass_of_rank_1();
    }
    EXPECT_EQ(before + 1, lci_counter_get(counter));
    enter();
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1, 1), 0, kEnd, &graph, 4, nullptr, 0)) << lci_last_error();
    for (int pass = 0; pass < 100; ++pass) enter(), pass_of_rank_1();
  }
  EXPECT_EQ(4u, ended);
}

// A message for device 1 lets a graph receive what waits at its sender for an answer of device 0.
TEST(LaneBell, NobodyHasToEnterForTheAnswerOfAnotherDevice) {
  constexpr uint64_t kGo = 1, kLong = 2, kGraph = 77;
  constexpr uint32_t kSize = 200'000;
  Job job(2, {{"devices", "2"}});
  LaneDriver lane(job.runtime(0), 0, 2);
  uint32_t enters = 0, ended = 0;
  const auto enter = [&] {
    lane.enter();
    ++enters;
    lane.read([&](const lci_record& record) { ended += record.kind == LCI_RECORD_GRAPH; });
  };
  const auto pass_of_rank_1 = [&] {
    for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(1, device));
  };
  uint64_t go = 0;
  std::vector<uint8_t> in(kSize);
  lci_descriptor ops[2] = {receive_from(1, kGo, &go, 8), receive_from(1, kLong, in.data(), kSize)};
  ops[0].device = 1;
  const lci_graph_node nodes[] = {{LCI_NODE_OP, 0}, {LCI_NODE_OP, 1}};
  const lci_graph_edge edges[] = {{LCI_GRAPH_START, 2}, {2, 3}, {3, LCI_GRAPH_END}};
  uint32_t graph = 0;
  ASSERT_EQ(LCI_DONE, lci_lane_graph_create(lane.handle(), nodes, 2, edges, 3, ops, 2, kGraph, &graph))
      << lci_last_error();
  lci_comp* sent = make_queue(job.runtime(1));
  for (const uint32_t first : {0u, 1u, 0u, 1u}) {
    SCOPED_TRACE("device " + std::to_string(first) + " first");
    const std::vector<uint8_t> out = pattern(kSize, enters);
    const uint32_t before = ended;
    ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(1, 0), 0, kLong, out.data(), kSize, sent, 0)) << lci_last_error();
    for (int pass = 0; pass < 100; ++pass) enter(), pass_of_rank_1();  // it is announced, on device 0
    lci_descriptor start{};
    start.op = LCI_OP_GRAPH_START;
    start.user_context = graph;
    lane.add(start);
    enter();
    if (enters % 2 != first) enter();
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1, 1), 0, kGo, &go, 4, nullptr, 0)) << lci_last_error();
    for (int pass = 0; pass < 10'000 && ended == before; ++pass) {
      if (lane.rings()) enter();
      pass_of_rank_1();
    }
    ASSERT_EQ(before + 1, ended);
    EXPECT_EQ(out, in);
    lci_status status{};
    for (int pass = 0; pass < 10'000 && lci_queue_pop(sent, &status) != LCI_DONE; ++pass) enter(), pass_of_rank_1();
    EXPECT_EQ(LCI_DONE, status.code);
  }
}

}  // namespace
}  // namespace lci_test
