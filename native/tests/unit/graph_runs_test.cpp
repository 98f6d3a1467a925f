// SPDX-License-Identifier: Apache-2.0
// Graphs that are run again and again while their ranks are in different runs. Mutations that must make this file fail:
// see graph.tsv and protocol.tsv.
#include <algorithm>
#include <random>
#include <vector>

#include "support/graph.hpp"
#include "support/sanitized.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kTag = 5;

std::string late(uint64_t seed) {
  return "seed=" + std::to_string(seed) + ",delay=0.3,ticks=64";
}

/// A rank that exchanges a payload with another one in each run, and compares what it got.
class Side {
 public:
  Side(Job& job, uint32_t rank, size_t words) : out_(words), in_(words), rank_(rank), graph_(job.runtime(rank)) {
    const uint32_t other = 1 - rank;
    const auto bytes = static_cast<uint32_t>(words * 8);
    const lci_node filled = graph_.function(fill, this), compared = graph_.function(compare, this);
    const lci_node send = per_run(graph_.operation(job.device(rank), send_to(other, kTag, out_.data(), bytes)));
    const lci_node receive = per_run(graph_.operation(job.device(rank), receive_from(other, kTag, in_.data(), bytes)));
    graph_.edge(LCI_GRAPH_START, filled);
    graph_.edge(filled, send);
    graph_.edge(filled, receive);
    graph_.edge(send, compared);
    graph_.edge(receive, compared);
  }
  void start() {
    ++number_;
    ASSERT_EQ(LCI_POSTED, lci_graph_start(graph_.handle())) << lci_last_error();
  }
  void start(uint64_t number) {
    number_ = number;
    ASSERT_EQ(LCI_POSTED, lci_graph_start_run(graph_.handle(), number)) << lci_last_error();
  }
  void cancel() { lci_graph_cancel(graph_.handle()); }
  bool over() { return graph_.test() != LCI_RETRY; }
  int result() { return graph_.test(); }
  uint64_t number() const { return number_; }
  uint64_t wrong() const { return wrong_; }
  GraphUnderTest& graph() { return graph_; }

 private:
  lci_node per_run(lci_node node) {
    EXPECT_EQ(LCI_DONE, lci_graph_set_per_run(graph_.handle(), node)) << lci_last_error();
    return node;
  }
  uint64_t word(uint32_t rank, size_t index) const { return number_ << 32 | rank << 24 | (index & 0xFFFFFF); }
  static int fill(lci_graph*, lci_node, void* value) {
    auto& self = *static_cast<Side*>(value);
    for (size_t i = 0; i < self.out_.size(); ++i) self.out_[i] = self.word(self.rank_, i);
    return LCI_DONE;
  }
  static int compare(lci_graph*, lci_node, void* value) {
    auto& self = *static_cast<Side*>(value);
    for (size_t i = 0; i < self.in_.size(); ++i) {
      if (self.in_[i] == self.word(1 - self.rank_, i)) continue;
      ++self.wrong_;
      break;
    }
    std::fill(self.in_.begin(), self.in_.end(), 0);
    return LCI_DONE;
  }

  std::vector<uint64_t> out_, in_;
  const uint32_t rank_;
  uint64_t number_ = 0;
  uint64_t wrong_ = 0;
  GraphUnderTest graph_;
};

struct Sides {
  Sides(Job& job, size_t words) : first(job, 0, words), second(job, 1, words) {}
  Side first, second;
  Side* all[2] = {&first, &second};
};

/// Runs both sides up to run @p last, each as fast as it can.
void run_up_to(Job& job, Sides& sides, uint64_t last) {
  const lci::test::Deadline deadline(60);
  for (bool left = true; left; job.progress()) {
    left = false;
    for (Side* side : sides.all) {
      if (side->over()) {
        ASSERT_EQ(LCI_DONE, side->result()) << lci_last_error();
        if (side->number() == last) continue;
        side->start();
      }
      left = true;
    }
    ASSERT_FALSE(deadline.passed()) << "a run does not end";
  }
}

