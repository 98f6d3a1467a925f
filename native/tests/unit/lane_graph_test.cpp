// SPDX-License-Identifier: Apache-2.0
// Graphs of a lane: uploaded as one table, host nodes run by the loop. [V13, 2B-31] Mutation that must make this file
// fail: graph_host_lost.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kStart = 0, kEnd = 1;
constexpr uint64_t kContext = 0xABCDEF0123456789;

/// A table to upload, built node by node.
struct Table {
  std::vector<lci_graph_node> nodes;
  std::vector<lci_graph_edge> edges;
  std::vector<lci_descriptor> ops;

  uint32_t add(uint32_t kind, uint32_t op = 0) {
    nodes.push_back({kind, op});
    return static_cast<uint32_t>(nodes.size()) + 1;
  }
  uint32_t host() { return add(LCI_NODE_HOST); }
  uint32_t operation(const lci_descriptor& op) {
    ops.push_back(op);
    return add(LCI_NODE_OP, static_cast<uint32_t>(ops.size()) - 1);
  }
  void edge(uint32_t from, uint32_t to) { edges.push_back({from, to}); }
  int upload(lci_lane* lane, uint32_t* id) const {
    return lci_lane_graph_create(lane, nodes.data(), static_cast<uint32_t>(nodes.size()), edges.data(),
                                 static_cast<uint32_t>(edges.size()), ops.data(), static_cast<uint32_t>(ops.size()),
                                 kContext, id);
  }
};

lci_descriptor start_of(uint32_t graph) {
  lci_descriptor op{};
  op.op = LCI_OP_GRAPH_START;
  op.user_context = graph;
  return op;
}
lci_descriptor answer_to(const lci_record& record, uint64_t value, int code = LCI_DONE) {
  lci_descriptor op{};
  op.op = code == LCI_DONE ? LCI_OP_NODE_DONE : LCI_OP_NODE_FAILED;
  op.rank = record.rank;
  op.user_context = record.context;
  op.tag = value;
  op.size = static_cast<uint32_t>(code);
  return op;
}

/// A loop that runs host nodes by @p run and counts ends.
struct Loop {
  LaneDriver driver;
  std::function<void(const lci_record&)> run;
  std::vector<lci_record> ends;
  std::vector<lci_descriptor> answers;

  explicit Loop(lci_runtime* runtime, uint32_t device = 0) : driver(runtime, device) {}
  uint32_t upload(const Table& table) {
    uint32_t id = 0;
    EXPECT_EQ(LCI_DONE, table.upload(driver.handle(), &id)) << lci_last_error();
    return id;
  }
  void turn() {
    std::vector<lci_descriptor*> submitted;
    for (const lci_descriptor& answer : answers) submitted.push_back(&driver.add(answer));
    answers.clear();
    driver.enter();
    for (const lci_descriptor* answer : submitted) EXPECT_EQ(LCI_DONE, answer->outcome);
    driver.read([&](const lci_record& record) {
      if (record.kind == LCI_RECORD_HOST_NODE) {
        EXPECT_EQ(kContext, record.tag);
        run(record);
      }
      if (record.kind == LCI_RECORD_GRAPH) ends.push_back(record);
    });
  }
  int start(uint32_t graph) {
    lci_descriptor& op = driver.add(start_of(graph));
    driver.enter();
    return op.outcome;
  }
  lci_status status(uint32_t graph, uint32_t node) {
    lci_status status{};
    EXPECT_EQ(LCI_DONE, lci_lane_graph_statuses(driver.handle(), graph, node, 1, &status)) << lci_last_error();
    return status;
  }
};

bool turn_until(std::vector<std::unique_ptr<Loop>>& loops, const std::function<bool()>& over) {
  const lci::test::Deadline deadline(20);
  while (!over()) {
    for (auto& loop : loops) loop->turn();
    if (deadline.passed()) return false;
  }
  return true;
}

