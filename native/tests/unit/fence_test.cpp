// SPDX-License-Identifier: Apache-2.0
// When everything that was posted before a fence has ended and left, and how far a peer has read. [C24]
// Mutations that must make this file fail: fence_counts_later_backlog, fence_delivers_at_once, fence_forgets_announced,
// fence_forgets_backlog, fence_forgets_death, fence_forgets_delayed, fence_forgets_streams.
#include <string>

#include "support/background.hpp"
#include "support/lane_driver.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 8, kOther = 9;
constexpr uint32_t kLong = 50'000;  // bytes, more than a packet

/// Over peer memory that ranks share, and over rings alone.
class Fence : public testing::TestWithParam<const char*> {
 protected:
  Attributes with(Attributes attributes = {}) const {
    attributes.emplace_back("peer_memory", GetParam());
    return attributes;
  }
};
INSTANTIATE_TEST_SUITE_P(PeerMemory, Fence, testing::Values("all", "rings"),
                         [](const auto& info) { return std::string(info.param); });

uint64_t fence(lci_device* device) {
  uint64_t number = 0;
  EXPECT_EQ(LCI_DONE, lci_device_fence(device, &number)) << lci_last_error();
  return number;
}

int post(lci_device* device, lci_descriptor op, lci_comp* comp = nullptr) {
  return lci_post(device, &op, comp, nullptr);
}

/// A queue of a rank behind a port.
lci_comp* open_queue(Job& job, uint32_t rank, uint32_t port = kPort, uint32_t messages = 0) {
  lci_comp* queue = make_queue(job.runtime(rank));
  EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), port, "", queue, messages, 0)) << lci_last_error();
  return queue;
}

/// Takes what is in a queue now.
uint32_t take_all(lci_comp* queue) {
  uint32_t count = 0;
  for (lci_status status{}; lci_queue_pop(queue, &status) == LCI_DONE; ++count) lci_buffer_free(status.buffer);
  return count;
}

TEST_P(Fence, OfADeviceThatDidNothingIsPassed) {
  Job job(1, with());
  EXPECT_EQ(1u, fence(job.device(0)));
  EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), 1));
  EXPECT_EQ(2u, fence(job.device(0)));
  EXPECT_EQ(LCI_DONE, lci_wait_fence(job.device(0), 2, 0));
  EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), 1)) << "it stays passed";
}

TEST_P(Fence, ArgumentsAreChecked) {
  Job job(1, with());
  uint64_t number = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_device_fence(nullptr, &number));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_device_fence(job.device(0), nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_device_fence_passed(job.device(0), 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_device_fence_passed(job.device(0), 1)) << "not begun";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_wait_fence(job.device(0), 1, 0));
  LaneDriver lane(job, 0);
  EXPECT_EQ(LCI_ERR_DEVICE, lci_device_fence(job.device(0), &number));
  uint32_t position = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_lane_fence(nullptr, 0, &number));
  EXPECT_EQ(LCI_ERR_DEVICE, lci_lane_fence(lane.handle(), 1, &number));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_lane_fence_passed(lane.handle(), 0, 1));
  EXPECT_EQ(LCI_ERR_RANK, lci_lane_sent(lane.handle(), 0, 1, &position));
  EXPECT_EQ(LCI_ERR_RANK, lci_lane_delivered(lane.handle(), 0, 1, 0));
}

/// A handler runs in the middle of a pass, where it is not known what is under way.
TEST_P(Fence, HandlersMayNotAsk) {
  struct Asking {
    lci_device* device;
    std::vector<int> codes;
  };
  Job job(1, with());
  Asking asking{job.device(0), {}};
  const uint64_t before = fence(job.device(0));
  lci_comp* handler = nullptr;
  const auto ask = [](const lci_status*, void* argument) {
    auto& asked = *static_cast<Asking*>(argument);
    uint64_t number = 0;
    asked.codes = {lci_device_fence(asked.device, &number), lci_device_fence_passed(asked.device, 1),
                   lci_wait_fence(asked.device, 1, 0)};
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), ask, &asking, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", handler, 0, 0));
  ASSERT_LT(post_until_taken(job, 0, operation(LCI_OP_AM, 0, kPort, 0, "1", 1), nullptr), LCI_RETRY);
  job.settle();
  EXPECT_EQ(std::vector<int>(3, LCI_ERR_SIGNAL_CONTEXT), asking.codes);
  EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), before));
}

