// SPDX-License-Identifier: Apache-2.0
// Posts at their bounds: the answer is the same whatever stands in the way. [C10, D17, X9]
// Mutations that must make this file fail: long_message_unheard, barriers_without_limit.
#include <functional>
#include <vector>

#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 8;

lci_descriptor long_message(const std::vector<uint8_t>& bytes) {
  lci_descriptor op{};
  op.op = LCI_OP_AM;
  op.flags = LCI_FLAG_BUFFER | LCI_FLAG_NO_RETRY;
  op.rank = 1;
  op.port = kPort;
  op.size = static_cast<uint32_t>(bytes.size());
  op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
  return op;
}

/// Nobody could be told of its end: it is refused also where it would have to wait first.
TEST(PostBounds, ALongMessageNeedsAnObjectAlsoInTheBacklog) {
  Job job(2);
  lci_comp* ended = make_queue(job.runtime(0));
  const std::vector<uint8_t> bytes(100'000, 1);
  lci_descriptor op = long_message(bytes);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &op, nullptr, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_post(job.device(0), &op, ended, nullptr)) << "announced: no port is open yet";
  ASSERT_EQ(LCI_POSTED_BACKLOG, lci_post(job.device(0), &op, ended, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &op, nullptr, nullptr));
  EXPECT_EQ(1u, job.counter(0, "backlog_depth"));
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 0, 0));
  job.settle();
  EXPECT_EQ(2u, lci_queue_length(queue));
  EXPECT_EQ(2u, lci_queue_length(ended));
  job.check_ledgers();
}

/// A rank that enters many barriers before others do is not taken for a dishonest one.
TEST(PostBounds, BarriersAheadArePendingAtTheirPoster) {
  Job job(2);
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &counter));
  uint32_t posted = 0;
  int code = LCI_POSTED;
  while (posted < 70'000 && (code = lci_post_barrier(job.device(0), counter, posted)) == LCI_POSTED) ++posted;
  EXPECT_EQ(LCI_RETRY_PENDING, code);
  EXPECT_EQ(65'536u, posted);
  for (int i = 0; i < 600; ++i) job.progress();  // rank 1 hears of all of them
  int32_t state = LCI_PEER_FAILED;
  ASSERT_EQ(LCI_DONE, lci_runtime_peer(job.runtime(1), 0, &state));
  EXPECT_EQ(LCI_PEER_ALIVE, state);
  lci_comp* second = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &second));
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(job.device(1), second, 1));
  for (int i = 0; i < 1000 && lci_counter_get(second) == 0; ++i) job.progress();
  EXPECT_EQ(1u, lci_counter_get(second));
  code = LCI_RETRY_PENDING;
  for (int i = 0; i < 1000 && code == LCI_RETRY_PENDING; ++i) {
    job.progress();
    code = lci_post_barrier(job.device(0), counter, 1);
  }
  EXPECT_EQ(LCI_POSTED, code) << "one has ended";
}

}  // namespace
}  // namespace lci_test
