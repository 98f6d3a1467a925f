// SPDX-License-Identifier: Apache-2.0
// Several runs of a graph under way at once. Mutations that must make this file fail: see graph.tsv.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/graph_side.hpp"
#include "support/sanitized.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

int answer_posted(lci_graph*, lci_node, void*) {
  return LCI_POSTED;
}

/// What comes next out of @p queue: the number of a run that ended with @p code.
uint64_t next_end(lci_comp* queue, int code = LCI_DONE) {
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "no run has ended";
  EXPECT_EQ(code, status.code);
  EXPECT_EQ(77u, status.user_context);
  return status.size;
}

// Runs take the instances in turn; each ends by itself, and its end names it.
// Proves: E25
// Mutations: graph_depth_is_one, graph_end_of_another_run.
TEST(GraphDepth, RunsAreUnderWayAtOnce) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  GraphUnderTest graph(job.runtime(0), queue, 77);
  const lci_node before = graph.function(nullptr), node = graph.function(answer_posted);
  set_depth(graph, 3);
  const lci_node after = graph.function(nullptr);  // also what is added later is in all of them
  graph.chain(before, node, after);
  const auto complete = [&](uint32_t instance) {
    return lci_graph_mark_complete(graph.handle(), lci_node_in(node, instance), nullptr);
  };
  EXPECT_EQ(LCI_ERR_ARGUMENT, test_run(graph, 1)) << "not started";
  for (int run = 0; run < 3; ++run) graph.start();
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_start(graph.handle()));
  for (uint64_t number = 1; number <= 3; ++number) EXPECT_EQ(LCI_RETRY, test_run(graph, number));
  EXPECT_EQ(LCI_DONE, complete(1));
  EXPECT_EQ(LCI_ERR_OVERRUN, complete(1)) << "twice";
  EXPECT_EQ(2u, next_end(queue));
  lci_status result{};
  EXPECT_EQ(LCI_DONE, test_run(graph, 2, &result));
  EXPECT_EQ(2u, result.size);
  EXPECT_EQ(LCI_RETRY, graph.test()) << "the last one is under way";
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_start(graph.handle())) << "its instance is that of run 1";
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_add_edge(graph.handle(), before, after, nullptr));
  EXPECT_EQ(LCI_DONE, complete(0));
  EXPECT_EQ(1u, next_end(queue));
  graph.start();
  graph.start();
  EXPECT_EQ(LCI_ERR_ARGUMENT, test_run(graph, 1)) << "run 4 has its instance";
  EXPECT_EQ(LCI_ERR_ARGUMENT, test_run(graph, 6));
  uint64_t number = 0;
  for (const auto& [instance, expected] : {std::pair<uint32_t, uint64_t>{0, 4}, {1, 5}, {2, 3}}) {
    EXPECT_EQ(LCI_DONE, lci_graph_run_number(graph.handle(), lci_node_in(after, instance), &number));
    EXPECT_EQ(expected, number);
    lci_status status{};
    EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), lci_node_in(before, instance), nullptr, &status));
    EXPECT_EQ(lci_node_in(before, instance), status.user_context);
    EXPECT_EQ(LCI_DONE, complete(instance));
    EXPECT_EQ(expected, next_end(queue));
    EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), lci_node_in(LCI_GRAPH_END, instance), nullptr, &status));
    EXPECT_EQ(expected, status.size);
  }
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &result)) << "a run ended twice";
  EXPECT_EQ(LCI_DONE, graph.test());
}

