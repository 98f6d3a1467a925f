// SPDX-License-Identifier: Apache-2.0
// What a refused post leaves behind (nothing), and what ends a refusal (progress).
#include "api/handles.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;

lci_comp* counting_handler(Job& job, uint32_t rank, uint64_t* count) {
  lci_comp* handler = nullptr;
  auto add = [](const lci_status*, void* argument) { ++*static_cast<uint64_t*>(argument); };
  EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), add, count, &handler));
  return handler;
}

/// Rank 1 takes messages without credit, and rank 0 knows it.
void open_uncredited(Job& job, uint64_t* arrived) {
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", counting_handler(job, 1, arrived), 0, 0));
  while (lci_post_am(job.device(0), 1, kPort, 0, nullptr, 0, nullptr, 0) != LCI_DONE) job.progress();
  job.settle();
  ASSERT_EQ(1u, *arrived);
}

// A hundred thousand refusals of each payload form: counters, packets and books stay as they were, and a refused packet
// is its owner's.
// Proves: SS-3
TEST(Retry, LeavesNoTrace) {
  Job job(2);
  lci::PacketPools& pool = job.runtime(0)->runtime->packets().pool();
  uint64_t signals = 0;
  lci_comp* comp = counting_handler(job, 0, &signals);
  std::vector<uint8_t> bytes(100000, 1);
  // The port is not open: the first message waits announced, all others are refused.
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kPort, 0, bytes.data(), 8, nullptr, 0));
  uint64_t packet = 0;
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &packet, &payload));
  job.settle();
  const uint64_t free = pool.free_count(), out = job.counter(0, "packets_out");
  for (int i = 0; i < 100'000; ++i) {
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.rank = 1;
    op.port = kPort;
    op.size = i % 3 == 2 ? 100000 : 20;
    op.flags = static_cast<uint8_t>(i % 3 == 0 ? LCI_FLAG_PACKET : LCI_FLAG_BUFFER) | (i % 2 ? LCI_FLAG_SIGNAL : 0);
    op.u.ref.address = i % 3 == 0 ? packet : reinterpret_cast<uint64_t>(bytes.data());
    ASSERT_EQ(LCI_RETRY_NOCREDIT, lci_post(job.device(0), &op, comp, nullptr)) << lci_last_error();
  }
  EXPECT_EQ(free, pool.free_count());
  EXPECT_EQ(out, job.counter(0, "packets_out"));
  EXPECT_EQ(0u, job.posted(0));
  EXPECT_EQ(0u, job.counter(0, "sends_pending"));
  EXPECT_EQ(0u, job.counter(0, "backlog_push"));
  EXPECT_GE(job.counter(0, "retries_nocredit"), 100'000u);
  EXPECT_EQ(LCI_DONE, lci_comp_free(comp)) << "nothing is pending";
  EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0), packet)) << "it is ours still";
  uint64_t arrived = 0;
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", counting_handler(job, 1, &arrived), 0, 0));
  job.check_ledgers();
  EXPECT_EQ(1u, arrived) << "only what was accepted";
  EXPECT_EQ(0u, signals);
}

// Posts alone never end a full ring; progress does.
// Proves: D10 SS-5
TEST(Retry, AFloodEndsByProgressOnly) {
  Job job(2, {{"ring_bytes", "4096"}});
  uint64_t arrived = 0, accepted = 1;
  ASSERT_NO_FATAL_FAILURE(open_uncredited(job, &arrived));
  int code = LCI_DONE;
  auto post = [&] { return lci_post_am(job.device(0), 1, kPort, accepted, nullptr, 0, nullptr, 0); };
  while ((code = post()) == LCI_DONE) ASSERT_LT(++accepted, 1000u);
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(LCI_RETRY_NOMEM, post()) << "nobody has progressed";
  for (int i = 0; i < 100'000 && accepted < 10'000; ++i) {
    code = post();
    ASSERT_TRUE(code == LCI_DONE || code == LCI_RETRY_NOMEM) << lci_code_name(code);
    accepted += code == LCI_DONE;
    if (code != LCI_DONE) job.progress();
  }
  EXPECT_EQ(10'000u, accepted);
  job.check_ledgers();
  EXPECT_EQ(accepted, arrived);
}

// Proves: D9
TEST(Retry, APoolOfTwoPacketsRefusesTheThird) {
  Job job(2, {{"packets", "2"}, {"packets_max", "2"}});
  uint64_t arrived = 0;
  ASSERT_NO_FATAL_FAILURE(open_uncredited(job, &arrived));
  const std::vector<uint8_t> bytes(1000);
  auto post = [&] { return lci_post_am(job.device(0), 1, kPort, 0, bytes.data(), 1000, nullptr, 0); };
  ASSERT_EQ(LCI_DONE, post());
  ASSERT_EQ(LCI_DONE, post());
  EXPECT_EQ(LCI_RETRY_NOPACKET, post());
  EXPECT_GE(job.counter(0, "retries_nopacket"), 1u);
  job.settle();
  EXPECT_EQ(LCI_DONE, post()) << "progress brought them back";
  job.check_ledgers();
  EXPECT_EQ(4u, arrived);
}

// Looking at a completion moves nothing; an idle device has nothing to move.
// Proves: H10 H12
TEST(Progress, IsTheCallersAlone) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(1), 1, &synchronizer));
  uint64_t places[2] = {}, value = 42;
  job.settle();
  EXPECT_EQ(LCI_RETRY, lci_progress(job.device(1))) << "idle";
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 1, &places[0], 8, queue, 0, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 2, &places[1], 8, synchronizer, 0, nullptr));
  for (const uint64_t tag : {1u, 2u}) {
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(0), 1, tag, &value, 8, nullptr, 0));
  }
  lci_status status{};
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(LCI_RETRY, lci_queue_pop(queue, &status));
    ASSERT_EQ(LCI_RETRY, lci_synchronizer_test(synchronizer, &status));
  }
  EXPECT_EQ(0u, places[0] + places[1]);
  EXPECT_EQ(LCI_DONE, lci_progress(job.device(1))) << "moved";
  job.settle();
  EXPECT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
  EXPECT_EQ(LCI_DONE, lci_synchronizer_test(synchronizer, &status));
  EXPECT_EQ(84u, places[0] + places[1]);
}

}  // namespace
}  // namespace lci_test