void expect_nothing_stored(Job& job) {
  job.check_ledgers();
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    EXPECT_EQ(0u, job.counter(rank, "unexpected_stored")) << "rank " << rank;
    EXPECT_EQ(0u, job.counter(rank, "receives_pending")) << "rank " << rank;
  }
}

constexpr uint64_t kSeeds = kSanitized ? 4 : 20;

// A rank that is a run ahead does not get into the run of the other one, whatever comes late.
// Proves: E23
// On: chaos
// Mutation: run_is_not_in_the_tag.
TEST(GraphRuns, AreKeptApartUnderChaos) {
  constexpr uint64_t kRuns = 3000;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("chaos " + late(seed));
    Job job(2, {{"chaos", late(seed)}});
    {
      Sides sides(job, 1);
      for (Side* side : sides.all) side->start();
      run_up_to(job, sides, kRuns);
      if (HasFatalFailure()) return;
      for (const Side* side : sides.all) EXPECT_EQ(0u, side->wrong()) << "of " << kRuns << " runs";
    }
    expect_nothing_stored(job);
  }
}

/// Makes some passes, in which side 1 runs on as far as it gets.
void pass(Job& job, Sides& sides, uint64_t passes) {
  for (; passes != 0; --passes) {
    job.progress();
    if (sides.second.over() && sides.second.result() == LCI_DONE) sides.second.start();
  }
}

/// Cancels side 0 in the middle of a run, and side 1 where it does not get on without it; then both agree on a number.
void cancel_and_agree(Job& job, Sides& sides, std::mt19937_64& random) {
  pass(job, sides, random() % 40);
  sides.first.cancel();
  pass(job, sides, random() % 60);
  const uint64_t number = std::max(sides.first.number(), sides.second.number()) + 1 + random() % 20;
  sides.second.cancel();
  // Neither waits for the end of the other one's run: a long send ends when the other one goes on without it.
  const lci::test::Deadline deadline(60);
  bool started[2] = {};
  while (!started[0] || !started[1]) {
    const uint64_t index = random() % 2;
    if (!started[index] && sides.all[index]->over() && random() % 8 == 0) {
      sides.all[index]->start(number);
      started[index] = true;
    }
    job.progress();
    ASSERT_FALSE(deadline.passed()) << "a cancelled run does not end";
  }
}

void cancel_at_random(uint64_t seed, size_t words) {
  SCOPED_TRACE("chaos " + late(seed) + ", words " + std::to_string(words));
  std::mt19937_64 random(seed);
  Job job(2, {{"chaos", late(seed)}});
  {
    Sides sides(job, words);
    for (Side* side : sides.all) side->start();
    for (int cancelled = 0; cancelled < 20; ++cancelled) {
      run_up_to(job, sides, std::max(sides.first.number(), sides.second.number()) + random() % 30);
      if (::testing::Test::HasFatalFailure()) return;
      for (Side* side : sides.all) side->start();
      cancel_and_agree(job, sides, random);
      if (::testing::Test::HasFatalFailure()) return;
    }
    run_up_to(job, sides, sides.first.number() + 50);
    if (::testing::Test::HasFatalFailure()) return;
    for (const Side* side : sides.all) EXPECT_EQ(0u, side->wrong());
  }
  expect_nothing_stored(job);
}

// One side is cancelled in a random run, and both go on by a number: nothing of a run that is over gets into another,
// or stays behind. Inline, in packets, and announced.
// Proves: E23
// On: chaos
// Mutations: runs_keep_what_is_stored, runs_keep_what_comes_late, runs_wait_for_long_sends.
TEST(GraphRuns, ACancelledSideGoesOnByNumber) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const size_t words : {1u, 100u, 5000u}) {
      cancel_at_random(seed, words);
      if (HasFatalFailure()) return;
    }
  }
}