// Proves: E25
TEST(GraphDepth, RefusesWhatMakesNoSense) {
  Job job(1);
  GraphUnderTest graph(job.runtime(0));
  const lci_node node = graph.function(nullptr);
  graph.chain(node);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_set_depth(graph.handle(), 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_set_depth(graph.handle(), LCI_MAX_GRAPH_DEPTH + 1));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_set_depth(nullptr, 1));
  uint64_t number = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_run_number(graph.handle(), node, &number)) << "there was none";
  set_depth(graph, LCI_MAX_GRAPH_DEPTH);
  set_depth(graph, 2);
  EXPECT_EQ(0u, lci_node_instance(node));
  EXPECT_EQ(9u, lci_node_instance(lci_node_in(lci_node_in(node, 200), 9)));
  EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), lci_node_in(node, 1), nullptr, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_node_get(graph.handle(), lci_node_in(node, 2), nullptr, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_node_get(graph.handle(), lci_node_in(LCI_GRAPH_END, 2), nullptr, nullptr));
  EXPECT_EQ(LCI_RETRY, lci_graph_cancel_run(graph.handle(), 1));
  graph.start();
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_set_depth(graph.handle(), 3)) << "it has run";
  EXPECT_EQ(LCI_RETRY, lci_graph_cancel_run(graph.handle(), 1)) << "over";
}

// Each instance has memory of its own, where it got some.
// Proves: E25
TEST(GraphDepth, OperationsHaveMemoryForEachInstance) {
  Job job(1);
  uint64_t in[3] = {1, 2, 3}, out[3] = {};
  const auto copy = [&](uint32_t to, uint32_t from) {
    lci_descriptor op{};
    op.op = LCI_OP_COPY;
    op.u.memory = {reinterpret_cast<uint64_t>(&out[to]), reinterpret_cast<uint64_t>(&in[from]), 0, 8};
    return op;
  };
  GraphUnderTest graph(job.runtime(0));
  const lci_node copied = graph.operation(nullptr, copy(0, 0));
  const lci_node sent = graph.operation(job.device(0), send_to(0, 3, in, 8));
  const lci_node function = graph.function(nullptr);
  graph.edge(LCI_GRAPH_START, copied);
  set_depth(graph, 2);
  const auto set = [&](lci_node node, uint32_t instance, const lci_descriptor& op) {
    return lci_graph_set_op(graph.handle(), node, instance, &op);
  };
  EXPECT_EQ(LCI_DONE, set(copied, 1, copy(1, 2))) << lci_last_error();
  EXPECT_EQ(LCI_ERR_ARGUMENT, set(copied, 2, copy(1, 2)));
  EXPECT_EQ(LCI_ERR_ARGUMENT, set(function, 1, copy(1, 2)));
  EXPECT_EQ(LCI_ERR_ARGUMENT, set(sent, 1, copy(1, 2))) << "another operation";
  EXPECT_EQ(LCI_ERR_ARGUMENT, set(sent, 1, send_to(0, 4, in, 8))) << "another tag";
  lci_descriptor overlapping = copy(1, 1);
  overlapping.u.memory.left = overlapping.u.memory.destination + 1;
  EXPECT_EQ(LCI_ERR_ARGUMENT, set(copied, 1, overlapping));
  EXPECT_EQ(LCI_DONE, set(sent, 1, send_to(0, 3, out, 24)));
  graph.start();
  EXPECT_EQ(1u, out[0]);
  EXPECT_EQ(0u, out[1]);
  graph.start();
  EXPECT_EQ(3u, out[1]);
  EXPECT_EQ(LCI_DONE, graph.test());
}

// A run that fails leaves the others alone; each end comes once.
// Proves: E25
TEST(GraphDepth, AFailureIsOfOneRun) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  GraphUnderTest graph(job.runtime(0), queue, 77);
  const lci_node node = graph.function(answer_posted), after = graph.function(nullptr);
  graph.chain(node, after);
  set_depth(graph, 3);
  for (int run = 0; run < 3; ++run) graph.start();
  const lci_status failure{LCI_ERR_SIZE, 0, 0, nullptr, 0, 0, 0, 0};
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), lci_node_in(node, 1), &failure));
  EXPECT_EQ(2u, next_end(queue, LCI_ERR_SIZE));
  lci_status result{};
  EXPECT_EQ(LCI_ERR_SIZE, test_run(graph, 2, &result));
  EXPECT_EQ(node & 0xFFFFFF, result.tag);
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), node, nullptr));
  EXPECT_EQ(1u, next_end(queue));
  graph.start();  // its runs are not told apart: it needs no number
  EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph.handle())) << "both";
  for (const uint32_t instance : {2u, 0u}) {
    EXPECT_EQ(LCI_RETRY, test_run(graph, instance == 2 ? 3 : 4)) << "its function is at work";
    EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), lci_node_in(node, instance), nullptr));
    EXPECT_EQ(instance == 2 ? 3u : 4u, next_end(queue, LCI_ERR_CANCELLED));
    lci_status status{};
    EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), lci_node_in(after, instance), nullptr, &status));
    EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
  }
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &result));
}

