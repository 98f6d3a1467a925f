// SPDX-License-Identifier: Apache-2.0
// Completion queues of every kind. [E6-E8, E10, SS-44, SS-45, 2B-52]
// Mutations that must make this file fail: queue_skip_tag, queue_overwrite, lcrq_lose_at_close.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "completion/array_queue.hpp"
#include "completion/lcrq.hpp"
#include "completion/queue.hpp"
#include "support/statuses.hpp"

namespace lci {
namespace {

using test::expect_same;
using test::status_of;

std::vector<QueueType> offered_types() {
  std::vector<QueueType> types;
  for (const QueueType type : {QueueType::kArray, QueueType::kLcrq}) {
    if (CompletionQueue::offers(type)) types.push_back(type);
  }
  return types;
}

class CompletionQueues : public testing::TestWithParam<QueueType> {
 protected:
  static std::unique_ptr<CompletionQueue> create(uint32_t capacity) {
    return CompletionQueue::create(GetParam(), capacity);
  }
};

INSTANTIATE_TEST_SUITE_P(Types, CompletionQueues, testing::ValuesIn(offered_types()), [](const auto& each) {
  return each.param == QueueType::kArray ? std::string("Array") : std::string("Lcrq");
});

// Proves: D7 SS-4
TEST_P(CompletionQueues, PopOfAnEmptyQueueIsRetry) {
  const auto queue = create(4);
  lci_status status = status_of(77);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(queue->pop(&status), LCI_RETRY);
  EXPECT_EQ(status.tag, 77u) << "untouched";
  EXPECT_EQ(queue->length(), 0u);
  EXPECT_TRUE(queue->stores());
  EXPECT_EQ(queue->kind(), Completion::Kind::kQueue);
}

// Proves: E6
TEST_P(CompletionQueues, KeepsOrderAndContentOverManyRounds) {
  for (const uint32_t capacity : {1u, 2u, 3u, 7u, 64u}) {
    const auto queue = create(capacity);
    uint64_t pushed = 0;
    uint64_t popped = 0;
    for (int round = 0; round < 50; ++round) {
      for (uint32_t i = 0; i < capacity; ++i) ASSERT_EQ(queue->signal(status_of(pushed++)), LCI_DONE);
      EXPECT_EQ(queue->length(), capacity);
      for (uint32_t i = 0; i < (round % 2 == 0 ? capacity : capacity / 2); ++i) {
        lci_status status{};
        ASSERT_EQ(queue->pop(&status), LCI_DONE);
        EXPECT_EQ(status.tag, popped);
        EXPECT_EQ(status.user_context, popped * 3);
        ++popped;
      }
      for (lci_status status{}; popped <= pushed && queue->pop(&status) == LCI_DONE;) EXPECT_EQ(status.tag, popped++);
      EXPECT_EQ(pushed, popped);
    }
  }
}

TEST_P(CompletionQueues, CarryEveryField) {
  const auto queue = create(2);
  const lci_status sent = status_of(123456789, LCI_ERR_TRUNCATED);
  ASSERT_EQ(queue->signal(sent), LCI_DONE);
  lci_status received{};
  ASSERT_EQ(queue->pop(&received), LCI_DONE);
  expect_same(received, sent);
}

/// [SS-44]
TEST_P(CompletionQueues, TakeFinalStatusesOnly) {
  const auto queue = create(8);
  for (const int code : {LCI_POSTED, LCI_POSTED_BACKLOG, LCI_RETRY, LCI_RETRY_NOCREDIT}) {
    EXPECT_EQ(queue->signal(status_of(1, code)), LCI_ERR_ARGUMENT) << code;
  }
  lci_status status{};
  EXPECT_EQ(queue->pop(&status), LCI_RETRY);
}

/// [E10] min(k, n) entries; asked for everything it is drained.
// Proves: E10
TEST_P(CompletionQueues, PopManyTakesWhatThereIs) {
  const auto queue = create(10);
  for (uint64_t i = 0; i < 7; ++i) queue->signal(status_of(i));
  std::vector<lci_status> out(10);
  EXPECT_EQ(queue->pop_many(out.data(), 0), 0u);
  EXPECT_EQ(queue->pop_many(out.data(), 3), 3u);
  EXPECT_EQ(queue->length(), 4u);
  EXPECT_EQ(queue->pop_many(out.data() + 3, UINT32_MAX), 4u);
  EXPECT_EQ(queue->pop_many(out.data(), 10), 0u);
  for (uint64_t i = 0; i < 7; ++i) EXPECT_EQ(out[i].tag, i);
}

/// [D4] Stored statuses and operations that will signal are never more than the entries together, also when tickets
/// begin anew.
TEST(ArrayQueue, OperationsHaveAPlaceFromTheirPostOn) {
  for (const uint32_t capacity : {1u, 3u, 8u}) {
    for (const uint32_t first : {0u, UINT32_MAX - 63u}) {
      ArrayQueue queue(capacity, first);
      uint64_t signalled = 0, popped = 0;
      for (int round = 0; round < 200; ++round) {
        for (uint32_t i = 0; i < capacity; ++i) ASSERT_TRUE(queue.hold()) << round;
        ASSERT_FALSE(queue.hold()) << "all places are taken";
        ASSERT_EQ(LCI_ERR_OVERRUN, queue.signal(status_of(9)));
        ASSERT_FALSE(queue.wait_unused());
        queue.forget_held();
        ASSERT_EQ(LCI_DONE, queue.signal(status_of(signalled++))) << "that place is anybody's";
        for (uint32_t i = 1; i < capacity; ++i) ASSERT_EQ(LCI_DONE, queue.signal_held(status_of(signalled++)));
        ASSERT_TRUE(queue.wait_unused());
        ASSERT_FALSE(queue.hold()) << "the statuses have the places now";
        ASSERT_EQ(signalled, queue.pushed());
        ASSERT_EQ(capacity, queue.length());
        for (lci_status status{}; queue.pop(&status) == LCI_DONE;) ASSERT_EQ(popped++, status.tag);
        ASSERT_EQ(signalled, popped);
        ASSERT_EQ(popped, queue.popped());
      }
    }
  }
}

/// [SS-45] Also where the array is larger than the capacity.
// Proves: E8 SS-45
TEST(ArrayQueue, OverflowIsRefusedAndOverwritesNothing) {
  for (const uint32_t capacity : {1u, 3u, 8u}) {
    ArrayQueue queue(capacity);
    for (uint32_t i = 0; i < capacity; ++i) ASSERT_EQ(queue.signal(status_of(i)), LCI_DONE);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(queue.signal(status_of(1000)), LCI_ERR_OVERRUN);
    EXPECT_EQ(queue.length(), capacity);
    lci_status status{};
    for (uint32_t i = 0; i < capacity; ++i) {
      ASSERT_EQ(queue.pop(&status), LCI_DONE);
      EXPECT_EQ(status.tag, i);
    }
    EXPECT_EQ(queue.pop(&status), LCI_RETRY);
    EXPECT_EQ(queue.signal(status_of(0)), LCI_DONE) << "room came back";
  }
}

#if LCI_HAS_DOUBLE_WORD

/// [E7] Past one ring and past 65536, and back: rings that were left are deleted.
// Proves: E7
TEST(Lcrq, GrowsWithoutABoundAndShrinks) {
  for (const uint64_t count : {uint64_t{1023}, uint64_t{1024}, uint64_t{1025}, uint64_t{70'000}}) {
    Lcrq queue;
    for (int round = 0; round < 2; ++round) {
      for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(queue.signal(status_of(i)), LCI_DONE);
      EXPECT_EQ(queue.length(), count);
      EXPECT_GE(queue.rings(), (count + Lcrq::kCells - 1) / Lcrq::kCells);
      lci_status status{};
      for (uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(queue.pop(&status), LCI_DONE) << i;
        ASSERT_EQ(status.tag, i);
      }
      EXPECT_EQ(queue.pop(&status), LCI_RETRY);
      EXPECT_EQ(queue.length(), 0u);
      EXPECT_EQ(queue.rings(), 1u);
    }
  }
}

/// Polling an empty queue must not use it up: a push after it goes into the same ring.
TEST(Lcrq, PollingUsesNothingUp) {
  Lcrq queue;
  lci_status status{};
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(queue.pop(&status), LCI_RETRY);
  ASSERT_EQ(queue.signal(status_of(1)), LCI_DONE);
  ASSERT_EQ(queue.pop(&status), LCI_DONE);
  EXPECT_EQ(queue.rings(), 1u);
}

#endif

}  // namespace
}  // namespace lci
