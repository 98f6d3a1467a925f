// SPDX-License-Identifier: Apache-2.0
// Graphs whose nodes several threads complete, against a model. Mutations that must make this file fail:
// graph_drop_edge, graph_fire_twice.
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "completion/queue.hpp"
#include "support/graph.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;
using lci::test::run_threads;

/// Plain fields on purpose: that a node sees what its predecessors wrote is the graph's doing. [SS-48]
struct Model {
  struct Vertex {
    Model* model = nullptr;
    std::vector<uint32_t> before;
    uint64_t fired = 0;
    bool posted = false;
  };
  std::vector<Vertex> vertices;
  uint64_t run = 0;
  std::atomic<uint64_t> faults{0};
  /// Nodes that answered posted, for the threads that complete them.
  lci_comp* work = nullptr;
};

int check_and_leave(lci_graph*, lci_node node, void* value) {
  auto& vertex = *static_cast<Model::Vertex*>(value);
  Model& model = *vertex.model;
  for (const uint32_t before : vertex.before) model.faults += model.vertices[before].fired != model.run;
  model.faults += ++vertex.fired != model.run;
  if (!vertex.posted) return LCI_DONE;
  const lci_status work{LCI_DONE, 0, node, nullptr, 0, 0, 0, 0};
  model.faults += lci_comp_signal(model.work, &work) != LCI_DONE;
  return LCI_POSTED;
}

void check_edge(const lci_status* status, void* source, void* destination) {
  auto& vertex = *static_cast<Model::Vertex*>(source ? source : destination);
  vertex.model->faults += status->code != LCI_DONE || (source && vertex.fired != vertex.model->run);
}

/// Completes one node that waits in @p work; false if there is none.
bool complete_one(lci_graph* graph, lci_comp* work, std::atomic<uint64_t>& faults) {
  lci_status next{};
  if (lci_queue_pop(work, &next) != LCI_DONE) return false;
  faults += lci_graph_mark_complete(graph, next.tag, nullptr) != LCI_DONE;
  return true;
}

/// Runs @p graph 100 times; two more threads complete what was posted, often before the function has returned.
void run_against(Job& job, Model& model, GraphUnderTest& graph) {
  const Deadline deadline(60);
  std::atomic<bool> stop{false};
  run_threads(3, [&](uint32_t self) {
    if (self != 0) {
      while (!stop.load()) {
        if (!complete_one(graph.handle(), model.work, model.faults)) std::this_thread::yield();
      }
      return;
    }
    for (uint64_t run = 1; run <= 100 && model.faults == 0 && !deadline.passed(); ++run) {
      model.run = run;
      EXPECT_EQ(LCI_POSTED, lci_graph_start(graph.handle()));
      while (graph.test() == LCI_RETRY && !deadline.passed()) {
        // On a busy machine nobody else may.
        if (!complete_one(graph.handle(), model.work, model.faults)) std::this_thread::yield();
      }
      for (const auto& vertex : model.vertices) model.faults += vertex.fired != run;
    }
    stop.store(true);
  });
  EXPECT_EQ(0u, model.faults.load());
  ASSERT_FALSE(deadline.passed()) << "a run does not end";
  EXPECT_EQ(LCI_DONE, graph.test());
  EXPECT_EQ(0u, job.counter(0, "discarded"));
}

std::vector<lci_node> add_vertices(GraphUnderTest& graph, Model& model, uint32_t count) {
  std::vector<lci_node> nodes;
  model.vertices.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    model.vertices[i].model = &model;
    nodes.push_back(graph.function(check_and_leave, &model.vertices[i]));
  }
  return nodes;
}

// [E13, E14, SS-48] Random graphs, 100 runs each.
// Proves: E14 SS-48
TEST(GraphStress, RandomGraphs) {
  Job job(1);
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Model model;
    model.work = make_queue(job.runtime(0));
    GraphUnderTest graph(job.runtime(0));
    const std::vector<lci_node> nodes = add_vertices(graph, model, 150);
    for (uint32_t to = 0; to < nodes.size(); ++to) {
      model.vertices[to].posted = random() % 2 == 0;
      for (uint32_t edges = to == 0 ? 0 : random() % 4; edges != 0; --edges) {
        const auto from = static_cast<uint32_t>(random() % to);
        graph.edge(nodes[from], nodes[to], check_edge);
        model.vertices[to].before.push_back(from);
      }
      if (model.vertices[to].before.empty()) graph.edge(LCI_GRAPH_START, nodes[to], check_edge);
    }
    run_against(job, model, graph);
  }
}

