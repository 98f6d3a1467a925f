// SPDX-License-Identifier: Apache-2.0
// Atomic operations on words of regions, by instructions of the initiator and by messages to the owner. [C23]
// Mutations that must make this file fail: atomic_when_closed, atomic_unaligned, atomic_answer_lost,
// atomic_lane_leaves, atomic_done_untold, atomic_operands_lost.
#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kWord = 8;

uint64_t word_at(const uint8_t* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// By both ways, and the second one under disturbance.
class Atomics : public ::testing::TestWithParam<const char*> {
 protected:
  static Attributes attributes() {
    const std::string mode = GetParam();
    if (mode == "instructions") return {};
    if (mode == "messages") return {{"rma", "messages"}};
    if (mode == "rings") return {{"peer_memory", "rings"}};
    return {{"rma", "messages"}, {"chaos", "seed=5,delay=0.3,ticks=9,refuse=0.2,short=0.2"}};
  }
  static bool by_messages() { return std::string(GetParam()) != "instructions"; }
};
INSTANTIATE_TEST_SUITE_P(Ways, Atomics, ::testing::Values("instructions", "messages", "rings", "chaos"),
                         [](const auto& info) { return std::string(info.param); });

// Proves: C23
TEST_P(Atomics, ChangeTheWordAndBringItsValueBefore) {
  constexpr uint64_t kMax = UINT64_MAX;
  for (const uint32_t ranks : {1u, 2u, 4u}) {
    Job job(ranks, attributes());
    const uint32_t owner = ranks - 1;
    lci_comp* ended = make_queue(job.runtime(0));
    for (const bool allocated : {true, false}) {
      alignas(8) uint8_t heap[24];
      uint8_t* memory = heap;
      lci_memory* region = nullptr;
      if (allocated) {
        const Allocated made(job.runtime(owner), sizeof heap);
        region = made.memory;
        memory = made.bytes_at;
      } else {
        ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(owner), memory, sizeof heap, &region));
      }
      std::memset(memory, 0xEE, sizeof heap);
      const uint64_t remote = open_remote(job.runtime(0), owner, handle_of(region));
      const uint64_t first = 0xEEEEEEEEEEEEEEEE;
      const struct {
        uint8_t operation;
        uint64_t operand, expected, before, after;
      } steps[] = {{LCI_ATOMIC_SWAP, 5, 0, first, 5},
                   {LCI_ATOMIC_ADD, 7, 99, 5, 12},
                   {LCI_ATOMIC_ADD, kMax, 0, 12, 11},  // 1 less
                   {LCI_ATOMIC_COMPARE_SWAP, 100, 12, 11, 11},
                   {LCI_ATOMIC_COMPARE_SWAP, 100, 11, 11, 100},
                   {LCI_ATOMIC_COMPARE_SWAP, 100, 100, 100, 100},
                   {LCI_ATOMIC_SWAP, kMax, 0, 100, kMax},
                   {LCI_ATOMIC_ADD, 3, 0, kMax, 2},
                   {LCI_ATOMIC_ADD, 0, 0, 2, 2}};
      for (const auto& step : steps) {
        uint64_t before = 0;
        ASSERT_EQ(LCI_DONE,
                  complete(job, 0, atomic_op(step.operation, owner, step.operand, step.expected, remote, kWord), ended,
                           &before))
            << lci_last_error();
        ASSERT_EQ(step.before, before) << int{step.operation};
        ASSERT_EQ(step.after, word_at(memory + kWord)) << int{step.operation};
        ASSERT_EQ(first, word_at(memory)) << "before the word";
        ASSERT_EQ(first, word_at(memory + 2 * kWord)) << "behind it";
      }
      ASSERT_EQ(LCI_DONE, lci_remote_close(job.runtime(0), remote));
      ASSERT_EQ(LCI_DONE, allocated ? lci_memory_free(region) : lci_memory_deregister(region)) << lci_last_error();
    }
    job.check_ledgers();
    EXPECT_EQ(by_messages() ? 0u : 18u, job.counter(0, "operations_atomic_done"));
    EXPECT_EQ(by_messages() ? 18u : 0u, job.counter(0, "operations_atomic_posted"));
    EXPECT_EQ(by_messages() ? 18 * kWord : 0u, job.counter(0, "rma_streamed"));
    EXPECT_EQ(by_messages() ? 18 * kWord : 0u, job.counter(owner, "rma_served"));
    EXPECT_EQ(by_messages() ? 0u : 18 * kWord, job.counter(0, "rma_copied"));
  }
}

