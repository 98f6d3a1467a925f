// SPDX-License-Identifier: Apache-2.0
// Handlers of two devices post to each other's device, from a thread each: nobody waits for the other. [SS-47]
#include <thread>

#include "support/job.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kCountedPort = 3;
constexpr uint64_t kMessages = 50000;

struct Relay {
  lci_device* other = nullptr;
  lci_comp* signalled = nullptr;
  uint64_t accepted = 0;  // by the thread that progresses
  uint64_t promised = 0;  // of those, with a signal
  uint64_t full = 0;      // more waited than the backlog takes
};

// An active message, and every other time one that is signalled.
void relay(const lci_status* status, void* argument) {
  auto& self = *static_cast<Relay*>(argument);
  lci_descriptor op{};
  op.op = LCI_OP_AM;
  op.flags = LCI_FLAG_INLINE | LCI_FLAG_NO_RETRY;
  if (status->tag % 2 != 0) op.flags |= LCI_FLAG_SIGNAL;
  op.port = kCountedPort;
  const int code = lci_post(self.other, &op, self.signalled, nullptr);
  if (code == LCI_ERR_EXHAUSTED) ++self.full;
  if (code >= LCI_RETRY) return;
  ++self.accepted;
  self.promised += status->tag % 2;
}

// Proves: H6
// Proves: E11
// Proves: SS-47
TEST(HandlerPostStress, HandlersOfTwoDevicesPostToEachOther) {
  const lci::test::Deadline deadline(60);
  Job job(1, {{"devices", "2"}});
  Relay relays[2];
  lci_comp* counter = nullptr;
  lci_comp* signals = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &counter));
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &signals));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kCountedPort, "", counter, 0, 0));
  uint64_t posted[2] = {};
  for (uint32_t device = 0; device < 2; ++device) {
    lci_comp* handler = nullptr;
    relays[device].other = job.device(0, 1 - device);
    relays[device].signalled = signals;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), relay, &relays[device], &handler));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), device + 1, "", handler, 0, 0));
  }
  auto run = [&](uint32_t device) {
    while (posted[device] < kMessages && !deadline.passed()) {
      const int code = lci_post_am(job.device(0, device), 0, device + 1, posted[device], nullptr, 0, nullptr, 0);
      if (code == LCI_DONE) {
        ++posted[device];
      } else {
        std::this_thread::yield();  // the other handler may be inside the device
      }
      lci_progress(job.device(0, device));
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (int i = 0; i < 1000; ++i) {
    for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(0, device));
  }
  for (uint32_t device = 0; device < 2; ++device) {
    EXPECT_EQ(kMessages, posted[device]);
    EXPECT_EQ(posted[device], relays[device].accepted + relays[device].full) << "nothing was answered with retry";
  }
  EXPECT_EQ(relays[0].accepted + relays[1].accepted, lci_counter_get(counter));
  EXPECT_EQ(relays[0].promised + relays[1].promised, lci_counter_get(signals));
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
