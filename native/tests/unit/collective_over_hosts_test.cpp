// SPDX-License-Identifier: Apache-2.0
// Calls of ranks of which two share a host: what they bring, and how they end badly. Mutations that must make this file
// fail: see collective.tsv.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/collective_failures.hpp"
#include "support/groups.hpp"
#include "support/job.hpp"
#include "support/seeds.hpp"

namespace lci_test {
namespace {

const Attributes kTwoToAHost{{"ranks_per_host", "2"}};

TEST(CollectiveOverHosts, EachKindBringsWhatItShould) {
  std::mt19937_64 random(6);
  for (const auto& [size, per_host] : {std::pair{3u, "2"}, {5u, "2"}, {6u, "2"}, {5u, "4"}, {7u, "4"}}) {
    Job job(size, {{"ranks_per_host", per_host}});
    GroupContext group(job, first_ranks(size));
    CollectiveCalls calls(job, group);
    for (const lci_collective_kind kind : {LCI_COLLECTIVE_BARRIER, LCI_COLLECTIVE_BROADCAST, LCI_COLLECTIVE_REDUCE,
                                           LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_ALLGATHER}) {
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

// Puts by messages alone, and another way to sleep: all choose the same schedule, which follows from peer_memory.
TEST(CollectiveOverHosts, MembersChooseAlikeWhateverOneOfThemForbidsItself) {
  std::mt19937_64 random(7);
  for (uint32_t other = 0; other < 4; ++other) {
    std::vector<Attributes> attributes(4, kTwoToAHost);
    attributes[other].insert(attributes[other].end(), {{"rma", "messages"}, {"membarrier", "off"}});
    Job job(attributes);
    GroupContext group(job, first_ranks(4));
    CollectiveCalls calls(job, group);
    for (const uint64_t count : {1u, 100u, 3000u}) {
      CollectiveCase of;
      of.kind = LCI_COLLECTIVE_ALLGATHER;
      of.algorithm = LCI_ALGORITHM_HIERARCHICAL;
      of.count = count;
      calls.add(of);
      ASSERT_EQ(LCI_POSTED, calls.post_until_taken(0)) << of.name() << lci_last_error();
      calls.run(4, random);
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

/// A call over hosts.
CollectiveCase over_hosts(lci_collective_kind kind, uint64_t count, uint32_t root = 0) {
  CollectiveCase of;
  of.kind = kind;
  of.algorithm = LCI_ALGORITHM_HIERARCHICAL;
  of.count = count;
  of.root = root;
  return of;
}

struct Difference {
  const char* what;
  CollectiveCase ours, theirs;
};

std::vector<Difference> differences() {
  const CollectiveCase sum = over_hosts(LCI_COLLECTIVE_ALLREDUCE, 20), told = over_hosts(LCI_COLLECTIVE_BROADCAST, 20);
  CollectiveCase flat = sum;
  flat.algorithm = LCI_ALGORITHM_RECURSIVE_DOUBLING;
  return {{"kind", sum, told},
          {"kind, and who sends first", told, over_hosts(LCI_COLLECTIVE_REDUCE, 20)},
          {"barrier", sum, over_hosts(LCI_COLLECTIVE_BARRIER, 0)},
          {"count", sum, over_hosts(LCI_COLLECTIVE_ALLREDUCE, 19)},
          {"count, short and long", sum, over_hosts(LCI_COLLECTIVE_ALLREDUCE, 21)},
          {"count, both long", over_hosts(LCI_COLLECTIVE_BROADCAST, 1000), over_hosts(LCI_COLLECTIVE_BROADCAST, 1001)},
          {"root on the same host", told, over_hosts(LCI_COLLECTIVE_BROADCAST, 20, 1)},
          {"root on another host", told, over_hosts(LCI_COLLECTIVE_BROADCAST, 20, 4)},
          {"root of a reduction", over_hosts(LCI_COLLECTIVE_REDUCE, 20), over_hosts(LCI_COLLECTIVE_REDUCE, 20, 3)},
          {"count of blocks", over_hosts(LCI_COLLECTIVE_ALLGATHER, 3), over_hosts(LCI_COLLECTIVE_ALLGATHER, 30)},
          {"algorithm", sum, flat}};
}

// One member, or both of a host, of whom most others hear nothing. Where no message meets, they are asked.
TEST(CollectiveOverHosts, CallsThatDifferEndOnAll) {
  for (const Difference& difference : differences()) {
    for (const uint32_t odd : {1u << 0, 1u << 1, 1u << 3, 1u << 4, 3u << 2}) {
      SCOPED_TRACE(std::string(difference.what) + ", by the members " + std::to_string(odd));
      Job job(5, {{"ranks_per_host", "2"}, {"coll_stall_ms", "50"}});
      GroupContext group(job, first_ranks(5));
      expect_mismatch(job, group,
                      [&](uint32_t member) { return odd >> member & 1 ? difference.theirs : difference.ours; });
      if (HasFailure()) return;
    }
  }
}

// Proves: J16
TEST(CollectiveOverHosts, ACallThatIsGivenUpEndsOnAll) {
  for (const uint64_t seed : seeds(20)) {
    SCOPED_TRACE(how_to_replay(seed));
    Interrupted scene(seed, static_cast<uint32_t>(3 + seed % 4), kTwoToAHost, any_over_hosts);
    scene.begin();
    scene.one_gives_up();
    if (HasFailure()) return;
  }
}

// The root, one that speaks for its host, or one that hears of the other hosts by that alone.
// Proves: J16
TEST(CollectiveOverHosts, ADeathEndsTheCallsOfAll) {
  for (const uint64_t seed : seeds(12)) {
    SCOPED_TRACE(how_to_replay(seed));
    Interrupted scene(seed, static_cast<uint32_t>(3 + seed % 4), kTwoToAHost, any_over_hosts);
    scene.begin();
    scene.one_dies();
    if (HasFailure()) return;
  }
}

TEST(CollectiveOverHosts, SurviveChaos) {
  uint64_t delayed = 0;
  for (const uint64_t seed : seeds(20)) {
    SCOPED_TRACE(how_to_replay(seed));
    const auto size = static_cast<uint32_t>(4 + seed % 3);
    std::mt19937_64 random(seed);
    Job job(size, {{"ranks_per_host", seed % 2 == 0 ? "2" : "3"},
                   {"chaos", "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,short=0.2,stall=1@40x200"}});
    GroupContext group(job, first_ranks(size));
    CollectiveCalls calls(job, group);
    for (int i = 0; i < 30; ++i) calls.add(any_over_hosts(random, size, {0, 1, 20, 21, 1000, 5000}));
    calls.run(20, random);
    for (const auto& member : group.members) {
      for (const lci_status& status : member.ends) EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
      delayed += job.counter(member.rank, "chaos_delayed");
    }
    job.settle();
    job.check_ledgers();
    if (HasFailure()) return;
  }
  EXPECT_LT(0u, delayed) << "chaos did nothing";
}

}  // namespace
}  // namespace lci_test
