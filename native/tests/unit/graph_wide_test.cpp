// SPDX-License-Identifier: Apache-2.0
// Wide graphs: far more operations become ready at once than there is room for. Mutations that must make this file
// fail: see graph.tsv and protocol.tsv.
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/rma_job.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kTag = 5, kTrigger = 6;

/// Room for 1,024 messages, and nearly none for what waits at its sender.
Attributes little_room(uint32_t devices = 1) {
  return {{"engine_messages", "1024"}, {"announcements", "32"}, {"devices", std::to_string(devices)}};
}

/// Sends of one word each, numbered from 0.
struct Numbers {
  explicit Numbers(uint32_t count) : words(count) {
    for (uint32_t i = 0; i < count; ++i) words[i] = i;
  }
  lci_descriptor send(uint32_t index) const { return send_to(1, kTag, &words[index], 8); }
  std::vector<uint64_t> words;
};

/// The receiver: takes @p count words, one receive after the other, and notes which do not come in their order.
class Taker {
 public:
  Taker(Job& job, uint32_t count) : job_(job), count_(count), queue_(make_queue(job.runtime(1))) {}
  /// False: not all have come yet.
  bool step() {
    for (int i = 0; i < 64 && taken_ < count_; ++i) {
      if (!posted_) {
        lci_status done{};
        const int code = lci_post_recv(job_.device(1), 0, kTag, &word_, 8, queue_, 0, &done);
        if (code == LCI_DONE) {
          note();
          continue;
        }
        EXPECT_EQ(LCI_POSTED, code) << lci_last_error();
        posted_ = true;
      }
      lci_status status{};
      if (lci_queue_pop(queue_, &status) != LCI_DONE) return false;
      EXPECT_EQ(LCI_DONE, status.code);
      posted_ = false;
      note();
    }
    return taken_ == count_;
  }
  uint32_t faults() const { return faults_; }

 private:
  void note() { faults_ += word_ != taken_++; }
  Job& job_;
  const uint32_t count_;
  lci_comp* const queue_;
  uint64_t word_ = 0;
  uint64_t taken_ = 0;
  bool posted_ = false;
  uint32_t faults_ = 0;
};

void expect_nothing_in_the_backlog(Job& job) {
  for (uint32_t rank = 0; rank < job.size(); ++rank) EXPECT_EQ(0u, job.counter(rank, "backlog_push"));
}

/// Progresses until @p over; false: that takes too long.
template <typename Over>
bool progress_until(Job& job, Over over) {
  for (const lci::test::Deadline deadline(60); !over(); job.progress()) {
    if (deadline.passed()) return false;
  }
  return true;
}

constexpr uint32_t kWide = 100'000;

// A receiver that comes late has room for a hundredth: the rest waits at its sender, outside the backlog, in the order
// in which it was fired, and in memory of its own.
// Proves: E22
// Mutations: graph_waits_in_the_backlog, waiting_not_served, waiting_out_of_order.
TEST(GraphWide, ReadySendsWaitForTheReceiver) {
  Job job(2, little_room());
  const Numbers numbers(kWide);
  {
    GraphUnderTest graph(job.runtime(0));
    for (uint32_t i = 0; i < kWide; ++i) graph.edge(LCI_GRAPH_START, graph.operation(job.device(0), numbers.send(i)));
    for (int run = 0; run < 2; ++run) {
      Taker taker(job, kWide);
      if (run == 1) refused_allocation = 1;  // the first one has planned: to fire and to wait takes no memory
      graph.start();
      EXPECT_EQ(run == 1 ? 1u : 0u, refused_allocation);
      refused_allocation = 0;
      for (int pass = 0; pass < 3000; ++pass) job.progress();
      ASSERT_EQ(LCI_RETRY, graph.test()) << lci_last_error();
      ASSERT_TRUE(progress_until(job, [&] { return taker.step() && graph.test() != LCI_RETRY; }));
      ASSERT_EQ(LCI_DONE, graph.test()) << lci_last_error();
      EXPECT_EQ(0u, taker.faults());
    }
  }
  expect_nothing_in_the_backlog(job);
  job.check_ledgers();
}

