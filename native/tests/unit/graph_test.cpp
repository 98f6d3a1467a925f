// SPDX-License-Identifier: Apache-2.0
// Completion graphs of functions: building, running, wiring errors. Mutations that must make this file fail:
// graph_drop_edge, graph_end_early, graph_fire_twice, graph_signal_twice.
#include <atomic>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/graph.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

/// What the nodes of a graph did, in order.
struct Log {
  std::string text;
};
struct Named {
  Log* log;
  char name;
  int answer = LCI_DONE;
};

int write_name(lci_graph*, lci_node, void* value) {
  auto& named = *static_cast<Named*>(value);
  named.log->text += named.name;
  return named.answer;
}

void write_edge(const lci_status* status, void* source, void* destination) {
  EXPECT_EQ(LCI_DONE, status->code);
  Log* log = static_cast<Named*>(source ? source : destination)->log;
  log->text += '(';
  log->text += source ? static_cast<Named*>(source)->name : '>';
  log->text += destination ? static_cast<Named*>(destination)->name : '<';
  log->text += ')';
}

// [E13] Chain, diamond and edge functions: in the order in which the edges were added, just before their destination.
// Proves: E13
TEST(Graph, RunsADiamondInOrder) {
  Job job(1);
  Log log;
  Named a{&log, 'a'}, b{&log, 'b'}, c{&log, 'c'}, d{&log, 'd'};
  GraphUnderTest graph(job.runtime(0), nullptr, 77);
  const lci_node na = graph.function(write_name, &a), nb = graph.function(write_name, &b),
                 nc = graph.function(write_name, &c), nd = graph.function(write_name, &d);
  graph.edge(nc, nd, write_edge);
  graph.edge(LCI_GRAPH_START, na, write_edge);
  graph.edge(na, nb, write_edge);
  graph.edge(na, nc);
  graph.edge(nb, nd, write_edge);
  graph.edge(nd, LCI_GRAPH_END, write_edge);
  for (int run = 0; run < 3; ++run) {
    log.text.clear();
    graph.start();
    lci_status result{};
    EXPECT_EQ(LCI_DONE, graph.test(&result));
    EXPECT_EQ(LCI_DONE, result.code);
    EXPECT_EQ(77u, result.user_context);
    EXPECT_EQ("(>a)a(ab)bc(cd)(bd)d(d<)", log.text);
  }
  void* value = nullptr;
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), nb, &value, &status));
  EXPECT_EQ(&b, value);
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(nb, status.user_context);
}

int mark(lci_graph*, lci_node, void* value) {
  static_cast<std::atomic<uint32_t>*>(value)->fetch_add(1);
  return LCI_DONE;
}

// [E13] Fan-out and fan-in of 1,000, with a dummy between.
// Proves: E13
TEST(Graph, FansOutAndIn) {
  Job job(1);
  std::atomic<uint32_t> marks{0};
  GraphUnderTest graph(job.runtime(0));
  const lci_node middle = graph.function(nullptr);
  for (int i = 0; i < 1000; ++i) {
    const lci_node before = graph.function(mark, &marks), after = graph.function(mark, &marks);
    graph.edge(LCI_GRAPH_START, before);
    graph.edge(before, middle);
    graph.edge(middle, after);
    graph.edge(after, LCI_GRAPH_END);
  }
  for (uint32_t run = 1; run <= 100; ++run) {
    graph.start();
    ASSERT_EQ(LCI_DONE, graph.test());
    ASSERT_EQ(2000 * run, marks.load());
  }
}

// [SS-48] No recursion: a chain of 100,000 nodes that complete at once, on an ordinary stack.
// Proves: E13 SS-48
TEST(Graph, RunsALongChain) {
  constexpr uint32_t kNodes = 100'000;
  Job job(1);
  std::atomic<uint32_t> marks{0};
  GraphUnderTest graph(job.runtime(0));
  lci_node before = LCI_GRAPH_START;
  for (uint32_t i = 0; i < kNodes; ++i) {
    const lci_node node = graph.function(i % 3 == 0 ? nullptr : mark, &marks);
    graph.edge(before, node);
    before = node;
  }
  for (uint32_t run = 1; run <= 2; ++run) {
    graph.start();
    ASSERT_EQ(LCI_DONE, graph.test());
    EXPECT_EQ(run * (kNodes - (kNodes + 2) / 3), marks.load());
  }
}

