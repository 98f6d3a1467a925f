// SPDX-License-Identifier: Apache-2.0
// Completion graphs whose nodes are operations, over several ranks, also with chaos and death. Mutation that must make
// this file fail: graph_keep_receives.
#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <vector>

#include "support/graph.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

/// Progresses until @p over, or until a run that hangs is proven to.
void progress_until(Job& job, const std::function<bool()>& over) {
  const lci::test::Deadline deadline(20);
  while (!over()) {
    job.progress();
    ASSERT_FALSE(deadline.passed()) << "a run does not end";
  }
}

void run_all(Job& job, std::vector<std::unique_ptr<GraphUnderTest>>& graphs) {
  for (auto& graph : graphs) graph->start();
  for (auto& graph : graphs) progress_until(job, [&] { return graph->test() != LCI_RETRY; });
}

std::string chaos(uint64_t seed) {
  return "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,refuse=0.15,short=0.2";
}

/// What a rank sends to its right neighbour, and gets from its left one.
struct Neighbour {
  std::vector<uint64_t> out, in;
  uint32_t rank = 0, left = 0;
  uint64_t run = 0;
  uint32_t faults = 0;
};
int fill(lci_graph*, lci_node, void* value) {
  auto& self = *static_cast<Neighbour*>(value);
  ++self.run;
  for (size_t i = 0; i < self.out.size(); ++i) self.out[i] = self.run << 32 | self.rank << 24 | i;
  return LCI_DONE;
}
int compare_with_left(lci_graph*, lci_node, void* value) {
  auto& self = *static_cast<Neighbour*>(value);
  for (size_t i = 0; i < self.in.size(); ++i) self.faults += self.in[i] != (self.run << 32 | self.left << 24 | i);
  std::fill(self.in.begin(), self.in.end(), 0);
  return LCI_DONE;
}

void exchange(uint32_t ranks, size_t words, const Attributes& attributes, int runs) {
  Job job(ranks, attributes);
  std::vector<Neighbour> neighbours(ranks);
  std::vector<lci_node> sends(ranks), receives(ranks);
  {
    std::vector<std::unique_ptr<GraphUnderTest>> graphs;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      Neighbour& self = neighbours[rank];
      self.rank = rank;
      self.left = (rank + ranks - 1) % ranks;
      self.out.resize(words);
      self.in.resize(words);
      const auto bytes = static_cast<uint32_t>(words * 8);
      graphs.push_back(std::make_unique<GraphUnderTest>(job.runtime(rank)));
      GraphUnderTest& graph = *graphs.back();
      lci_descriptor send = send_to((rank + 1) % ranks, 5, self.out.data(), bytes);
      lci_descriptor receive = receive_from(self.left, 5, self.in.data(), bytes);
      send.user_context = receive.user_context = 999;  // the graph's own comes back
      const lci_node filled = graph.function(fill, &self), compared = graph.function(compare_with_left, &self);
      sends[rank] = graph.operation(job.device(rank), send);
      receives[rank] = graph.operation(job.device(rank), receive);
      graph.edge(LCI_GRAPH_START, filled);
      graph.edge(filled, sends[rank]);
      graph.edge(filled, receives[rank]);
      graph.edge(sends[rank], compared);
      graph.edge(receives[rank], compared);
    }
    for (int run = 0; run < runs; ++run) {
      run_all(job, graphs);
      if (::testing::Test::HasFatalFailure()) return;
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(LCI_DONE, graphs[rank]->test());
        ASSERT_EQ(0u, neighbours[rank].faults) << "rank " << rank << ", run " << run;
        lci_status status{};
        ASSERT_EQ(LCI_DONE, lci_graph_node_get(graphs[rank]->handle(), receives[rank], nullptr, &status));
        EXPECT_EQ(receives[rank], status.user_context);
        EXPECT_EQ(neighbours[rank].left, status.rank);
        EXPECT_EQ(words * 8, status.size);
        EXPECT_EQ(neighbours[rank].in.data(), status.buffer);
        ASSERT_EQ(LCI_DONE, lci_graph_node_get(graphs[rank]->handle(), sends[rank], nullptr, &status));
        EXPECT_EQ(sends[rank], status.user_context);
      }
    }
  }
  job.check_ledgers();
}

