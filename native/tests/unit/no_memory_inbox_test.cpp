// SPDX-License-Identifier: Apache-2.0
// Static core only: it refuses what malloc is asked for.
// An inbox that closes when there is no memory for a moment: it ends, and devices are done with it before. [A10]
// Mutations that must make this file fail: closed_inbox_without_room.
#include "support/lane_driver.hpp"
#include "support/posting.hpp"
#include "support/shortage.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kInboxPort = 6;

// A message that was recorded stays until the loop has read it; those behind it are discarded, and counted.
TEST(NoMemory, OfAnInboxThatCloses) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers have their own malloc";
#endif
  Job job(2);
  LaneDriver lane(job, 1);
  const uint32_t index = lane.open(kInboxPort);
  lane.demand(index).requested = 1;
  for (uint64_t sent = 0; sent < 3;) {
    const int code = lci_post_am(job.device(0), 1, kInboxPort, sent, &sent, 8, nullptr, 0);
    ASSERT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
    if (code == LCI_DONE) ++sent;
    lci_progress(job.device(0));
    lane.enter();
  }
  Shortage shortage(1);
  shortage.during([&] { EXPECT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), index)) << lci_last_error(); });
  EXPECT_EQ(1u, lane.read([](const lci_record&) {}));
  shortage.during([&] { EXPECT_EQ(LCI_DONE, lane.enter()) << lci_last_error(); });
  lane.enter();
  EXPECT_EQ(2u, job.counter(1, "discarded"));
  EXPECT_EQ(index, lane.open(kInboxPort));
}

}  // namespace
}  // namespace lci_test