int answer_posted(lci_graph*, lci_node, void* value) {
  if (value) static_cast<std::atomic<uint32_t>*>(value)->fetch_add(1);
  return LCI_POSTED;
}

/// Completes the node of `next` within this node's function.
struct Marker {
  lci_node next = 0;
  int code = -1;
};
int mark_next(lci_graph* graph, lci_node, void* value) {
  auto& marker = *static_cast<Marker*>(value);
  if (marker.next != 0) marker.code = lci_graph_mark_complete(graph, marker.next, nullptr);
  return LCI_DONE;
}

// [SS-48] Nor do nodes that complete others from their functions nest.
// Proves: SS-48
TEST(Graph, RunsALongChainOfMarks) {
  constexpr uint32_t kNodes = 50'000;
  Job job(1);
  std::vector<Marker> markers(kNodes);
  GraphUnderTest graph(job.runtime(0));
  // Each waiting node is followed by a function that completes the next waiting node.
  std::vector<lci_node> waiting(kNodes);
  for (lci_node& node : waiting) {
    node = graph.function(answer_posted);
    graph.edge(LCI_GRAPH_START, node);
  }
  for (uint32_t i = 0; i < kNodes; ++i) {
    if (i + 1 < kNodes) markers[i].next = waiting[i + 1];
    graph.edge(waiting[i], graph.function(mark_next, &markers[i]));
  }
  graph.start();
  EXPECT_EQ(LCI_RETRY, graph.test());
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), waiting[0], nullptr));
  EXPECT_EQ(LCI_DONE, graph.test());
  for (uint32_t i = 0; i + 1 < kNodes; ++i) ASSERT_EQ(LCI_DONE, markers[i].code) << i;
}

int mark_itself(lci_graph* graph, lci_node node, void*) {
  const lci_status status{LCI_DONE, 3, 44, nullptr, 0, 0, 0, 0};
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph, node, &status));
  EXPECT_EQ(LCI_RETRY, lci_graph_test(graph, nullptr)) << "completes when its function has returned";
  return LCI_POSTED;
}

// [E14] The signal may come before the function returns.
// Proves: E14
TEST(Graph, TakesASignalThatComesEarly) {
  Job job(1);
  GraphUnderTest graph(job.runtime(0));
  const lci_node node = graph.function(mark_itself);
  graph.chain(node);
  for (int run = 0; run < 3; ++run) {
    graph.start();
    EXPECT_EQ(LCI_DONE, graph.test());
  }
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), node, nullptr, &status));
  EXPECT_EQ(44u, status.tag);
}

// [E14] A posted node waits; the graph's completion object may be signalled as well; what nobody waits for is refused.
// Proves: E14 E16 SS-48
TEST(Graph, WaitsForPostedNodes) {
  Job job(1);
  std::atomic<uint32_t> waiting{0}, marks{0};
  GraphUnderTest graph(job.runtime(0));
  const lci_node first = graph.function(answer_posted, &waiting), second = graph.function(answer_posted, &waiting),
                 last = graph.function(mark, &marks);
  graph.edge(LCI_GRAPH_START, first);
  graph.edge(first, second);
  graph.edge(second, last);
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_graph_mark_complete(graph.handle(), first, nullptr)) << "not started";
  for (uint32_t run = 1; run <= 100; ++run) {
    graph.start();
    EXPECT_EQ(2 * run - 1, waiting.load());
    EXPECT_EQ(LCI_ERR_OVERRUN, lci_graph_mark_complete(graph.handle(), second, nullptr)) << "has not fired";
    EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), first, nullptr));
    EXPECT_EQ(LCI_ERR_OVERRUN, lci_graph_mark_complete(graph.handle(), first, nullptr)) << "twice";
    EXPECT_EQ(LCI_RETRY, graph.test());
    EXPECT_EQ(run - 1, marks.load());
    lci_status status{LCI_DONE, 0, 0, nullptr, 0, second, 0, 0};
    status.code = LCI_RETRY_NOMEM;
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal(lci_graph_comp(graph.handle()), &status));
    status.code = LCI_DONE;
    EXPECT_EQ(LCI_DONE, lci_comp_signal(lci_graph_comp(graph.handle()), &status));
    EXPECT_EQ(LCI_DONE, graph.test());
    EXPECT_EQ(run, marks.load());
    EXPECT_EQ(LCI_ERR_OVERRUN, lci_graph_mark_complete(graph.handle(), second, nullptr)) << "over";
  }
}