// Proves: C23
TEST_P(Atomics, AnswerDoneWhereTheMemoryIsAtHand) {
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  uint64_t before = 0;
  for (const uint8_t more : {0, int{LCI_FLAG_SIGNAL}, int{LCI_FLAG_NO_RETRY}, int{LCI_FLAG_NETWORK}}) {
    lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, 1, 3, 0, remote, kWord);
    op.flags |= more;
    op.tag = 4711;  // ignored
    lci_status status = LCI_STATUS_INIT;
    const int code = post_until_taken(job, 0, op, ended, &status);
    const bool posted = code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
    ASSERT_EQ(by_messages() || more == LCI_FLAG_SIGNAL, posted) << lci_code_name(code) << " " << lci_last_error();
    if (posted) {
      ASSERT_TRUE(pop(job, ended, &status));
    }
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(1u, status.rank);
    EXPECT_EQ(before, status.tag) << int{more};
    EXPECT_EQ(nullptr, status.buffer);
    EXPECT_EQ(8u, status.size);
    EXPECT_EQ(77u, status.user_context);
    EXPECT_EQ(0u, status.port);
    before += 3;
  }
  EXPECT_EQ(before, word_at(region.bytes_at + kWord));
  lci_status status{};
  job.check_ledgers();
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended, &status)) << "a signal too many";
}

TEST_P(Atomics, ArgumentsAreChecked) {
  Job job(3, attributes());
  const Allocated region(job.runtime(1), 20), far(job.runtime(2), 64);
  std::memset(region.bytes_at, 0xEE, 20);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  const uint64_t other = open_remote(job.runtime(0), 2, handle_of(far.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  const auto answer = [&](lci_descriptor op) { return lci_post(job.device(0), &op, ended, nullptr); };
  for (const uint8_t kind : {LCI_ATOMIC_ADD, LCI_ATOMIC_SWAP, LCI_ATOMIC_COMPARE_SWAP}) {
    const auto op = [&](uint64_t id, uint64_t displacement) {
      return atomic_op(kind, 1, 1, 0xEEEEEEEEEEEEEEEE, id, displacement);
    };
    for (const uint64_t place : {1u, 4u, 7u, 9u}) EXPECT_EQ(LCI_ERR_ARGUMENT, answer(op(remote, place))) << place;
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(remote, 16))) << "only half of it is in the region";
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(remote, 24)));
    EXPECT_EQ(LCI_ERR_SIZE, answer(op(remote, UINT64_MAX - 7)));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(op(0, 0)));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(op(remote + (1ull << 32), 0)));
    EXPECT_EQ(LCI_ERR_RANK, answer(op(other, 0))) << "a region of rank 2";
    lci_descriptor wrong = op(remote, 0);
    wrong.rank = 3;
    EXPECT_EQ(LCI_ERR_RANK, answer(wrong));
    wrong = op(remote, 0);
    wrong.size = 4;
    EXPECT_EQ(LCI_ERR_SIZE, answer(wrong));
    wrong = op(remote, 0);
    wrong.port = 3;
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(wrong)) << "no signal";
    for (const int form :
         {int{LCI_FLAG_PACKET}, int{LCI_FLAG_BUFFER}, int{LCI_FLAG_LIST}, LCI_FLAG_LIST | LCI_FLAG_BUFFER}) {
      wrong = op(remote, 0);
      wrong.flags = static_cast<uint8_t>(form);
      EXPECT_EQ(LCI_ERR_ARGUMENT, answer(wrong)) << form;
    }
    wrong = op(remote, 0);
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &wrong, nullptr, nullptr)) << "nobody would hear of its end";
  }
  for (const int kind : {0, 4, 255, 256 + LCI_ATOMIC_ADD, -1}) {
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(atomic_op(static_cast<uint8_t>(kind == 257 ? 0 : kind), 1, 1, 0, remote, 0)));
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_atomic(job.device(0), 1, kind, 1, 0, remote, 0, ended, 0, nullptr)) << kind;
  }
  job.settle();
  for (int i = 0; i < 20; ++i) ASSERT_EQ(0xEE, region.bytes_at[i]);
  job.check_ledgers();
}

