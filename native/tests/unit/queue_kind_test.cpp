// SPDX-License-Identifier: Apache-2.0
// Queue kinds through the C ABI, and an unbounded queue behind a port. [A7, E7, E8, X2]
#include <algorithm>

#include "completion/queue.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 9;
constexpr uint64_t kMany = 3'000;  // more than a ring of the linked kind

lci_comp* create(Job& job, int kind, uint32_t capacity) {
  lci_comp* queue = nullptr;
  EXPECT_EQ(LCI_DONE, lci_queue_create_kind(job.runtime(0), kind, capacity, &queue)) << lci_last_error();
  return queue;
}

/// How many of kMany signals the queue takes.
uint64_t taken(lci_comp* queue) {
  lci_status status{};
  uint64_t count = 0;
  for (uint64_t i = 0; i < kMany; ++i) count += lci_comp_signal(queue, &status) == LCI_DONE;
  EXPECT_EQ(count, lci_queue_length(queue));
  return count;
}

bool offers_lcrq() {
  return lci::CompletionQueue::offers(lci::QueueType::kLcrq);
}

TEST(QueueKind, TheCallDecides) {
  Job job(1);
  EXPECT_EQ(100u, taken(create(job, LCI_QUEUE_ARRAY, 100)));
  EXPECT_EQ(100u, taken(create(job, LCI_QUEUE_DEFAULT, 100))) << "array is the default";
  lci_comp* queue = nullptr;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_create_kind(job.runtime(0), 3, 100, &queue));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_create_kind(job.runtime(0), -1, 100, &queue));
  EXPECT_EQ(nullptr, queue);
  if (offers_lcrq()) {
    EXPECT_EQ(kMany, taken(create(job, LCI_QUEUE_LCRQ, 100))) << "no bound";
  } else {
    EXPECT_EQ(LCI_ERR_UNSUPPORTED, lci_queue_create_kind(job.runtime(0), LCI_QUEUE_LCRQ, 100, &queue));
  }
}

/// [A7] Where there is no such queue the effective value says so.
TEST(QueueKind, TheAttributeIsTheDefault) {
  Job job(1, {{"cq_type", "lcrq"}});
  char text[16];
  ASSERT_EQ(LCI_DONE, lci_runtime_attr(job.runtime(0), "cq_type", text, sizeof text));
  EXPECT_STREQ(offers_lcrq() ? "lcrq" : "array", text);
  EXPECT_EQ(offers_lcrq() ? kMany : 100u, taken(create(job, LCI_QUEUE_DEFAULT, 100)));
  EXPECT_EQ(offers_lcrq() ? kMany : 100u, taken(make_queue(job.runtime(0), 100)));
  EXPECT_EQ(100u, taken(create(job, LCI_QUEUE_ARRAY, 100))) << "said explicitly";
}

/// [X2] The port's capacity bounds what is stored, whatever the queue could hold.
TEST(QueueKind, CreditsBoundAnUnboundedQueueBehindAPort) {
  if (!offers_lcrq()) GTEST_SKIP() << "this processor has no such queue";
  constexpr uint64_t kCapacity = 16;
  Job job(2);
  lci_comp* queue = nullptr;
  ASSERT_EQ(LCI_DONE, lci_queue_create_kind(job.runtime(1), LCI_QUEUE_LCRQ, 0, &queue));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, kCapacity, 1 << 20));
  uint64_t sent = 0, received = 0, deepest = 0, refused = 0;
  for (int round = 0; received < kMany && round < 1'000'000; ++round) {
    if (sent < kMany) {
      const int code = lci_post_am(job.device(0), 1, kPort, sent, nullptr, 0, nullptr, 0);
      ASSERT_TRUE(code == LCI_DONE || code == LCI_RETRY_NOCREDIT || code == LCI_RETRY_NOMEM) << code;
      sent += code == LCI_DONE;
      refused += code == LCI_RETRY_NOCREDIT;
    }
    job.progress();
    deepest = std::max(deepest, lci_queue_length(queue));
    lci_status status{};
    if (round % 100 == 0 && lci_queue_pop(queue, &status) == LCI_DONE) {  // a slow consumer
      EXPECT_EQ(0u, status.rank);
      lci_buffer_free(status.buffer);
      ++received;
    }
    if (refused > kMany && round % 10 == 0 && lci_queue_pop(queue, &status) == LCI_DONE) {
      lci_buffer_free(status.buffer);
      ++received;
    }
  }
  EXPECT_EQ(kMany, received);
  EXPECT_GT(refused, 0u);
  EXPECT_LE(deepest, kCapacity);
  EXPECT_GE(deepest, kCapacity / 2);
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