struct Sides {
  Sides(Job& job, size_t words, uint32_t depth) : first(job, 0, words, depth), second(job, 1, words, depth) {}
  Side first, second;
  Side* all[2] = {&first, &second};
};

/// Runs both sides up to run @p last, each as far ahead as it can.
void run_up_to(Job& job, Sides& sides, uint64_t last) {
  const lci::test::Deadline deadline(60);
  for (bool left = true; left; job.progress()) {
    left = false;
    for (Side* side : sides.all) {
      while (side->number() < last && side->start()) {
      }
      left |= side->number() < last || !side->idle();
    }
    ASSERT_FALSE(deadline.passed()) << "a run does not end";
  }
}

std::string late(uint64_t seed) {
  return "seed=" + std::to_string(seed) + ",delay=0.3,ticks=64";
}

void expect_nothing_stored(Job& job) {
  job.check_ledgers();
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(0u, job.counter(rank, "unexpected_stored")) << "rank " << rank;
    EXPECT_EQ(0u, job.counter(rank, "receives_pending")) << "rank " << rank;
  }
}

// Proves: E23 E25
// On: chaos
TEST(GraphDepth, RunsAreKeptApartUnderChaos) {
  constexpr uint64_t kRuns = 3000;
  for (uint64_t seed = 1; seed <= (kSanitized ? 4 : 20); ++seed) {
    SCOPED_TRACE("chaos " + late(seed));
    Job job(2, {{"chaos", late(seed)}});
    {
      Sides sides(job, 1, 4);
      run_up_to(job, sides, kRuns);
      if (HasFatalFailure()) return;
      for (const Side* side : sides.all) {
        EXPECT_EQ(0u, side->wrong()) << "of " << kRuns << " runs";
        EXPECT_EQ(kRuns, side->compared());
      }
    }
    expect_nothing_stored(job);
  }
}

// Long payloads, and other depths.
// Proves: E25
TEST(GraphDepth, RunsAreKeptApartHoweverTheyTravel) {
  for (const uint32_t depth : {1u, 2u, 16u}) {
    for (const size_t words : {1u, 100u, 5000u}) {
      SCOPED_TRACE("depth " + std::to_string(depth) + ", words " + std::to_string(words));
      Job job(2);
      {
        Sides sides(job, words, depth);
        run_up_to(job, sides, 200);
        if (HasFatalFailure()) return;
        for (const Side* side : sides.all) EXPECT_EQ(0u, side->wrong());
      }
      expect_nothing_stored(job);
    }
  }
}

/// Cancels everything on both sides, some passes apart, and lets both agree on a number.
void cancel_and_agree(Job& job, Sides& sides, std::mt19937_64& random) {
  for (uint64_t passes = random() % 40; passes != 0; --passes) job.progress();
  sides.first.cancel();
  for (uint64_t passes = random() % 60; passes != 0; --passes) job.progress();
  const uint64_t number = std::max(sides.first.number(), sides.second.number()) + 1 + random() % 20;
  sides.second.cancel();
  const lci::test::Deadline deadline(60);
  bool started[2] = {};
  while (!started[0] || !started[1]) {
    const uint64_t index = random() % 2;
    if (!started[index] && random() % 8 == 0) started[index] = sides.all[index]->start(number);
    job.progress();
    ASSERT_FALSE(deadline.passed()) << "a cancelled run does not end";
  }
}

