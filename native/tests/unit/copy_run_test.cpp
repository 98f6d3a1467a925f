// SPDX-License-Identifier: Apache-2.0
// Short puts and gets of a lane's batch, which are copied under one guard, among all that is not.
#include "device/copy_run.hpp"

#include <vector>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

class CopyRunTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kRegion = 64 << 10;

  /// The outcomes of one batch.
  std::vector<int> post(const std::vector<lci_descriptor>& ops) {
    std::vector<const lci_descriptor*> posted;
    for (const lci_descriptor& op : ops) posted.push_back(&lane_.add(op));
    lane_.enter();
    std::vector<int> outcomes;
    for (const lci_descriptor* op : posted) outcomes.push_back(op->outcome);
    return outcomes;
  }
  lci_descriptor put(const void* from, uint64_t size, uint64_t displacement) const {
    return remote_op(LCI_OP_PUT, 1, from, size, remote_, displacement);
  }
  lci_descriptor get(void* to, uint64_t size, uint64_t displacement) const {
    return remote_op(LCI_OP_GET, 1, to, size, remote_, displacement);
  }
  /// Bytes 0, 1, 2 ... from @p at on.
  void expect_pattern(const std::vector<uint8_t>& bytes, uint64_t at) const {
    EXPECT_EQ(0, std::memcmp(region_.bytes_at + at, bytes.data(), bytes.size())) << bytes.size() << " at " << at;
  }

  Job job_{2};
  const Allocated region_{job_.runtime(1), kRegion};
  const uint64_t remote_ = open_remote(job_.runtime(0), 1, handle_of(region_.memory));
  LaneDriver lane_{job_, 0};
};

TEST_F(CopyRunTest, EverySizeInTheOrderOfTheBatch) {
  const std::vector<uint64_t> sizes = {1, 7, 8, 9, 192, lci::CopyRun::kMost, lci::CopyRun::kMost + 1, 8};
  std::vector<std::vector<uint8_t>> sent, got;
  std::vector<lci_descriptor> batch;
  uint64_t at = 3, bytes = 0;
  for (const uint64_t size : sizes) {
    sent.push_back(pattern(size, static_cast<uint32_t>(at)));
    got.emplace_back(size);
    batch.push_back(put(sent.back().data(), size, at));
    batch.push_back(get(got.back().data(), size, at));
    at += size;
    bytes += 2 * size;
  }
  for (const int outcome : post(batch)) EXPECT_EQ(LCI_DONE, outcome) << lci_last_error();
  EXPECT_EQ(sent, got);
  at = 3;
  for (const auto& each : sent) {
    expect_pattern(each, at);
    at += each.size();
  }
  EXPECT_EQ(bytes, job_.counter(0, "rma_copied"));
  EXPECT_EQ(sizes.size(), job_.counter(0, "operations_put_done"));
  EXPECT_EQ(sizes.size(), job_.counter(0, "operations_get_done"));
  EXPECT_EQ(0u, lane_.control().in_flight);
}

TEST_F(CopyRunTest, AnInlinePayloadFollowsItsDescriptor) {
  const auto bytes = pattern(100, 4);
  lci_descriptor op = put(nullptr, bytes.size(), 40);
  op.flags = LCI_FLAG_INLINE;
  op.u.ref.address = 0;
  lci_descriptor* first = &lane_.add(op);
  lane_.add({});
  lane_.add({});
  std::memcpy(first + 1, bytes.data(), bytes.size());
  uint64_t value = 77;
  lci_descriptor* next = &lane_.add(put(&value, 8, 0));
  lane_.enter();
  EXPECT_EQ(LCI_DONE, first->outcome);
  EXPECT_EQ(LCI_DONE, next->outcome);
  expect_pattern(bytes, 40);
  EXPECT_EQ(0, std::memcmp(region_.bytes_at, &value, 8));
}

TEST_F(CopyRunTest, WhatIsWrongIsRefusedAmongWhatIsRight) {
  uint64_t value = 5, got = 0;
  lci_descriptor elsewhere = put(&value, 8, 0);
  elsewhere.rank = 0;
  lci_descriptor unknown = put(&value, 8, 0);
  unknown.u.ref.remote += uint64_t{1} << 32;
  lci_descriptor outside = put(&value, 8, 0);
  outside.rank = 2;
  lci_descriptor nowhere = put(nullptr, 8, 0);
  const std::vector<int> outcomes =
      post({put(&value, 8, 8), put(&value, 8, kRegion - 7), get(&got, 8, UINT64_MAX - 3), elsewhere, unknown, outside,
            nowhere, put(&value, 0, kRegion), put(&value, 0, kRegion + 1), get(&got, 8, 8)});
  const std::vector<int> expected = {LCI_DONE,     LCI_ERR_SIZE,     LCI_ERR_SIZE, LCI_ERR_RANK, LCI_ERR_MEMORY_CLOSED,
                                     LCI_ERR_RANK, LCI_ERR_ARGUMENT, LCI_DONE,     LCI_ERR_SIZE, LCI_DONE};
  EXPECT_EQ(expected, outcomes);
  EXPECT_EQ(5u, got);
}

// Mutation: copy_after_end.
TEST_F(CopyRunTest, NothingIsCopiedWhenTheRegionHasEnded) {
  uint64_t value = 5, got = 0;
  ASSERT_EQ(std::vector<int>{LCI_DONE}, post({put(&value, 8, 0)}));
  ASSERT_EQ(LCI_DONE, lci_memory_free(region_.memory));
  EXPECT_EQ((std::vector<int>{LCI_ERR_MEMORY_CLOSED, LCI_ERR_MEMORY_CLOSED}),
            post({put(&value, 8, 8), get(&got, 8, 0)}));
  EXPECT_EQ(0u, got);
  ASSERT_EQ(LCI_DONE, lci_remote_close(job_.runtime(0), remote_));
  EXPECT_EQ(std::vector<int>{LCI_ERR_MEMORY_CLOSED}, post({get(&got, 8, 0)})) << "closed here";
}

// The signal of a put comes after its data and what was copied before; messages go on in between.
TEST_F(CopyRunTest, RunsEndAtWhatIsNoCopy) {
  lci_comp* told = make_queue(job_.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), 1, "", told, 0, 0));
  uint64_t one = 1, two = 2, three = 3;
  lci_descriptor signalled = put(&two, 8, 8);
  signalled.port = 1;
  const std::vector<int> outcomes = post({put(&one, 8, 0), signalled, put(&three, 8, 16)});
  for (const int outcome : outcomes) EXPECT_EQ(LCI_DONE, outcome) << lci_last_error();
  lci_status status{};
  for (int i = 0; i < 10 && lci_queue_pop(told, &status) != LCI_DONE; ++i) {
    lci_progress(job_.device(1));
    lane_.enter();
  }
  EXPECT_EQ(LCI_DONE, status.code);
  const uint64_t expected[] = {1, 2, 3};
  EXPECT_EQ(0, std::memcmp(region_.bytes_at, expected, sizeof expected));
}

}  // namespace
}  // namespace lci_test
