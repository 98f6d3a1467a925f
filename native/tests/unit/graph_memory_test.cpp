// SPDX-License-Identifier: Apache-2.0
// Nodes that copy and reduce in memory of this process. Mutations that must make this file fail: see reduce.tsv.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "support/graph.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kStep = 64 << 10;  // bytes
constexpr uint64_t kWords = kStep / 8;

lci_descriptor copy_of(void* to, const void* from, uint64_t bytes) {
  lci_descriptor op{};
  op.op = LCI_OP_COPY;
  op.u.memory = {reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from), 0, bytes};
  return op;
}

lci_descriptor reduction(uint32_t op, uint32_t type, void* to, const void* left, const void* right, uint64_t count) {
  lci_descriptor reduce = copy_of(to, left, count);
  reduce.op = LCI_OP_REDUCE;
  reduce.policy = static_cast<uint8_t>(op);
  reduce.port = static_cast<uint16_t>(type);
  reduce.u.memory.right = reinterpret_cast<uint64_t>(right);
  return reduce;
}

lci_descriptor sum_of(std::vector<uint64_t>& to, const std::vector<uint64_t>& left,
                      const std::vector<uint64_t>& right) {
  return reduction(LCI_REDUCE_SUM, LCI_TYPE_U64, to.data(), left.data(), right.data(), to.size());
}

std::vector<uint64_t> numbers_from(uint64_t first, uint64_t count) {
  std::vector<uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

/// Words of @p words that are not @p unchanged, which must lie at its beginning.
uint64_t words_done(const std::vector<uint64_t>& words, uint64_t unchanged) {
  const auto end = std::find(words.begin(), words.end(), unchanged);
  EXPECT_TRUE(std::all_of(end, words.end(), [&](uint64_t word) { return word == unchanged; })) << "not in order";
  return static_cast<uint64_t>(end - words.begin());
}

// Short ones are done by the thread that starts the run, with a device and without; in place, and again in each run.
// Proves: E24
// Mutation: memory_begins_where_it_stopped.
TEST(GraphMemory, ShortNodesAreDoneAtOnce) {
  Job job(1);
  for (lci_device* device : {job.device(0), static_cast<lci_device*>(nullptr)}) {
    std::vector<uint64_t> in = numbers_from(5, kWords), sum(kWords, 1), out(kWords, 0);
    GraphUnderTest graph(job.runtime(0));
    const lci_node added = graph.operation(device, sum_of(sum, sum, in));
    const lci_node copied = graph.operation(device, copy_of(out.data(), sum.data(), kStep));
    graph.chain(added, copied);
    for (uint64_t run = 1; run <= 3; ++run) {
      graph.start();
      ASSERT_EQ(LCI_DONE, graph.test());
      for (uint64_t i = 0; i < kWords; ++i) ASSERT_EQ(1 + run * (5 + i), out[i]) << "run " << run;
    }
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), added, nullptr, &status));
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(kStep, status.size);
    EXPECT_EQ(sum.data(), status.buffer);
    EXPECT_EQ(added, status.user_context);
  }
}

// A long one is done piece by piece, one in each pass of the device; so is the one that came behind it, then.
// Proves: E24
// Mutations: memory_long_at_once, memory_step_is_lost.
TEST(GraphMemory, LongNodesAreDoneByThePassesOfTheDevice) {
  Job job(1);
  constexpr uint64_t kCount = 3 * kWords + 5;
  std::vector<uint64_t> left = numbers_from(1, kCount), right = numbers_from(1000, kCount), sum(kCount), out(kCount);
  GraphUnderTest graph(job.runtime(0));
  const lci_node added = graph.operation(job.device(0), sum_of(sum, left, right));
  const lci_node copied = graph.operation(job.device(0), copy_of(out.data(), left.data(), 8 * kCount));
  graph.edge(LCI_GRAPH_START, added);
  graph.edge(LCI_GRAPH_START, copied);
  for (int run = 0; run < 2; ++run) {
    std::fill(sum.begin(), sum.end(), 0);
    std::fill(out.begin(), out.end(), 0);
    graph.start();
    EXPECT_EQ(0u, words_done(sum, 0)) << "the thread that fires it does nothing of it";
    for (uint64_t pass = 1; pass <= 8; ++pass) {
      EXPECT_EQ(LCI_RETRY, graph.test()) << "pass " << pass;
      EXPECT_EQ(LCI_DONE, lci_progress(job.device(0))) << "pass " << pass;
      EXPECT_EQ(std::min(pass * kWords, kCount), words_done(sum, 0)) << "pass " << pass;
      EXPECT_EQ(pass <= 4 ? 0 : std::min((pass - 4) * kWords, kCount), words_done(out, 0)) << "pass " << pass;
    }
    EXPECT_EQ(LCI_DONE, graph.test());
    for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(left[i] + right[i], sum[i]);
    EXPECT_EQ(left, out);
  }
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), copied, nullptr, &status));
  EXPECT_EQ(8 * kCount, status.size);
  EXPECT_EQ(out.data(), status.buffer);
}