// [E15, SS-50, C14] Send and receive nodes, run again and again; inline, packet and rendezvous.
// Proves: C14 E15 SS-50
TEST(GraphOperations, ExchangeWithNeighbours) {
  for (const uint32_t ranks : {1u, 2u, 4u}) {
    for (const size_t words : {1u, 100u, 5000u}) exchange(ranks, words, {}, 5);
  }
}

// The same while everything is delayed, reordered and refused, and little room makes the backlog work.
// Proves: E15 SS-50
// On: chaos
TEST(GraphOperations, ExchangeUnderChaos) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Attributes little = {{"chaos", chaos(seed)}, {"packets", "32"}, {"packets_max", "64"}};
    for (const uint32_t ranks : {2u, 4u}) {
      for (const size_t words : {1u, 100u, 5000u}) exchange(ranks, words, little, 5);
    }
  }
}

/// A rank's part in a barrier that is a graph: in round k it tells the rank 2^k after it, and waits for the one 2^k
/// before. [W5]
std::unique_ptr<GraphUnderTest> make_barrier(Job& job, uint32_t rank) {
  auto graph = std::make_unique<GraphUnderTest>(job.runtime(rank));
  const uint32_t size = job.size();
  lci_node before = LCI_GRAPH_START;
  for (uint32_t distance = 1; distance < size; distance *= 2) {
    const lci_node told = graph->operation(job.device(rank), send_to((rank + distance) % size, distance, nullptr, 0));
    const lci_node heard =
        graph->operation(job.device(rank), receive_from((rank + size - distance) % size, distance, nullptr, 0));
    const lci_node round = graph->function(nullptr);
    graph->edge(before, told);
    graph->edge(before, heard);
    graph->edge(told, round);
    graph->edge(heard, round);
    before = round;
  }
  graph->edge(before, LCI_GRAPH_END);
  return graph;
}

void run_barriers(uint32_t ranks, const Attributes& attributes) {
  Job job(ranks, attributes);
  {
    std::vector<std::unique_ptr<GraphUnderTest>> barriers;
    for (uint32_t rank = 0; rank < ranks; ++rank) barriers.push_back(make_barrier(job, rank));
    for (uint32_t run = 0; run < 10; ++run) {
      const uint32_t late = run % ranks;  // the last to enter
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (rank != late) barriers[rank]->start();
      }
      job.settle();
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        if (rank != late) {
          ASSERT_EQ(LCI_RETRY, barriers[rank]->test()) << "rank " << rank << " left early";
        }
      }
      barriers[late]->start();
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        progress_until(job, [&] { return barriers[rank]->test() != LCI_RETRY; });
        if (::testing::Test::HasFatalFailure()) return;
        ASSERT_EQ(LCI_DONE, barriers[rank]->test());
      }
    }
  }
  job.check_ledgers();
}

// [W5, J10] The reusable barrier: nobody leaves before the last one enters.
TEST(GraphOperations, ReusableBarrier) {
  for (const uint32_t ranks : {1u, 2u, 3u, 4u}) run_barriers(ranks, {});
}

// [W5]
TEST(GraphOperations, ReusableBarrierUnderChaos) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const uint32_t ranks : {2u, 4u}) run_barriers(ranks, {{"chaos", chaos(seed)}});
  }
}

