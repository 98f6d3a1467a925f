// SPDX-License-Identifier: Apache-2.0
// Calls of ranks of which two share a host. Mutations that must make this file fail: see collective.tsv.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/collectives.hpp"
#include "support/groups.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

const Attributes kTwoToAHost{{"ranks_per_host", "2"}};

TEST(CollectiveOverHosts, EachKindBringsWhatItShould) {
  std::mt19937_64 random(6);
  for (const uint32_t size : {3u, 5u, 6u}) {
    Job job(size, kTwoToAHost);
    GroupContext group(job, first_ranks(size));
    CollectiveCalls calls(job, group);
    for (const lci_collective_kind kind :
         {LCI_COLLECTIVE_BARRIER, LCI_COLLECTIVE_BROADCAST, LCI_COLLECTIVE_REDUCE, LCI_COLLECTIVE_ALLREDUCE}) {
      for (const uint64_t count : {1u, 700u, 30'000u}) {
        CollectiveCase of;
        of.kind = kind;
        of.algorithm = LCI_ALGORITHM_HIERARCHICAL;
        of.count = kind == LCI_COLLECTIVE_BARRIER ? 0 : count;
        of.root = of.has_root() ? size - 2 : 0;
        calls.add(of);
        ASSERT_EQ(LCI_POSTED, calls.post_until_taken(0)) << of.name() << lci_last_error();
        calls.run(4, random);
      }
    }
  }
}

// What it sends first is not what the others await.
TEST(CollectiveOverHosts, ABarrierByAnotherAlgorithmIsAMismatch) {
  for (uint32_t other = 0; other < 4; ++other) {
    SCOPED_TRACE(other);
    Job job(4, kTwoToAHost);
    GroupContext group(job, first_ranks(4));
    for (uint32_t i = 0; i < 4; ++i) {
      lci_collective barrier{};
      barrier.kind = LCI_COLLECTIVE_BARRIER;
      if (i == other) barrier.algorithm = LCI_ALGORITHM_DISSEMINATION;
      ASSERT_EQ(LCI_POSTED, lci_post_collective(group.members[i].context, &barrier, group.members[i].ended, 0));
    }
    for (const auto& member : group.members) {
      lci_failure failure{};
      ASSERT_TRUE(until(job, [&] { return lci_context_failure(member.context, &failure) == LCI_DONE; }));
      EXPECT_EQ(LCI_ERR_MISMATCH, failure.code);
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
    }
  }
}

}  // namespace
}  // namespace lci_test