// Without a device nobody makes passes.
// Proves: E24
TEST(GraphMemory, WithoutADeviceLongNodesAreDoneAtOnce) {
  Job job(1);
  constexpr uint64_t kCount = 3 * kWords + 5;
  std::vector<uint64_t> left = numbers_from(1, kCount), right = numbers_from(1000, kCount);
  GraphUnderTest graph(job.runtime(0));
  graph.chain(graph.operation(nullptr, sum_of(left, left, right)));
  graph.start();
  ASSERT_EQ(LCI_DONE, graph.test());
  for (uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(1001 + 2 * i, left[i]);
}

// Nodes behind a long one wait for its end.
// Proves: E24
TEST(GraphMemory, WhatFollowsALongNodeSeesAllOfIt) {
  Job job(1);
  std::vector<uint64_t> from = numbers_from(7, 5 * kWords), to(from.size());
  struct Check {
    std::vector<uint64_t>&from, &to;
    bool same = false;
  } check{from, to};
  GraphUnderTest graph(job.runtime(0));
  const lci_node checked = graph.function(
      [](lci_graph*, lci_node, void* value) -> int {
        auto& self = *static_cast<Check*>(value);
        self.same = self.from == self.to;
        return LCI_DONE;
      },
      &check);
  graph.chain(graph.operation(job.device(0), copy_of(to.data(), from.data(), 8 * from.size())), checked);
  graph.start();
  for (int pass = 0; pass < 5; ++pass) lci_progress(job.device(0));
  EXPECT_EQ(LCI_DONE, graph.test());
  EXPECT_TRUE(check.same);
}

// A cancelled run does not write any more, and the next one begins anew.
// Proves: E24
// Mutation: memory_goes_on_after_cancel.
TEST(GraphMemory, ACancelledRunStopsBetweenTwoSteps) {
  Job job(1);
  constexpr uint64_t kCount = 10 * kWords;
  std::vector<uint64_t> from = numbers_from(1, kCount), to(kCount);
  lci_comp* queue = make_queue(job.runtime(0));
  GraphUnderTest graph(job.runtime(0), queue);
  const lci_node copied = graph.operation(job.device(0), copy_of(to.data(), from.data(), 8 * kCount));
  graph.chain(copied);
  graph.start();
  for (int pass = 0; pass < 3; ++pass) lci_progress(job.device(0));
  EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph.handle()));
  EXPECT_EQ(LCI_RETRY, graph.test()) << "its memory is in use until the device has looked";
  lci_progress(job.device(0));
  EXPECT_EQ(LCI_ERR_CANCELLED, graph.test());
  EXPECT_EQ(LCI_ERR_CANCELLED, graph.status_code(copied));
  EXPECT_EQ(3 * kWords, words_done(to, 0));
  std::fill(to.begin(), to.end(), 0);
  job.settle();
  EXPECT_EQ(0u, words_done(to, 0)) << "written after the end of the run";
  graph.start();
  for (int pass = 0; pass < 10; ++pass) lci_progress(job.device(0));
  EXPECT_EQ(LCI_DONE, graph.test());
  EXPECT_EQ(from, to);
  lci_status status{};
  for (const int code : {LCI_ERR_CANCELLED, LCI_DONE}) {
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
    EXPECT_EQ(code, status.code);
  }
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &status)) << "a run ended twice";
}

/// How a run with a long node ends after one pass, by a close with @p timeout_ms; and how many words were written.
void close_in_the_middle(uint32_t timeout_ms, int code, uint64_t words) {
  constexpr uint64_t kCount = 10 * kWords;
  std::vector<uint64_t> from = numbers_from(1, kCount), to(kCount);
  std::vector<int> ends;
  const auto note = [](const lci_status* status, void* all) {
    static_cast<std::vector<int>*>(all)->push_back(status->code);
  };
  Job job(1);
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), note, &ends, &handler));
  lci_graph* graph = nullptr;
  ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), handler, 0, &graph));
  const lci_descriptor copy = copy_of(to.data(), from.data(), 8 * kCount);
  lci_node node = 0;
  ASSERT_EQ(LCI_DONE, lci_graph_add_op(graph, job.device(0), &copy, nullptr, &node));
  ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, node, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_graph_start(graph));
  lci_progress(job.device(0));
  job.close(0, timeout_ms);
  EXPECT_EQ(std::vector<int>{code}, ends);
  EXPECT_EQ(words, words_done(to, 0));
}