// Mutation: atomic_unaligned.
TEST_P(Atomics, ARegionThatDoesNotStartAtAWordIsRefused) {
  Job job(2, attributes());
  alignas(8) uint8_t heap[64];
  std::memset(heap, 0xEE, sizeof heap);
  lci_comp* ended = make_queue(job.runtime(0));
  for (const uint64_t shift : {1u, 4u, 7u}) {
    const Registered region(job.runtime(1), heap + shift, 40);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    EXPECT_EQ(LCI_ERR_ARGUMENT, complete(job, 0, atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, remote, kWord), ended));
    EXPECT_EQ(LCI_DONE, lci_remote_close(job.runtime(0), remote));
  }
  for (const uint8_t byte : heap) ASSERT_EQ(0xEE, byte);
  job.check_ledgers();
}

// Proves: C23
// Mutation: atomic_when_closed.
TEST_P(Atomics, ARegionThatHasEndedIsNotChanged) {
  Job job(2, attributes());
  lci_comp* ended = make_queue(job.runtime(0));
  alignas(8) uint8_t heap[64];
  std::memset(heap, 0xEE, sizeof heap);
  for (const bool allocated : {true, false}) {
    for (const bool posted_before : {false, true}) {
      const Allocated made = allocated ? Allocated(job.runtime(1), 64) : Allocated();
      lci_memory* region = made.memory;
      if (!allocated) {
        ASSERT_EQ(LCI_DONE, lci_memory_register(job.runtime(1), heap, 64, &region));
      }
      const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region));
      const lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, remote, kWord);
      if (posted_before && by_messages()) {  // it is on its way when the region ends
        ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, op, ended));
      }
      ASSERT_EQ(LCI_DONE, allocated ? lci_memory_free(region) : lci_memory_deregister(region));
      const Allocated next(job.runtime(1), 64);  // may lie in the same place
      std::memset(next.bytes_at, 0xEE, 64);
      if (posted_before && by_messages()) {
        lci_status status{};
        ASSERT_TRUE(pop(job, ended, &status));
        // Chaos lets ranks progress while it refuses: then the word may have been changed in time.
        EXPECT_TRUE(status.code == LCI_ERR_MEMORY_CLOSED || std::string(GetParam()) == "chaos")
            << lci_code_name(status.code);
        if (status.code == LCI_DONE) std::memset(heap, 0xEE, sizeof heap);
      }
      EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, complete(job, 0, op, ended));
      for (int i = 0; i < 64; ++i) ASSERT_EQ(0xEE, next.bytes_at[i]);
      for (int i = 0; i < 64; ++i) ASSERT_EQ(0xEE, heap[i]);
      ASSERT_EQ(LCI_DONE, lci_memory_free(next.memory));
      EXPECT_EQ(LCI_DONE, lci_remote_close(job.runtime(0), remote));
    }
  }
  job.check_ledgers();
}

TEST_P(Atomics, ATargetThatClosesEndsThem) {
  Job job(2, attributes());
  lci_comp* ended = make_queue(job.runtime(0));
  const Allocated region(job.runtime(1), 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  const lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, remote, 0);
  if (by_messages()) {
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, op, ended));
  }
  job.close(1, 0);
  lci_status status{};
  if (by_messages()) {
    ASSERT_TRUE(pop(job, ended, &status));
    EXPECT_TRUE(status.code == LCI_ERR_PEER_FAILED || status.code == LCI_DONE) << lci_code_name(status.code);
  }
  const int code = complete(job, 0, op, ended);
  EXPECT_TRUE(code == LCI_ERR_PEER_FAILED || code == LCI_ERR_MEMORY_CLOSED) << lci_code_name(code);
  job.check_ledgers();
}

// The value before comes back in the descriptor where the outcome is done, else in the record.
// Mutation: atomic_done_untold.
TEST_P(Atomics, ALaneHearsOfTheValueBefore) {
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  {
    LaneDriver lane(job, 0);
    for (uint64_t round = 0; round < 10; ++round) {
      uint16_t outcome = LCI_RETRY;
      uint64_t before = UINT64_MAX;
      for (int i = 0; i < 100000 && is_retry(outcome); ++i) {
        const lci_descriptor& place = lane.add(atomic_op(LCI_ATOMIC_ADD, 1, 3, 0, remote, kWord));
        lane.enter();
        outcome = place.outcome;
        before = place.tag;
        if (is_retry(outcome)) lci_progress(job.device(1));
      }
      ASSERT_EQ(by_messages() ? LCI_POSTED : LCI_DONE, outcome) << lci_last_error();
      uint32_t records = 0;
      for (int i = 0; i < 100000 && by_messages() && records == 0; ++i) {
        lci_progress(job.device(1));
        lane.enter();
        lane.read([&](const lci_record& record) {
          ++records;
          ASSERT_EQ(LCI_RECORD_OP, record.kind);
          EXPECT_EQ(LCI_DONE, record.code);
          EXPECT_EQ(8u, record.size);
          EXPECT_EQ(77u, record.context);
          before = record.tag;
        });
      }
      EXPECT_EQ(by_messages() ? 1u : 0u, records);
      EXPECT_EQ(3 * round, before);
    }
    EXPECT_EQ(30u, word_at(region.bytes_at + kWord));
    EXPECT_EQ(0u, lane.control().in_flight);
  }
  job.check_ledgers();
}

