// SPDX-License-Identifier: Apache-2.0
// What one enter does at most, and when it is needed at all. [V8, V9]
#include <algorithm>
#include <atomic>
#include <thread>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5, kOther = 6;

void count(const lci_status*, void* argument) {
  ++*static_cast<uint64_t*>(argument);
}

/// A port of @p rank that needs no credit, and that the other rank knows as such on its first @p devices devices.
void open_counting(Job& job, uint32_t rank, uint32_t port, uint64_t* arrived) {
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), count, arrived, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), port, "", handler, 0, 0)) << lci_last_error();
}

void send(Job& job, uint32_t from, uint32_t device, uint32_t port, uint32_t size) {
  static const std::vector<uint8_t> bytes(8192, 1);
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(from, device), 1 - from, port, 0, bytes.data(), size, nullptr, 0))
      << lci_last_error();
}

// 64 messages and 64 KiB by default, or what the loop says; what is left makes it enter again.
// Proves: V8
TEST(LaneBudget, EndsAnEnter) {
  uint64_t arrived = 0;
  Job job(2);
  open_counting(job, 0, kPort, &arrived);
  {
    LaneDriver lane(job, 0);
    send(job, 1, 0, kPort, 8);
    for (int i = 0; i < 20; ++i) lane.enter(), lci_progress(job.device(1));
    const auto handled = [&] {
      const uint64_t before = arrived;
      lane.enter();
      return arrived - before;
    };
    for (int i = 0; i < 150; ++i) send(job, 1, 0, kPort, 8);
    EXPECT_EQ(64u, handled());
    EXPECT_NE(0u, lane.control().must_enter);
    lane.control().arrival_budget = 10;
    EXPECT_EQ(10u, handled());
    lane.control().arrival_budget = 0;
    EXPECT_EQ(64u, handled());
    EXPECT_EQ(12u, handled());
    EXPECT_EQ(0u, lane.control().must_enter);
    for (int i = 0; i < 20; ++i) send(job, 1, 0, kPort, 8000);
    EXPECT_EQ(9u, handled()) << "the ninth exceeds 64 KiB";
    lane.control().byte_budget = 1;
    EXPECT_EQ(1u, handled());
    lane.control().byte_budget = 0;
    EXPECT_EQ(9u, handled());
    EXPECT_EQ(1u, handled());
  }
}

// The devices of a lane share the budget, and take turns in being the first.
// Proves: V8
TEST(LaneBudget, GoesRoundTheDevices) {
  uint64_t flood = 0, trickle = 0;
  Job job(2, {{"devices", "2"}});
  open_counting(job, 0, kPort, &flood);
  open_counting(job, 0, kOther, &trickle);
  {
    LaneDriver lane(job.runtime(0), 0, 2);
    send(job, 1, 0, kPort, 8);
    send(job, 1, 1, kOther, 8);
    for (int i = 0; i < 20; ++i) {
      lane.enter();
      for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(1, device));
    }
    ASSERT_EQ(2u, flood + trickle);
    for (int i = 0; i < 500; ++i) send(job, 1, 0, kPort, 8);
    for (int round = 0; round < 100; ++round) {
      send(job, 1, 1, kOther, 8);
      const uint64_t before = trickle;
      for (int i = 0; i < 2; ++i) {
        const uint64_t sum = flood + trickle;
        lane.enter();
        const uint64_t taken = flood + trickle - sum;
        EXPECT_LE(taken, 64u);
        for (uint64_t k = 0; k < taken; ++k) send(job, 1, 0, kPort, 8);  // it never runs dry
      }
      ASSERT_EQ(before + 1, trickle) << "the flooded device kept the other waiting, round " << round;
    }
  }
}

/// Waits in rank 0's enter until rank 1 has got what the same enter published.
struct Witness {
  std::atomic<uint64_t> seen{0};
  bool in_time = false;
};
void wait_for_it(const lci_status*, void* argument) {
  auto& witness = *static_cast<Witness*>(argument);
  const lci::test::Deadline end(20);
  while (witness.seen == 0 && !end.passed()) std::this_thread::yield();
  witness.in_time = witness.seen != 0;
}
void see(const lci_status*, void* argument) {
  ++static_cast<Witness*>(argument)->seen;
}