/// A table for a lane: a receive of one word, then sends to rank 1.
struct TriggeredSends {
  TriggeredSends(const Numbers& numbers, uint64_t* trigger) {
    ops.push_back(receive_from(1, kTrigger, trigger, 8));
    for (uint32_t i = 0; i < numbers.words.size(); ++i) ops.push_back(numbers.send(i));
    for (uint32_t i = 0; i < ops.size(); ++i) {
      nodes.push_back({LCI_NODE_OP, i});
      edges.push_back({i == 0 ? 0u : 2u, i + 2});
    }
  }
  uint32_t upload(LaneDriver& lane) const {
    uint32_t id = 0;
    EXPECT_EQ(LCI_DONE, lci_lane_graph_create(lane.handle(), nodes.data(), static_cast<uint32_t>(nodes.size()),
                                              edges.data(), static_cast<uint32_t>(edges.size()), ops.data(),
                                              static_cast<uint32_t>(ops.size()), 0, &id))
        << lci_last_error();
    return id;
  }
  std::vector<lci_graph_node> nodes;
  std::vector<lci_graph_edge> edges;
  std::vector<lci_descriptor> ops;
};

int start_on(LaneDriver& lane, uint32_t graph) {
  lci_descriptor op{};
  op.op = LCI_OP_GRAPH_START;
  op.user_context = graph;
  lci_descriptor& submitted = lane.add(op);
  lane.enter();
  return submitted.outcome;
}

/// Enters, and tells whether the end of a run was recorded, and its code.
bool enter_for_end(LaneDriver& lane, int* code) {
  bool ended = false;
  lane.enter();
  lane.read([&](const lci_record& record) {
    if (record.kind != LCI_RECORD_GRAPH) return;
    ended = true;
    *code = record.code;
  });
  return ended;
}

/// The word for which the table waits comes by device 1 of rank 0, which another thread progresses: it fires the sends.
/// A word that is taken from its sender is matched before it has come: that no receive is pending tells nothing.
void fire_from_another_thread(Job& job, const uint64_t& trigger) {
  uint64_t word = 1;
  lci_descriptor send = send_to(0, kTrigger, &word, 8);
  const int code = lci_post(job.device(1, 1), &send, make_queue(job.runtime(1)), nullptr);
  ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
  std::thread([&] {
    for (const lci::test::Deadline deadline(60); trigger != word && !deadline.passed();) {
      lci_progress(job.device(0, 1));
      lci_progress(job.device(1, 1));
    }
  }).join();
  ASSERT_EQ(word, trigger);
}

// The same of a lane whose nodes are fired by the thread of another device.
// Proves: E22
// Mutation: graph_handed_to_the_backlog.
TEST(GraphWide, ReadySendsOfAForeignThreadWait) {
  Job job(2, little_room(2));
  const Numbers numbers(kWide);
  uint64_t trigger = 0;
  {
    LaneDriver lane(job, 0);
    const uint32_t graph = TriggeredSends(numbers, &trigger).upload(lane);
    ASSERT_EQ(LCI_POSTED, start_on(lane, graph));
    Taker taker(job, kWide);
    fire_from_another_thread(job, trigger);
    int code = LCI_RETRY;
    for (int pass = 0; pass < 3000; ++pass) {
      ASSERT_FALSE(enter_for_end(lane, &code)) << lci_code_name(code);
      lci_progress(job.device(1));
    }
    const lci::test::Deadline deadline(60);
    for (bool taken = false, ended = false; !taken || !ended;) {
      taken = taker.step();
      ended |= enter_for_end(lane, &code);
      lci_progress(job.device(1));
      ASSERT_FALSE(deadline.passed());
    }
    EXPECT_EQ(LCI_DONE, code) << lci_code_name(code);
    EXPECT_EQ(0u, taker.faults());
    EXPECT_EQ(LCI_DONE, lci_lane_graph_free(lane.handle(), graph));
  }
  expect_nothing_in_the_backlog(job);
}

// A loop that enters only when it is told to does not miss the moment at which what waits may be announced.
// Proves: E22
TEST(GraphWide, ALoopIsCalledForWhatWaits) {
  Job job(2, {{"engine_messages", "0"}, {"announcements", "2"}, {"devices", "2"}});
  const Numbers numbers(20);
  uint64_t trigger = 0;
  {
    LaneDriver lane(job, 0);
    const uint32_t graph = TriggeredSends(numbers, &trigger).upload(lane);
    ASSERT_EQ(LCI_POSTED, start_on(lane, graph));
    Taker taker(job, 20);
    fire_from_another_thread(job, trigger);
    int code = LCI_RETRY;
    const lci::test::Deadline deadline(60);
    for (bool taken = false, ended = false; !taken || !ended;) {
      taken = taker.step();
      if (lane.rings()) ended |= enter_for_end(lane, &code);
      lci_progress(job.device(1));
      ASSERT_FALSE(deadline.passed());
    }
    EXPECT_EQ(LCI_DONE, code) << lci_code_name(code);
    EXPECT_EQ(0u, taker.faults());
  }
}

