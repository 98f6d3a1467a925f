// SPDX-License-Identifier: Apache-2.0
// Receives of a lane whose message was there first, and what becomes of them when the lane goes.
#include <memory>
#include <vector>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kTag = 7;

/// Rank 1 has sent; a lane of rank 0 receives.
class LaneReceive : public testing::Test {
 protected:
  void send(uint32_t size) {
    bytes_.assign(size, 3);
    const int code = lci_post_send(job_.device(1), 0, kTag, bytes_.data(), size, sent_, 5);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    serve([&] { return job_.counter(0, "unexpected_stored") == 1; });
  }
  template <typename F>
  void serve(F over) {
    for (int i = 0; i < 10'000 && !over(); ++i) {
      lci_progress(job_.device(1));
      lane_->enter();
    }
    ASSERT_TRUE(over());
  }
  const lci_descriptor& receive(std::vector<uint8_t>& buffer) {
    const auto size = static_cast<uint32_t>(buffer.size());
    return lane_->add(operation(LCI_OP_RECV, 1, 0, kTag, buffer.data(), size, 41));
  }

  Job job_{2};
  lci_comp* const sent_ = make_queue(job_.runtime(1));
  std::vector<uint8_t> bytes_;
  std::unique_ptr<LaneDriver> lane_ = std::make_unique<LaneDriver>(job_, 0);
};

// Its record has all that one has that was posted before its message. [SS-29]
TEST_F(LaneReceive, ThatIsTruncatedAtOnceHasARecord) {
  send(100);
  std::vector<uint8_t> buffer(8);
  const lci_descriptor& op = receive(buffer);
  lane_->enter();
  EXPECT_EQ(LCI_POSTED, op.outcome);
  uint32_t records = 0;
  lane_->read([&](const lci_record& record) {
    if (record.kind != LCI_RECORD_OP) return;
    ++records;
    EXPECT_EQ(LCI_ERR_TRUNCATED, record.code);
    EXPECT_EQ(1u, record.rank);
    EXPECT_EQ(kTag, record.tag);
    EXPECT_EQ(100u, record.size);
    EXPECT_EQ(41u, record.context);
  });
  EXPECT_EQ(1u, records);
  lane_.reset();
  job_.check_ledgers();
}

// The sender has not been told yet that it may begin: it is told, and what it sends is dropped.
// Mutation: forget_matched.
TEST_F(LaneReceive, ThatIsMatchedWhenTheLaneGoesEndsAtItsSender) {
  send(70'000);
  std::vector<uint8_t> buffer(70'000);
  const lci_descriptor& op = receive(buffer);
  lane_->control().flags = LCI_ENTER_POST;  // nothing goes out
  lane_->enter();
  ASSERT_EQ(LCI_POSTED, op.outcome);
  ASSERT_EQ(0u, job_.counter(0, "unexpected_stored"));
  lane_.reset();
  lci_status status{};
  for (int i = 0; i < 10'000 && lci_queue_length(sent_) == 0; ++i) job_.progress();
  ASSERT_EQ(LCI_DONE, lci_queue_pop(sent_, &status)) << "its sender waits for ever";
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(5u, status.user_context);
  EXPECT_EQ(std::vector<uint8_t>(70'000), buffer) << "its owner is gone";
  job_.check_ledgers();
}

}  // namespace
}  // namespace lci_test
