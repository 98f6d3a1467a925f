// SPDX-License-Identifier: Apache-2.0
// What a runtime costs that nobody uses. [V12]
#include <time.h>

#include <cstdio>
#include <string>

#include "base/clock.hpp"
#include "support/lane_driver.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kSilence = 10'000'000'000, kLongestPark = 50'000'000;

uint64_t processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

// Two ranks say nothing for ten seconds: their loops park, and look only as often as peers are to be looked for.
// Proves: V12
TEST(Idle, SilentLoopsPark) {
  Job job(2);
  uint64_t used[2] = {}, passes[2] = {}, lasted[2] = {};
  {
    LaneDriver lanes[2] = {LaneDriver(job, 0), LaneDriver(job, 1)};
    lci::test::run_threads(2, [&](uint32_t rank) {
      LaneDriver& lane = lanes[rank];
      while (lane.enter() == LCI_DONE || lane.control().must_enter) continue;  // what creation left to do
      const uint64_t start = lci::now_ns(), before = processor_ns();
      while (lci::now_ns() - start < kSilence) {
        ++passes[rank];
        if (lane.enter() == LCI_DONE || lane.control().must_enter) continue;
        lane.park_word().store(1, std::memory_order_seq_cst);
        EXPECT_LT(lci_lane_park(lane.handle(), kSilence), LCI_ERR_ARGUMENT) << lci_last_error();
      }
      used[rank] = processor_ns() - before;
      lasted[rank] = lci::now_ns() - start;
    });
  }
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_LE(passes[rank], lasted[rank] / kLongestPark + 20) << "rank " << rank << " did not stay parked";
    std::printf("rank %u: %lu ns of processor time in %lu ns of silence, %lu passes\n", rank, used[rank], lasted[rank],
                passes[rank]);
    RecordProperty("processor_ns_" + std::to_string(rank), std::to_string(used[rank]));
  }
  EXPECT_EQ(0u, job.counter(0, "late_wakes") + job.counter(1, "late_wakes"));
}

}  // namespace
}  // namespace lci_test
