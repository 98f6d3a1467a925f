// SPDX-License-Identifier: Apache-2.0
// A loop that polls looks at its bells instead of entering: what others leave for its lane must ring one, also while it
// does not park. [V9, V11]
#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 4;

/// Enters as a loop does: only when it has something to post, or hears a bell. No park finds what rang none.
void turn(LaneDriver& lane, uint64_t* messages = nullptr) {
  if (lane.control().submit_count == 0 && !lane.rings()) return;
  lane.enter();
  const uint32_t read = lane.read([&](const lci_record& record) {
    if (messages && record.kind == LCI_RECORD_MESSAGE) ++*messages;
  });
  if (read != 0) lane.enter();  // the records go back, and credit with them
}

// Mutation: silent_push. Messages reach the inbox through another lane's device, and its credit goes back there.
TEST(LaneBell, RingsForMessagesAndCreditOfAnotherLane) {
  constexpr uint64_t kMessages = 100;
  Job job(1, {{"devices", "2"}});
  LaneDriver home(job, 0, 0), other(job, 0, 1);
  home.demand(home.open(kPort, 1)).requested = UINT64_MAX / 2;
  uint64_t sent = 0, received = 0;
  for (int pass = 0; pass < 10'000 && received < kMessages; ++pass) {
    if (sent < kMessages) {
      auto& op = other.add_am(0, kPort, sent, sent);
      other.enter();
      other.read([](const lci_record&) {});
      if (op.outcome == LCI_DONE) ++sent;
    }
    turn(other);
    turn(home, &received);
  }
  EXPECT_EQ(kMessages, sent);
  EXPECT_EQ(kMessages, received);
  for (int pass = 0; pass < 10; ++pass) turn(home), turn(other);
  EXPECT_FALSE(home.rings() || other.rings()) << "they would never rest";
}

// Mutation: silent_push.
TEST(LaneBell, RingsForASignalOfAnotherThread) {
  Job job(1);
  LaneDriver lane(job, 0);
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 1, &synchronizer)) << lci_last_error();
  for (int pass = 0; pass < 10; ++pass) turn(lane);
  ASSERT_FALSE(lane.rings());
  const lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &status)) << lci_last_error();
  ASSERT_TRUE(lane.rings());
  lane.enter();
  EXPECT_EQ(1u, lane.read([](const lci_record& record) { EXPECT_EQ(LCI_RECORD_SYNC, record.kind); }));
  EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer));
}

}  // namespace
}  // namespace lci_test
