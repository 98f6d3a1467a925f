// SPDX-License-Identifier: Apache-2.0
// The algorithm that a call has is told before it is posted, and is that of the call.
#include <string>
#include <vector>

#include "support/collectives.hpp"

namespace lci_test {
namespace {

lci_collective call_of(lci_collective_kind kind, uint64_t count, uint32_t algorithm = LCI_ALGORITHM_AUTO) {
  lci_collective call{};
  call.kind = kind;
  call.algorithm = algorithm;
  if (kind == LCI_COLLECTIVE_BARRIER) return call;
  call.type = LCI_TYPE_I64;
  call.count = count;
  const bool combines = kind == LCI_COLLECTIVE_ALLREDUCE || kind == LCI_COLLECTIVE_REDUCE_SCATTER;
  if (combines) call.op = LCI_REDUCE_SUM;
  return call;
}

uint32_t chosen(const lci_context* context, const lci_collective& call) {
  uint32_t algorithm = UINT32_MAX;
  EXPECT_EQ(LCI_DONE, lci_collective_chosen(context, &call, &algorithm)) << lci_last_error();
  return algorithm;
}

TEST(CollectiveChosen, TellsWhatTheCoreChoosesForTheGroup) {
  Job job(3, {{"peer_memory", "all"}});
  Job apart(3, {{"peer_memory", "rings"}});
  GroupContext near(job, first_ranks(3)), far(apart, first_ranks(3));
  for (uint32_t i = 0; i < 3; ++i) {
    const lci_context* const here = near.members[i].context;
    const lci_context* const there = far.members[i].context;
    const lci_collective barrier = call_of(LCI_COLLECTIVE_BARRIER, 0);
    EXPECT_EQ(LCI_ALGORITHM_ARENA_LINE, chosen(here, barrier));
    EXPECT_EQ(LCI_ALGORITHM_DISSEMINATION, chosen(there, barrier));
    const lci_collective sum = call_of(LCI_COLLECTIVE_ALLREDUCE, 1);
    EXPECT_EQ(LCI_ALGORITHM_ARENA_SLOTS, chosen(here, sum));
    EXPECT_EQ(LCI_ALGORITHM_RECURSIVE_DOUBLING, chosen(there, sum));
    EXPECT_EQ(LCI_ALGORITHM_RING, chosen(here, call_of(LCI_COLLECTIVE_ALLREDUCE, 1 << 20)));
  }
}

TEST(CollectiveChosen, TellsWhatTheCoreChoosesAmongHosts) {
  Job job(3, {{"ranks_per_host", "2"}});
  GroupContext all(job, first_ranks(3)), one_host(job, {0, 1}), apart(job, {1, 2});
  const lci_collective barrier = call_of(LCI_COLLECTIVE_BARRIER, 0);
  for (const auto& member : all.members) EXPECT_EQ(LCI_ALGORITHM_HIERARCHICAL, chosen(member.context, barrier));
  EXPECT_NE(LCI_ALGORITHM_HIERARCHICAL, chosen(one_host.members[0].context, barrier));
  EXPECT_EQ(LCI_ALGORITHM_DISSEMINATION, chosen(apart.members[0].context, barrier));
}

TEST(CollectiveChosen, CountsAListButNoMemory) {
  Job job(3);
  GroupContext group(job, first_ranks(3));
  lci_collective gather = call_of(LCI_COLLECTIVE_ALLGATHER, 0);
  const std::vector<uint64_t> few{1, 2, 3}, many{1, 1 << 20, 3};
  gather.counts = few.data();
  EXPECT_EQ(LCI_ALGORITHM_BRUCK, chosen(group.members[0].context, gather));
  gather.counts = many.data();
  EXPECT_EQ(LCI_ALGORITHM_RING, chosen(group.members[0].context, gather));
}

TEST(CollectiveChosen, IsTheNamedOneIfThatServesTheCall) {
  Job job(3);
  GroupContext group(job, first_ranks(3));
  const lci_context* const context = group.members[1].context;
  EXPECT_EQ(LCI_ALGORITHM_CHAIN, chosen(context, call_of(LCI_COLLECTIVE_BROADCAST, 1, LCI_ALGORITHM_CHAIN)));
  uint32_t algorithm = 0;
  const lci_collective odd = call_of(LCI_COLLECTIVE_ALLREDUCE, 9, LCI_ALGORITHM_RABENSEIFNER);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_collective_chosen(context, &odd, &algorithm)) << "of three members";
  const lci_collective vast = call_of(LCI_COLLECTIVE_BROADCAST, uint64_t{1} << 61);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_collective_chosen(context, &vast, &algorithm)) << "beyond the end of memory";
  lci_collective agree{};
  agree.kind = LCI_COLLECTIVE_AGREE;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_collective_chosen(context, &agree, &algorithm));
  lci_collective beyond = call_of(LCI_COLLECTIVE_BROADCAST, 1);
  beyond.root = 3;
  EXPECT_EQ(LCI_ERR_RANK, lci_collective_chosen(context, &beyond, &algorithm));
  beyond.reserved = 1;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_collective_chosen(context, &beyond, &algorithm));
}

// Members that differ say what they do.
TEST(CollectiveChosen, IsWhatACallDoes) {
  for (const uint64_t count : {3u, 300u, 30'000u}) {
    SCOPED_TRACE(count);
    Job job(2);
    GroupContext group(job, first_ranks(2));
    std::vector<std::vector<int64_t>> memory(2, std::vector<int64_t>(count + 1));
    std::vector<uint32_t> expected;
    for (uint32_t i = 0; i < 2; ++i) {
      auto& member = group.members[i];
      lci_collective call = call_of(LCI_COLLECTIVE_ALLREDUCE, count + i);
      expected.push_back(chosen(member.context, call));
      call.in = call.out = memory[i].data();
      const int code = lci_post_collective(member.context, &call, member.ended, 0);
      ASSERT_TRUE(code == LCI_POSTED || code == LCI_ERR_MISMATCH) << code << lci_last_error();
    }
    lci_failure failure{};
    ASSERT_TRUE(until(job, [&] { return lci_context_failure(group.members[0].context, &failure) == LCI_DONE; }));
    for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(expected[failure.ranks[i]], failure.calls[i].algorithm);
  }
}

// Nothing is posted: the next call has the number that it would have had.
TEST(CollectiveChosen, PostsNothing) {
  Job job(2);
  GroupContext group(job, first_ranks(2));
  for (int i = 0; i < 3; ++i) chosen(group.members[0].context, call_of(LCI_COLLECTIVE_BROADCAST, 1));
  group.post_all();
  EXPECT_TRUE(group.await(1));
}

}  // namespace
}  // namespace lci_test