// The number wraps around in the tag, and a first number may be any.
// Proves: E23
TEST(GraphRuns, GoOnWhereTheTagWrapsAround) {
  for (const uint64_t first : {uint64_t{0}, uint64_t{65530}, (uint64_t{1} << 40) - 5}) {
    Job job(2);
    {
      Sides sides(job, 1);
      for (Side* side : sides.all) side->start(first);
      run_up_to(job, sides, first + 20);
      if (HasFatalFailure()) return;
      for (const Side* side : sides.all) EXPECT_EQ(0u, side->wrong());
    }
    expect_nothing_stored(job);
  }
}

/// A graph whose only node is a receive from rank 1.
struct Receiver {
  explicit Receiver(Job& job, bool per_run = true) : graph(job.runtime(0)) {
    node = graph.operation(job.device(0), receive_from(1, kTag, &word, 8));
    graph.chain(node);
    const int code = per_run ? lci_graph_set_per_run(graph.handle(), node) : int{LCI_DONE};
    EXPECT_EQ(LCI_DONE, code) << lci_last_error();
  }
  int start(uint64_t number) { return lci_graph_start_run(graph.handle(), number); }
  uint64_t word = 0;
  lci_node node = 0;
  GraphUnderTest graph;
};

int send_for_run(Job& job, uint64_t run, uint64_t* words, uint32_t count = 1, lci_comp* comp = nullptr) {
  lci_descriptor send = send_to(0, (run & 0xFFFF) << 16 | kTag, words, count * 8);
  const int code = lci_post(job.device(1), &send, comp, nullptr);
  job.settle();
  return code;
}

/// Takes what is stored at rank 0.
void take(Job& job, uint64_t tag) {
  uint64_t word = 0;
  lci_comp* const queue = make_queue(job.runtime(0));
  const int code = lci_post_recv(job.device(0), 1, tag, &word, 8, queue, 0, nullptr);
  if (code == LCI_POSTED) job.settle();  // it is taken from its sender
  EXPECT_TRUE(code == LCI_DONE || lci_queue_length(queue) == 1) << lci_code_name(code) << ": " << lci_last_error();
}

// After a failure or a cancel there must be a number, and it must be a later one.
// Proves: E23
// Mutation: runs_go_on_without_a_number.
TEST(GraphRuns, NeedANumberAfterAFailure) {
  Job job(2);
  {
    Receiver receiver(job);
    lci_graph* const graph = receiver.graph.handle();
    ASSERT_EQ(LCI_POSTED, receiver.start(7));
    EXPECT_EQ(LCI_ERR_BUSY, lci_graph_start_run(graph, 8));
    EXPECT_EQ(LCI_ERR_BUSY, lci_graph_set_per_run(graph, receiver.node));
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph));
    job.settle();
    EXPECT_EQ(LCI_ERR_CANCELLED, receiver.graph.test());
    EXPECT_EQ(LCI_ERR_RUN_NUMBER, lci_graph_start(graph));
    EXPECT_EQ(LCI_ERR_ARGUMENT, receiver.start(7)) << "the same again";
    EXPECT_EQ(LCI_ERR_ARGUMENT, receiver.start(6));
    EXPECT_EQ(LCI_ERR_ARGUMENT, receiver.start(7 + 32768)) << "too far";
    EXPECT_EQ(LCI_ERR_CANCELLED, receiver.graph.test()) << "none of these was a run";
    ASSERT_EQ(LCI_POSTED, receiver.start(7 + 32767));
    uint64_t word = 3;
    EXPECT_EQ(LCI_DONE, send_for_run(job, 7 + 32767, &word));
    EXPECT_EQ(LCI_DONE, receiver.graph.test());
    EXPECT_EQ(3u, receiver.word);
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_graph_node_get(graph, receiver.node, nullptr, &status));
    EXPECT_EQ(kTag, status.tag) << "without the number";
    ASSERT_EQ(LCI_POSTED, lci_graph_start(graph)) << lci_last_error();
    EXPECT_EQ(LCI_DONE, send_for_run(job, 7 + 32768, &word));
    EXPECT_EQ(LCI_DONE, receiver.graph.test());
  }
  {
    Receiver receiver(job, false);  // its runs are not told apart: it goes on as it ever did
    receiver.graph.start();
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(receiver.graph.handle()));
    job.settle();
    receiver.graph.start();
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(receiver.graph.handle()));
    job.settle();
  }
  expect_nothing_stored(job);
}

