// SPDX-License-Identifier: Apache-2.0
// A port that closes and opens again, and what of its last opening is still under way. Mutations that must make this
// file fail: reopening_untold, old_grant_counts, refusal_ends_later_sends, signal_keeps_right. [X13]
#include <memory>
#include <string>
#include <vector>

#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7, kShort = 8, kLong = 20'000;

/// Rank 0 posts to a port of rank 1; one thread drives both, so that a seed of chaos always gives the same run.
class ReopenedPort : public testing::Test {
 protected:
  void start(const Attributes& attributes) {
    job_ = std::make_unique<Job>(2, attributes);
    inbox_ = make_queue(job_->runtime(1));
    ended_ = make_queue(job_->runtime(0));
  }
  void open() { ASSERT_EQ(LCI_DONE, lci_port_open(job_->runtime(1), kPort, "", inbox_, 0, 0)) << lci_last_error(); }
  void close() { ASSERT_EQ(LCI_DONE, lci_port_close(job_->runtime(1), kPort)) << lci_last_error(); }
  int post(uint32_t size, uint64_t context) {
    return lci_post_am(job_->device(0), 1, kPort, 5, bytes_.data(), size, ended_, context);
  }
  bool take() {
    lci_status status{};
    if (lci_queue_pop(inbox_, &status) != LCI_DONE) return false;
    lci_buffer_free(status.buffer);
    return true;
  }
  void take_for(int passes) {
    for (int i = 0; i < passes; ++i) {
      job_->progress();
      take();
    }
  }
  /// Posts until the answer is, or is not, that the port is closed; false: that answer does not come.
  bool post_until(bool closed, uint64_t context) {
    for (int i = 0; i < 20'000; ++i) {
      const int code = post(kShort, context);
      if (!is_retry(code) && (code == LCI_ERR_PORT_CLOSED) == closed) return true;
      take_for(1);
    }
    return false;
  }

  std::unique_ptr<Job> job_;
  lci_comp* inbox_ = nullptr;
  lci_comp* ended_ = nullptr;
  const std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kLong, 3);
};

// Proves: X13
TEST_F(ReopenedPort, IsNotClosedByLateControlOfAnEarlierOpening) {
  constexpr uint64_t kRounds = 4, kSeeds = 40;
  constexpr int kTaken = 60;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("chaos seed " + std::to_string(seed));
    start({{"chaos", "seed=" + std::to_string(seed) + ",delay=0.4,ticks=32"}});
    for (uint64_t round = 0; round < kRounds; ++round) {
      open();
      ASSERT_TRUE(post_until(false, round)) << "round " << round;
      for (int i = 0, taken = 0; taken < kTaken; ++i) {
        ASSERT_LT(i, 100'000) << "round " << round << " stands still";
        const int code = post(i % 3 == 0 ? kLong : kShort, round);
        ASSERT_NE(LCI_ERR_PORT_CLOSED, code) << "round " << round << ", " << taken << " taken";
        job_->progress();
        taken += take();
        lci_status status{};
        while (lci_queue_pop(ended_, &status) == LCI_DONE) {
          ASSERT_TRUE(status.user_context != round || status.code == LCI_DONE) << "round " << round;
        }
      }
      close();
      ASSERT_TRUE(post_until(true, round)) << "round " << round;
    }
    take_for(2'000);
    job_->check_ledgers();
    job_.reset();
  }
}

// Its sender hears of the recall and of the new opening in one pass.
TEST(ReopenedPortRecall, WhatWasRecalledIsNotGivenBackToTheNextOpening) {
  constexpr uint32_t kMessages = 16;
  Job job(3);
  lci_comp* const inbox = make_queue(job.runtime(1));
  auto open = [&] { ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, kMessages, 1 << 16)); };
  const std::vector<uint8_t> bytes(kShort, 3);
  const auto op = operation(LCI_OP_AM, 1, kPort, 5, bytes.data(), kShort);
  open();
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr));
  job.settle();  // rank 0 has a lease now
  lci_descriptor first = op;
  ASSERT_EQ(LCI_DONE, lci_post(job.device(2), &first, nullptr, nullptr)) << lci_last_error();
  for (int i = 0; i < 1'000'000 && job.counter(1, "recalls") == 0; ++i) {
    lci_progress(job.device(2));
    lci_progress(job.device(1));
  }
  ASSERT_NE(0u, job.counter(1, "recalls"));
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  open();
  for (int i = 0; i < 100; ++i) lci_progress(job.device(1));
  job.settle();
  for (uint32_t i = 0; i < 4 * kMessages; ++i) {
    lci_descriptor next = op;
    const int code = lci_post(job.device(0), &next, nullptr, nullptr);
    ASSERT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
    job.progress();
  }
  EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
  EXPECT_EQ(0u, job.counter(1, "peers_failed"));
}