/// Plain fields, of each instance: runs that are under way at once do not meet.
struct Instances {
  struct Vertex {
    Instances* model = nullptr;
    std::vector<uint32_t> before;
    bool posted = false;
    uint64_t fired[LCI_MAX_GRAPH_DEPTH] = {};  // the run
  };
  std::vector<Vertex> vertices;
  std::atomic<uint64_t> faults{0};
  lci_comp* work = nullptr;
};

int check_in_instance(lci_graph* graph, lci_node node, void* value) {
  auto& vertex = *static_cast<Instances::Vertex*>(value);
  Instances& model = *vertex.model;
  const uint32_t instance = lci_node_instance(node);
  uint64_t run = 0;
  model.faults += lci_graph_run_number(graph, node, &run) != LCI_DONE;
  for (const uint32_t before : vertex.before) model.faults += model.vertices[before].fired[instance] != run;
  model.faults += vertex.fired[instance] >= run;
  vertex.fired[instance] = run;
  if (!vertex.posted) return LCI_DONE;
  const lci_status work{LCI_DONE, 0, node, nullptr, 0, 0, 0, 0};
  model.faults += lci_comp_signal(model.work, &work) != LCI_DONE;
  return LCI_POSTED;
}

// Random graphs of which several runs are under way, while two threads complete what was posted, and cancel a run now
// and then: each run ends once, and what has not failed ran in its order.
// Proves: E25
TEST(GraphStress, RandomGraphsWithRunsAtOnce) {
  constexpr uint64_t kRuns = 3000;
  Job job(1);
  for (uint32_t depth : {1u, 4u, 16u}) {
    SCOPED_TRACE("depth " + std::to_string(depth));
    std::mt19937 random(depth);
    Instances model;
    model.work = make_queue(job.runtime(0));
    lci_comp* const ends = make_queue(job.runtime(0));
    GraphUnderTest graph(job.runtime(0), ends);
    ASSERT_EQ(LCI_DONE, lci_graph_set_depth(graph.handle(), depth));
    model.vertices.resize(60);
    std::vector<lci_node> nodes;
    for (uint32_t to = 0; to < model.vertices.size(); ++to) {
      model.vertices[to].model = &model;
      model.vertices[to].posted = random() % 2 == 0;
      nodes.push_back(graph.function(check_in_instance, &model.vertices[to]));
      for (uint32_t edges = to == 0 ? 0 : random() % 4; edges != 0; --edges) {
        const auto from = static_cast<uint32_t>(random() % to);
        graph.edge(nodes[from], nodes[to]);
        model.vertices[to].before.push_back(from);
      }
      if (model.vertices[to].before.empty()) graph.edge(LCI_GRAPH_START, nodes[to]);
    }
    const Deadline deadline(60);
    std::atomic<uint64_t> started{0};
    std::atomic<bool> stop{false};
    std::vector<uint32_t> ended(kRuns + 1);
    uint64_t over = 0, cancelled = 0;
    run_threads(3, [&](uint32_t self) {
      std::mt19937 chance(self);
      while (self != 0 && !stop.load()) {
        if (chance() % 64 == 0) lci_graph_cancel_run(graph.handle(), started.load());
        if (!complete_one(graph.handle(), model.work, model.faults)) std::this_thread::yield();
      }
      while (self == 0 && over < kRuns && model.faults == 0 && !deadline.passed()) {
        if (started.load() < kRuns && lci_graph_start(graph.handle()) == LCI_POSTED) ++started;
        for (lci_status end{}; lci_queue_pop(ends, &end) == LCI_DONE; ++over) {
          model.faults += end.size == 0 || end.size > kRuns || ++ended[end.size] != 1;
          model.faults += end.code != LCI_DONE && end.code != LCI_ERR_CANCELLED;
          cancelled += end.code == LCI_ERR_CANCELLED;
        }
        if (!complete_one(graph.handle(), model.work, model.faults)) std::this_thread::yield();
      }
      stop.store(true);
    });
    EXPECT_EQ(0u, model.faults.load());
    ASSERT_EQ(kRuns, over) << "a run does not end";
    EXPECT_LT(cancelled, kRuns);
  }
}