// A lone message is with its receiver before the same enter handles what arrived.
// Proves: V8
TEST(LaneBudget, ALoneMessageIsPublishedFirst) {
  Job job(2);
  Witness witness;
  lci_comp *waits = nullptr, *sees = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), wait_for_it, &witness, &waits));
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), see, &witness, &sees));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", waits, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kOther, "", sees, 0, 0));
  {
    LaneDriver lane(job, 0);
    lane.add_am(1, kOther, 0, 0);
    for (int i = 0; i < 20; ++i) lane.enter(), lci_progress(job.device(1));
    ASSERT_EQ(1u, witness.seen.exchange(0));
    send(job, 1, 0, kPort, 8);
    std::atomic<bool> stop{false};
    std::thread peer([&] {
      while (!stop) lci_progress(job.device(1));
    });
    auto& op = lane.add_am(1, kOther, 0, 0);
    for (int i = 0; i < 20 && !witness.in_time; ++i) lane.enter();
    stop = true;
    peer.join();
    EXPECT_EQ(LCI_DONE, op.outcome);
    EXPECT_TRUE(witness.in_time);
  }
}

/// Turns of both lanes that each round trip took, with and without 1 MiB messages in the same direction.
struct PingPong {
  uint64_t most = 0, total = 0, bulk = 0, ns = 0;
};
PingPong play(bool with_bulk) {
  constexpr uint64_t kRounds = 500, kBulk = 1 << 20;
  PingPong result;
  Job job(2);
  const std::vector<uint8_t> bytes(kBulk, 3);
  LaneDriver lanes[2] = {LaneDriver(job, 0), LaneDriver(job, 1)};
  uint32_t ping[2], bulk = lanes[1].open(kOther, 16, 16 << 20);
  for (int i = 0; i < 2; ++i) {
    ping[i] = lanes[i].open(kPort);
    lanes[i].demand(ping[i]).requested = UINT64_MAX / 2;
  }
  lanes[1].demand(bulk).requested = UINT64_MAX / 2;
  uint64_t under_way = 0, round = 0, turns = 0;
  bool to_send[2] = {true, false};
  const uint64_t start = lci::now_ns();
  for (uint64_t turn = 0; round < kRounds && turn < 1'000'000; ++turn, ++turns) {
    lci_descriptor *balls[2] = {}, *big = nullptr;
    for (int i = 0; i < 2; ++i) {
      if (to_send[i]) balls[i] = &lanes[i].add_am(1 - i, kPort, 0, round);
    }
    if (with_bulk && under_way < 4) {
      big = &lanes[0].add(operation(LCI_OP_AM, 1, kOther, 0, bytes.data(), kBulk));
    }
    for (int i = 0; i < 2; ++i) {
      lanes[i].enter();
      if (balls[i] && balls[i]->outcome == LCI_DONE) to_send[i] = false;
      lanes[i].read([&](const lci_record& record) {
        if (record.kind == LCI_RECORD_OP) --under_way;
        if (record.kind != LCI_RECORD_MESSAGE) return;
        if (record.port == kOther) {
          ++result.bulk;
          return;
        }
        to_send[i] = true;
        if (i != 0) return;
        ++round;
        result.most = std::max(result.most, turns);
        turns = 0;
      });
      if (i == 0 && big && big->outcome == LCI_POSTED) ++under_way;
    }
    ++result.total;
  }
  result.ns = (lci::now_ns() - start) / kRounds;
  EXPECT_EQ(kRounds, round) << "the ball is lost";
  for (int i = 0; i < 10'000 && under_way != 0; ++i) {
    for (auto& lane : lanes) {
      lane.enter();
      lane.read([&](const lci_record& record) { under_way -= record.kind == LCI_RECORD_OP; });
    }
  }
  EXPECT_EQ(0u, under_way);
  return result;
}

// 1 MiB messages beside a ping-pong: their pieces take turns with the ball, which is never held up for long.
// Proves: V8
TEST(LaneBudget, LargeMessagesStarveNoSmallOnes) {
  const PingPong alone = play(false), beside = play(true);
  EXPECT_EQ(0u, alone.bulk);
  EXPECT_GT(beside.bulk, 10u) << "nothing large went by";
  EXPECT_LE(alone.most, 4u + 20u);
  EXPECT_LE(beside.most, 200u) << "turns of the loops for one round trip";
  RecordProperty("ns_alone", std::to_string(alone.ns));
  RecordProperty("ns_beside", std::to_string(beside.ns));
  std::printf("round trip: alone %lu turns, %lu ns; beside 1 MiB messages %lu turns, %lu ns: ratio %.1f\n", alone.most,
              alone.ns, beside.most, beside.ns, static_cast<double>(beside.ns) / static_cast<double>(alone.ns));
}

