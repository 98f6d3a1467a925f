// SPDX-License-Identifier: Apache-2.0
// A rank that is killed while another one waits for it to add a device.
#include <memory>
#include <string>
#include <vector>

#include "support/posting.hpp"
#include "support/processes.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kVictim = 1;

/// Posts to the victim over a device that it never adds: by the backlog, and again and again.
int wait_for_device(const JobDirectory& job, const Attributes& attributes, const Signal& waiting) {
  Rank self(job, 0, 2, attributes);
  lci_device* added = nullptr;
  CHILD_EXPECT(lci_device_add(self.runtime, &added) == LCI_DONE);
  const std::vector<uint8_t> bytes(50'000, 7);
  auto kept = operation(LCI_OP_AM, kVictim, kPort, 1, bytes.data(), 50'000, 9);
  kept.flags |= LCI_FLAG_NO_RETRY;
  CHILD_EXPECT(lci_post(added, &kept, self.ended, nullptr) == LCI_POSTED_BACKLOG);
  int code = LCI_RETRY;
  for (uint32_t attempts = 0; is_retry(code); ++attempts) {
    code = lci_post_am(added, kVictim, kPort, 2, bytes.data(), 8, nullptr, 0);
    CHILD_EXPECT(code == LCI_RETRY_NOCREDIT || code == LCI_RETRY_BACKLOG || code == LCI_ERR_PEER_FAILED);
    lci_progress(added);
    lci_progress(self.device);
    if (attempts == 100) waiting.give();
  }
  lci_status status{};
  self.until([&] {
    lci_progress(added);
    return lci_queue_pop(self.ended, &status) == LCI_DONE;
  });
  CHILD_EXPECT(status.code == LCI_ERR_PEER_FAILED && status.user_context == 9);
  CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
  return 0;
}

void run(const Attributes& attributes) {
  const JobDirectory job(2);
  const Signal waiting;
  Child survivor([&] { return wait_for_device(job, attributes, waiting); });
  Child victim([&]() -> int {
    Rank self(job, kVictim, 2, attributes);
    self.until([] { return false; });
    return 1;
  });
  ASSERT_TRUE(waiting.take());
  victim.kill();
  EXPECT_EQ(0, survivor.wait());
}

// Proves: A24
TEST(DeviceAddDeath, OperationsThatWaitForADeviceEndWithItsRank) {
  run({});
}
// Proves: A24
TEST(DeviceAddDeath, OperationsThatWaitForADeviceEndWithItsRankThroughRings) {
  run({{"peer_memory", "rings"}});
}

}  // namespace
}  // namespace lci_test
