// SPDX-License-Identifier: Apache-2.0
// Places in a bounded queue that come back from operations which ended without a signal. [D4, V4]
// Mutation that must make this file fail: queue_place_untold.
#include "api/handles.hpp"
#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

TEST(LanePlace, IsToldWhenAPlaceIsGivenBack) {
  Job job(1);
  LaneDriver lane(job, 0);
  lci_comp* queue = nullptr;
  ASSERT_EQ(LCI_DONE, lci_queue_create_kind(job.runtime(0), LCI_QUEUE_ARRAY, 2, &queue)) << lci_last_error();
  lci::Completion& object = *lci::from_handle(queue);
  ASSERT_TRUE(object.hold());
  ASSERT_TRUE(object.hold());
  uint64_t received = 0;
  const auto receive = [&]() -> int {
    auto op = operation(LCI_OP_RECV, 0, 0, 1, &received, sizeof received, lci_comp_id(queue));
    op.flags |= LCI_FLAG_COMP;
    const lci_descriptor& submitted = lane.add(op);
    lane.enter();
    return submitted.outcome;
  };
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(LCI_RETRY_NOMEM, receive());
    for (int i = 0; i < 100; ++i) lane.enter();
    const uint32_t seen = lane.control().generation[0];
    object.forget_held();
    EXPECT_TRUE(lane.rings());
    lane.enter();
    EXPECT_NE(seen, lane.control().generation[0]);
    EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(queue)) << "the other one is pending";
    ASSERT_TRUE(object.hold()) << "nobody has taken the place";
  }
  object.forget_held();
  object.forget_held();
  EXPECT_EQ(LCI_DONE, lci_comp_free(queue)) << lci_last_error();
}

}  // namespace
}  // namespace lci_test