// Fan-out and fan-in of 1,000 posted nodes: the last of them fires what follows, once.
// Proves: E13 SS-48
TEST(GraphStress, FansOutAndIn) {
  Job job(1);
  Model model;
  model.work = make_queue(job.runtime(0));
  GraphUnderTest graph(job.runtime(0));
  const std::vector<lci_node> nodes = add_vertices(graph, model, 1002);
  graph.edge(LCI_GRAPH_START, nodes[0]);
  for (uint32_t i = 1; i <= 1000; ++i) {
    graph.edge(nodes[0], nodes[i]);
    graph.edge(nodes[i], nodes[1001]);
    model.vertices[i].posted = true;
    model.vertices[i].before = {0};
    model.vertices[1001].before.push_back(i);
  }
  run_against(job, model, graph);
}

// [SS-49] Whoever sees the end of a run may free the graph while another thread is leaving it.
// Proves: SS-49
TEST(GraphStress, IsFreedAsSoonAsItsEndIsSeen) {
  const Deadline deadline(60);
  Job job(1);
  lci_comp* ends = make_queue(job.runtime(0));
  lci_comp* work = make_queue(job.runtime(0));
  constexpr uint32_t kGraphs = 500;
  std::atomic<uint64_t> faults{0};
  std::atomic<bool> stop{false};
  // Whose node it is, the status says: a thread that asked before would be late.
  const auto complete_of_any = [&] {
    lci_status next{};
    if (lci_queue_pop(work, &next) != LCI_DONE) return std::this_thread::yield();
    faults += lci_graph_mark_complete(reinterpret_cast<lci_graph*>(next.user_context), next.tag, nullptr) != LCI_DONE;
  };
  run_threads(3, [&](uint32_t self) {
    if (self != 0) {
      while (!stop.load() && !deadline.passed()) complete_of_any();
      return;
    }
    const Deadline enough(10);
    for (uint32_t i = 0; i < kGraphs && !enough.passed(); ++i) {
      lci_graph* graph = nullptr;
      EXPECT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), i % 2 == 0 ? ends : nullptr, i, &graph));
      for (int node = 0; node < 3; ++node) {
        lci_node added = 0;
        EXPECT_EQ(LCI_DONE, lci_graph_add_function(
                                graph,
                                [](lci_graph* of, lci_node self_node, void* queue) -> int {
                                  lci_status status{LCI_DONE, 0, self_node, nullptr, 0, 0, 0, 0};
                                  status.user_context = reinterpret_cast<uint64_t>(of);
                                  return lci_comp_signal(static_cast<lci_comp*>(queue), &status) == LCI_DONE
                                             ? LCI_POSTED
                                             : LCI_ERR_OVERRUN;
                                },
                                work, &added));
        EXPECT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, added, nullptr));
      }
      EXPECT_EQ(LCI_POSTED, lci_graph_start(graph));
      lci_status end{};
      while (!deadline.passed() &&
             (i % 2 == 0 ? lci_queue_pop(ends, &end) : lci_graph_test(graph, nullptr)) != LCI_DONE) {
        complete_of_any();
      }
      EXPECT_EQ(LCI_DONE, lci_graph_free(graph)) << lci_last_error();
    }
    stop.store(true);
  });
  EXPECT_EQ(0u, faults.load());
  EXPECT_FALSE(deadline.passed());
}

