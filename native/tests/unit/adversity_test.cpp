// SPDX-License-Identifier: Apache-2.0
// What must hold when things end at a bad moment: ports, peers, lanes and runtimes that go while traffic runs.
#include <atomic>

#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;
constexpr uint32_t kLong = 100000;  // above every eager limit: a rendezvous

struct Answering {
  lci_device* device;
  std::atomic<int> answered{0};
};

// A handler may post with retry disallowed, also when what calls it is the runtime that closes. [SS-47, 2B-10]
TEST(Closing, LetsHandlersPost) {
  Job job(2);
  Answering answering{job.device(0)};
  lci_comp* handler = nullptr;
  auto answer = [](const lci_status* status, void* argument) {
    auto& self = *static_cast<Answering*>(argument);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_INLINE | LCI_FLAG_NO_RETRY;
    op.rank = status->rank;
    op.port = kPort;
    const int code = lci_post(self.device, &op, nullptr, nullptr);
    if (code == LCI_DONE || code == LCI_DONE_BACKLOG) ++self.answered;
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), answer, &answering, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", handler, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(1), 0, kPort, 1, nullptr, 0, nullptr, 0));
  job.close(0, 1000);
  EXPECT_EQ(1, answering.answered);
}

// As above, with an operation that the close cancels.
TEST(Closing, LetsHandlersOfCancelledOperationsPost) {
  Job job(2);
  Answering answering{job.device(0)};
  lci_comp* handler = nullptr;
  auto answer = [](const lci_status* status, void* argument) {
    auto& self = *static_cast<Answering*>(argument);
    EXPECT_EQ(LCI_ERR_CANCELLED, status->code);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_INLINE | LCI_FLAG_NO_RETRY;
    op.rank = 1;
    op.port = kPort;
    lci_post(self.device, &op, nullptr, nullptr);
    ++self.answered;
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), answer, &answering, &handler));
  uint64_t value = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 1, &value, sizeof value, handler, 0, nullptr));
  job.close(0, 0);
  EXPECT_EQ(1, answering.answered);
}

// A receive that matched a rendezvous of another device, which has not looked at it yet.
TEST(Closing, CancelsAMatchedRendezvousOnItsWayToItsDevice) {
  Job job(2, {{"devices", "2"}});
  std::vector<uint8_t> out(kLong, 1), in(kLong);
  lci_comp* sent = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(1, 1), 0, 5, out.data(), kLong, sent, 0));
  for (int i = 0; i < 100; ++i) lci_progress(job.device(0, 1));
  std::atomic<int> cancelled{0};
  lci_comp* handler = nullptr;
  auto count = [](const lci_status* status, void* argument) {
    if (status->code == LCI_ERR_CANCELLED) ++*static_cast<std::atomic<int>*>(argument);
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), count, &cancelled, &handler));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, 0), 1, 5, in.data(), kLong, handler, 0, nullptr));
  job.close(0, 0);
  EXPECT_EQ(1, cancelled);
}

}  // namespace
}  // namespace lci_test