// What waits goes before anything of it is posted, and the run ends; the receiver gets what had gone, and no more.
// Proves: E22
TEST(GraphWide, ACancelledRunTakesOutWhatWaits) {
  constexpr uint32_t kSends = 2000;
  Job job(2, {{"engine_messages", "16"}, {"announcements", "2"}});
  const Numbers numbers(kSends);
  {
    GraphUnderTest graph(job.runtime(0));
    std::vector<lci_node> nodes;
    for (uint32_t i = 0; i < kSends; ++i) {
      nodes.push_back(graph.operation(job.device(0), numbers.send(i)));
      graph.edge(LCI_GRAPH_START, nodes.back());
    }
    graph.start();
    for (int pass = 0; pass < 3000; ++pass) job.progress();
    ASSERT_EQ(LCI_RETRY, graph.test());
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(graph.handle()));
    ASSERT_TRUE(progress_until(job, [&] { return graph.test() != LCI_RETRY; }));
    EXPECT_EQ(LCI_ERR_CANCELLED, graph.test());
    uint32_t sent = 0;
    for (const lci_node node : nodes) sent += graph.status_code(node) == LCI_DONE;
    EXPECT_LT(sent, 64u);
    Taker taker(job, sent);
    ASSERT_TRUE(progress_until(job, [&] { return taker.step(); }));
    job.settle();
    EXPECT_EQ(0u, taker.faults());
    EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
  }
  job.check_ledgers();
}

/// A graph of sends to rank 1, which has no room for most of them; started.
struct Waiting {
  explicit Waiting(Job& job, lci_comp* comp = nullptr) : numbers(200), graph(job.runtime(0), comp) {
    for (uint32_t i = 0; i < numbers.words.size(); ++i) {
      graph.edge(LCI_GRAPH_START, graph.operation(job.device(0), numbers.send(i)));
    }
    graph.start();
    for (int pass = 0; pass < 3000; ++pass) job.progress();
    EXPECT_EQ(LCI_RETRY, graph.test());
  }
  const Numbers numbers;
  GraphUnderTest graph;
};

const Attributes kNoRoom = {{"engine_messages", "16"}, {"announcements", "2"}};

// Also behind what another run has waiting, for which there is no room either.
// Proves: E22
// Mutation: waiting_ignores_cancel.
TEST(GraphWide, ACancelledRunDoesNotWaitForAnotherOne) {
  Job job(2, kNoRoom);
  {
    Waiting first(job), second(job);
    EXPECT_EQ(LCI_DONE, lci_graph_cancel(second.graph.handle()));
    ASSERT_TRUE(progress_until(job, [&] { return second.graph.test() != LCI_RETRY; }));
    EXPECT_EQ(LCI_ERR_CANCELLED, second.graph.test());
    EXPECT_EQ(LCI_RETRY, first.graph.test());
    Taker taker(job, 200);
    ASSERT_TRUE(progress_until(job, [&] { return taker.step() && first.graph.test() != LCI_RETRY; }));
    EXPECT_EQ(LCI_DONE, first.graph.test());
    EXPECT_EQ(0u, taker.faults());
  }
  job.check_ledgers();
}

// Proves: E22
TEST(GraphWide, APeersDeathEndsWhatWaitsForIt) {
  Job job(2, kNoRoom);
  Waiting waiting(job);
  job.close(1, 0);
  ASSERT_TRUE(progress_until(job, [&] { return waiting.graph.test() != LCI_RETRY; }));
  EXPECT_EQ(LCI_ERR_PEER_FAILED, waiting.graph.test());
}

void note_code(const lci_status* status, void* argument) {
  *static_cast<int*>(argument) = status->code;
}

// Proves: E22
TEST(GraphWide, EndsWithItsRuntime) {
  int told = LCI_RETRY;
  {
    Job job(2, kNoRoom);
    lci_comp* handler = nullptr;
    lci_graph* graph = nullptr;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), note_code, &told, &handler));
    ASSERT_EQ(LCI_DONE, lci_graph_create(job.runtime(0), handler, 0, &graph));
    const Numbers numbers(200);
    for (uint32_t i = 0; i < numbers.words.size(); ++i) {
      lci_node node = 0;
      const lci_descriptor send = numbers.send(i);
      ASSERT_EQ(LCI_DONE, lci_graph_add_op(graph, job.device(0), &send, nullptr, &node));
      ASSERT_EQ(LCI_DONE, lci_graph_add_edge(graph, LCI_GRAPH_START, node, nullptr));
    }
    ASSERT_EQ(LCI_POSTED, lci_graph_start(graph));
    for (int pass = 0; pass < 3000; ++pass) job.progress();
    job.close(0, 0);
  }
  EXPECT_EQ(LCI_ERR_CANCELLED, told);
}

