// SPDX-License-Identifier: Apache-2.0
// Matching without messages.
#include <gtest/gtest.h>

#include <atomic>

#include "support/job.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

class Matching : public testing::TestWithParam<uint32_t> {
 protected:
  Matching() { EXPECT_EQ(LCI_DONE, lci_matching_create(job_.runtime(0), GetParam(), &matching_)) << lci_last_error(); }
  ~Matching() override { lci_matching_free(matching_); }
  /// What a value met, or null.
  void* insert(uint64_t key, void* value, int side) {
    void* found = &job_;
    EXPECT_EQ(LCI_DONE, lci_matching_insert(matching_, key, value, side, &found)) << lci_last_error();
    return found;
  }

  Job job_{1};
  lci_matching* matching_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Types, Matching, testing::Values(LCI_ENGINE_MAP, LCI_ENGINE_QUEUE),
                         [](const auto& each) { return each.param == LCI_ENGINE_MAP ? "Map" : "Queue"; });

// All 64 bits of the key count, the value is the caller's, the sides meet.
// Proves: B22
TEST_P(Matching, PairsWhatCallersInsert) {
  int values[4];
  EXPECT_EQ(nullptr, insert(~uint64_t{0}, &values[0], LCI_SIDE_SEND));
  EXPECT_EQ(nullptr, insert(~uint64_t{0} >> 1, &values[1], LCI_SIDE_RECV)) << "one bit differs";
  EXPECT_EQ(nullptr, insert(~uint64_t{0}, &values[2], LCI_SIDE_SEND)) << "the same side";
  EXPECT_EQ(&values[0], insert(~uint64_t{0}, &values[3], LCI_SIDE_RECV)) << "the oldest";
  EXPECT_EQ(LCI_RETRY, lci_matching_remove(matching_, ~uint64_t{0}, &values[0], LCI_SIDE_SEND)) << "matched";
  EXPECT_EQ(LCI_DONE, lci_matching_remove(matching_, ~uint64_t{0}, &values[2], LCI_SIDE_SEND));
  EXPECT_EQ(nullptr, insert(~uint64_t{0}, &values[3], LCI_SIDE_RECV));
}

// Proves: B22
TEST_P(Matching, ManyThreadsPairEachValueOnce) {
  constexpr uint64_t kThreads = 4, kEach = 500;
  std::atomic<uint64_t> pairs{0};
  lci::test::run_threads(kThreads, [&](uint32_t thread) {
    static int values[kThreads][kEach];
    for (uint64_t i = 0; i < kEach; ++i) {
      if (insert(i, &values[thread][i], thread % 2 ? LCI_SIDE_SEND : LCI_SIDE_RECV)) pairs.fetch_add(1);
    }
  });
  EXPECT_EQ(kThreads / 2 * kEach, pairs.load());
}

TEST_P(Matching, ArgumentsAreChecked) {
  int value;
  void* found = nullptr;
  lci_matching* other = nullptr;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_matching_create(job_.runtime(0), 9, &other));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_matching_insert(nullptr, 1, &value, LCI_SIDE_SEND, &found));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_matching_insert(matching_, 1, nullptr, LCI_SIDE_SEND, &found));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_matching_insert(matching_, 1, &value, 2, &found));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_matching_insert(matching_, 1, &value, LCI_SIDE_SEND, nullptr));
}

}  // namespace
}  // namespace lci_test
