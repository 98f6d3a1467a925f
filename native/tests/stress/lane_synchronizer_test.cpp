// SPDX-License-Identifier: Apache-2.0
// A lane's synchronizer that several threads signal at once. [E1]
#include <atomic>
#include <thread>
#include <vector>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

// The loop reads one firing after the other, whoever fired first.
TEST(LaneSynchronizerStress, FiringsDoNotMix) {
  constexpr uint32_t kThreads = 3, kThreshold = 8, kSignals = 40'000;
  Job job(1);
  LaneDriver lane(job, 0);
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), kThreshold, &synchronizer));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t n = 0; n < kSignals; ++n) {
        lci_status status{};
        status.tag = i;
        if (lci_comp_signal(synchronizer, &status) != LCI_DONE) ADD_FAILURE() << lci_last_error();
      }
    });
  }
  uint32_t read = 0, left = 0, mixed = 0;
  while (read < kThreads * kSignals) {
    lane.enter();
    lane.read([&](const lci_record& record) {
      if (record.kind != LCI_RECORD_SYNC) return;
      ++read;
      left = left == 0 ? kThreshold - 1 : left - 1;
      mixed += record.index != left;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0u, mixed);
  EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer)) << lci_last_error();
}

}  // namespace
}  // namespace lci_test
