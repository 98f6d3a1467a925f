// SPDX-License-Identifier: Apache-2.0
// Static core only: it refuses what malloc is asked for.
// Calls and agreements of a group of which a member has no memory for a moment, at any step: all members end, well.
// Mutations that must make this file fail: see collective.tsv.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/collectives.hpp"
#include "support/lane_driver.hpp"
#include "support/shortage.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kSize = 3;

/// Members of a group that each make one call, and those that live hear of its end.
class Scene {
 public:
  using Post = std::function<int(uint32_t member)>;

  Scene(uint32_t who, Shortage& shortage)
      // Over TCP a death before monitors have met is found after that time.
      : job(kSize, {{"net_reconnect_ms", "200"}}), group(job, first_ranks(kSize)), who_(who), shortage_(shortage) {}

  /// A pass of each, in which it posts if it has not.
  void pass(const Post& post) {
    for (auto& of : group.members) {
      if (!job.runtime(of.rank)) continue;
      const auto one = [&] {
        if (of.posted == 0) {
          const int code = post(of.rank);
          of.posted = code != LCI_ERR_NO_MEMORY && !is_retry(code);
          lci_status refused{};
          refused.code = code;
          if (of.posted != 0 && code != LCI_POSTED) of.ends.push_back(refused);
        }
        lci_progress(job.device(of.rank));
      };
      of.rank == who_ ? shortage_.during(one) : one();
      lci_status status{};
      if (lci_queue_pop(of.ended, &status) == LCI_DONE) of.ends.push_back(status);
    }
  }
  /// @param other another code that members that live may end with
  void run(const Post& post, int other = LCI_DONE) {
    const auto has_ended = [&](const auto& of) { return !job.runtime(of.rank) || !of.ends.empty(); };
    for (const lci::test::Deadline limit(30);
         !limit.passed() && !std::all_of(group.members.begin(), group.members.end(), has_ended);) {
      pass(post);
    }
    for (const auto& of : group.members) {
      if (!job.runtime(of.rank)) continue;
      ASSERT_EQ(1u, of.ends.size()) << "member " << of.rank << " has not ended";
      EXPECT_TRUE(of.ends[0].code == LCI_DONE || of.ends[0].code == other) << of.ends[0].code;
      EXPECT_EQ(0u, job.counter(of.rank, "protocol_errors"));
    }
  }

  Job job;
  GroupContext group;

 private:
  const uint32_t who_;
  Shortage& shortage_;
};

class NoMemoryAgreement : public testing::Test {
 protected:
  static constexpr uint64_t value_of(uint32_t member) { return ~(uint64_t{1} << member); }
  static Scene::Post agree(Scene& scene, std::vector<std::vector<uint8_t>>& outs) {
    return [&](uint32_t member) {
      const auto& of = scene.group.members[member];
      return lci_post_agree(of.context, value_of(member), outs[member].data(), of.ended, 0);
    };
  }
  static uint64_t outcome(const std::vector<uint8_t>& out) {
    uint64_t value = 0;
    std::memcpy(&value, out.data(), sizeof value);
    return value;
  }
  std::vector<std::vector<uint8_t>> outs_{kSize, std::vector<uint8_t>(8 + kSize)};
};

TEST_F(NoMemoryAgreement, EndsOnAll) {
  for (uint32_t who = 0; who < kSize; ++who) {
    SCOPED_TRACE(who);
    at_every_allocation([&](Shortage& shortage) {
      Scene scene(who, shortage);
      scene.run(agree(scene, outs_));
      for (const auto& out : outs_) EXPECT_EQ(~uint64_t{7}, outcome(out));
    });
  }
}

// Who coordinates dies: before it has said anything, or when others have its proposal.
TEST_F(NoMemoryAgreement, EndsOnAllWhoLive) {
  for (int passes = 0; passes < 16; ++passes) {
    const uint32_t who = passes % 2 == 0 ? 1 : 2;
    SCOPED_TRACE("member " + std::to_string(who) + " after passes: " + std::to_string(passes / 2));
    at_every_allocation([&](Shortage& shortage) {
      Scene scene(who, shortage);
      const Scene::Post post = agree(scene, outs_);
      for (int i = 0; i < passes / 2; ++i) scene.pass(post);
      scene.job.close(0, 0);
      scene.run(post);
      EXPECT_EQ(outs_[1], outs_[2]);
      EXPECT_EQ(0u, outcome(outs_[1]) & 6);
    });
    if (HasFailure()) return;
  }
}