// [E16] Test before the first start, start and changes while running, free while running.
// Proves: E16
TEST(Graph, RefusesWhatDoesNotFitItsState) {
  Job job(1);
  lci_graph* graph = nullptr;
  ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), nullptr, 0, &graph));
  lci_node node = 0, other = 0;
  ASSERT_EQ(LCI_DONE, lci_graph_add_function(graph, answer_posted, nullptr, &node));
  ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, node, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_test(graph, nullptr));
  EXPECT_EQ(LCI_RETRY, lci_graph_cancel(graph));
  EXPECT_EQ(LCI_POSTED, lci_graph_start(graph));
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_start(graph));
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_add_function(graph, nullptr, nullptr, &other));
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_add_edge(graph, node, LCI_GRAPH_END, nullptr));
  EXPECT_EQ(LCI_ERR_BUSY, lci_graph_free(graph));
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph, node, nullptr));
  EXPECT_EQ(LCI_DONE, lci_graph_test(graph, nullptr));
  // Between runs it may grow.
  ASSERT_EQ(LCI_DONE, lci_graph_add_function(graph, nullptr, nullptr, &other));
  ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, node, other, nullptr));
  EXPECT_EQ(LCI_POSTED, lci_graph_start(graph));
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph, node, nullptr));
  EXPECT_EQ(LCI_DONE, lci_graph_test(graph, nullptr));
  EXPECT_EQ(LCI_DONE, lci_graph_free(graph));
}

// [E18] Errors of wiring come at the caller.
// Proves: E18
TEST(Graph, RefusesBadWiring) {
  Job job(1);
  GraphUnderTest graph(job.runtime(0)), other(job.runtime(0));
  const lci_node a = graph.function(nullptr), b = graph.function(nullptr), c = graph.function(nullptr);
  const lci_node foreign = other.function(nullptr);
  lci_graph* handle = graph.handle();
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_edge(handle, a, LCI_GRAPH_START, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_edge(handle, LCI_GRAPH_END, a, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_edge(handle, a, a, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_edge(handle, a, foreign, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_edge(handle, foreign, a, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_edge(handle, a, c + 1, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_mark_complete(handle, foreign, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_node_get(handle, foreign, nullptr, nullptr));
  graph.edge(LCI_GRAPH_START, a);
  graph.edge(a, b);
  graph.edge(b, c);
  graph.edge(c, b);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_start(handle));
  EXPECT_NE(std::string(lci_last_error()).find("circle"), std::string::npos) << lci_last_error();
  EXPECT_EQ(LCI_ERR_ARGUMENT, graph.test(nullptr)) << "never started";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_port_open(job.runtime(0), 5, "", lci_graph_comp(handle), 0, 0));
}

// [E18] A node that no path reaches does not fire; who would wait for it is told at the start.
// Proves: E18
TEST(Graph, LeavesOutWhatNoPathReaches) {
  Job job(1);
  Log log;
  Named a{&log, 'a'}, b{&log, 'b'}, c{&log, 'c'};
  GraphUnderTest graph(job.runtime(0));
  const lci_node na = graph.function(write_name, &a), nb = graph.function(write_name, &b),
                 nc = graph.function(write_name, &c);
  graph.edge(LCI_GRAPH_START, na);
  graph.edge(nb, nc);
  graph.start();
  EXPECT_EQ(LCI_DONE, graph.test());
  EXPECT_EQ("a", log.text);
  EXPECT_EQ(LCI_RETRY, graph.status_code(nb)) << "never completed";
  graph.edge(nc, LCI_GRAPH_END);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_start(graph.handle()));
  EXPECT_NE(std::string(lci_last_error()).find("for ever"), std::string::npos) << lci_last_error();
}

// [E18] A node without a path to END gates the end all the same, so that it cannot run in a graph that was freed.
// Mutation: graph_end_early.
// Proves: E18
TEST(Graph, WaitsForNodesWithoutAPathToItsEnd) {
  Job job(1);
  GraphUnderTest graph(job.runtime(0));
  const lci_node dead_end = graph.function(answer_posted), other = graph.function(nullptr);
  graph.edge(LCI_GRAPH_START, dead_end);
  graph.chain(other);
  graph.start();
  EXPECT_EQ(LCI_RETRY, graph.test());
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), dead_end, nullptr));
  EXPECT_EQ(LCI_DONE, graph.test());
}