// [SS-52, SS-9] An operation that is done at once, one that is forced to signal, and one that is always posted.
// Proves: SS-52
TEST(GraphOperations, AdvanceHoweverTheyEnd) {
  Job job(1);
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &counter));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), 7, "", counter, 0, 0));
  lci_descriptor message[4] = {};
  message[0].op = LCI_OP_AM;
  message[0].port = 7;
  message[0].size = 150;  // inline, over several entries
  lci_descriptor signalled = message[0], barrier{};
  signalled.size = 8;
  signalled.flags = LCI_FLAG_SIGNAL;
  barrier.op = LCI_OP_BARRIER;
  GraphUnderTest graph(job.runtime(0));
  graph.chain(graph.operation(job.device(0), message[0]), graph.operation(job.device(0), signalled),
              graph.operation(job.device(0), barrier), graph.operation(job.device(0), message[0]));
  for (uint64_t run = 1; run <= 10; ++run) {
    graph.start();
    progress_until(job, [&] { return graph.test() != LCI_RETRY && lci_counter_get(counter) == 3 * run; });
    ASSERT_EQ(LCI_DONE, graph.test());
  }
  job.check_ledgers();
}

TEST(GraphOperations, RefuseWhatCannotBeANode) {
  Job job(2, {{"devices", "2"}});
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job.runtime(0), 1, 1, &lane));
  {
    GraphUnderTest graph(job.runtime(0));
    uint64_t word = 0;
    lci_node node = 0;
    const lci_descriptor good = send_to(1, 1, &word, 8);
    auto add = [&](lci_device* device, const lci_descriptor& op) {
      return lci_graph_add_op(graph.handle(), device, &op, nullptr, &node);
    };
    EXPECT_EQ(LCI_ERR_DEVICE, add(job.device(0, 1), good)) << "of a lane";
    EXPECT_EQ(LCI_ERR_ARGUMENT, add(job.device(1), good)) << "of another runtime";
    lci_descriptor bad = good;
    bad.flags = LCI_FLAG_PACKET;
    EXPECT_EQ(LCI_ERR_ARGUMENT, add(job.device(0), bad));
    bad.flags = LCI_FLAG_BUFFER | LCI_FLAG_COMP;
    EXPECT_EQ(LCI_ERR_ARGUMENT, add(job.device(0), bad));
    bad.flags = LCI_FLAG_INLINE;
    bad.size = LCI_INLINE_MAX + 1;
    EXPECT_EQ(LCI_ERR_SIZE, add(job.device(0), bad));
    for (const int op : {0, static_cast<int>(LCI_OP_CANCEL), static_cast<int>(LCI_OP_NODE_DONE), 200}) {
      bad = good;
      bad.op = static_cast<uint8_t>(op);
      EXPECT_EQ(LCI_ERR_ARGUMENT, add(job.device(0), bad)) << op;
    }
  }
  EXPECT_EQ(LCI_DONE, lci_lane_free(lane));
}

// A failed operation ends the run with its error; receives that nobody will match are cancelled, wherever they wait.
// Mutation: graph_keep_receives.
TEST(GraphOperations, AFailureCancelsTheReceives) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(0));
  std::vector<uint64_t> in(100);
  {
    GraphUnderTest graph(job.runtime(0), queue);
    std::vector<lci_node> receives;
    for (uint64_t& word : in) {
      receives.push_back(graph.operation(job.device(0), receive_from(1, 9, &word, 8)));
      graph.edge(LCI_GRAPH_START, receives.back());
    }
    const lci_node bad = graph.operation(job.device(0), send_to(17, 1, nullptr, 0));
    graph.edge(LCI_GRAPH_START, bad);
    const lci_node after = graph.operation(job.device(0), receive_from(1, 9, &in[0], 8));
    graph.edge(bad, after);
    for (int run = 0; run < 3; ++run) {
      graph.start();
      progress_until(job, [&] { return graph.test() != LCI_RETRY; });
      lci_status result{};
      ASSERT_EQ(LCI_ERR_RANK, graph.test(&result));
      EXPECT_EQ(static_cast<uint32_t>(bad), result.tag);
      EXPECT_EQ(LCI_ERR_CANCELLED, graph.status_code(after));
      for (const lci_node node : receives) ASSERT_EQ(LCI_ERR_CANCELLED, graph.status_code(node));
      ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &result));
      EXPECT_EQ(LCI_ERR_RANK, result.code);
      EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &result));
    }
    EXPECT_EQ(0u, job.counter(0, "receives_pending"));
  }
  job.check_ledgers();
}

