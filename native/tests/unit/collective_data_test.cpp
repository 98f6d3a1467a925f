// SPDX-License-Identifier: Apache-2.0
// Calls of groups that move data: what each member gets, short and long, several at a time, late and overtaken.
#include <map>
#include <random>
#include <string>

#include "support/collectives.hpp"
#include "support/lane_driver.hpp"
#include "support/seeds.hpp"

namespace lci_test {
namespace {

/// Of blocks that go along with a message, and of some that do not: 20 elements are the most that do.
const std::vector<uint64_t> kCounts{0, 1, 7, 19, 20, 21, 1000, 5000};

// Proves: J2 SS-61
TEST(CollectiveData, EveryKindBringsItsResult) {
  std::mt19937_64 random(1);
  for (uint32_t size = 1; size <= 5; ++size) {
    Job job(size);
    GroupContext group(job, first_ranks(size));
    CollectiveCalls calls(job, group);
    for (const lci_collective_kind kind : kCollectiveKinds) {
      for (const uint64_t count : {uint64_t{0}, uint64_t{1}, uint64_t{20}, uint64_t{21}, uint64_t{3000}}) {
        CollectiveCase of;
        of.kind = kind;
        of.count = kind == LCI_COLLECTIVE_BARRIER ? 0 : count;
        for (of.root = 0; of.root < (of.has_root() ? size : 1); ++of.root) {
          of.listed = of.in_place = false;
          calls.add(of);
          of.in_place = of.may_be_in_place();
          if (of.in_place) calls.add(of);
          of.in_place = false;
          of.listed = of.may_be_listed();
          if (of.listed) calls.add(of);
        }
      }
    }
    calls.run(3, random);
    for (const auto& member : group.members) {
      for (const lci_status& status : member.ends) EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
    }
  }
}

/// Makes each kind of call by each algorithm that can serve it. Adds to @p served how many did, of each algorithm.
void make_by_every_algorithm(uint32_t size, const Attributes& attributes, std::map<uint32_t, int>* served) {
  std::mt19937_64 random(2);
  Job job(size, attributes);
  GroupContext group(job, first_ranks(size));
  CollectiveCalls calls(job, group);
  for (const lci_collective_kind kind : kCollectiveKinds) {
    int served_this = 0;
    for (uint32_t algorithm = 1; algorithm <= LCI_ALGORITHM_HIERARCHICAL; ++algorithm) {
      CollectiveCase of;
      of.kind = kind;
      of.algorithm = algorithm;
      for (const uint64_t count : {uint64_t{20}, uint64_t{700}}) {
        of.count = kind == LCI_COLLECTIVE_BARRIER ? 0 : count;
        of.root = of.has_root() ? size - 2 : 0;
        calls.add(of);
        const int code = calls.post_until_taken(0);
        if (code == LCI_ERR_ARGUMENT) {  // it cannot serve this call
          calls.take_back();
          continue;
        }
        ASSERT_EQ(LCI_POSTED, code) << of.name() << lci_last_error();
        ++(*served)[algorithm];
        ++served_this;
        calls.run(4, random);
      }
    }
    EXPECT_LE(2, served_this) << kind;
  }
}

// Among five and eight members, on one host, and two to a host.
// Proves: J2
TEST(CollectiveData, EveryAlgorithmBringsTheSame) {
  std::map<uint32_t, int> near, over_hosts;
  for (const uint32_t size : {5u, 8u}) {
    make_by_every_algorithm(size, {}, &near);
    make_by_every_algorithm(size, {{"ranks_per_host", "2"}}, &over_hosts);
  }
  EXPECT_EQ(0, near[LCI_ALGORITHM_HIERARCHICAL]);
  EXPECT_EQ(2 * 5 * 2, over_hosts[LCI_ALGORITHM_HIERARCHICAL]) << "of five kinds, in two lengths";
  for (uint32_t algorithm = 1; algorithm <= LCI_ALGORITHM_DIRECT; ++algorithm) {
    EXPECT_LT(0, near[algorithm]) << algorithm;
    EXPECT_LT(0, over_hosts[algorithm]) << algorithm;
  }
}

void run_under_chaos(uint32_t size, const Attributes& attributes, uint64_t seed) {
  std::mt19937_64 random(seed);
  Job job(size, attributes);
  GroupContext one(job, first_ranks(size), 1, false), other(job, first_ranks(size), 2);
  for (uint32_t i = 0; i < size; ++i) one.open(i);
  CollectiveCalls calls(job, one), others(job, other);
  for (int i = 0; i < 30; ++i) calls.add(any_case(random, size, kCounts));
  for (int i = 0; i < 10; ++i) others.add(any_case(random, size, kCounts));
  others.run(2, random);
  calls.run(20, random);
  for (uint32_t i = 0; i < size; ++i) {
    EXPECT_EQ(0u, job.counter(i, "protocol_errors"));
    for (const lci_status& status : one.members[i].ends) EXPECT_EQ(LCI_DONE, status.code);
  }
  job.settle();
  job.check_ledgers();
}

TEST(CollectiveData, SurvivesChaos) {
  for (const uint64_t seed : seeds(20)) {
    SCOPED_TRACE(how_to_replay(seed));
    run_under_chaos(2 + static_cast<uint32_t>(seed % 5),
                    {{"chaos", "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,short=0.2,stall=1@40x200"}}, seed);
  }
}

// Payloads that move by messages, through few packets.
TEST(CollectiveData, NeedsFewPackets) {
  std::mt19937_64 random(5);
  Job job(3, {{"packets", "96"}, {"rma", "messages"}});
  GroupContext group(job, first_ranks(3));
  CollectiveCalls calls(job, group);
  for (int i = 0; i < 40; ++i) calls.add(any_case(random, 3, {2000, 50'000}));
  calls.run(8, random);
}

// A call that is refused keeps its number: a later one of the same batch, which would find room, must not take it.
TEST(CollectiveData, ALaneKeepsTheOrderOfCallsThatAreRefused) {
  Job job(2, {{"peer_memory", "rings"}});
  lci_context* const theirs = make_context(make_group(job.runtime(1), {0, 1}));
  lci_comp* const ended = make_queue(job.runtime(1));
  LaneDriver lane(job, 0);
  lci_descriptor op{};
  op.op = LCI_OP_COLLECTIVE;
  ASSERT_EQ(LCI_DONE, lci_context_id(make_context(make_group(job.runtime(0), {0, 1})), &op.tag));
  op.port = LCI_COLLECTIVE_BARRIER;  // so that each is sure of the other's context
  lane.add(op);
  ASSERT_EQ(LCI_POSTED, lci_post_group_barrier(theirs, ended, 0));
  uint32_t records = 0;
  EXPECT_TRUE(until(job, [&] {
    lane.enter();
    records += lane.read([](const lci_record&) {});
    return records == 1;
  }));
  uint64_t in = 1, out = 0;
  std::vector<lci_descriptor*> added;
  for (int i = 0; i < 40; ++i) {  // what member 1 gets takes a place there, what it gives takes none
    const bool gives = i % 2 != 0;
    op.port = gives ? LCI_COLLECTIVE_BROADCAST : LCI_COLLECTIVE_GATHER;
    op.rank = 1;
    op.size = LCI_TYPE_I64;
    op.u.collective = {gives ? 0 : reinterpret_cast<uint64_t>(&in), gives ? reinterpret_cast<uint64_t>(&out) : 0, 1, 0};
    added.push_back(&lane.add(op));
  }
  lane.enter();
  const auto refused =
      std::find_if(added.begin(), added.end(), [](const lci_descriptor* each) { return each->outcome != LCI_POSTED; });
  ASSERT_NE(added.end(), refused);
  EXPECT_EQ(LCI_RETRY_NOCREDIT, (*refused)->outcome);
  for (auto later = refused + 1; later != added.end(); ++later) EXPECT_EQ(LCI_RETRY_ORDER, (*later)->outcome);
}

}  // namespace
}  // namespace lci_test