// Proves: E23
TEST(GraphRuns, RefuseNodesWhoseTagsCannotTell) {
  Job job(1);
  GraphUnderTest graph(job.runtime(0));
  const auto refused = [&](lci_descriptor op) {
    return lci_graph_set_per_run(graph.handle(), graph.operation(job.device(0), op));
  };
  lci_descriptor op = receive_from(LCI_ANY_SOURCE, 1, nullptr, 0);
  EXPECT_EQ(LCI_ERR_ARGUMENT, refused(op));
  EXPECT_EQ(LCI_ERR_ARGUMENT, refused(receive_from(0, LCI_ANY_TAG, nullptr, 0)));
  for (const int policy : {LCI_POLICY_RANK, LCI_POLICY_TAG, LCI_POLICY_NONE}) {
    op = send_to(0, 1, nullptr, 0);
    op.policy = static_cast<uint8_t>(policy);
    EXPECT_EQ(LCI_ERR_ARGUMENT, refused(op));
  }
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 3, LCI_ENGINE_MAP | LCI_ENGINE_KEYED, nullptr, nullptr));
  op = send_to(0, 1, nullptr, 0);
  op.port = 3;
  EXPECT_EQ(LCI_ERR_ARGUMENT, refused(op)) << "the key is given with the operation";
  EXPECT_EQ(LCI_ERR_TAG, refused(send_to(0, 65536, nullptr, 0)));
  EXPECT_EQ(LCI_DONE, refused(send_to(0, 65535, nullptr, 0)));
  op = send_to(0, 1, nullptr, 0);
  op.op = LCI_OP_AM;
  op.port = 1;
  EXPECT_EQ(LCI_ERR_ARGUMENT, refused(op));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_set_per_run(graph.handle(), graph.function(nullptr)));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_set_per_run(graph.handle(), 12345));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_set_per_run(nullptr, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_start_run(nullptr, 0));
}

// Stored with credit, announced, or long: what was for runs that are over goes, and its sender has sent it. What is for
// a later run, or under another tag, stays.
// Proves: E23
// Mutations: runs_keep_what_is_stored, runs_keep_what_comes_late.
TEST(GraphRuns, DropWhatIsForRunsThatAreOver) {
  for (const char* credit : {"1024", "0"}) {
    SCOPED_TRACE(std::string("engine_messages ") + credit);
    Job job(2, {{"engine_messages", credit}});
    lci_comp* queue = make_queue(job.runtime(1));
    std::vector<uint64_t> words(5000, 4);
    {
      Receiver receiver(job);
      const auto send_all = [&](uint64_t run) {
        for (const uint32_t count : {1u, 100u, 5000u}) {
          int code = LCI_RETRY;
          for (int i = 0; i < 100 && code >= LCI_RETRY && code < LCI_ERR_ARGUMENT; ++i) {
            code = send_for_run(job, run, words.data(), count, queue);
          }
          EXPECT_EQ(count == 5000 ? LCI_POSTED : LCI_DONE, code) << lci_code_name(code);
        }
      };
      send_all(9);
      EXPECT_EQ(3u, job.counter(0, "unexpected_stored"));
      ASSERT_EQ(LCI_POSTED, receiver.start(10));
      job.settle();
      EXPECT_EQ(0u, job.counter(0, "unexpected_stored")) << "stored before";
      EXPECT_EQ(1u, lci_queue_length(queue));
      send_all(9);
      EXPECT_EQ(0u, job.counter(0, "unexpected_stored")) << "come late";
      EXPECT_EQ(2u, lci_queue_length(queue));
      uint64_t later = 11;
      EXPECT_EQ(LCI_DONE, send_for_run(job, 11, &later));
      lci_descriptor other = send_to(0, 8 << 16 | (kTag + 1), &later, 8);
      EXPECT_EQ(LCI_DONE, lci_post(job.device(1), &other, nullptr, nullptr));
      job.settle();
      EXPECT_EQ(2u, job.counter(0, "unexpected_stored")) << "not this graph's, or not yet";
      EXPECT_EQ(LCI_DONE, lci_graph_cancel(receiver.graph.handle()));
      job.settle();
      send_all(10);
      EXPECT_EQ(2u, job.counter(0, "unexpected_stored")) << "of the cancelled run";
      ASSERT_EQ(LCI_POSTED, receiver.start(11));
      job.settle();
      EXPECT_EQ(LCI_DONE, receiver.graph.test());
      EXPECT_EQ(11u, receiver.word);
    }
    take(job, 8 << 16 | (kTag + 1));
    uint64_t word = 0;
    EXPECT_EQ(LCI_DONE, send_for_run(job, 1, &word));
    EXPECT_EQ(1u, job.counter(0, "unexpected_stored")) << "the graph is gone";
    take(job, 1 << 16 | kTag);
    for (lci_status status{}; lci_queue_pop(queue, &status) == LCI_DONE;) EXPECT_EQ(LCI_DONE, status.code);
    expect_nothing_stored(job);
  }
}