// The runtime closes while a long node is at work: a graceful close waits for it, another one ends its run.
// Proves: E24
// Mutations: memory_forgotten_at_the_end, memory_is_not_waited_for.
TEST(GraphMemory, TheEndOfTheRuntimeEndsLongNodes) {
  close_in_the_middle(0, LCI_ERR_CANCELLED, kWords);
  close_in_the_middle(10'000, LCI_DONE, 10 * kWords);
}

// A thread that does not hold the device leaves a long node to the one that does.
// Proves: E24
TEST(GraphMemory, AForeignThreadLeavesLongNodesToTheDevice) {
  Job job(1);
  constexpr uint64_t kCount = 4 * kWords;
  std::vector<uint64_t> from = numbers_from(1, kCount), to(kCount);
  GraphUnderTest graph(job.runtime(0));
  const lci_node trigger = graph.function([](lci_graph*, lci_node, void*) -> int { return LCI_POSTED; });
  graph.chain(trigger, graph.operation(job.device(0), copy_of(to.data(), from.data(), 8 * kCount)));
  for (int run = 0; run < 20; ++run) {
    std::fill(to.begin(), to.end(), 0);
    graph.start();
    std::thread other([&] { EXPECT_EQ(LCI_DONE, lci_graph_mark_complete(graph.handle(), trigger, nullptr)); });
    const lci::test::Deadline deadline(20);
    while (graph.test() == LCI_RETRY && !deadline.passed()) lci_progress(job.device(0));
    other.join();
    ASSERT_EQ(LCI_DONE, graph.test());
    ASSERT_EQ(from, to);
  }
}

void expect_refused(const lci_descriptor& op, const char* says) {
  SCOPED_TRACE(says);
  static Job job(1);
  lci_graph* graph = nullptr;
  ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), nullptr, 0, &graph));
  lci_node node = 99;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_add_op(graph, nullptr, &op, nullptr, &node));
  EXPECT_NE(std::string(lci_last_error()).find(says), std::string::npos) << lci_last_error();
  EXPECT_EQ(99u, node);
  EXPECT_EQ(LCI_DONE, lci_graph_free(graph));
}

// What makes no sense is refused where it is described, and the text says what to do.
// Proves: E24
// Mutation: memory_may_overlap.
TEST(GraphMemory, RefusesWhatMakesNoSense) {
  std::vector<uint64_t> words(100);
  uint64_t* const a = words.data();
  uint64_t* const b = a + 40;
  const auto reduce = [&](uint32_t op, uint32_t type) { return reduction(op, type, a, a, b, 4); };
  expect_refused(reduce(0, LCI_TYPE_I32), "see lci_reduce_op");
  expect_refused(reduce(LCI_REDUCE_BXOR + 1, LCI_TYPE_I32), "see lci_reduce_op");
  expect_refused(reduce(LCI_REDUCE_SUM, 0), "see lci_data_type");
  expect_refused(reduce(LCI_REDUCE_SUM, LCI_TYPE_F64_I64 + 1), "see lci_data_type");
  expect_refused(reduce(LCI_REDUCE_SUM, LCI_TYPE_I32_I32), "MINLOC and MAXLOC alone");
  expect_refused(reduce(LCI_REDUCE_BAND, LCI_TYPE_F64_I64), "MINLOC and MAXLOC alone");
  expect_refused(reduce(LCI_REDUCE_MINLOC, LCI_TYPE_I64), "need pairs");
  expect_refused(reduce(LCI_REDUCE_BXOR, LCI_TYPE_F32), "integers alone");

  const auto sum = [](void* to, void* left, void* right, uint64_t count) {
    return reduction(LCI_REDUCE_SUM, LCI_TYPE_U64, to, left, right, count);
  };
  expect_refused(sum(nullptr, a, b, 1), "null");
  expect_refused(sum(a, nullptr, b, 1), "null");
  expect_refused(sum(a, a, nullptr, 1), "null");
  expect_refused(copy_of(nullptr, a, 1), "null");
  expect_refused(copy_of(a, nullptr, 1), "null");
  expect_refused(sum(a + 1, a, b, 10), "overlaps");
  expect_refused(sum(a, a + 9, b, 10), "overlaps");
  expect_refused(sum(a, b, a + 9, 10), "overlaps");
  expect_refused(copy_of(a, reinterpret_cast<char*>(a) + 7, 8), "overlaps");
  expect_refused(sum(a, a, b, UINT64_MAX / 8 + 1), "fewer");
  expect_refused(sum(a, a, b, UINT64_MAX / 8), "fewer");
  expect_refused(copy_of(a, b, UINT64_MAX), "fewer");
  lci_descriptor with_flag = copy_of(a, b, 8);
  with_flag.flags = LCI_FLAG_SIGNAL;
  expect_refused(with_flag, "no flags");
}