// A loop that enters only when the doorbell has rung misses nothing: a message after a long rest, and credit.
// Proves: V9
TEST(LaneDoorbell, TellsOfEverything) {
  Job job(2);
  lci_comp* const queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kOther, "", queue, 1, 1 << 20));
  {
    LaneDriver lane(job, 0);
    lane.demand(lane.open(kPort)).requested = UINT64_MAX / 2;
    uint64_t messages = 0, writable = 0;
    const auto serve = [&] {
      for (int i = 0; i < 100 && lane.rings(); ++i) {
        lane.enter();
        lane.read([&](const lci_record& record) {
          messages += record.kind == LCI_RECORD_MESSAGE;
          writable += record.kind == LCI_RECORD_WRITABLE;
        });
      }
      ASSERT_FALSE(lane.rings()) << "it does not come to rest";
    };
    const auto other = [&] {
      for (int i = 0; i < 20; ++i) lci_progress(job.device(1));
    };
    ASSERT_NO_FATAL_FAILURE(serve());
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(LCI_RETRY, lane.enter()) << "the doorbell was silent";
      ASSERT_FALSE(lane.rings());
    }
    // A message after a long rest.
    for (uint64_t i = 1; i <= 100; ++i) {
      while (lci_post_am(job.device(1), 0, kPort, 0, &i, 8, nullptr, 0) != LCI_DONE) {
        ASSERT_NO_FATAL_FAILURE(serve());
        other();
      }
      ASSERT_TRUE(lane.rings());
      ASSERT_NO_FATAL_FAILURE(serve());
      other();
      ASSERT_EQ(i, messages);
    }
    // Credit for one who was refused.
    for (uint64_t i = 1; i <= 100; ++i) {
      int code = LCI_DONE;
      for (int k = 0; k < 10 && code == LCI_DONE; ++k) {
        auto& op = lane.add_am(1, kOther, 0, i);
        lane.enter();
        code = op.outcome;
        other();
        ASSERT_NO_FATAL_FAILURE(serve());
      }
      ASSERT_EQ(LCI_RETRY_NOCREDIT, code);
      const uint64_t before = writable;
      lci_status status{};
      while (lci_queue_pop(queue, &status) == LCI_DONE) lci_buffer_free(status.buffer);
      other();
      ASSERT_TRUE(lane.rings());
      ASSERT_NO_FATAL_FAILURE(serve());
      ASSERT_LT(before, writable);
    }
    EXPECT_EQ(0u, lane.control().next_deadline) << "the core has none of its own";
  }
}

// Two loops that enter only when there is something to say or to hear.
// Proves: V9
TEST(LaneDoorbell, IsEnoughForTwoLoops) {
  constexpr uint64_t kMessages = 20'000;
  Job job(2);
  {
    LaneDriver lanes[2] = {LaneDriver(job, 0), LaneDriver(job, 1)};
    uint64_t sent[2] = {}, received[2] = {};
    bool blocked[2] = {}, moved[2] = {};
    for (auto& lane : lanes) lane.demand(lane.open(kPort, 8, 1 << 20)).requested = UINT64_MAX / 2;
    for (uint64_t turn = 0, silent = 0; silent < 1000 && turn < 100 * kMessages; ++turn) {
      ++silent;
      for (int i = 0; i < 2; ++i) {
        lci_descriptor* op = nullptr;
        if (sent[i] < kMessages && !blocked[i]) op = &lanes[i].add_am(1 - i, kPort, 0, sent[i]);
        if (!op && !moved[i] && !lanes[i].rings()) continue;
        silent = 0;
        moved[i] = lanes[i].enter() == LCI_DONE;  // then it enters once more, and gives back what it has read
        if (op) {
          sent[i] += op->outcome == LCI_DONE;
          blocked[i] = op->outcome == LCI_RETRY_NOCREDIT;
        }
        lanes[i].read([&](const lci_record& record) {
          received[i] += record.kind == LCI_RECORD_MESSAGE;
          if (record.kind == LCI_RECORD_WRITABLE) blocked[i] = false;
        });
      }
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(kMessages, sent[i]);
      EXPECT_EQ(kMessages, received[i]);
    }
  }
}

}  // namespace
}  // namespace lci_test