// [V13] Native and host nodes alternating, 1,000 runs: each host node runs once per run, after what is before it, and
// its value comes back. Two ranks: fill (host), send and receive (native), compare (host), send back (native), ...
// Mutation: graph_host_lost.
// Proves: V13
TEST(LaneGraph, AlternatesNativeAndHostNodes) {
  constexpr uint32_t kRuns = 1000;
  Job job(2);
  struct Side {
    uint64_t out[2] = {}, in[2] = {};
    uint32_t host[3] = {};
    uint32_t graph = 0;
    uint64_t ran = 0;
    uint32_t faults = 0;
  } sides[2];
  {
    std::vector<std::unique_ptr<Loop>> loops;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      Side& self = sides[rank];
      loops.push_back(std::make_unique<Loop>(job.runtime(rank)));
      Table table;
      uint32_t before = kStart;
      for (uint32_t step = 0; step < 2; ++step) {
        self.host[step] = table.host();
        const uint32_t send = table.operation(send_to(1 - rank, step, &self.out[step], 8));
        const uint32_t receive = table.operation(receive_from(1 - rank, step, &self.in[step], 8));
        const uint32_t joined = table.add(LCI_NODE_DUMMY);
        table.edge(before, self.host[step]);
        table.edge(self.host[step], send);
        table.edge(self.host[step], receive);
        table.edge(send, joined);
        table.edge(receive, joined);
        before = joined;
      }
      self.host[2] = table.host();
      table.edge(before, self.host[2]);
      table.edge(self.host[2], kEnd);
      self.graph = loops[rank]->upload(table);
      loops[rank]->run = [&self, loop = loops[rank].get(), rank](const lci_record& record) {
        const uint64_t run = record.context >> 32;
        const uint64_t step = self.ran++ % 3;
        self.faults += record.rank != self.host[step] || run != self.ran / 3 + (self.ran % 3 != 0);
        self.faults += static_cast<uint32_t>(record.context) != self.graph;
        if (step < 2) self.out[step] = run << 8 | step << 4 | rank;
        if (step > 0) self.faults += self.in[step - 1] != (run << 8 | (step - 1) << 4 | (1 - rank));
        loop->answers.push_back(answer_to(record, run * 10 + step));
      };
    }
    for (uint32_t run = 1; run <= kRuns; ++run) {
      for (uint32_t rank = 0; rank < 2; ++rank) ASSERT_EQ(LCI_POSTED, loops[rank]->start(sides[rank].graph));
      ASSERT_TRUE(turn_until(loops, [&] { return loops[0]->ends.size() == run && loops[1]->ends.size() == run; }));
      for (uint32_t rank = 0; rank < 2; ++rank) {
        const lci_record& end = loops[rank]->ends.back();
        ASSERT_EQ(LCI_DONE, end.code);
        ASSERT_EQ(uint64_t{run} << 32 | sides[rank].graph, end.context);
        ASSERT_EQ(kContext, end.tag);
        ASSERT_EQ(3 * run, sides[rank].ran);
        ASSERT_EQ(0u, sides[rank].faults) << "rank " << rank << ", run " << run;
        for (uint32_t step = 0; step < 3; ++step) {
          ASSERT_EQ(run * 10 + step, loops[rank]->status(sides[rank].graph, sides[rank].host[step]).tag);
        }
      }
    }
    for (uint32_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(LCI_DONE, lci_lane_graph_free(loops[rank]->driver.handle(), sides[rank].graph)) << lci_last_error();
      EXPECT_EQ(LCI_ERR_ARGUMENT, lci_lane_graph_free(loops[rank]->driver.handle(), sides[rank].graph));
      EXPECT_EQ(LCI_ERR_ARGUMENT, loops[rank]->start(sides[rank].graph));
    }
    loops.clear();
  }
  job.check_ledgers();
}