// [E17, SS-49, SS-51] Signalled once per run with the graph's context, an empty graph's too; the graph stays.
// Proves: E17 SS-49 SS-51
TEST(Graph, SignalsItsCompletionObjectOncePerRun) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  for (int shape = 0; shape < 3; ++shape) {
    GraphUnderTest graph(job.runtime(0), queue, 123);
    if (shape == 1) graph.edge(LCI_GRAPH_START, LCI_GRAPH_END);
    if (shape == 2) graph.chain(graph.function(nullptr));
    for (int run = 0; run < 3; ++run) {
      graph.start();
      EXPECT_EQ(LCI_DONE, graph.test());
      lci_status status{};
      ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << shape;
      EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(123u, status.user_context);
      EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &status)) << shape;
    }
  }
}

// [B26] The completion object is busy as long as a run is to signal it.
TEST(Graph, KeepsItsCompletionObjectBusy) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  {
    GraphUnderTest graph(job.runtime(0), queue);
    const lci_node node = graph.function(answer_posted);
    graph.chain(node);
    graph.start();
    EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(queue));
    EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), node, nullptr));
  }
  EXPECT_EQ(LCI_DONE, lci_comp_free(queue));
}

struct Restart {
  lci_graph* graph = nullptr;
  int left = 0;
  int freed = -1;
};
void start_again(const lci_status*, void* argument) {
  auto& restart = *static_cast<Restart*>(argument);
  if (restart.left == 0) {
    restart.freed = lci_graph_free(restart.graph);
  } else if (--restart.left >= 0) {
    EXPECT_EQ(LCI_POSTED, lci_graph_start(restart.graph));
  }
}

// A handler that starts the graph again does not nest, either; it cannot free what it was called from.
TEST(Graph, IsStartedAgainByItsOwnHandler) {
  Job job(1);
  std::atomic<uint32_t> marks{0};
  Restart restart;
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), start_again, &restart, &handler));
  GraphUnderTest graph(job.runtime(0), handler);
  graph.chain(graph.function(mark, &marks));
  restart.graph = graph.handle();
  restart.left = 50'000;
  graph.start();
  EXPECT_EQ(50'001u, marks.load());
  EXPECT_EQ(LCI_ERR_BUSY, restart.freed);
}

struct StartInside {
  lci_graph* graph = nullptr;
  lci_comp* next = nullptr;  // a handler that this one signals instead
  bool inside = false;
  std::vector<bool> nodes;  // whether each ran inside of a handler

  static void handle(const lci_status* status, void* argument) {
    auto& self = *static_cast<StartInside*>(argument);
    const bool before = std::exchange(self.inside, true);
    if (lci_comp* const next = std::exchange(self.next, nullptr)) {
      EXPECT_EQ(LCI_DONE, lci_comp_signal(next, status)) << lci_last_error();
    } else {
      EXPECT_EQ(LCI_POSTED, lci_graph_start(self.graph)) << lci_last_error();
    }
    self.inside = before;
  }
  static int run(lci_graph*, lci_node, void* value) {
    auto& self = *static_cast<StartInside*>(value);
    self.nodes.push_back(self.inside);
    return LCI_DONE;
  }
};