class NoMemoryCall : public testing::TestWithParam<lci_collective_kind> {
 protected:
  using Calls = std::vector<std::unique_ptr<MemberCall>>;
  static Calls calls_of(const CollectiveCase& of) {
    Calls calls;
    for (uint32_t i = 0; i < kSize; ++i) calls.push_back(std::make_unique<MemberCall>(of, i, kSize, 1));
    return calls;
  }
  static Scene::Post make(Scene& scene, const Calls& calls) {
    return [&](uint32_t member) {
      const auto& of = scene.group.members[member];
      const lci_collective call = calls[member]->call();
      return lci_post_collective(of.context, &call, of.ended, 0);
    };
  }
};

TEST_P(NoMemoryCall, EndsOnAll) {
  for (const uint64_t count : {uint64_t{20}, uint64_t{3000}}) {
    CollectiveCase of;
    of.kind = GetParam();
    of.count = of.kind == LCI_COLLECTIVE_BARRIER ? 0 : count;
    for (const uint32_t who : {0u, 1u}) {
      SCOPED_TRACE(of.name() + " at member " + std::to_string(who));
      at_every_allocation([&](Shortage& shortage) {
        const Calls calls = calls_of(of);
        Scene scene(who, shortage);
        scene.run(make(scene, calls));
        for (const auto& call : calls) call->expect_result();
        scene.job.check_ledgers();
      });
      if (HasFailure()) return;
    }
    if (of.kind == LCI_COLLECTIVE_BARRIER) return;
  }
}

TEST_P(NoMemoryCall, EndsOnAllWhoLive) {
  CollectiveCase of;
  of.kind = GetParam();
  of.count = of.kind == LCI_COLLECTIVE_BARRIER ? 0 : 3000;
  for (const int passes : {0, 1, 3}) {
    SCOPED_TRACE(of.name() + " after passes: " + std::to_string(passes));
    at_every_allocation([&](Shortage& shortage) {
      const Calls calls = calls_of(of);
      Scene scene(1, shortage);
      const Scene::Post post = make(scene, calls);
      for (int i = 0; i < passes; ++i) scene.pass(post);
      scene.job.close(0, 0);
      scene.run(post, LCI_ERR_PEER_FAILED);
    });
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, NoMemoryCall, testing::ValuesIn(kCollectiveKinds));

// A call that a lane does not make keeps its number: the next one of its context is not made in its place.
TEST(NoMemoryCall, OfOneBeforeAnotherInABatch) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2);
    GroupContext group(job, {0, 1});
    LaneDriver lane(job, 0);
    lci_descriptor barrier{};
    barrier.op = LCI_OP_COLLECTIVE;
    barrier.port = LCI_COLLECTIVE_BARRIER;
    ASSERT_EQ(LCI_DONE, lci_context_id(group.members[0].context, &barrier.tag));
    barrier.outcome = LCI_RETRY;
    const lci_descriptor &first = lane.add(barrier), &second = lane.add(barrier);
    shortage.during([&] { lane.enter(); });
    EXPECT_TRUE(first.outcome == LCI_POSTED || second.outcome != LCI_POSTED)
        << "outcomes " << first.outcome << " and " << second.outcome;
    const uint32_t calls = lane.control().in_flight;
    for (uint32_t i = 0; i < calls; ++i) EXPECT_EQ(LCI_POSTED, group.post(1)) << lci_last_error();
    lane.control().submit_count = 0;
    uint32_t ended = 0;
    for (const lci::test::Deadline limit(30); ended < calls && !limit.passed(); lci_progress(job.device(1))) {
      lane.enter();
      ended += lane.read([](const lci_record& record) { EXPECT_EQ(LCI_DONE, record.code); });
    }
    EXPECT_EQ(calls, ended);
  });
}

}  // namespace
}  // namespace lci_test