// Two graphs with the same tags: what one of them may still receive is not dropped.
// Proves: E23
// Mutation: one_graph_drops_for_all.
TEST(GraphRuns, KeepWhatAnotherGraphMayReceive) {
  Job job(2);
  {
    Receiver ahead(job), behind(job);
    ASSERT_EQ(LCI_POSTED, ahead.start(20));
    ASSERT_EQ(LCI_POSTED, behind.start(10));
    uint64_t word = 12;
    EXPECT_EQ(LCI_DONE, send_for_run(job, 12, &word));
    EXPECT_EQ(1u, job.counter(0, "unexpected_stored"));
    EXPECT_EQ(LCI_DONE, send_for_run(job, 9, &word));
    EXPECT_EQ(1u, job.counter(0, "unexpected_stored")) << "of neither";
    for (Receiver* each : {&ahead, &behind}) EXPECT_EQ(LCI_DONE, lci_graph_cancel(each->graph.handle()));
    job.settle();
    ASSERT_EQ(LCI_POSTED, behind.start(12));
    job.settle();
    EXPECT_EQ(LCI_DONE, behind.graph.test());
  }
  expect_nothing_stored(job);
}

// A rank that is too far ahead is noticed before its number looks like another one.
// Proves: E23
// Mutation: runs_may_be_any_way_apart.
TEST(GraphRuns, NoticeARankThatIsTooFarAhead) {
  Job job(2);
  {
    Receiver receiver(job);
    ASSERT_EQ(LCI_POSTED, receiver.start(1));
    uint64_t word = 1;
    for (const uint64_t run : {uint64_t{20000}, uint64_t{32768}}) EXPECT_EQ(LCI_DONE, send_for_run(job, run, &word));
    EXPECT_EQ(2u, job.counter(0, "unexpected_stored")) << "not too far";
    EXPECT_EQ(LCI_DONE, send_for_run(job, 32769, &word));
    EXPECT_EQ(2u, job.counter(0, "unexpected_stored"));
    EXPECT_EQ(LCI_RETRY, receiver.graph.test()) << "it is in a run";
    EXPECT_EQ(LCI_DONE, send_for_run(job, 1, &word));
    EXPECT_EQ(LCI_DONE, receiver.graph.test());
    EXPECT_EQ(LCI_ERR_OVERRUN, lci_graph_start(receiver.graph.handle()));
    EXPECT_EQ(LCI_ERR_OVERRUN, receiver.start(5));
  }
  for (const uint64_t run : {20000, 32768}) take(job, run << 16 | kTag);
  expect_nothing_stored(job);
}

}  // namespace
}  // namespace lci_test
