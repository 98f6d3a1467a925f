// SPDX-License-Identifier: Apache-2.0
// A port that closes and opens again, and what of its last opening is still under way. Mutations that must make this
// file fail: reopening_untold, old_grant_counts, refusal_ends_later_sends. [X13]
#include <memory>
#include <string>
#include <vector>

#include "support/posting.hpp"

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

}  // namespace
}  // namespace lci_test