// A lane that goes takes what waits with it, also what another thread has just left: nothing is read afterwards.
// Proves: E22
// Mutation: waiting_outlives_its_lane.
TEST(GraphWide, IsForgottenWithItsLane) {
  Job job(2, {{"engine_messages", "16"}, {"announcements", "2"}, {"devices", "2"}});
  uint64_t trigger = 0;
  uint64_t sent = 0;
  {
    const Numbers numbers(200);
    LaneDriver lane(job, 0);
    ASSERT_EQ(LCI_POSTED, start_on(lane, TriggeredSends(numbers, &trigger).upload(lane)));
    fire_from_another_thread(job, trigger);
    int code = LCI_RETRY;
    for (int pass = 0; pass < 3000; ++pass) {
      ASSERT_FALSE(enter_for_end(lane, &code));
      lci_progress(job.device(1));
    }
    sent = job.counter(0, "operations_send_done");
  }
  Taker taker(job, 200);  // room for more
  for (int pass = 0; pass < 3000; ++pass) {
    taker.step();
    job.progress();
  }
  EXPECT_EQ(sent, job.counter(0, "operations_send_done"));
  EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0)));
}

// What waits was posted before a fence that begins later.
// Proves: E22
// Mutation: fence_forgets_waiting.
TEST(GraphWide, HoldsUpAFence) {
  Job job(2, kNoRoom);
  {
    Waiting waiting(job);
    uint64_t fence = 0;
    ASSERT_EQ(LCI_DONE, lci_device_fence(job.device(0), &fence)) << lci_last_error();
    job.settle();
    EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), fence));
    Taker taker(job, 200);
    ASSERT_TRUE(progress_until(job, [&] { return taker.step() && waiting.graph.test() != LCI_RETRY; }));
    EXPECT_TRUE(progress_until(job, [&] { return lci_device_fence_passed(job.device(0), fence) == LCI_DONE; }));
  }
  job.check_ledgers();
}

// One flow without room holds up no other: neither a message to a rank nor one to a port.
// Proves: E22
TEST(GraphWide, NoFlowWaitsForAnotherOne) {
  Job job(2, kNoRoom);
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 7, "", counter, 0, 0));
  {
    Waiting waiting(job);
    GraphUnderTest others(job.runtime(0));
    for (int i = 0; i < 500; ++i) {
      lci_descriptor message = send_to(1, 0, nullptr, 0);
      message.op = LCI_OP_AM;
      message.port = 7;
      others.edge(LCI_GRAPH_START, others.operation(job.device(0), message));
    }
    others.start();
    ASSERT_TRUE(progress_until(job, [&] { return others.test() != LCI_RETRY && lci_counter_get(counter) == 500; }));
    EXPECT_EQ(LCI_DONE, others.test());
    EXPECT_EQ(LCI_RETRY, waiting.graph.test());
    Taker taker(job, 200);
    ASSERT_TRUE(progress_until(job, [&] { return taker.step() && waiting.graph.test() != LCI_RETRY; }));
  }
  job.check_ledgers();
}

// Gets wait for the bound of what a rank may have under way at another one.
// Proves: E22
TEST(GraphWide, GetsWaitForTheirBound) {
  constexpr uint32_t kGets = 3000;
  Job job(2, {{"peer_memory", "rings"}});
  const Allocated region(job.runtime(1), kGets * 8);
  for (uint64_t i = 0; i < kGets; ++i) std::memcpy(region.bytes_at + i * 8, &i, 8);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  std::vector<uint64_t> mine(kGets);
  {
    GraphUnderTest graph(job.runtime(0));
    for (uint32_t i = 0; i < kGets; ++i) {
      const lci_descriptor get = remote_op(LCI_OP_GET, 1, &mine[i], 8, remote, i * 8);
      graph.edge(LCI_GRAPH_START, graph.operation(job.device(0), get));
    }
    graph.start();
    ASSERT_TRUE(progress_until(job, [&] { return graph.test() != LCI_RETRY; }));
    EXPECT_EQ(LCI_DONE, graph.test()) << lci_last_error();
    for (uint32_t i = 0; i < kGets; ++i) ASSERT_EQ(i, mine[i]);
  }
  expect_nothing_in_the_backlog(job);
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
