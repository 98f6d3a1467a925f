// SPDX-License-Identifier: Apache-2.0
// A caller reserves places for signals that it gives later, as posts do for their operations. [D4]
#include <string>

#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPlaces = 4;

lci_status done_status(uint64_t context) {
  lci_status status{};
  status.user_context = context;
  return status;
}

class ReservedPlace : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LCI_DONE, lci_queue_create_kind(job_.runtime(0), LCI_QUEUE_ARRAY, kPlaces, &queue_)) << lci_last_error();
  }
  void reserve_all() {
    for (uint32_t i = 0; i < kPlaces; ++i) ASSERT_EQ(LCI_DONE, lci_comp_reserve(queue_, nullptr)) << i;
    ASSERT_EQ(LCI_RETRY_NOMEM, lci_comp_reserve(queue_, nullptr));
  }
  int receive() {
    uint64_t word = 0;
    return lci_post_recv(job_.device(0), 0, 1, &word, sizeof word, queue_, 0, nullptr);
  }

  Job job_{1};
  lci_comp* queue_ = nullptr;
};

TEST_F(ReservedPlace, IsThereWhenTheSignalComes) {
  reserve_all();
  lci_status status = done_status(9);
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_comp_signal(queue_, &status));
  EXPECT_EQ(LCI_RETRY_NOMEM, receive()) << "operations find no place either";
  for (uint64_t i = 0; i < kPlaces; ++i) {
    status = done_status(i);
    ASSERT_EQ(LCI_DONE, lci_comp_signal_reserved(queue_, &status)) << lci_last_error();
    EXPECT_EQ(LCI_RETRY_NOMEM, lci_comp_reserve(queue_, nullptr)) << "a signal lies in the place";
  }
  for (uint64_t i = 0; i < kPlaces; ++i) {
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue_, &status));
    EXPECT_EQ(i, status.user_context);
    ASSERT_EQ(LCI_DONE, lci_comp_reserve(queue_, nullptr)) << "each pop makes room for one";
    ASSERT_EQ(LCI_RETRY_NOMEM, lci_comp_reserve(queue_, nullptr));
  }
}

TEST_F(ReservedPlace, ComesBackWhenItIsGivenBackOrTheSignalIsRefused) {
  reserve_all();
  ASSERT_EQ(LCI_DONE, lci_comp_unreserve(queue_));
  ASSERT_EQ(LCI_DONE, lci_comp_reserve(queue_, nullptr));
  const lci_status retry = LCI_STATUS_INIT;
  ASSERT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal_reserved(queue_, &retry));
  ASSERT_EQ(LCI_DONE, lci_comp_reserve(queue_, nullptr));
  ASSERT_EQ(LCI_RETRY_NOMEM, lci_comp_reserve(queue_, nullptr));
}

TEST_F(ReservedPlace, KeepsTheObject) {
  lci_comp *counter = nullptr, *linked = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job_.runtime(0), &counter));
  ASSERT_EQ(LCI_DONE, lci_queue_create_kind(job_.runtime(0), LCI_QUEUE_DEFAULT, 0, &linked));
  for (lci_comp* object : {queue_, counter, linked}) {
    const lci_status status = done_status(1);
    ASSERT_EQ(LCI_DONE, lci_comp_reserve(object, nullptr));
    ASSERT_EQ(LCI_DONE, lci_comp_reserve(object, nullptr));
    EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(object));
    EXPECT_EQ(LCI_DONE, lci_comp_signal_reserved(object, &status)) << lci_last_error();
    EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(object));
    EXPECT_EQ(LCI_DONE, lci_comp_unreserve(object));
  }
  EXPECT_EQ(1u, lci_counter_get(counter));
  for (lci_comp* object : {queue_, counter, linked}) EXPECT_EQ(LCI_DONE, lci_comp_free(object)) << lci_last_error();
}

TEST_F(ReservedPlace, IsRefusedToWhoHasNone) {
  const lci_status status = done_status(1);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal_reserved(queue_, &status));
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "lci_comp_reserve")) << lci_last_error();
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_unreserve(queue_));
  EXPECT_EQ(0u, lci_queue_length(queue_));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_reserve(nullptr, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal_reserved(nullptr, &status));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal_reserved(queue_, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_unreserve(nullptr));
  Job other(1);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_reserve(queue_, other.device(0)));
  EXPECT_EQ(LCI_DONE, lci_comp_free(queue_)) << "nothing was reserved by all that";
}

// Whoever was refused is told, by its lane's generation word, of a place that a pop or a return makes.
TEST_F(ReservedPlace, IsToldToTheDeviceThatWaits) {
  LaneDriver lane(job_, 0);
  reserve_all();
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(LCI_RETRY_NOMEM, lci_comp_reserve(queue_, job_.device(0)));
    for (int i = 0; i < 100; ++i) lane.enter();
    const uint32_t seen = lane.control().generation[0];
    lci_status status = done_status(1);
    if (round % 2 == 0) {
      ASSERT_EQ(LCI_DONE, lci_comp_unreserve(queue_));
    } else {
      ASSERT_EQ(LCI_DONE, lci_comp_signal_reserved(queue_, &status));
      ASSERT_EQ(LCI_DONE, lci_queue_pop(queue_, &status));
    }
    EXPECT_TRUE(lane.rings());
    lane.enter();
    EXPECT_NE(seen, lane.control().generation[0]);
    ASSERT_EQ(LCI_DONE, lci_comp_reserve(queue_, job_.device(0)));
  }
}

}  // namespace
}  // namespace lci_test
