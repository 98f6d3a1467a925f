// SPDX-License-Identifier: Apache-2.0
// Boards between threads: each rank has one, and makes calls in two contexts, which come and go.
#include <cstdint>
#include <thread>
#include <vector>

#include "support/groups.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kRanks = 3;
constexpr int kLives = 20;
constexpr int kCalls = 200;

class Member {
 public:
  Member(Job& job, uint32_t rank) : job_(job), rank_(rank), ended_(make_queue(job.runtime(rank))) {}

  void live() {
    for (int life = 0; life < kLives && !::testing::Test::HasFailure(); ++life) {
      lci_group* const group = make_group(job_.runtime(rank_), first_ranks(kRanks));
      lci_context* contexts[2] = {make_context(group, 1), make_context(group, 2)};
      for (int i = 0; i < kCalls; ++i) sum(contexts, static_cast<uint64_t>(life * kCalls + i));
      for (lci_context* const context : contexts) EXPECT_EQ(LCI_DONE, lci_context_free(context)) << lci_last_error();
      EXPECT_EQ(LCI_DONE, lci_group_free(group));
    }
  }

 private:
  /// In both contexts at a time, in an order of its own.
  void sum(lci_context* const contexts[2], uint64_t number) {
    uint64_t in[2], out[2] = {};
    for (uint64_t i = 0; i < 2; ++i) {
      const uint64_t which = (i + rank_) % 2;
      in[which] = number * 10 + which + rank_;
      lci_collective call{};
      call.kind = LCI_COLLECTIVE_ALLREDUCE;
      call.algorithm = LCI_ALGORITHM_ARENA_SLOTS;
      call.type = LCI_TYPE_U64;
      call.op = LCI_REDUCE_SUM;
      call.count = 1;
      call.in = &in[which];
      call.out = &out[which];
      ASSERT_EQ(LCI_POSTED, lci_post_collective(contexts[which], &call, ended_, which)) << lci_last_error();
    }
    int left = 2;
    for (const lci::test::Deadline deadline(60); left != 0 && !deadline.passed();) {
      if (lci_progress(job_.device(rank_)) != LCI_DONE) std::this_thread::yield();
      lci_status status{};
      if (lci_queue_pop(ended_, &status) != LCI_DONE) continue;
      ASSERT_EQ(LCI_DONE, status.code);
      --left;
    }
    ASSERT_EQ(0, left);
    for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(3 * (number * 10 + i) + 3, out[i]) << "call " << number;
  }

  Job& job_;
  const uint32_t rank_;
  lci_comp* const ended_;
};

TEST(Board, ThreadsSeeEachOthersCalls) {
  Job job(kRanks);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kRanks; ++i) threads.emplace_back([&job, i] { Member(job, i).live(); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lci_test