/// There is never an end of what waits; what had waited goes all the same.
// Proves: C24
TEST_P(Fence, ABacklogThatIsRefilledAlwaysHoldsUpNone) {
  constexpr uint32_t kBefore = 64;
  Job job(2, with());
  lci_comp* queue = open_queue(job, 1, kPort, 4);
  lci_descriptor op = operation(LCI_OP_AM, 1, kPort, 0, "12345678", 8);
  op.flags |= LCI_FLAG_NO_RETRY;
  for (uint32_t i = 0; i < kBefore; ++i) ASSERT_LT(post(job.device(0), op), LCI_RETRY) << lci_last_error();
  const uint64_t before = fence(job.device(0));
  uint32_t taken = 0;
  int code = LCI_RETRY;
  for (const lci::test::Deadline deadline(60); code == LCI_RETRY && !deadline.passed();) {
    const uint32_t now = take_all(queue);
    taken += now;
    for (uint32_t i = 0; i <= now; ++i) {  // more than was taken, as long as there is room
      if (job.counter(0, "backlog_depth") >= 1000) break;
      ASSERT_LT(post(job.device(0), op), LCI_RETRY);
    }
    code = lci_device_fence_passed(job.device(0), before);
    if (code == LCI_RETRY) job.progress();
  }
  EXPECT_EQ(LCI_DONE, code);
  EXPECT_GE(taken + lci_queue_length(queue), kBefore) << "what had waited has left";
  EXPECT_GT(job.counter(0, "backlog_depth"), 0u);
  EXPECT_EQ(LCI_RETRY, lci_test_drained(job.device(0)));
  for (int i = 0; i < 100'000 && lci_test_drained(job.device(0)) != LCI_DONE; ++i) {
    take_all(queue);
    job.progress();
  }
  take_all(queue);
}

/// An announced message waits in its sender's packet, or as a rendezvous: it has not left. Later ones do not count.
// Proves: C24
TEST_P(Fence, AMessageThatHasNoPlaceYetIsWaitedFor) {
  Job job(2, with());
  for (const uint32_t size : {8u, kLong}) {
    const uint32_t port = size == 8 ? kPort : kPort + 10, other = size == 8 ? kOther : kOther + 10;
    const std::vector<uint8_t> bytes = pattern(size, 3);
    ASSERT_LT(post_until_taken(job, 0, operation(LCI_OP_AM, 1, static_cast<uint16_t>(port), 0, bytes.data(), size),
                               make_queue(job.runtime(0))),
              LCI_RETRY);
    const uint64_t first = fence(job.device(0));
    job.settle();
    EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), first));
    ASSERT_LT(post_until_taken(job, 0, operation(LCI_OP_AM, 1, static_cast<uint16_t>(other), 0, bytes.data(), size),
                               make_queue(job.runtime(0))),
              LCI_RETRY);
    const uint64_t second = fence(job.device(0));
    lci_comp* queue = open_queue(job, 1, port);
    job.settle();
    EXPECT_EQ(1u, take_all(queue));
    job.settle();
    EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), first)) << "the later one waits on";
    EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), second));
    job.settle();
    EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), second));
    lci_comp* later = open_queue(job, 1, other);
    job.settle();
    EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), second));
    EXPECT_EQ(1u, take_all(later));
  }
}

/// A short send waits in an engine, which knows it even where its bytes are still here. A long one has not ended.
// Proves: C24
TEST_P(Fence, AShortSendHasLeftWhenItsEngineKnowsIt) {
  Job job(2, with());
  lci_comp* ends = make_queue(job.runtime(0));
  const std::vector<uint8_t> bytes = pattern(kLong, 8);
  for (uint64_t tag = 0; tag < 100; ++tag) {
    ASSERT_LT(post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 0, tag, bytes.data(), 500), ends), LCI_RETRY);
  }
  EXPECT_GT(job.counter(0, "announcements"), 0u);
  const uint64_t first = fence(job.device(0));
  job.settle();
  EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), first));
  EXPECT_EQ(100u, job.counter(1, "unexpected_stored"));
  ASSERT_LT(post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 0, 100, bytes.data(), kLong), ends), LCI_RETRY);
  const uint64_t second = fence(job.device(0));
  job.settle();
  EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), second));
  std::vector<uint8_t> to(kLong);
  lci_comp* received = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 100, to.data(), kLong, received, 0, nullptr));
  job.settle();
  EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), second));
  EXPECT_EQ(bytes, to);
}