// Who starts a graph in a handler may hold what its nodes take. Mutation: graph_fires_in_handler.
TEST(Graph, StartedByAHandlerFiresWhenThatHasReturned) {
  for (const bool nested : {false, true}) {
    Job job(1);
    StartInside starting;
    lci_comp* handler = nullptr;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), &StartInside::handle, &starting, &handler));
    GraphUnderTest graph(job.runtime(0));
    graph.chain(graph.function(&StartInside::run, &starting), graph.function(&StartInside::run, &starting));
    starting.graph = graph.handle();
    if (nested) starting.next = handler;
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), 3, "", handler, 0, 0)) << lci_last_error();
    ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 0, 3, 1, "x", 1, nullptr, 0)) << lci_last_error();
    job.settle();
    EXPECT_EQ(LCI_DONE, graph.test());
    EXPECT_EQ(std::vector<bool>(2, false), starting.nodes) << (nested ? "by a handler of a handler" : "by a handler");
  }
}

// A graph may be a node of another: its completion object is the outer graph's, its context the outer node.
int start_inner(lci_graph*, lci_node, void* value) {
  return lci_graph_start(*static_cast<lci_graph**>(value));
}
TEST(Graph, IsANodeOfAnother) {
  Job job(1);
  Log log;
  Named inside{&log, 'i'}, after{&log, 'o'};
  lci_graph* inner_handle = nullptr;
  GraphUnderTest outer(job.runtime(0));
  const lci_node node = outer.function(start_inner, &inner_handle);
  outer.chain(node, outer.function(write_name, &after));
  GraphUnderTest inner(job.runtime(0), lci_graph_comp(outer.handle()), node);
  inner_handle = inner.handle();
  inner.chain(inner.function(write_name, &inside));
  for (int run = 0; run < 3; ++run) outer.start();
  EXPECT_EQ(LCI_DONE, outer.test());
  EXPECT_EQ("ioioio", log.text);
}

int throw_something(lci_graph*, lci_node, void*) {
  throw std::runtime_error("something");
}

// The first failure ends the run; what follows is skipped, what runs is waited for, and the next run is sound.
TEST(Graph, EndsARunThatFails) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  Log log;
  Named bad{&log, 'b', LCI_ERR_NO_MEMORY}, after{&log, 'a'};
  GraphUnderTest graph(job.runtime(0), queue, 9);
  const lci_node failing = graph.function(write_name, &bad), skipped = graph.function(write_name, &after),
                 slow = graph.function(answer_posted);
  graph.chain(slow);
  graph.edge(LCI_GRAPH_START, failing);
  graph.edge(failing, skipped, write_edge);
  graph.edge(skipped, LCI_GRAPH_END, write_edge);
  graph.start();
  EXPECT_EQ(LCI_RETRY, graph.test()) << "the posted node is waited for";
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), slow, nullptr));
  lci_status result{};
  EXPECT_EQ(LCI_ERR_NO_MEMORY, graph.test(&result));
  EXPECT_EQ(LCI_ERR_NO_MEMORY, result.code);
  EXPECT_EQ(static_cast<uint32_t>(failing), result.tag);
  EXPECT_EQ("b", log.text);
  EXPECT_EQ(LCI_ERR_NO_MEMORY, graph.status_code(failing));
  EXPECT_EQ(LCI_ERR_CANCELLED, graph.status_code(skipped));
  EXPECT_EQ(LCI_DONE, graph.status_code(slow));
  lci_status signalled{};
  ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &signalled));
  EXPECT_EQ(LCI_ERR_NO_MEMORY, signalled.code);
  EXPECT_EQ(9u, signalled.user_context);
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &signalled));
  bad.answer = LCI_DONE;
  log.text.clear();
  graph.start();
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), slow, nullptr));
  EXPECT_EQ(LCI_DONE, graph.test());
  EXPECT_EQ("b(ba)a", log.text.substr(0, 6));
}

// Retry is no answer of a node, nor is an exception; a signal on top of done is one too many.
// Proves: E14
TEST(Graph, CallsBadAnswersErrors) {
  Job job(1);
  Log log;
  Named retry{&log, 'r', LCI_RETRY_NOMEM};
  const std::pair<lci_node_fn, int> cases[] = {
      {write_name, LCI_ERR_ARGUMENT},
      {throw_something, LCI_ERR_ARGUMENT},
      {[](lci_graph* graph, lci_node node, void*) -> int {
         EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph, node, nullptr));
         return LCI_DONE;
       },
       LCI_ERR_OVERRUN},
  };
  for (const auto& [function, expected] : cases) {
    GraphUnderTest graph(job.runtime(0));
    graph.chain(graph.function(function, &retry));
    graph.start();
    EXPECT_EQ(expected, graph.test());
  }
}

