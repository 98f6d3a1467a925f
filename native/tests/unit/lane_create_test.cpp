// SPDX-License-Identifier: Apache-2.0
// A device belongs to one lane, whoever asks for it at the same time. [V7]
#include <array>
#include <atomic>

#include "lci/lci.h"
#include "support/job.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;
using lci::test::run_threads;

// Mutation: create_lanes_at_once.
TEST(LaneCreate, OfTwoThreadsOneGetsTheDevice) {
  const Deadline deadline(20);
  Job job(1);
  for (int round = 0; round < 200 && !deadline.passed(); ++round) {
    std::atomic<uint32_t> created{0};
    std::array<lci_lane*, 2> lanes{};
    run_threads(2, [&](uint32_t self) {
      const int code = lci_lane_create(job.runtime(0), 0, 1, &lanes[self]);
      if (code == LCI_DONE) {
        ++created;
      } else {
        EXPECT_EQ(LCI_ERR_DEVICE, code) << lci_last_error();
      }
    });
    for (lci_lane* lane : lanes) {
      if (lane) {
        ASSERT_EQ(LCI_DONE, lci_lane_free(lane)) << lci_last_error();
      }
    }
    ASSERT_EQ(1u, created) << "round " << round;
  }
}

}  // namespace
}  // namespace lci_test