// Memory that touches does not overlap, either operand may be written, and nothing needs no memory.
// Proves: E24
TEST(GraphMemory, TakesWhatMakesSense) {
  Job job(1);
  std::vector<uint64_t> words = numbers_from(0, 30);
  uint64_t* const a = words.data();
  GraphUnderTest graph(job.runtime(0));
  const auto sum = [](uint64_t* to, uint64_t* left, uint64_t* right, uint64_t count) {
    return reduction(LCI_REDUCE_SUM, LCI_TYPE_U64, to, left, right, count);
  };
  graph.chain(graph.operation(nullptr, sum(a + 10, a, a + 20, 10)),       // 10..19: 20 + 2i
              graph.operation(nullptr, sum(a + 20, a + 10, a + 20, 10)),  // 20..29: 40 + 3i
              graph.operation(nullptr, sum(a, a + 1, a + 1, 1)),          // 0: 2
              graph.operation(nullptr, copy_of(a + 1, a + 1, 8)),
              graph.operation(nullptr, sum(nullptr, nullptr, nullptr, 0)),
              graph.operation(nullptr, copy_of(nullptr, nullptr, 0)));
  graph.start();
  ASSERT_EQ(LCI_DONE, graph.test());
  EXPECT_EQ(2u, words[0]);
  for (uint64_t i = 1; i < 10; ++i) EXPECT_EQ(i, words[i]);
  for (uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(20 + 2 * i, words[10 + i]);
    EXPECT_EQ(40 + 3 * i, words[20 + i]);
  }
}

// Elsewhere they are no operations.
// Proves: E24
TEST(GraphMemory, AreNodesAlone) {
  Job job(1);
  uint64_t from = 1, to = 0;
  lci_descriptor op = copy_of(&to, &from, 8);
  lci_comp* queue = make_queue(job.runtime(0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &op, queue, nullptr));
  EXPECT_EQ(0u, to);
}

/// The part of a rank in a recursive-doubling allreduce of one word: in each round it exchanges what it has with the
/// rank whose number differs in one bit, and adds what it got.
struct Member {
  Member(Job& job, uint32_t rank) : graph(job.runtime(rank)), own(rank + 1) {
    lci_node before = graph.operation(nullptr, copy_of(&sum, &own, 8));
    graph.edge(LCI_GRAPH_START, before);
    for (uint32_t bit = 1, round = 0; bit < job.size(); bit *= 2, ++round) {
      const bool lower = (rank & bit) == 0;
      const lci_node sent = per_run(graph.operation(job.device(rank), send_to(rank ^ bit, bit, &sum, 8)));
      const lci_node got = per_run(graph.operation(job.device(rank), receive_from(rank ^ bit, bit, &in[round], 8)));
      const lci_node added = graph.operation(
          job.device(rank),
          reduction(LCI_REDUCE_SUM, LCI_TYPE_U64, &sum, lower ? &sum : &in[round], lower ? &in[round] : &sum, 1));
      graph.edge(before, sent);
      graph.edge(before, got);
      graph.edge(sent, added);
      graph.edge(got, added);
      before = added;
    }
  }
  lci_node per_run(lci_node node) {
    EXPECT_EQ(LCI_DONE, lci_graph_set_per_run(graph.handle(), node)) << lci_last_error();
    return node;
  }
  GraphUnderTest graph;
  uint64_t own, sum = 0, in[3] = {};
};

// Proves: E24
TEST(GraphMemory, AnAllreduceNeedsNoThreadBetweenItsSteps) {
  Job job(4);
  {
    std::vector<std::unique_ptr<Member>> members;
    for (uint32_t rank = 0; rank < job.size(); ++rank) members.push_back(std::make_unique<Member>(job, rank));
    for (int run = 0; run < 50; ++run) {
      for (auto& member : members) member->graph.start();
      for (auto& member : members) {
        const lci::test::Deadline deadline(20);
        while (member->graph.test() == LCI_RETRY && !deadline.passed()) job.progress();
        ASSERT_EQ(LCI_DONE, member->graph.test()) << lci_last_error();
      }
      for (auto& member : members) ASSERT_EQ(10u, member->sum) << "run " << run;
    }
  }
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