/// What a port leads to.
enum class Behind { kCounter, kQueue };

/// A put with signal through messages; while it runs, the port that it will signal opens anew.
class ReopenedUnderPut : public testing::TestWithParam<Behind> {
 protected:
  static constexpr uint32_t kBytes = 16 << 20;

  ReopenedUnderPut() {
    EXPECT_EQ(LCI_DONE, lci_counter_create(job_.runtime(1), &counter_));
    remote_ = open_remote(job_.runtime(0), 1, handle_of(region_.memory));
    open(GetParam(), 64);
    // Known now, with credit if it takes any: what the put's right to signal is
    EXPECT_EQ(LCI_DONE, complete(job_, 0, remote_op(LCI_OP_PUT, 1, bytes_.data(), 8, remote_, 0, kPort, 1), ended_));
    job_.settle();
    take();
  }
  void open(Behind behind, uint32_t messages) {
    lci_comp* const object = behind == Behind::kCounter ? counter_ : inbox_;
    ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort, "", object, messages, 1 << 16)) << lci_last_error();
  }
  void begin_put() {
    const lci_descriptor op = remote_op(LCI_OP_PUT, 1, bytes_.data(), kBytes, remote_, 0, kPort, kTag);
    ASSERT_EQ(LCI_POSTED, post_until_taken(job_, 0, op, ended_)) << lci_last_error();
  }
  void reopen(Behind behind, uint32_t messages) {
    ASSERT_EQ(LCI_DONE, lci_port_close(job_.runtime(1), kPort)) << lci_last_error();
    open(behind, messages);
  }
  /// The tags of what the queue has got.
  std::vector<uint64_t> take() {
    std::vector<uint64_t> tags;
    for (lci_status status{}; lci_queue_pop(inbox_, &status) == LCI_DONE; lci_buffer_free(status.buffer)) {
      tags.push_back(status.tag);
    }
    return tags;
  }
  void expect_put_ended() {
    lci_status status{};
    ASSERT_TRUE(pop(job_, ended_, &status));
    EXPECT_EQ(LCI_DONE, status.code);
  }

  static constexpr uint64_t kTag = 77;
  Job job_{2, {{"rma", "messages"}, {"packets", "256"}}};
  const Allocated region_{job_.runtime(1), kBytes};
  const std::vector<uint8_t> bytes_ = std::vector<uint8_t>(kBytes, 3);
  lci_comp* const inbox_ = make_queue(job_.runtime(1));
  lci_comp* const ended_ = make_queue(job_.runtime(0));
  lci_comp* counter_ = nullptr;
  uint64_t remote_ = 0;
};
INSTANTIATE_TEST_SUITE_P(From, ReopenedUnderPut, testing::Values(Behind::kCounter, Behind::kQueue),
                         [](const auto& info) { return info.param == Behind::kCounter ? "Counter" : "Queue"; });

// The right to signal is of the first opening: the signal comes by what the second one asks for.
// Proves: X13
TEST_P(ReopenedUnderPut, ASignalComesByTheRightOfTheNewOpening) {
  for (const Behind next : {Behind::kQueue, Behind::kCounter, Behind::kQueue}) {
    begin_put();
    const uint64_t counted = lci_counter_get(counter_);
    reopen(next, 64);
    ASSERT_NO_FATAL_FAILURE(expect_put_ended());
    job_.settle();
    if (next == Behind::kQueue) {
      EXPECT_EQ(std::vector<uint64_t>{kTag}, take());
    } else {
      EXPECT_EQ(counted + 1, lci_counter_get(counter_));
    }
    job_.check_ledgers();
  }
}

// There is no right to be had: all the room is taken by a message, and a second one is announced. The signal waits.
TEST_P(ReopenedUnderPut, ASignalWaitsForTheRightOfTheNewOpening) {
  begin_put();
  reopen(Behind::kQueue, 1);
  for (int i = 0; i < 4; ++i) job_.progress();  // until the sender knows
  for (uint64_t tag = 1; tag <= 2; ++tag) {
    int code = LCI_RETRY;
    while (is_retry(code = lci_post_am(job_.device(0), 1, kPort, tag, bytes_.data(), 8, nullptr, 0))) {
      ASSERT_EQ(0u, lci_queue_length(ended_)) << "the put was too short";
      job_.progress();
    }
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
  }
  ASSERT_NO_FATAL_FAILURE(expect_put_ended());
  for (int i = 0; i < 1000; ++i) job_.progress();
  std::vector<uint64_t> taken;
  for (int i = 0; i < 100'000 && taken.size() < 3; ++i) {
    for (const uint64_t tag : take()) taken.push_back(tag);
    job_.progress();
  }
  EXPECT_EQ((std::vector<uint64_t>{1, 2, kTag}), taken);
  job_.check_ledgers();
}

}  // namespace
}  // namespace lci_test