TEST_P(Fence, ReceivesAndBarriersAreNotWaitedFor) {
  Job job(2, with());
  lci_comp* queue = make_queue(job.runtime(0));
  uint8_t byte = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 1, &byte, 1, queue, 0, nullptr));
  lci_descriptor barrier{};
  barrier.op = LCI_OP_BARRIER;
  ASSERT_EQ(LCI_POSTED, post(job.device(0), barrier, queue));
  const uint64_t number = fence(job.device(0));
  lci_progress(job.device(0));
  EXPECT_EQ(LCI_DONE, lci_device_fence_passed(job.device(0), number));
}

/// By messages they end when the other rank has done its part.
// Proves: C24
TEST_P(Fence, PutsGetsAndAtomicOperationsAreWaitedFor) {
  Job job(2, with({{"rma", "messages"}}));
  Allocated region(job.runtime(1), kLong);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* queue = make_queue(job.runtime(0));
  const std::vector<uint8_t> bytes = pattern(kLong, 5);
  std::vector<uint8_t> back(kLong);
  lci_descriptor atomic{};
  atomic.op = LCI_OP_ATOMIC;
  atomic.rank = 1;
  atomic.policy = LCI_ATOMIC_ADD;
  atomic.size = 8;
  atomic.u.atomic.remote = remote;
  atomic.u.atomic.operand = 1;
  for (const lci_descriptor& op : {remote_op(LCI_OP_PUT, 1, bytes.data(), kLong, remote, 0),
                                   remote_op(LCI_OP_GET, 1, back.data(), kLong, remote, 0), atomic}) {
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, op, queue)) << lci_last_error();
    const uint64_t number = fence(job.device(0));
    for (int i = 0; i < 100; ++i) lci_progress(job.device(0));
    EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), number)) << int{op.op};
    const Background peer([&] { lci_progress(job.device(1)); });
    ASSERT_EQ(LCI_DONE, lci_wait_fence(job.device(0), number, 30'000)) << lci_last_error();
    lci_status status{};
    EXPECT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "its signal had come";
  }
  EXPECT_EQ(bytes, back);
}