TEST(Graph, IsCancelled) {
  Job job(1);
  std::atomic<uint32_t> marks{0};
  GraphUnderTest graph(job.runtime(0));
  const lci_node waiting = graph.function(answer_posted);
  graph.chain(waiting, graph.function(mark, &marks));
  graph.start();
  EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph.handle()));
  EXPECT_EQ(LCI_RETRY, graph.test()) << "its function may still be at work";
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), waiting, nullptr));
  EXPECT_EQ(LCI_ERR_CANCELLED, graph.test());
  EXPECT_EQ(0u, marks.load());
  EXPECT_EQ(LCI_RETRY, lci_graph_cancel(graph.handle()));
  graph.start();
  EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), waiting, nullptr));
  EXPECT_EQ(LCI_DONE, graph.test()) << "the next run knows nothing of it";
  EXPECT_EQ(1u, marks.load());
}

void count_free(void* value) {
  ++*static_cast<int*>(value);
}

// [E13] Values are freed once, with the graph or with the runtime.
// Proves: E13
TEST(Graph, FreesItsValues) {
  int freed = 0, left = 0;
  {
    Job job(1);
    lci_graph* kept = nullptr;
    {
      GraphUnderTest graph(job.runtime(0));
      const lci_node node = graph.function(nullptr, &freed);
      EXPECT_EQ(LCI_DONE, lci_graph_on_free(graph.handle(), node, count_free));
    }
    EXPECT_EQ(1, freed);
    ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), nullptr, 0, &kept));
    lci_node node = 0;
    ASSERT_EQ(LCI_DONE, lci_graph_add_function(kept, answer_posted, &left, &node));
    ASSERT_EQ(LCI_DONE, lci_graph_on_free(kept, node, count_free));
  }
  EXPECT_EQ(1, left);
}

/// A random graph with what each node is to see: all its predecessors, in this run.
struct Model {
  struct Vertex {
    Model* model = nullptr;
    std::vector<uint32_t> before;
    uint32_t fired = 0;
  };
  std::vector<Vertex> vertices;
  uint32_t run = 0;
  uint32_t faults = 0;
};
int check_predecessors(lci_graph*, lci_node, void* value) {
  auto& vertex = *static_cast<Model::Vertex*>(value);
  for (const uint32_t before : vertex.before)
    vertex.model->faults += vertex.model->vertices[before].fired != vertex.model->run;
  vertex.model->faults += ++vertex.fired != vertex.model->run;
  return LCI_DONE;
}

// [E13, SS-48] Random graphs, 100 runs each: every node once per run, after all its predecessors. Mutations:
// graph_drop_edge, graph_fire_twice.
// Proves: E13 SS-48
TEST(Graph, RunsRandomGraphs) {
  Job job(1);
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    Model model;
    model.vertices.resize(200);
    GraphUnderTest graph(job.runtime(0));
    std::vector<lci_node> nodes;
    for (auto& vertex : model.vertices) {
      vertex.model = &model;
      nodes.push_back(graph.function(check_predecessors, &vertex));
    }
    for (uint32_t to = 0; to < nodes.size(); ++to) {
      for (uint32_t edges = to == 0 ? 0 : random() % 4; edges != 0; --edges) {
        const auto from = static_cast<uint32_t>(random() % to);
        graph.edge(nodes[from], nodes[to]);
        model.vertices[to].before.push_back(from);
      }
      if (model.vertices[to].before.empty()) graph.edge(LCI_GRAPH_START, nodes[to]);
    }
    for (model.run = 1; model.run <= 100; ++model.run) {
      graph.start();
      ASSERT_EQ(LCI_DONE, graph.test()) << "seed " << seed;
      ASSERT_EQ(0u, model.faults) << "seed " << seed << ", run " << model.run;
      for (const auto& vertex : model.vertices) ASSERT_EQ(model.run, vertex.fired) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace lci_test
