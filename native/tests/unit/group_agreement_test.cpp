// SPDX-License-Identifier: Apache-2.0
// Members of a group agree: on contexts that have failed, while others die, and with members that come late or are
// gone.
#include <random>
#include <string>

#include "api/handles.hpp"
#include "support/groups.hpp"
#include "support/lane_driver.hpp"
#include "support/seeds.hpp"

namespace lci_test {
namespace {

/// The agreements of a group, one after the other.
class Agreeing {
 public:
  Agreeing(Job& job, GroupContext& group)
      : job_(job), group_(group), outs_(group.members.size(), std::vector<uint8_t>(8 + group.members.size())) {}

  int post(uint32_t member, uint64_t value) {
    auto& of = group_.members[member];
    const int code = lci_post_agree(of.context, value, outs_[member].data(), of.ended, 0);
    if (code == LCI_POSTED) ++of.posted;
    return code;
  }
  /// Each member that is there has the outcome of what it has posted.
  bool await() {
    return until(job_, [&] {
      bool all = true;
      for (auto& of : group_.members) {
        lci_status status{};
        if (!job_.runtime(of.rank)) continue;
        while (lci_queue_pop(of.ended, &status) == LCI_DONE) {
          EXPECT_EQ(LCI_DONE, status.code);
          EXPECT_EQ(of.ends.size(), status.tag) << "its number";
          of.ends.push_back(status);
        }
        all &= of.ends.size() == of.posted;
      }
      return all;
    });
  }
  uint64_t value(uint32_t member) const {
    uint64_t value = 0;
    std::memcpy(&value, outs_[member].data(), sizeof value);
    return value;
  }
  std::vector<uint32_t> dead(uint32_t member) const {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < group_.members.size(); ++i) {
      if (outs_[member][8 + i] != 0) found.push_back(i);
    }
    return found;
  }

 private:
  Job& job_;
  GroupContext& group_;
  std::vector<std::vector<uint8_t>> outs_;
};

// Proves: J18
TEST(GroupAgreement, HasTheBitsThatAllHaveSet) {
  for (uint32_t size = 1; size <= 6; ++size) {
    SCOPED_TRACE(size);
    Job job(size);
    GroupContext group(job, first_ranks(size));
    Agreeing agreeing(job, group);
    for (uint64_t round = 0; round < 20; ++round) {
      uint64_t all = ~uint64_t{0};
      for (uint32_t i = 0; i < size; ++i) {
        const uint64_t value = ~(uint64_t{1} << (round + i));
        all &= value;
        ASSERT_EQ(LCI_POSTED, agreeing.post(i, value)) << lci_last_error();
      }
      ASSERT_TRUE(agreeing.await());
      for (uint32_t i = 0; i < size; ++i) {
        EXPECT_EQ(all, agreeing.value(i));
        EXPECT_TRUE(agreeing.dead(i).empty());
      }
    }
    for (uint32_t i = 0; i < size; ++i) EXPECT_EQ(0u, job.counter(i, "protocol_errors"));
  }
}

TEST(GroupAgreement, IsMadeOnAContextThatHasFailed) {
  Job job(3);
  GroupContext group(job, {0, 1, 2});
  ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[1].context, LCI_ERR_TIMEOUT));
  lci_failure failure{};
  for (auto& member : group.members) {
    EXPECT_TRUE(until(job, [&] { return lci_context_failure(member.context, &failure) == LCI_DONE; }));
  }
  Agreeing agreeing(job, group);
  for (uint32_t i = 0; i < 3; ++i) ASSERT_EQ(LCI_POSTED, agreeing.post(i, i | 4)) << lci_last_error();
  EXPECT_EQ(LCI_RETRY_PENDING, agreeing.post(0, 1)) << "one after the other";
  EXPECT_TRUE(agreeing.await());
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(4u, agreeing.value(i));
}

TEST(GroupAgreement, WaitsForMembersThatComeLate) {
  Job job(4);
  GroupContext group(job, {3, 2, 1, 0}, 0, false);
  Agreeing agreeing(job, group);
  for (const uint32_t member : {1u, 3u, 2u, 0u}) {
    for (const auto& of : group.members) EXPECT_TRUE(of.ends.empty());
    group.open(member);
    ASSERT_EQ(LCI_POSTED, agreeing.post(member, 6));
    job.settle();
    for (auto& of : group.members) {
      lci_status status{};
      EXPECT_TRUE(member == 0 || !of.ended || lci_queue_pop(of.ended, &status) == LCI_RETRY);
    }
  }
  EXPECT_TRUE(agreeing.await());
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(6u, agreeing.value(i));
}