// A node whose kind says so has the number of the run in its tag; the loop gives the number, or counts on.
// Proves: E23
TEST(LaneGraph, RunsHaveNumbers) {
  Job job(1);
  uint64_t out = 0, in = 0;
  {
    Loop loop(job.runtime(0));
    Table table;
    const uint32_t send = table.operation(send_to(0, 3, &out, 8));
    const uint32_t receive = table.operation(receive_from(0, 3, &in, 8));
    for (lci_graph_node& node : table.nodes) node.kind = LCI_NODE_OP_PER_RUN;
    table.edge(kStart, send);
    table.edge(kStart, receive);
    const uint32_t graph = loop.upload(table);
    const auto start = [&](uint32_t with_number, uint64_t number) {
      lci_descriptor op = start_of(graph);
      op.size = with_number;
      op.tag = number;
      const lci_descriptor& submitted = loop.driver.add(op);
      loop.driver.enter();
      return submitted.outcome;
    };
    for (const uint64_t number : {uint64_t{70000}, uint64_t{70001}, uint64_t{70002}, uint64_t{80000}}) {
      const bool counts_on = number == 70001 || number == 70002;
      out = number;
      const size_t before = loop.ends.size();
      ASSERT_EQ(LCI_POSTED, start(counts_on ? 0 : 1, counts_on ? 0 : number));
      for (int i = 0; i < 100 && loop.ends.size() == before; ++i) loop.turn();
      ASSERT_EQ(before + 1, loop.ends.size());
      EXPECT_EQ(LCI_DONE, loop.ends.back().code);
      EXPECT_EQ(number, in);
      EXPECT_EQ(3u, loop.status(graph, receive).tag);
    }
    EXPECT_EQ(LCI_ERR_ARGUMENT, start(2, 80001)) << "no such form";
    EXPECT_EQ(LCI_ERR_ARGUMENT, start(1, 80000)) << "not a later one";
    EXPECT_EQ(LCI_DONE, lci_lane_graph_free(loop.driver.handle(), graph));
    table.ops[0].tag = 1 << 16;
    uint32_t id = 0;
    EXPECT_EQ(LCI_ERR_TAG, table.upload(loop.driver.handle(), &id));
  }
  job.check_ledgers();
}

// Nodes and answers that make no sense: each its own outcome.
TEST(LaneGraph, RefusesWhatMakesNoSense) {
  Job job(1, {{"devices", "2"}});
  Loop loop(job.runtime(0)), other(job.runtime(0), 1);
  uint32_t id = 0;
  {
    Table table;
    table.edge(kStart, table.add(77));
    EXPECT_EQ(LCI_ERR_ARGUMENT, table.upload(loop.driver.handle(), &id));
  }
  {
    Table table;
    table.edge(kStart, table.add(LCI_NODE_OP, 3));
    EXPECT_EQ(LCI_ERR_ARGUMENT, table.upload(loop.driver.handle(), &id));
  }
  {
    Table table;
    lci_descriptor op = send_to(0, 1, nullptr, 0);
    op.device = 1;
    table.edge(kStart, table.operation(op));
    EXPECT_EQ(LCI_ERR_DEVICE, table.upload(loop.driver.handle(), &id));
    table.ops[0].device = 0;
    table.ops[0].flags = LCI_FLAG_INLINE;
    table.ops[0].size = 100;  // its payload is not in the table
    EXPECT_EQ(LCI_ERR_SIZE, table.upload(loop.driver.handle(), &id));
  }
  {
    Table table;
    const uint32_t a = table.host(), b = table.host();
    table.edge(kStart, a);
    table.edge(a, b);
    table.edge(b, a);
    EXPECT_EQ(LCI_ERR_ARGUMENT, table.upload(loop.driver.handle(), &id)) << "a circle";
    table.edges[2] = {b, 9};
    EXPECT_EQ(LCI_ERR_ARGUMENT, table.upload(loop.driver.handle(), &id)) << "no such node";
  }
  Table table;
  const uint32_t host = table.host(), dummy = table.add(LCI_NODE_DUMMY);
  table.edge(kStart, host);
  table.edge(host, dummy);
  id = loop.upload(table);
  lci_record fired{};
  loop.run = [&](const lci_record& record) { fired = record; };
  EXPECT_EQ(LCI_ERR_ARGUMENT, other.start(id)) << "of another lane";
  EXPECT_EQ(LCI_POSTED, loop.start(id));
  EXPECT_EQ(LCI_ERR_BUSY, loop.start(id));
  loop.turn();
  ASSERT_EQ(host, fired.rank);
  auto outcome = [&](lci_descriptor op) {
    lci_descriptor& submitted = loop.driver.add(op);
    loop.driver.enter();
    return submitted.outcome;
  };
  lci_descriptor answer = answer_to(fired, 0);
  answer.rank = dummy;
  EXPECT_EQ(LCI_ERR_ARGUMENT, outcome(answer));
  answer = answer_to(fired, 0);
  answer.user_context += uint64_t{1} << 32;
  EXPECT_EQ(LCI_ERR_OVERRUN, outcome(answer)) << "of another run";
  answer = answer_to(fired, 0);
  answer.op = LCI_OP_RELEASE + 1;
  EXPECT_EQ(LCI_ERR_ARGUMENT, outcome(answer)) << "no operation";
  answer.op = LCI_OP_NODE_FAILED;
  answer.size = LCI_RETRY;
  EXPECT_EQ(LCI_ERR_ARGUMENT, outcome(answer)) << "no error";
  EXPECT_EQ(LCI_ERR_BUSY, lci_lane_graph_free(loop.driver.handle(), id));
  EXPECT_EQ(LCI_DONE, outcome(answer_to(fired, 0)));
  EXPECT_EQ(LCI_ERR_OVERRUN, outcome(answer_to(fired, 0))) << "twice";
  lci_status statuses[5];
  EXPECT_EQ(LCI_DONE, lci_lane_graph_statuses(loop.driver.handle(), id, 0, 4, statuses));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_lane_graph_statuses(loop.driver.handle(), id, 0, 5, statuses));
  EXPECT_EQ(LCI_DONE, lci_lane_graph_free(loop.driver.handle(), id));
}