// The receive of somebody else with the same context is not the graph's to cancel, nor the other way round.
TEST(GraphOperations, CancelsNobodyElsesReceives) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(0));
  uint64_t mine = 0, word = 0;
  {
    GraphUnderTest graph(job.runtime(0));
    const lci_node node = graph.operation(job.device(0), receive_from(1, 9, &word, 8));
    graph.chain(node);
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 8, &mine, 8, queue, node, nullptr));
    graph.start();
    lci_descriptor cancel{};
    cancel.op = LCI_OP_CANCEL;
    cancel.tag = node;
    EXPECT_EQ(LCI_DONE, lci_post(job.device(0), &cancel, nullptr, nullptr));
    EXPECT_EQ(LCI_RETRY, graph.test());
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 8, &mine, 8, queue, node, nullptr));
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph.handle()));
    progress_until(job, [&] { return graph.test() != LCI_RETRY; });
    EXPECT_EQ(LCI_ERR_CANCELLED, graph.test());
    EXPECT_EQ(1u, lci_queue_length(queue));
    EXPECT_EQ(LCI_DONE, lci_post(job.device(0), &cancel, nullptr, nullptr));
    EXPECT_EQ(2u, lci_queue_length(queue));
  }
}

/// Messages of these sizes with tags 1 and 2 come to rank 0, in one pass.
void send_both(Job& job, uint32_t first, uint32_t second) {
  const uint64_t word = 7;
  ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 1, &word, first, nullptr, 0));
  ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 2, &word, second, nullptr, 0));
  lci_progress(job.device(1));
  lci_progress(job.device(0));
}

/// Receives of 4 bytes each for these.
void add_both(Job& job, lci_graph* graph, uint64_t* words) {
  for (const uint32_t tag : {1, 2}) {
    const lci_descriptor receive = receive_from(1, tag, &words[tag - 1], 4);
    lci_node node = 0;
    ASSERT_EQ(LCI_DONE, lci_graph_add_op(graph, job.device(0), &receive, nullptr, &node));
    ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, node, nullptr));
  }
}

// Its first message is too long, so the second receive is cancelled, which the second message overtakes. Nodes have the
// same names in each run: the cancel must not hit the next one.
TEST(GraphOperations, ALateCancelIsNotOfTheNextRun) {
  Job job(2);
  uint64_t words[2] = {};
  {
    GraphUnderTest graph(job.runtime(0));
    add_both(job, graph.handle(), words);
    graph.start();
    send_both(job, 8, 4);
    progress_until(job, [&] { return graph.test() != LCI_RETRY; });
    EXPECT_EQ(LCI_ERR_TRUNCATED, graph.test());
    graph.start();
    for (int i = 0; i < 100; ++i) job.progress();
    EXPECT_EQ(LCI_RETRY, graph.test()) << "nobody has cancelled this run";
    send_both(job, 4, 4);
    progress_until(job, [&] { return graph.test() != LCI_RETRY; });
    EXPECT_EQ(LCI_DONE, graph.test());
  }
  job.check_ledgers();
}

// Nor must it look at a graph that was freed meanwhile.
TEST(GraphOperations, ALateCancelKeepsItsGraph) {
  Job job(2);
  uint64_t words[2] = {};
  lci_graph* graph = nullptr;
  ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), nullptr, 0, &graph));
  add_both(job, graph, words);
  ASSERT_EQ(LCI_POSTED, lci_graph_start(graph));
  send_both(job, 8, 4);
  int freed = lci_graph_free(graph);
  EXPECT_EQ(LCI_ERR_BUSY, freed) << "its cancel has not had its turn";
  for (const lci::test::Deadline deadline(20); freed == LCI_ERR_BUSY && !deadline.passed();) {
    job.progress();
    freed = lci_graph_free(graph);
  }
  EXPECT_EQ(LCI_DONE, freed);
  job.settle();
  job.check_ledgers();
}