// Whoever has the outcome frees the context at once, and those that die are most often those that coordinate.
// Proves: J18
TEST(GroupAgreement, AllThatReturnReturnTheSameWhoeverDies) {
  for (const uint64_t seed : seeds(40)) {
    SCOPED_TRACE(how_to_replay(seed));
    std::mt19937_64 random(seed);
    const auto size = static_cast<uint32_t>(3 + seed % 4);
    Job job(size, {{"chaos", seed % 2 == 0 ? "" : "seed=" + std::to_string(seed) + ",delay=0.3,ticks=8"}});
    GroupContext group(job, first_ranks(size));
    Agreeing agreeing(job, group);
    std::vector<uint32_t> victims{static_cast<uint32_t>(random() % 2)};
    if (seed % 3 == 0) victims.push_back(victims[0] + 1);
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(LCI_POSTED, agreeing.post(i, ~(uint64_t{1} << i)));
    std::vector<bool> has_ended(size);
    const auto look = [&] {
      bool all = true;
      for (auto& of : group.members) {
        if (!job.runtime(of.rank)) continue;
        lci_status status{};
        if (!has_ended[of.rank] && lci_queue_pop(of.ended, &status) == LCI_DONE) {
          EXPECT_EQ(LCI_DONE, status.code);
          has_ended[of.rank] = true;
          EXPECT_EQ(LCI_DONE, lci_context_free(of.context)) << lci_last_error();
        }
        all &= has_ended[of.rank];
      }
      return all;
    };
    for (const uint32_t victim : victims) {
      for (uint64_t i = random() % 30; i > 0; --i) {
        const auto any = static_cast<uint32_t>(random() % size);
        if (job.runtime(any)) lci_progress(job.device(any));
        look();
      }
      job.close(victim, 0);
      group.members[victim].context = nullptr;
    }
    ASSERT_TRUE(until(job, look));
    int32_t one = -1;
    for (uint32_t i = 0; i < size; ++i) {
      if (!has_ended[i]) continue;
      if (one < 0) one = static_cast<int32_t>(i);
      const auto first = static_cast<uint32_t>(one);
      EXPECT_EQ(agreeing.value(first), agreeing.value(i));
      EXPECT_EQ(agreeing.dead(first), agreeing.dead(i));
      for (const uint32_t dead : agreeing.dead(i)) {
        EXPECT_NE(victims.end(), std::find(victims.begin(), victims.end(), dead)) << dead << " is alive";
      }
      EXPECT_TRUE(!job.runtime(i) || job.counter(i, "protocol_errors") == 0);
    }
    if (HasFailure()) return;
  }
}

// It is told once, and the lane that was told may go.
TEST(GroupAgreement, EndsInALane) {
  Job job(1);
  {
    LaneDriver lane(job, 0);
    lci_context* const context = make_context(make_group(job.runtime(0), {0}));
    uint8_t out[9];
    for (uint64_t number = 0; number < 3; ++number) {
      lci_descriptor op{};
      op.op = LCI_OP_COLLECTIVE;
      op.port = LCI_COLLECTIVE_AGREE;
      ASSERT_EQ(LCI_DONE, lci_context_id(context, &op.tag));
      op.u.collective.in = 5 + number;
      op.u.collective.out = reinterpret_cast<uint64_t>(out);
      lane.add(op);
      uint32_t ended = 0;
      for (const lci::test::Deadline deadline(30); ended == 0 && !deadline.passed();) {
        lane.enter();
        ended = lane.read([&](const lci_record& record) { EXPECT_EQ(LCI_DONE, record.code); });
      }
      EXPECT_EQ(1u, ended);
      EXPECT_EQ(5 + number, out[0]);
    }
  }
  EXPECT_EQ(0u, job.counter(0, "signals_dropped"));
}

// The others have given it up, and agree without it: it must not find an outcome of its own.
TEST(GroupAgreement, ARankThatIsFencedDoesNotDecideAlone) {
  Job job(3);
  GroupContext group(job, {0, 1, 2});
  Agreeing agreeing(job, group);
  ASSERT_EQ(LCI_POSTED, agreeing.post(0, 7));
  job.settle();
  lci::PeerEvents& peers = job.runtime(0)->runtime->peers();
  peers.fenced(1);
  lci_status status{};
  ASSERT_TRUE(pop(job, group.members[0].ended, &status));
  EXPECT_EQ(LCI_ERR_FENCED, status.code);
  EXPECT_EQ(LCI_ERR_FENCED, agreeing.post(0, 7));
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("agree without it")) << lci_last_error();
  job.close(0, 0);
}

TEST(GroupAgreement, RefusesWhatItCannotDo) {
  Job job(2);
  GroupContext group(job, {0, 1});
  auto& own = group.members[0];
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_agree(own.context, 1, nullptr, own.ended, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_agree(nullptr, 1, &own, own.ended, 0));
  uint64_t out[2];
  lci_descriptor op{};
  op.op = LCI_OP_COLLECTIVE;
  op.port = LCI_COLLECTIVE_AGREE;
  ASSERT_EQ(LCI_DONE, lci_context_id(own.context, &op.tag));
  op.u.collective.out = reinterpret_cast<uint64_t>(out);
  op.u.collective.counts = 8;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &op, own.ended, nullptr));
}

}  // namespace
}  // namespace lci_test
