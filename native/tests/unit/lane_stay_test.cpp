// SPDX-License-Identifier: Apache-2.0
// An enter that goes on with calls of groups: with nothing else, and only while there is nothing for the loop.
// Mutations that must make this file fail: lane_stays_not, lane_stays_with_records, lane_stays_with_posts,
// lane_stays_with_arrivals.
#include "support/groups.hpp"
#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

/// Passes of an enter that does not stay: one, and what is at once again for a call over boards.
constexpr uint64_t kOnePass = 2;
constexpr uint32_t kPort = 3;

/// Rank 0 has the lane, and calls that wait for rank 1 until the test is over.
class LaneStay : public testing::Test {
 protected:
  LaneStay() {
    for (int i = 0; i < 200; ++i) enter_both();
    lane_.control().spin_ns = 1'000'000;
  }
  ~LaneStay() override {
    lane_.control().spin_ns = 0;
    for (; waiting_ != 0; --waiting_) EXPECT_EQ(LCI_POSTED, group_.post(1));
    const lci::test::Deadline deadline(60);
    while (lane_.control().in_flight != 0 && !deadline.passed()) {
      enter_both();
      records();
    }
    EXPECT_EQ(0u, lane_.control().in_flight);
  }
  void enter_both() {
    lane_.enter();
    lci_progress(job_.device(1));
  }
  lci_descriptor barrier(uint64_t tag_flip = 0) {
    lci_descriptor op{};
    op.op = LCI_OP_COLLECTIVE;
    op.port = LCI_COLLECTIVE_BARRIER;
    EXPECT_EQ(LCI_DONE, lci_context_id(group_.members[0].context, &op.tag));
    op.tag ^= tag_flip;
    return op;
  }
  void add_call() {
    lane_.add(barrier());
    ++waiting_;
  }
  /// Those of the next enter.
  uint64_t passes() {
    const uint64_t before = job_.counter(0, "progress_calls");
    lane_.enter();
    return job_.counter(0, "progress_calls") - before;
  }
  uint32_t records() {
    return lane_.read([](const lci_record& record) { EXPECT_EQ(LCI_DONE, record.code); });
  }

  Job job_{2};
  GroupContext group_{job_, {0, 1}};
  LaneDriver lane_{job_, 0};
  uint32_t waiting_ = 0;
};

TEST_F(LaneStay, WithACallThatWaits) {
  EXPECT_GE(kOnePass, passes()) << "there is none";
  add_call();
  EXPECT_LT(kOnePass, passes());
  EXPECT_LT(kOnePass, passes()) << "also when it posts nothing";
  lane_.control().spin_ns = 0;
  EXPECT_GE(kOnePass, passes()) << "it was not asked to";
}

TEST_F(LaneStay, NotWithARecord) {
  add_call();
  lane_.enter();
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane_.handle(), 1, &synchronizer));
  const lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &status)) << lci_last_error();
  EXPECT_GE(kOnePass, passes());
  EXPECT_EQ(1u, records());
  EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer)) << lci_last_error();
}

TEST_F(LaneStay, NotWithOtherPosts) {
  add_call();
  lane_.enter();
  lci_comp* const arrived = make_queue(job_.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort, "", arrived, 0, 0)) << lci_last_error();
  lane_.add_am(1, kPort, 0, 0);
  EXPECT_GE(kOnePass, passes());
  lane_.control().flags = LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
  EXPECT_LT(kOnePass, passes()) << "it posts nothing";
  lane_.control().spin_ns = 0;
  lci_status status{};
  for (const lci::test::Deadline deadline(60); lci_queue_pop(arrived, &status) != LCI_DONE;) {
    ASSERT_FALSE(deadline.passed());
    enter_both();
  }
  lci_buffer_free(status.buffer);
}

TEST_F(LaneStay, NotWithWhatObjectsGet) {
  add_call();
  lane_.enter();
  lci_comp* const arrived = make_queue(job_.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kPort, "", arrived, 0, 0)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_post_am(job_.device(1), 0, kPort, 0, nullptr, 0, nullptr, 0)) << lci_last_error();
  EXPECT_GE(kOnePass, passes()) << "which has no record, and whoever waits for it is not the core's";
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_queue_pop(arrived, &status));
  lci_buffer_free(status.buffer);
}

TEST_F(LaneStay, NotWithACallThatWasRefused) {
  add_call();
  lane_.enter();
  lane_.add(barrier(~0ull));
  EXPECT_GE(kOnePass, passes());
}

}  // namespace
}  // namespace lci_test