// Nor does the cancel wait for the credit that other operations to that rank wait for.
TEST(GraphOperations, AreCancelledThoughTheBacklogIsBlocked) {
  Job job(2);
  uint64_t word = 0;
  {
    GraphUnderTest graph(job.runtime(0));
    graph.chain(graph.operation(job.device(0), receive_from(1, 9, &word, 8)));
    for (const int code : {LCI_DONE, LCI_DONE_BACKLOG}) {  // to a port that is not open: the first one is announced
      lci_descriptor op = send_to(1, 0, &word, 8);
      op.op = LCI_OP_AM;
      op.port = 5;
      op.flags |= LCI_FLAG_NO_RETRY;
      ASSERT_EQ(code, lci_post(job.device(0), &op, nullptr, nullptr)) << lci_last_error();
    }
    graph.start();
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph.handle()));
    for (int i = 0; i < 100; ++i) job.progress();
    EXPECT_EQ(LCI_ERR_CANCELLED, graph.test());
    lci_comp* counter = nullptr;
    ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", counter, 0, 0));
    progress_until(job, [&] { return graph.test() != LCI_RETRY && lci_counter_get(counter) == 2; });
  }
  job.check_ledgers();
}

// [L] A peer's death ends the runs that depend on it, directly or by a rank that gave up: nobody hangs.
TEST(GraphOperations, APeersDeathEndsTheRun) {
  for (uint32_t entered = 0; entered < 2; ++entered) {
    Job job(4);
    {
      std::vector<std::unique_ptr<GraphUnderTest>> barriers;
      for (uint32_t rank = 0; rank < 4; ++rank) barriers.push_back(make_barrier(job, rank));
      for (uint32_t rank = 0; rank < 3; ++rank) barriers[rank]->start();
      if (entered != 0) job.settle();
      barriers[3].reset();
      job.close(3, 0);
      for (uint32_t rank = 0; rank < 3; ++rank) {
        // Who hears of it later is not told by the others: their users end the run. Ranks 0 and 1 wait for rank 3.
        if (rank == 2) lci_graph_cancel(barriers[rank]->handle());
        progress_until(job, [&] { return barriers[rank]->test() != LCI_RETRY; });
        if (::testing::Test::HasFatalFailure()) return;
        const int code = barriers[rank]->test();
        EXPECT_TRUE(code == LCI_ERR_PEER_FAILED || (rank == 2 && code == LCI_ERR_CANCELLED)) << lci_code_name(code);
      }
    }
    EXPECT_EQ(0u, job.counter(0, "receives_pending"));
  }
}

// [2B-10] Closing the runtime ends the operations, and so the run, whose handler is told before all goes.
void count_cancelled(const lci_status* status, void* argument) {
  EXPECT_EQ(LCI_ERR_CANCELLED, status->code);
  ++*static_cast<int*>(argument);
}
TEST(GraphOperations, EndWithTheRuntime) {
  int told = 0;
  {
    Job job(2);
    lci_comp* handler = nullptr;
    lci_graph* graph = nullptr;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), count_cancelled, &told, &handler));
    ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), handler, 0, &graph));
    lci_node node = LCI_GRAPH_START;
    for (int i = 0; i < 3; ++i) {
      lci_node next = 0;
      const lci_descriptor receive = receive_from(1, 9, nullptr, 0);
      ASSERT_EQ(LCI_DONE, lci_graph_add_op(graph, job.device(0), &receive, nullptr, &next));
      ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, node, next, nullptr));
      node = next;
    }
    ASSERT_EQ(LCI_POSTED, lci_graph_start(graph));
    job.close(0, 0);
  }
  EXPECT_EQ(1, told);
}

}  // namespace
}  // namespace lci_test
