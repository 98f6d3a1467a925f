// SPDX-License-Identifier: Apache-2.0
// When everything that was posted on a device has ended. [C20, SS-18]
// Mutation that must make this file fail: drained_forgets_receives.
#include <vector>

#include "support/background.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 8;

int cancel(lci_device* device, uint64_t context) {
  lci_descriptor op{};
  op.op = LCI_OP_CANCEL;
  op.tag = context;
  return lci_post(device, &op, nullptr, nullptr);
}

TEST(Drained, ADeviceThatDidNothingIs) {
  Job job(1);
  EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0)));
  EXPECT_EQ(LCI_DONE, lci_wait_drained(job.device(0), 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_test_drained(nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_wait_drained(nullptr, 0));
}

/// [SS-18] An unmatched receive counts; cancel is the way out.
// Proves: C20 SS-18
TEST(Drained, AnUnmatchedReceiveKeepsItAtRetry) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  uint8_t byte;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 0, 1, &byte, 1, queue, 5, nullptr));
  EXPECT_EQ(LCI_RETRY, lci_test_drained(job.device(0)));
  EXPECT_EQ(LCI_ERR_TIMEOUT, lci_wait_drained(job.device(0), 20));
  ASSERT_EQ(LCI_DONE, cancel(job.device(0), 5));
  EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0)));
}

/// [C20] 1000 posts of all protocols, with retry disallowed.
// Proves: C20
TEST(Drained, AThousandPostsDrain) {
  constexpr uint64_t kPosts = 1000;
  Job job(2, {{"backlog_messages", "4096"}});
  lci_comp* signals = nullptr;
  lci_comp* arrivals = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &signals));
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &arrivals));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", arrivals, 0, 0));
  const std::vector<uint8_t> bytes(20'000, 3);
  uint64_t posted = 0;
  for (uint64_t i = 0; i < kPosts; ++i) {
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_BUFFER | LCI_FLAG_NO_RETRY;
    op.rank = 1;
    op.port = kPort;
    op.size = i % 10 == 0 ? 20'000 : i % 3 == 0 ? 4000 : 16;
    op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
    const int code = lci_post(job.device(0), &op, signals, nullptr);
    ASSERT_LT(code, LCI_RETRY) << lci_last_error();
    posted += code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
  }
  EXPECT_EQ(LCI_RETRY, lci_test_drained(job.device(0)));
  const Background peer([&] { lci_progress(job.device(1)); });
  ASSERT_EQ(LCI_DONE, lci_wait_drained(job.device(0), 30'000)) << lci_last_error();
  EXPECT_EQ(posted, lci_counter_get(signals)) << "all signals had come";
  EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0)));
}

/// A receive is its own device's, whichever device its message comes by.
TEST(Drained, TheDeviceOfTheReceiveCounts) {
  Job job(1, {{"devices", "2"}});
  lci_comp* queue = make_queue(job.runtime(0));
  for (const uint32_t size : {16u, 50'000u}) {
    std::vector<uint8_t> from(size, 9), to(size);
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, 0), 0, 1, to.data(), size, queue, 0, nullptr));
    EXPECT_EQ(LCI_RETRY, lci_test_drained(job.device(0, 0)));
    EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0, 1)));
    int code = LCI_RETRY;
    for (int i = 0; i < 100'000 && code >= LCI_RETRY; ++i) {
      code = lci_post_send(job.device(0, 1), 0, 1, from.data(), size, queue, 0);
      lci_progress(job.device(0, 1));
    }
    ASSERT_LT(code, LCI_RETRY);
    EXPECT_EQ(LCI_DONE, lci_wait_drained(job.device(0, 1), 30'000)) << lci_last_error();
    for (int i = 0; i < 10'000; ++i) lci_progress(job.device(0, 1));
    EXPECT_EQ(LCI_DONE, lci_wait_drained(job.device(0, 0), 30'000)) << lci_last_error();
    EXPECT_EQ(from, to);
  }
}

/// Freeing a matching engine ends the receives in it.
TEST(Drained, ReceivesOfAFreedEngineDoNotCount) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 1, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
  lci_descriptor op{};
  op.op = LCI_OP_RECV;
  op.port = 1;
  ASSERT_EQ(LCI_POSTED, lci_post(job.device(0), &op, queue, nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_RETRY, lci_test_drained(job.device(0)));
  ASSERT_EQ(LCI_DONE, lci_engine_free(job.runtime(0), 1)) << lci_last_error();
  EXPECT_EQ(1u, lci_queue_length(queue));
  EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0)));
}

/// Operations that a dead peer ends, and those that a lane leaves behind, do not count for ever.
TEST(Drained, WhatWasEndedOrForgottenDoesNotCount) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(0));
  uint8_t byte;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 1, &byte, 1, queue, 0, nullptr));
  job.close(1, 0);
  EXPECT_EQ(LCI_DONE, lci_wait_drained(job.device(0), 30'000)) << lci_last_error();
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job.runtime(0), 0, 1, &lane));
  uint64_t base = 0, length = 0, layout[LCI_LAYOUT_COUNT];
  ASSERT_EQ(LCI_DONE, lci_lane_memory(lane, &base, &length));
  lci_layout(layout, LCI_LAYOUT_COUNT);
  auto* control = reinterpret_cast<lci_lane_control*>(base + layout[LCI_LAYOUT_CONTROL_OFFSET]);
  auto* op = reinterpret_cast<lci_descriptor*>(base + layout[LCI_LAYOUT_SUBMISSION_OFFSET]);
  *op = {};
  op->op = LCI_OP_RECV;
  control->submit_count = 1;
  control->flags = LCI_ENTER_POST;
  lci_lane_enter(lane);
  ASSERT_EQ(LCI_POSTED, op->outcome);
  ASSERT_EQ(LCI_DONE, lci_lane_free(lane));
  EXPECT_EQ(LCI_DONE, lci_test_drained(job.device(0)));
}

}  // namespace
}  // namespace lci_test