// A lane that goes forgets its operations. Their owner answers all the same, and the room for others comes back.
// Mutation: atomic_lane_leaves.
TEST_P(Atomics, ALaneThatGoesForgetsThem) {
  if (!by_messages()) return;
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  uint64_t posted = 0;
  {
    LaneDriver lane(job, 0);
    for (int i = 0; i < 600; ++i) {
      const lci_descriptor& place = lane.add(atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, remote, 0));
      lane.enter();
      posted += place.outcome == LCI_POSTED;
    }
    EXPECT_LE(256u, posted);
  }
  job.settle();
  EXPECT_EQ(posted, word_at(region.bytes_at)) << "what was posted has happened once";
  lci_comp* ended = make_queue(job.runtime(0));
  for (int i = 0; i < 300; ++i) {  // more than may be under way
    ASSERT_EQ(LCI_DONE, complete(job, 0, atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, remote, 0), ended)) << lci_last_error();
  }
  EXPECT_EQ(posted + 300, word_at(region.bytes_at));
  job.check_ledgers();
}

// More than may be under way wait in the backlog; each happens once.
// Mutation: atomic_operands_lost.
TEST_P(Atomics, WhatMayNotBeRefusedWaits) {
  constexpr uint64_t kCount = 1000;
  Job job(2, attributes());
  const Allocated region(job.runtime(1), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  std::vector<bool> seen(kCount);
  uint64_t posted = 0, waited = 0;
  const auto see = [&](const lci_status& status) {
    EXPECT_EQ(LCI_DONE, status.code);
    ASSERT_EQ(0u, status.tag % 3);
    ASSERT_LT(status.tag / 3, kCount);
    EXPECT_FALSE(seen[status.tag / 3]) << "two saw the same value";
    seen[status.tag / 3] = true;
  };
  lci_status status = LCI_STATUS_INIT;
  for (uint64_t i = 0; i < kCount; ++i) {
    lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, 1, 3, 0, remote, 2 * kWord);
    op.flags |= LCI_FLAG_NO_RETRY;
    const int code = lci_post(job.device(0), &op, ended, &status);
    ASSERT_LT(code, LCI_RETRY) << lci_code_name(code) << " " << lci_last_error();
    if (code == LCI_DONE) see(status);
    posted += code != LCI_DONE;
    waited += code == LCI_POSTED_BACKLOG;
  }
  EXPECT_EQ(by_messages(), waited >= kCount - 256);
  for (; posted != 0; --posted) {
    ASSERT_TRUE(pop(job, ended, &status));
    see(status);
  }
  EXPECT_EQ(3 * kCount, word_at(region.bytes_at + 2 * kWord));
  job.check_ledgers();
}

