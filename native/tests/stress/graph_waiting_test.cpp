// SPDX-License-Identifier: Apache-2.0
// Operations of graphs that wait for room, while several threads fire, cancel and progress; and runs that are cancelled
// while messages of others arrive.
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "base/fences.hpp"
#include "support/graph_side.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;
using lci::test::run_threads;

/// A node that another thread completes, and behind it sends to rank 1.
struct Fired {
  Fired(Job& job, uint32_t sends) : words(sends), graph(job.runtime(0)) {
    trigger = graph.function([](lci_graph*, lci_node, void*) -> int { return LCI_POSTED; });
    graph.edge(LCI_GRAPH_START, trigger);
    for (uint32_t i = 0; i < sends; ++i) {
      nodes.push_back(graph.operation(job.device(0), send_to(1, kTag, &words[i], 8)));
      graph.edge(trigger, nodes.back());
    }
  }
  uint64_t sent() {
    uint64_t sum = 0;
    for (const lci_node node : nodes) sum += graph.status_code(node) == LCI_DONE;
    return sum;
  }
  std::vector<uint64_t> words;
  lci_node trigger = 0;
  std::vector<lci_node> nodes;
  GraphUnderTest graph;
};

/// Rank 1: takes one word after the other.
class Taker {
 public:
  explicit Taker(Job& job) : job_(job), queue_(make_queue(job.runtime(1))) { post(); }
  /// Whether one came.
  bool step() {
    lci_progress(job_.device(1));
    lci_status status{};
    if (lci_queue_pop(queue_, &status) != LCI_DONE) return false;
    EXPECT_EQ(LCI_DONE, status.code);
    ++taken_;
    post();
    return true;
  }
  uint64_t taken() const { return taken_; }
  void end() {
    EXPECT_EQ(LCI_DONE, lci_post_cancel(job_.device(1), 7)) << lci_last_error();
    lci_status status{};
    EXPECT_EQ(LCI_DONE, lci_queue_pop(queue_, &status));
  }

 private:
  void post() {
    for (int code = LCI_DONE; code == LCI_DONE;) {
      code = lci_post_recv(job_.device(1), 0, kTag, &word_, 8, queue_, 7, nullptr);
      taken_ += code == LCI_DONE;
    }
  }
  Job& job_;
  lci_comp* const queue_;
  uint64_t word_ = 0;
  uint64_t taken_ = 0;
};

// One thread fires, another one cancels, a third one has the device most of the time, and a fourth one receives: each
// run ends, and what it says was sent is received, no more and no less.
// Proves: E22
TEST(GraphWaitingStress, FiredAndCancelledByForeignThreads) {
  constexpr uint32_t kRuns = 20;
  const Deadline deadline(60);
  Job job(2, {{"engine_messages", "32"}, {"announcements", "4"}});
  uint64_t sent = 0;
  Taker taker(job);
  {
    Fired fired(job, 100);
    std::atomic<uint32_t> run{0};
    std::atomic<bool> stop{false};
    run_threads(4, [&](uint32_t self) {
      std::mt19937_64 random(self);
      if (self == 1) {
        // No yield: a send that lacks credit waits for a number of passes.
        while (!stop.load()) lci_progress(job.device(0));
      } else if (self == 2) {
        while (!stop.load()) {
          if (!taker.step()) std::this_thread::yield();
        }
      } else if (self == 3) {
        for (uint32_t seen = 0; !stop.load();) {
          const uint32_t now = run.load();
          if (now == seen) {
            std::this_thread::yield();
            continue;
          }
          seen = now;
          for (uint64_t wait = random() % 20000; wait != 0; --wait) lci::cpu_relax();
          if (random() % 2 == 0) lci_graph_cancel(fired.graph.handle());
        }
      } else {
        for (uint32_t i = 0; i < kRuns && !deadline.passed(); ++i) {
          EXPECT_EQ(LCI_POSTED, lci_graph_start(fired.graph.handle())) << lci_last_error();
          run.store(i + 1);
          EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(fired.graph.handle(), fired.trigger, nullptr));
          while (fired.graph.test() == LCI_RETRY && !deadline.passed()) lci_progress(job.device(0));
          const int code = fired.graph.test();
          EXPECT_TRUE(code == LCI_DONE || code == LCI_ERR_CANCELLED) << lci_code_name(code);
          sent += fired.sent();
        }
        stop.store(true);
      }
    });
    ASSERT_FALSE(deadline.passed()) << "a run does not end";
  }
  while (taker.taken() != sent && !deadline.passed()) {
    taker.step();
    lci_progress(job.device(0));
  }
  job.settle();
  EXPECT_EQ(sent, taker.taken());
  taker.end();
  job.check_ledgers();
}