// Cancelling from a thread beside one that completes and starts again: each run ends once, cancelled or done.
TEST(GraphStress, IsCancelledAtAnyTime) {
  const Deadline deadline(30);
  Job job(1);
  lci_comp* ends = make_queue(job.runtime(0));
  GraphUnderTest graph(job.runtime(0), ends);
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &counter));
  uint64_t word = 0;
  const lci_node receive = graph.operation(job.device(0), receive_from(0, 1, &word, 8));
  const lci_node send = graph.operation(job.device(0), send_to(0, 1, &word, 8));
  graph.edge(LCI_GRAPH_START, receive);
  graph.edge(LCI_GRAPH_START, send);
  std::atomic<bool> stop{false};
  uint32_t done = 0, cancelled = 0;
  run_threads(2, [&](uint32_t self) {
    if (self != 0) {
      while (!stop.load()) {
        lci_graph_cancel(graph.handle());
        std::this_thread::yield();
      }
      return;
    }
    for (int run = 0; run < 2000 && !deadline.passed(); ++run) {
      EXPECT_EQ(LCI_POSTED, lci_graph_start(graph.handle()));
      int code = LCI_RETRY;
      while ((code = graph.test()) == LCI_RETRY && !deadline.passed()) lci_progress(job.device(0));
      if (code == LCI_DONE) ++done;
      if (code == LCI_ERR_CANCELLED) {
        ++cancelled;
        // Its send may be on its way, or not have been posted: take it out, so that runs do not mix.
        job.settle();
        lci_status status{};
        uint64_t taken = 0;
        if (graph.status_code(send) == LCI_DONE && graph.status_code(receive) == LCI_ERR_CANCELLED) {
          const int got = lci_post_recv(job.device(0), 0, 1, &taken, 8, counter, 0, &status);
          EXPECT_TRUE(got == LCI_DONE || got == LCI_POSTED);
          job.settle();
        }
      }
      // The run's end is seen first, its signal may follow from the thread that cancelled.
      lci_status end{};
      while ((code = lci_queue_pop(ends, &end)) == LCI_RETRY && !deadline.passed()) std::this_thread::yield();
      EXPECT_EQ(LCI_DONE, code);
      EXPECT_EQ(LCI_RETRY, lci_queue_pop(ends, &end));
    }
    stop.store(true);
  });
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(2000u, done + cancelled);
  EXPECT_EQ(0u, job.counter(0, "receives_pending"));
  job.check_ledgers();
}

// [E14, SS-47] Operations over two devices, each progressed by a thread of its own: they complete there, and fire the
// next ones on the other device, which another thread may hold.
TEST(GraphStress, OperationsOverTwoDevices) {
  const Deadline deadline(60);
  constexpr uint32_t kChains = 4, kLength = 6, kRuns = 30;
  Job job(1, {{"devices", "2"}});
  GraphUnderTest graph(job.runtime(0));
  std::vector<uint64_t> out(kChains * kLength), in(kChains * kLength);
  for (uint32_t chain = 0; chain < kChains; ++chain) {
    lci_node before = LCI_GRAPH_START;
    for (uint32_t step = 0; step < kLength; ++step) {
      const uint32_t i = chain * kLength + step;
      out[i] = 1000 + i;
      const lci_node receive = graph.operation(job.device(0, (step + 1) % 2), receive_from(0, i, &in[i], 8));
      const lci_node send = graph.operation(job.device(0, step % 2), send_to(0, i, &out[i], 8));
      const lci_node joined = graph.function(nullptr);
      graph.edge(before, receive);
      graph.edge(before, send);
      graph.edge(receive, joined);
      graph.edge(send, joined);
      before = joined;
    }
  }
  std::atomic<bool> stop{false};
  run_threads(3, [&](uint32_t self) {
    if (self != 0) {
      while (!stop.load()) {
        lci_progress(job.device(0, self - 1));  // no yield: a send that lacks credit waits for a number of passes
      }
      return;
    }
    for (uint32_t run = 0; run < kRuns && !deadline.passed(); ++run) {
      std::fill(in.begin(), in.end(), 0);
      EXPECT_EQ(LCI_POSTED, lci_graph_start(graph.handle()));
      int code = LCI_RETRY;
      while ((code = graph.test()) == LCI_RETRY && !deadline.passed()) {
        for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(0, device));
      }
      EXPECT_EQ(LCI_DONE, code) << lci_last_error();
      EXPECT_EQ(out, in);
    }
    stop.store(true);
  });
  EXPECT_FALSE(deadline.passed());
}

}  // namespace
}  // namespace lci_test