/// Bytes of a message that is streamed in chunks have left when the last one is in the ring.
TEST_P(Fence, ALongMessageIsWaitedFor) {
  Job job(2, with());
  lci_comp* queue = open_queue(job, 1);
  lci_comp* ends = make_queue(job.runtime(0));
  const std::vector<uint8_t> bytes = pattern(20 * kLong, 6);
  const auto size = static_cast<uint32_t>(bytes.size());
  ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, operation(LCI_OP_AM, 1, kPort, 0, bytes.data(), size), ends));
  const uint64_t number = fence(job.device(0));
  EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), number));
  const Background peer([&] { lci_progress(job.device(1)); });
  ASSERT_EQ(LCI_DONE, lci_wait_fence(job.device(0), number, 30'000)) << lci_last_error();
  EXPECT_EQ(1u, lci_queue_length(ends));
  uint32_t taken = 0;
  for (const lci::test::Deadline deadline(30); taken == 0 && !deadline.passed();) taken = take_all(queue);
  EXPECT_EQ(1u, taken);
}

/// What is on its way to a rank that leaves has ended.
TEST_P(Fence, WhatADeadPeerEndedIsPassed) {
  Job job(3, with());
  const std::vector<uint8_t> bytes = pattern(kLong, 7);
  lci_comp* ends = make_queue(job.runtime(0));
  for (const uint32_t size : {8u, kLong}) {
    ASSERT_LT(
        post_until_taken(job, 0, operation(LCI_OP_AM, 1, size == 8 ? kPort : kOther, 0, bytes.data(), size), ends),
        LCI_RETRY);
  }
  const uint64_t number = fence(job.device(0));
  job.settle();
  EXPECT_EQ(LCI_RETRY, lci_device_fence_passed(job.device(0), number));
  job.close(1, 0);
  ASSERT_EQ(LCI_DONE, lci_wait_fence(job.device(0), number, 30'000)) << lci_last_error();
}

/// A lane tells a peer how far it has written; the peer's lane tells when it has read as far.
// Proves: C24
TEST_P(Fence, APositionIsDeliveredWhenThePeerHasReadAsFar) {
  Job job(2, with());
  LaneDriver sender(job, 0), receiver(job, 1);
  const uint32_t inbox = receiver.open(kPort);
  uint32_t position = 0;
  EXPECT_EQ(LCI_RETRY, lci_lane_sent(sender.handle(), 0, 1, &position)) << "nothing yet";
  EXPECT_EQ(LCI_RETRY, lci_lane_delivered(receiver.handle(), 0, 0, 0)) << "no ring yet";
  uint32_t sent = 0;
  for (int i = 0; i < 100'000 && sent < 100; ++i) {
    const lci_descriptor& op = sender.add_am(1, kPort, sent, sent);
    sender.enter();
    if (op.outcome < LCI_RETRY) {
      ++sent;
    } else {
      receiver.enter();
    }
  }
  ASSERT_EQ(100u, sent);
  uint64_t number = 0;
  ASSERT_EQ(LCI_DONE, lci_lane_fence(sender.handle(), 0, &number));
  for (int i = 0; i < 100'000 && lci_lane_fence_passed(sender.handle(), 0, number) != LCI_DONE; ++i) {
    sender.enter();
    receiver.enter();
  }
  ASSERT_EQ(LCI_DONE, lci_lane_fence_passed(sender.handle(), 0, number));
  ASSERT_EQ(LCI_DONE, lci_lane_sent(sender.handle(), 0, 1, &position));
  sender.add_am(1, kPort, 7, 7);  // a later one is behind it
  sender.enter();
  uint32_t later = 0;
  ASSERT_EQ(LCI_DONE, lci_lane_sent(sender.handle(), 0, 1, &later));
  EXPECT_EQ(LCI_RETRY, lci_lane_delivered(receiver.handle(), 0, 0, later));
  for (int i = 0; i < 1000 && lci_lane_delivered(receiver.handle(), 0, 0, position) == LCI_RETRY; ++i) receiver.enter();
  EXPECT_EQ(LCI_DONE, lci_lane_delivered(receiver.handle(), 0, 0, position));
  EXPECT_GE(receiver.demand(inbox).depth, 100u) << "stored, with no demand";
  for (int i = 0; i < 1000 && lci_lane_delivered(receiver.handle(), 0, 0, later) == LCI_RETRY; ++i) receiver.enter();
  EXPECT_EQ(LCI_DONE, lci_lane_delivered(receiver.handle(), 0, 0, later));
}

TEST_P(Fence, OfARankThatIsGoneNothingMoreIsDelivered) {
  Job job(2, with());
  LaneDriver lane(job, 0);
  job.close(1, 1000);
  int code = LCI_RETRY;
  for (const lci::test::Deadline deadline(30); code == LCI_RETRY && !deadline.passed();) {
    lane.enter();
    code = lci_lane_delivered(lane.handle(), 0, 1, 12345);
  }
  EXPECT_EQ(LCI_ERR_PEER_LEFT, code);
}

/// Chaos holds messages back at their sender's end: they have not left. The seeds name the runs.
// Proves: C24
TEST_P(Fence, WhatChaosHoldsBackIsWaitedFor) {
  constexpr uint32_t kMessages = 300;
  uint64_t delayed = 0;
  for (int seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string plan = "seed=" + std::to_string(seed) + ",delay=0.3,ticks=30,refuse=0.1,short=0.2";
    Job job(2, with({{"chaos", plan}}));
    LaneDriver sender(job, 0), receiver(job, 1);
    const uint32_t inbox = receiver.open(kPort, kMessages);
    uint32_t sent = 0;
    for (int i = 0; i < 1'000'000 && sent < kMessages; ++i) {
      const lci_descriptor& op = sender.add_am(1, kPort, sent, sent);
      sender.enter();
      if (op.outcome < LCI_RETRY) {
        ++sent;
      } else {
        receiver.enter();
      }
    }
    ASSERT_EQ(kMessages, sent);
    uint64_t number = 0;
    uint32_t position = 0;
    ASSERT_EQ(LCI_DONE, lci_lane_fence(sender.handle(), 0, &number));
    for (int i = 0; i < 100'000 && lci_lane_fence_passed(sender.handle(), 0, number) != LCI_DONE; ++i) {
      sender.enter();
      receiver.enter();
    }
    ASSERT_EQ(LCI_DONE, lci_lane_fence_passed(sender.handle(), 0, number));
    ASSERT_EQ(LCI_DONE, lci_lane_sent(sender.handle(), 0, 1, &position));
    for (int i = 0; i < 100'000 && lci_lane_delivered(receiver.handle(), 0, 0, position) == LCI_RETRY; ++i) {
      receiver.enter();  // the sender does not move any more
    }
    EXPECT_EQ(LCI_DONE, lci_lane_delivered(receiver.handle(), 0, 0, position));
    EXPECT_EQ(kMessages, receiver.demand(inbox).depth);
    delayed += job.counter(0, "chaos_delayed");
  }
  EXPECT_GT(delayed, 0u);
}

}  // namespace
}  // namespace lci_test