/// A rank that exchanges a word with the other one, by the number of its run.
struct Exchanging {
  Exchanging(Job& job, uint32_t rank) : graph(job.runtime(rank)) {
    const lci_node filled = graph.function(fill, this);
    const lci_node send = graph.operation(job.device(rank), send_to(1 - rank, kTag, &out, 8));
    const lci_node receive = graph.operation(job.device(rank), receive_from(1 - rank, kTag, &in, 8));
    const lci_node compared = graph.function(compare, this);
    for (const lci_node node : {send, receive}) {
      EXPECT_EQ(LCI_DONE, lci_graph_set_per_run(graph.handle(), node));
      graph.edge(filled, node);
      graph.edge(node, compared);
    }
    graph.edge(LCI_GRAPH_START, filled);
  }
  static int fill(lci_graph*, lci_node, void* value) {
    auto& self = *static_cast<Exchanging*>(value);
    self.out = self.number;
    return LCI_DONE;
  }
  static int compare(lci_graph*, lci_node, void* value) {
    auto& self = *static_cast<Exchanging*>(value);
    self.wrong += self.in != self.number;
    return LCI_DONE;
  }
  uint64_t out = 0, in = 0, number = 0, wrong = 0;
  GraphUnderTest graph;
};

// Each rank has a thread, and cancels runs as it likes; the number that both agree on is one for each step. What comes
// late goes to nobody, and nothing stays.
// Proves: E23
TEST(GraphWaitingStress, RunsOfTwoRanksThatCancel) {
  constexpr uint64_t kSteps = 500;
  const Deadline deadline(60);
  Job job(2);
  {
    Exchanging sides[2] = {{job, 0}, {job, 1}};
    std::atomic<uint64_t> done[2] = {};
    run_threads(2, [&](uint32_t self) {
      Exchanging& side = sides[self];
      std::mt19937_64 random(self + 1);
      for (uint64_t step = 1; step <= kSteps && !deadline.passed(); ++step) {
        side.number = step;
        EXPECT_EQ(LCI_POSTED, lci_graph_start_run(side.graph.handle(), step)) << lci_last_error();
        uint64_t patience = random() % 4 == 0 ? random() % 30 : UINT64_MAX;
        while (side.graph.test() == LCI_RETRY && !deadline.passed()) {
          lci_progress(job.device(self));
          // The other one has gone on without this run, or this one does not want it.
          if (patience-- == 0 || done[1 - self].load() >= step) lci_graph_cancel(side.graph.handle());
        }
        done[self].store(step);
      }
    });
    ASSERT_FALSE(deadline.passed()) << "a run does not end";
    for (const Exchanging& side : sides) EXPECT_EQ(0u, side.wrong);
    for (Exchanging& side : sides) {  // what was for the last run is late now
      side.number = kSteps + 1;
      EXPECT_EQ(LCI_POSTED, lci_graph_start_run(side.graph.handle(), side.number));
    }
    while ((sides[0].graph.test() == LCI_RETRY || sides[1].graph.test() == LCI_RETRY) && !deadline.passed()) {
      job.progress();
    }
    job.settle();
  }
  for (uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(0u, job.counter(rank, "unexpected_stored"));
  job.check_ledgers();
}

// Two ranks, each with a thread of its own that starts as many runs as may be, while everything comes late: none gets
// the data of another.
// Proves: E23 E25
// On: chaos
TEST(GraphWaitingStress, RunsAtOnceOfTwoRanks) {
  constexpr uint64_t kRuns = 3000;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Deadline deadline(120);
    Job job(2, {{"chaos", "seed=" + std::to_string(seed) + ",delay=0.3,ticks=64"}});
    {
      Side first(job, 0, seed % 2 == 0 ? 1 : 100, 4), second(job, 1, seed % 2 == 0 ? 1 : 100, 4);
      std::atomic<uint32_t> at_work{2};
      run_threads(2, [&](uint32_t rank) {
        Side& side = rank == 0 ? first : second;
        bool over = false;
        while (at_work.load() != 0 && !deadline.passed()) {
          while (side.number() < kRuns && side.start()) {
          }
          // It goes on to make passes for the other one.
          if (!over && side.number() == kRuns && side.idle()) {
            over = true;
            --at_work;
          }
          if (lci_progress(job.device(rank)) != LCI_DONE) std::this_thread::yield();
        }
      });
      ASSERT_FALSE(deadline.passed()) << "a run does not end";
      for (const Side* side : {&first, &second}) {
        EXPECT_EQ(0u, side->wrong());
        EXPECT_EQ(kRuns, side->compared());
      }
    }
    job.check_ledgers();
    for (uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(0u, job.counter(rank, "unexpected_stored"));
  }
}

}  // namespace
}  // namespace lci_test