// Proves: E23 E25
// On: chaos
TEST(GraphDepth, CancelledSidesGoOnByNumber) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 3 : 10); ++seed) {
    for (const size_t words : {1u, 100u, 5000u}) {
      SCOPED_TRACE("chaos " + late(seed) + ", words " + std::to_string(words));
      std::mt19937_64 random(seed);
      Job job(2, {{"chaos", late(seed)}});
      {
        Sides sides(job, words, 4);
        for (int cancelled = 0; cancelled < 10; ++cancelled) {
          run_up_to(job, sides, std::max(sides.first.number(), sides.second.number()) + random() % 30);
          if (HasFatalFailure()) return;
          for (Side* side : sides.all) {
            for (uint64_t more = random() % 4; more != 0; --more) side->start();
          }
          cancel_and_agree(job, sides, random);
          if (HasFatalFailure()) return;
        }
        run_up_to(job, sides, sides.first.number() + 50);
        if (HasFatalFailure()) return;
        for (const Side* side : sides.all) EXPECT_EQ(0u, side->wrong());
      }
      expect_nothing_stored(job);
    }
  }
}

// One run of four is cancelled on both sides; the runs before and behind it get what is theirs, and what was sent for
// it is dropped when no earlier run is under way.
// Proves: E23 E25
// On: chaos
TEST(GraphDepth, OneRunOfSeveralIsCancelled) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 4 : 20); ++seed) {
    SCOPED_TRACE("chaos " + late(seed));
    std::mt19937_64 random(seed);
    Job job(2, {{"chaos", late(seed)}});
    {
      Sides sides(job, seed % 2 == 0 ? 1 : 5000, 4);
      uint64_t whole[2] = {};
      for (uint64_t first = 1; first < 200; first += 10) {
        for (Side* side : sides.all) ASSERT_TRUE(side->start(first));
        for (Side* side : sides.all) {
          for (int more = 0; more < 3; ++more) ASSERT_TRUE(side->start());
        }
        const uint64_t cancelled = first + random() % 4;
        bool hit[2] = {};
        for (const uint64_t index : {random() % 2, uint64_t{2}}) {
          for (uint64_t side = 0; side < 2; ++side) {
            if (side == index || index == 2) hit[side] |= sides.all[side]->cancel(cancelled);
          }
          for (uint64_t passes = random() % 50; passes != 0; --passes) job.progress();
        }
        const lci::test::Deadline deadline(60);
        while (!sides.first.idle() || !sides.second.idle()) {
          job.progress();
          ASSERT_FALSE(deadline.passed()) << "a run does not end";
        }
        for (int side = 0; side < 2; ++side) whole[side] += hit[side] ? 3 : 4;
        // Its receive may have been matched already when it was cancelled, but never that of another run.
        for (int side = 0; side < 2; ++side) ASSERT_GE(sides.all[side]->compared(), whole[side]);
      }
      job.settle();  // what was sent for a cancelled run comes while there is the graph that refuses it
      for (const Side* side : sides.all) EXPECT_EQ(0u, side->wrong());
    }
    expect_nothing_stored(job);
  }
}

/// A graph of rank 0 whose only node receives from rank 1.
struct Receiver {
  Receiver(Job& job, uint32_t depth, lci_comp* comp) : words(depth), graph(job.runtime(0), comp, 77) {
    node = per_run(graph, graph.operation(job.device(0), receive_from(1, kTag, words.data(), 8)));
    graph.chain(node);
    set_depth(graph, depth);
    for (uint32_t i = 1; i < depth; ++i) {
      const lci_descriptor op = receive_from(1, kTag, &words[i], 8);
      EXPECT_EQ(LCI_DONE, lci_graph_set_op(graph.handle(), node, i, &op));
    }
    for (uint32_t i = 0; i < depth; ++i) graph.start();
  }
  std::vector<uint64_t> words;
  lci_node node = 0;
  GraphUnderTest graph;
};