// A host node that failed ends the run with its error: receives are cancelled, other host nodes are waited for.
TEST(LaneGraph, EndsARunThatFails) {
  Job job(2);
  {
    std::vector<std::unique_ptr<Loop>> loops;
    loops.push_back(std::make_unique<Loop>(job.runtime(0)));
    Loop& loop = *loops[0];
    uint64_t word = 0;
    Table table;
    const uint32_t failing = table.host(), slow = table.host(), skipped = table.host();
    const uint32_t receive = table.operation(receive_from(1, 3, &word, 8));
    table.edge(kStart, failing);
    table.edge(kStart, slow);
    table.edge(kStart, receive);
    table.edge(failing, skipped);
    const uint32_t id = loop.upload(table);
    for (uint32_t run = 1; run <= 3; ++run) {
      std::map<uint32_t, lci_record> fired;
      loop.run = [&](const lci_record& record) { fired[record.rank] = record; };
      ASSERT_EQ(LCI_POSTED, loop.start(id));
      ASSERT_TRUE(turn_until(loops, [&] { return fired.size() == 2; }));
      loop.answers.push_back(answer_to(fired[failing], 5, run == 2 ? 0 : LCI_ERR_SIZE));
      loop.answers.back().op = LCI_OP_NODE_FAILED;
      for (int i = 0; i < 100; ++i) loop.turn();
      EXPECT_EQ(run - 1, loop.ends.size()) << "a host node is at work";
      EXPECT_EQ(0u, job.counter(0, "receives_pending"));
      loop.answers.push_back(answer_to(fired[slow], 5));
      ASSERT_TRUE(turn_until(loops, [&] { return loop.ends.size() == run; }));
      EXPECT_EQ(run == 2 ? LCI_ERR_CANCELLED : LCI_ERR_SIZE, loop.ends.back().code);
      EXPECT_EQ(failing, loop.ends.back().rank);
      EXPECT_EQ(LCI_ERR_CANCELLED, loop.status(id, skipped).code);
      EXPECT_EQ(LCI_ERR_CANCELLED, loop.status(id, receive).code);
      EXPECT_EQ(2u, fired.size());
    }
    loops.clear();
  }
  job.check_ledgers();
}

