// SPDX-License-Identifier: Apache-2.0
// Synchronizers of lanes behind ports. [E1, E2, X2]
// Mutation that must make this file fail: keep_synchronized_arrival.
#include <string>
#include <vector>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;

/// What it takes occupies nothing: far more messages fire it than its port may store. Payloads of every way of travel.
// Proves: E1
TEST(LaneSynchronizer, FiresForMoreArrivalsThanItsPortHolds) {
  for (const uint32_t size : {0u, 8u, 150u, 3000u, 20'000u}) {
    Job job(2);
    {
      LaneDriver lane(job, 1);
      lci_comp* synchronizer = nullptr;
      ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 1, &synchronizer));
      EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_zero_copy(synchronizer)) << "nobody would give the packets back";
      ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", synchronizer, 16, 100'000));
      lci_comp* ended = make_queue(job.runtime(0));
      const std::string bytes(size, 'x');
      constexpr uint32_t kMessages = 300;
      uint32_t sent = 0, fired = 0;
      for (int i = 0; i < 100'000 && fired < kMessages; ++i) {
        if (sent < kMessages) {
          const int code = lci_post_am(job.device(0), 1, kPort, sent, bytes.data(), size, ended, sent);
          ASSERT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
          if (code == LCI_DONE || code == LCI_POSTED) ++sent;
        }
        lci_progress(job.device(0));
        lane.enter();
        lane.read([&](const lci_record& record) {
          if (record.kind != LCI_RECORD_SYNC) return;
          ++fired;
          EXPECT_EQ(kPort, record.port);
          EXPECT_EQ(size, record.size);
          EXPECT_EQ(0u, record.rank);
        });
      }
      EXPECT_EQ(kMessages, fired) << size << " bytes";
      ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
      EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer)) << lci_last_error();
    }
    job.check_ledgers();
  }
}

/// A record that is still to be read does not fire the next object.
TEST(LaneSynchronizer, NumbersRestBeforeTheyAreUsedAgain) {
  Job job(1);
  LaneDriver lane(job, 0);
  lci_comp* first = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 1, &first));
  const uint32_t number = lci_comp_id(first);
  const lci_status status{LCI_DONE, 0, 5, nullptr, 0, 0, 0, 0};
  ASSERT_EQ(LCI_DONE, lci_comp_signal(first, &status));
  ASSERT_EQ(LCI_DONE, lci_comp_free(first));
  for (int i = 0; i < 1000; ++i) {
    lci_comp* next = nullptr;
    ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 1, &next));
    ASSERT_NE(number, lci_comp_id(next)) << i;
    ASSERT_EQ(LCI_DONE, lci_comp_free(next));
  }
}

}  // namespace
}  // namespace lci_test