// A cancel finds the receive of its run, not that of another one under the same node.
// Proves: E25
// Mutations: graph_instances_share_a_context, runs_under_way_are_dropped, runs_keep_what_a_late_floor_drops.
TEST(GraphDepth, ACancelledRunTakesItsOwnReceive) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(0));
  {
    Receiver receiver(job, 4, queue);
    job.settle();
    EXPECT_EQ(4u, job.counter(0, "receives_pending"));
    EXPECT_EQ(LCI_DONE, lci_graph_cancel_run(receiver.graph.handle(), 3));
    job.settle();
    EXPECT_EQ(3u, job.counter(0, "receives_pending"));
    EXPECT_EQ(3u, next_end(queue, LCI_ERR_CANCELLED));
    EXPECT_EQ(LCI_RETRY, lci_graph_cancel_run(receiver.graph.handle(), 3)) << "twice";
    EXPECT_EQ(LCI_ERR_BUSY, lci_graph_start_run(receiver.graph.handle(), 9)) << "run 1 is under way";
    for (const uint64_t run : {4u, 3u, 2u, 1u}) {
      lci_descriptor send = send_to(0, run << 16 | kTag, &run, 8);
      EXPECT_EQ(LCI_DONE, lci_post(job.device(1), &send, nullptr, nullptr));
      job.settle();
      if (run == 3) {
        EXPECT_EQ(1u, job.counter(0, "unexpected_stored")) << "run 1 is under way: the floor is below";
        continue;
      }
      EXPECT_EQ(run, next_end(queue));
      EXPECT_EQ(run, receiver.words[run - 1]);
    }
    EXPECT_EQ(0u, job.counter(0, "unexpected_stored")) << "no earlier run is under way any more";
    EXPECT_EQ(LCI_ERR_RUN_NUMBER, lci_graph_start(receiver.graph.handle()));
    ASSERT_EQ(LCI_POSTED, lci_graph_start_run(receiver.graph.handle(), 9));
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(receiver.graph.handle()));
    job.settle();
    EXPECT_EQ(9u, next_end(queue, LCI_ERR_CANCELLED));
  }
  expect_nothing_stored(job);
}

// The peer goes: every run that waits for it ends, once, with its error.
// Proves: E25
TEST(GraphDepth, TheEndOfAPeerEndsEveryRun) {
  for (const uint32_t timeout_ms : {0u, 1000u}) {
    Job job(2);
    lci_comp* queue = make_queue(job.runtime(0));
    Receiver receiver(job, 4, queue);
    job.settle();
    job.close(1, timeout_ms);
    const int code = timeout_ms == 0 ? LCI_ERR_PEER_FAILED : LCI_ERR_PEER_LEFT;
    const lci::test::Deadline deadline(20);
    while (receiver.graph.test() == LCI_RETRY && !deadline.passed()) job.progress();
    uint64_t numbers = 0;
    for (int run = 0; run < 4; ++run) numbers |= 1 << next_end(queue, code);
    EXPECT_EQ(0b11110u, numbers);
    lci_status none{};
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &none));
    EXPECT_EQ(0u, job.counter(0, "receives_pending"));
  }
}

// The runtime goes: so does every run, once.
// Proves: E25
TEST(GraphDepth, TheEndOfTheRuntimeEndsEveryRun) {
  std::vector<uint64_t> ends;
  {
    Job job(1);
    lci_comp* handler = nullptr;
    const auto note = [](const lci_status* status, void* all) {
      EXPECT_EQ(LCI_ERR_CANCELLED, status->code);
      static_cast<std::vector<uint64_t>*>(all)->push_back(status->size);
    };
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), note, &ends, &handler));
    static uint64_t word = 0;
    lci_graph* graph = nullptr;
    lci_node node = 0;
    const lci_descriptor receive = receive_from(0, kTag, &word, 8);
    ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), handler, 0, &graph));
    ASSERT_EQ(LCI_DONE, lci_graph_add_op(graph, job.device(0), &receive, nullptr, &node));
    ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, node, nullptr));
    ASSERT_EQ(LCI_DONE, lci_graph_set_depth(graph, 3));
    for (int run = 0; run < 3; ++run) ASSERT_EQ(LCI_POSTED, lci_graph_start(graph));
    EXPECT_EQ(LCI_ERR_BUSY, lci_graph_free(graph));
  }
  std::sort(ends.begin(), ends.end());
  EXPECT_EQ((std::vector<uint64_t>{1, 2, 3}), ends);
}

}  // namespace
}  // namespace lci_test