// Copies and reductions over a lane: short ones within one enter, long ones by one step in each, and the loop does not
// sleep while there is some of them to do.
// Proves: E24
// Mutation: memory_sleeps_over_its_work.
TEST(LaneGraph, DoesLongWorkStepByStep) {
  constexpr uint32_t kWords = 3 * 8192;
  Job job(1);
  Loop loop(job.runtime(0));
  std::vector<uint64_t> in(kWords, 5), out(kWords, 0);
  uint64_t word = 1;
  lci_descriptor copy{};
  copy.op = LCI_OP_COPY;
  copy.u.memory = {reinterpret_cast<uint64_t>(out.data()), reinterpret_cast<uint64_t>(in.data()), 0, 8 * kWords};
  lci_descriptor add{};
  add.op = LCI_OP_REDUCE;
  add.policy = LCI_REDUCE_SUM;
  add.port = LCI_TYPE_U64;
  const auto at = reinterpret_cast<uint64_t>(&word);
  add.u.memory = {at, at, at, 1};
  Table table;
  const uint32_t first = table.operation(add), second = table.operation(add), large = table.operation(copy);
  table.edge(kStart, first);
  table.edge(first, second);
  table.edge(second, large);
  const uint32_t id = loop.upload(table);
  ASSERT_EQ(LCI_POSTED, loop.start(id));
  EXPECT_EQ(4u, word);
  for (uint32_t enters = 1; loop.ends.empty(); ++enters) {  // the first one was that which started it
    EXPECT_EQ(enters < 3, loop.driver.control().must_enter != 0) << enters;
    EXPECT_EQ(enters * 8192, std::count(out.begin(), out.end(), 5)) << enters;
    ASSERT_LE(enters, 3u);
    loop.turn();
  }
  EXPECT_EQ(LCI_DONE, loop.ends[0].code);
  EXPECT_EQ(8u * kWords, loop.status(id, large).size);
  EXPECT_EQ(in, out);

  table.ops[0].port = LCI_TYPE_F64_I64;
  uint32_t refused = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, table.upload(loop.driver.handle(), &refused));
}

// A lane goes while a long node is at work: nothing is written afterwards.
// Proves: E24
// Mutation: memory_outlives_its_lane.
TEST(LaneGraph, LongWorkGoesWithItsLane) {
  constexpr uint32_t kWords = 10 * 8192;
  Job job(1);
  std::vector<uint64_t> in(kWords, 5), out(kWords, 0);
  {
    Loop loop(job.runtime(0));
    lci_descriptor copy{};
    copy.op = LCI_OP_COPY;
    copy.u.memory = {reinterpret_cast<uint64_t>(out.data()), reinterpret_cast<uint64_t>(in.data()), 0, 8 * kWords};
    Table table;
    table.edge(kStart, table.operation(copy));
    ASSERT_EQ(LCI_POSTED, loop.start(loop.upload(table)));
    loop.turn();
  }
  EXPECT_EQ(2 * 8192, std::count(out.begin(), out.end(), 5));
  std::fill(out.begin(), out.end(), 0);
  job.settle();
  EXPECT_EQ(0, std::count(out.begin(), out.end(), 5));
}

TEST(LaneGraph, IsCancelled) {
  Job job(2);
  std::vector<std::unique_ptr<Loop>> loops;
  loops.push_back(std::make_unique<Loop>(job.runtime(0)));
  Loop& loop = *loops[0];
  Table table;
  uint64_t word = 0;
  table.edge(kStart, table.operation(receive_from(1, 3, &word, 8)));
  const uint32_t id = loop.upload(table);
  EXPECT_EQ(LCI_RETRY, lci_lane_graph_cancel(loop.driver.handle(), id));
  ASSERT_EQ(LCI_POSTED, loop.start(id));
  EXPECT_EQ(LCI_DONE, lci_lane_graph_cancel(loop.driver.handle(), id));
  ASSERT_TRUE(turn_until(loops, [&] { return loop.ends.size() == 1; }));
  EXPECT_EQ(LCI_ERR_CANCELLED, loop.ends[0].code);
  EXPECT_EQ(0u, loop.ends[0].rank);
}