// The owner remembers a bounded number of operations. More are refused, and go on when some have ended. [X1]
TEST(AtomicBounds, OperationsUnderWayAreBounded) {
  Job job(2, {{"rma", "messages"}});
  const Allocated region(job.runtime(1), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  uint32_t posted = 0;
  int code = LCI_POSTED;
  for (; posted < 1000 && code == LCI_POSTED; posted += code == LCI_POSTED) {
    code = lci_post_atomic(job.device(0), 1, LCI_ATOMIC_ADD, 1, 0, remote, 0, ended, 0, nullptr);
  }
  EXPECT_EQ(LCI_RETRY_PENDING, code);
  EXPECT_EQ(256u, posted);
  lci_status status{};
  for (uint32_t i = 0; i < posted; ++i) {
    ASSERT_TRUE(pop(job, ended, &status));
    EXPECT_EQ(LCI_DONE, status.code);
  }
  EXPECT_EQ(LCI_DONE, complete(job, 0, atomic_op(LCI_ATOMIC_ADD, 1, 1, 0, remote, 0), ended));
  EXPECT_EQ(257u, word_at(region.bytes_at));
  job.check_ledgers();
}

// The initiator reads nothing meanwhile: the control ring of the owner fills, and the rest of the answers wait there.
// Mutation: atomic_answer_lost.
TEST(AtomicBounds, AnAnswerWaitsForRoom) {
  constexpr uint32_t kMost = 256;
  Job job(2, {{"rma", "messages"}, {"control_ring_bytes", "4K"}});  // 64 slots
  const Allocated region(job.runtime(1), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  for (uint32_t i = 0; i < kMost; ++i) {
    ASSERT_EQ(LCI_POSTED, lci_post_atomic(job.device(0), 1, LCI_ATOMIC_ADD, 1, 0, remote, 0, ended, 0, nullptr));
  }
  for (int i = 0; i < 1000; ++i) lci_progress(job.device(1));
  EXPECT_EQ(kMost, word_at(region.bytes_at));
  lci_status status{};
  std::vector<bool> seen(kMost);
  for (uint32_t i = 0; i < kMost; ++i) {
    ASSERT_TRUE(pop(job, ended, &status)) << "answer " << i << " was lost";
    ASSERT_LT(status.tag, kMost);
    EXPECT_FALSE(seen[status.tag]);
    seen[status.tag] = true;
  }
  job.check_ledgers();
}

TEST(AtomicForms, BlockingPostsBringTheValueBefore) {
  Job job(1, {{"rma", "messages"}});
  const Allocated region(job.runtime(0), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t remote = open_remote(job.runtime(0), 0, handle_of(region.memory));
  lci_status status{};
  for (uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(LCI_DONE, lci_post_atomic(job.device(0), 0, LCI_ATOMIC_ADD, 5, 0, remote, 8, LCI_COMP_NULL, 9, &status))
        << lci_last_error();
    EXPECT_EQ(5 * i, status.tag);
    EXPECT_EQ(9u, status.user_context);
  }
}

TEST(AtomicForms, ANodeOfAGraphHasTheValueBefore) {
  for (const char* mode : {"auto", "messages"}) {
    Job job(2, {{"rma", mode}});
    const Allocated region(job.runtime(1), 64);
    std::memset(region.bytes_at, 0, 64);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    GraphUnderTest graph(job.runtime(0));
    const lci_node first = graph.operation(job.device(0), atomic_op(LCI_ATOMIC_ADD, 1, 3, 0, remote, 8));
    const lci_node second = graph.operation(job.device(0), atomic_op(LCI_ATOMIC_SWAP, 1, 9, 0, remote, 8));
    graph.chain(first, second);
    for (int run = 0; run < 3; ++run) {
      graph.start();
      for (int i = 0; i < 100000 && graph.test() == LCI_RETRY; ++i) job.progress();
      lci_status status{};
      ASSERT_EQ(LCI_DONE, lci_graph_node_get(graph.handle(), second, nullptr, &status)) << lci_last_error();
      EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(run == 0 ? 3u : 12u, status.tag);
      EXPECT_EQ(9u, word_at(region.bytes_at + 8));
    }
    job.check_ledgers();
  }
}

// A handler posts, and may not be refused.
TEST(AtomicForms, AHandlerMayPostThem) {
  Job job(2, {{"rma", "messages"}});
  const Allocated region(job.runtime(0), 64);
  std::memset(region.bytes_at, 0, 64);
  struct Poster {
    lci_device* device;
    lci_comp* ended;
    uint64_t remote;
    int code;
  } poster{job.device(1), make_queue(job.runtime(1)), open_remote(job.runtime(1), 0, handle_of(region.memory)),
           LCI_RETRY};
  const auto post = [](const lci_status*, void* argument) {
    auto& self = *static_cast<Poster*>(argument);
    lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, 0, 6, 0, self.remote, 0);
    op.flags |= LCI_FLAG_NO_RETRY;
    self.code = lci_post(self.device, &op, self.ended, nullptr);
  };
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), post, &poster, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 4, "", handler, 0, 0));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_AM, 1, 4, 0, nullptr, 0), nullptr));
  lci_status status{};
  ASSERT_TRUE(pop(job, poster.ended, &status));
  EXPECT_EQ(LCI_POSTED, poster.code);
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(0u, status.tag);
  EXPECT_EQ(6u, word_at(region.bytes_at));
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