// The lane goes while runs are under way: nothing is written into their buffers afterwards, nothing leaks, and the peer
// goes on. [V13]
TEST(LaneGraph, GoesWithItsLane) {
  Job job(2);
  std::vector<uint64_t> large(10'000, 1), in(10'000, 2);
  {
    auto loop = std::make_unique<Loop>(job.runtime(0));
    loop->run = [](const lci_record&) {};
    Table table;
    table.edge(kStart, table.host());
    const uint32_t bytes = static_cast<uint32_t>(in.size() * 8);
    const uint32_t receive = table.operation(receive_from(1, 3, in.data(), bytes));
    const uint32_t started = table.operation(receive_from(1, 4, in.data(), bytes));
    const uint32_t send = table.operation(send_to(1, 5, large.data(), bytes));
    table.edge(kStart, receive);
    table.edge(kStart, started);
    table.edge(kStart, send);
    table.edge(receive, table.host());
    const uint32_t id = loop->upload(table);
    ASSERT_EQ(LCI_POSTED, loop->start(id));
    lci_comp* queue = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(1), 0, 4, large.data(), bytes, queue, 1));
    for (int i = 0; i < 3; ++i) {
      lci_progress(job.device(1));
      loop->turn();
    }
  }
  in.assign(in.size(), 3);
  lci_comp* queue = make_queue(job.runtime(1));
  lci_post_send(job.device(1), 0, 3, large.data(), 8, queue, 1);
  job.settle();
  for (const uint64_t word : in) ASSERT_EQ(3u, word) << "written after the lane was freed";
}

// A cancel that nobody has carried out goes with the lane, too: its graph is freed.
TEST(LaneGraph, ACancelGoesWithItsLane) {
  Job job(2);
  uint64_t word = 0;
  {
    Loop loop(job.runtime(0));
    Table table;
    table.edge(kStart, table.operation(receive_from(1, 3, &word, 8)));
    const uint32_t id = loop.upload(table);
    ASSERT_EQ(LCI_POSTED, loop.start(id));
    EXPECT_EQ(LCI_DONE, lci_lane_graph_cancel(loop.driver.handle(), id));
  }
  job.settle();
  job.check_ledgers();
}

// Operations on one lane's device that complete on another's: the host nodes come home.
TEST(LaneGraph, HostNodesComeHomeFromOtherThreads) {
  constexpr uint32_t kRuns = 20;
  Job job(1, {{"devices", "2"}});
  {
    Loop home(job.runtime(0), 0), other(job.runtime(0), 1);
    uint64_t in = 0;
    Table table;
    const uint32_t receive = table.operation(receive_from(0, 6, &in, 8)), host = table.host();
    const uint32_t message = table.operation(send_to(0, 7, nullptr, 0));
    const uint32_t heard = table.operation(receive_from(0, 7, nullptr, 0));
    table.edge(kStart, receive);
    table.edge(receive, host);
    table.edge(receive, message);  // fired by the other loop's thread
    table.edge(kStart, heard);
    table.edge(message, kEnd);
    const uint32_t id = home.upload(table);
    home.run = [&](const lci_record& record) { home.answers.push_back(answer_to(record, in)); };
    std::atomic<uint64_t> wanted{0}, faults{0};
    std::atomic<bool> stop{false};
    const lci::test::Deadline deadline(60);
    std::thread sender([&] {
      uint64_t sent = 0;
      while (!stop.load() && !deadline.passed()) {
        if (sent != wanted.load()) {
          lci_descriptor op = send_to(0, 6, nullptr, 8);
          const uint64_t value = sent + 1;
          op.flags = LCI_FLAG_INLINE;
          std::memcpy(op.u.inline_payload, &value, 8);
          lci_descriptor& submitted = other.driver.add(op);
          other.driver.enter();
          sent += submitted.outcome == LCI_DONE;
        } else {
          other.driver.enter();
        }
        other.driver.read([](const lci_record&) {});
      }
    });
    for (uint32_t run = 1; run <= kRuns && !deadline.passed(); ++run) {
      EXPECT_EQ(LCI_POSTED, home.start(id));
      wanted.store(run);
      while (home.ends.size() < run && !deadline.passed()) home.turn();
      faults += home.status(id, host).tag != run;
    }
    stop.store(true);
    sender.join();
    EXPECT_FALSE(deadline.passed());
    EXPECT_EQ(kRuns, home.ends.size());
    for (const lci_record& end : home.ends) EXPECT_EQ(LCI_DONE, end.code);
    EXPECT_EQ(0u, faults.load());
  }
}

}  // namespace
}  // namespace lci_test
