// SPDX-License-Identifier: Apache-2.0
// Barriers of groups: over all members and no others, several contexts at a time, members that come late, messages
// that are late or overtaken, and numbers beyond 32 bits.
#include <memory>
#include <random>
#include <string>

#include "api/handles.hpp"
#include "support/groups.hpp"
#include "support/lane_driver.hpp"
#include "support/rma_job.hpp"
#include "support/seeds.hpp"

namespace lci_test {
namespace {

std::string plan(uint64_t seed) {
  return "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,short=0.2,stall=1@40x200";
}

/// The number of its next call, at each member.
void start_at(Job& job, GroupContext& group, uint64_t sequence) {
  group.first = sequence;
  for (auto& member : group.members) {
    lci::Context& context = *lci::from_handle(member.context);
    job.runtime(member.rank)->runtime->device(context.device()).collectives().start_at(context.id(), sequence);
  }
}

/// Members post in any order, each up to @p most ahead of what has ended there, until each has posted @p count.
void post_at_random(Job& job, GroupContext& group, uint64_t count, uint64_t most, std::mt19937_64& random) {
  for (const lci::test::Deadline deadline(60); !deadline.passed();) {
    auto& of = group.members[random() % group.members.size()];
    const auto index = static_cast<uint32_t>(&of - group.members.data());
    if (of.posted < count && of.posted - of.ends.size() < most) {
      const int code = group.post(index);
      ASSERT_TRUE(code == LCI_POSTED || code == LCI_RETRY_NOCREDIT) << code << lci_last_error();
    }
    lci_progress(job.device(of.rank));
    group.look();
    uint64_t ended = 0;
    for (const auto& member : group.members) ended += member.ends.size();
    if (ended == count * group.members.size()) return;
  }
  FAIL() << "not all barriers have ended";
}

// Proves: J1
TEST(GroupBarrier, EndsWhenAllMembersHavePosted) {
  for (uint32_t run = 0; run < 18; ++run) {
    const uint32_t size = 1 + run / 2;
    SCOPED_TRACE(size);
    Job job(size, {{"peer_memory", run % 2 == 0 ? "all" : "rings"}});  // by boards, and by messages
    GroupContext group(job, first_ranks(size));
    for (int round = 0; round < 3; ++round) {
      for (uint32_t i = 0; i < size; ++i) {
        for (const auto& member : group.members) EXPECT_EQ(static_cast<size_t>(round), member.ends.size());
        ASSERT_EQ(LCI_POSTED, group.post_until_taken(i)) << lci_last_error();
        for (int pass = 0; pass < 50; ++pass) job.progress();
        if (i + 1 < size) group.look();
      }
      ASSERT_TRUE(group.await(static_cast<uint64_t>(round) + 1));
    }
    for (const auto& member : group.members) {
      for (const lci_status& status : member.ends) EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
    }
  }
}

TEST(GroupBarrier, IsOfItsMembersAlone) {
  Job job(7);
  GroupContext odd(job, {5, 1, 3}), even(job, {0, 2, 4, 6}), pair(job, {6, 1});
  for (uint64_t round = 1; round <= 20; ++round) {
    odd.post_all();
    ASSERT_TRUE(odd.await(round)) << "nobody else has posted anything";
  }
  even.post_all();
  pair.post_all();
  EXPECT_TRUE(even.await(1));
  EXPECT_TRUE(pair.await(1));
}

TEST(GroupBarrier, ContextsDoNotWaitForEachOther) {
  Job job(3);
  GroupContext still(job, {0, 1, 2}, 1), runs(job, {0, 1, 2}, 2);
  // As far ahead as may be, in a context that rank 2 does not enter.
  for (const uint32_t member : {0u, 1u}) {
    int code = LCI_POSTED;
    for (int i = 0; i < 200 && code == LCI_POSTED; ++i) {
      code = still.post(member);
      job.progress();
    }
    EXPECT_TRUE(is_retry(code)) << code;
  }
  for (uint64_t round = 1; round <= 500; ++round) {
    runs.post_all();
    ASSERT_TRUE(runs.await(round));
  }
  still.look();
  for (const auto& member : still.members) EXPECT_TRUE(member.ends.empty());
  const uint64_t ahead = std::max(still.members[0].posted, still.members[1].posted);
  EXPECT_TRUE(until(job, [&] {
    bool all = true;
    for (uint32_t member = 0; member < 3; ++member) {
      if (still.members[member].posted < ahead) still.post(member);
      all &= still.members[member].posted == ahead;
    }
    return all;
  }));
  EXPECT_TRUE(still.await(ahead));
}

TEST(GroupBarrier, SeveralAreUnderWayInSeveralContexts) {
  Job job(5);
  std::vector<std::unique_ptr<GroupContext>> contexts;
  for (uint64_t key = 0; key < 8; ++key) {
    contexts.push_back(std::make_unique<GroupContext>(job, std::vector<uint32_t>{4, 3, 2, 1, 0}, key));
  }
  for (int i = 0; i < 10; ++i) {
    for (uint32_t member = 0; member < 5; ++member) {
      for (auto& context : contexts) ASSERT_EQ(LCI_POSTED, context->post_until_taken(member));
    }
  }
  for (auto& context : contexts) EXPECT_TRUE(context->await(10));
}

// A member is so many calls ahead that the next one has no room, and hears when there is some.
TEST(GroupBarrier, AMemberThatIsFarAheadIsRefused) {
  Job job(2, {{"peer_memory", "rings"}});  // so that messages are sent
  GroupContext group(job, {0, 1});
  int code = LCI_POSTED;
  while (code == LCI_POSTED) {
    code = group.post(0);
    job.progress();
    ASSERT_LT(group.members[0].posted, 100u);
  }
  EXPECT_EQ(LCI_RETRY_NOCREDIT, code);
  EXPECT_EQ(15u, group.members[0].posted) << "the last place is for the oldest call";
  const uint32_t before = lci::from_handle(job.device(0))->generation();
  for (uint64_t i = 0; i < 15; ++i) ASSERT_EQ(LCI_POSTED, group.post_until_taken(1));
  ASSERT_TRUE(group.await(15));
  EXPECT_NE(before, lci::from_handle(job.device(0))->generation()) << "it was told";
  EXPECT_EQ(LCI_POSTED, group.post(0));
}

TEST(GroupBarrier, OnesThatMayNotBeRefusedWaitInOrder) {
  Job job(2);
  GroupContext group(job, {0, 1});
  auto& first = group.members[0];
  uint64_t id = 0;
  ASSERT_EQ(LCI_DONE, lci_context_id(first.context, &id));
  for (uint64_t i = 0; i < 100; ++i) {
    lci_descriptor op{};
    op.op = LCI_OP_COLLECTIVE;
    op.port = LCI_COLLECTIVE_BARRIER;
    op.flags = LCI_FLAG_NO_RETRY;
    op.tag = id;
    op.user_context = first.posted++;
    const int code = lci_post(job.device(0), &op, first.ended, nullptr);
    ASSERT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << code << lci_last_error();
  }
  EXPECT_EQ(LCI_RETRY_BACKLOG, group.post(0)) << "it would overtake them";
  for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(LCI_POSTED, group.post_until_taken(1));
  EXPECT_TRUE(group.await(100));
}

// Their messages meet no context, and are sent again.
TEST(GroupBarrier, AMemberMayMakeItsContextLate) {
  for (int run = 0; run < 4; ++run) {
    Job job(4, {{"chaos", run < 2 ? "" : plan(3)}, {"peer_memory", run % 2 == 0 ? "all" : "rings"}});
    GroupContext group(job, first_ranks(4), 0, false);
    for (uint32_t late = 0; late < 4; ++late) {
      group.open(late);
      for (uint64_t i = 0; i < 12; ++i) ASSERT_EQ(LCI_POSTED, group.post_until_taken(late));
      for (int pass = 0; pass < 500; ++pass) job.progress();
    }
    EXPECT_TRUE(group.await(12));
    for (uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(0u, job.counter(rank, "protocol_errors")) << lci_last_error();
  }
}

TEST(GroupBarrier, AContextThatIsMadeAnewBeginsAnew) {
  Job job(3);
  for (int life = 0; life < 5; ++life) {
    GroupContext group(job, {0, 1, 2});
    for (uint64_t i = 0; i < 3; ++i) group.post_all();
    ASSERT_TRUE(group.await(3)) << life;
    for (auto& member : group.members) {
      EXPECT_EQ(LCI_DONE, lci_context_free(member.context));
      EXPECT_EQ(LCI_DONE, lci_group_free(member.group));
    }
  }
}

// Proves: J1
// On: chaos
TEST(GroupBarrier, HoldsUnderChaos) {
  for (const uint64_t seed : seeds(20)) {
    SCOPED_TRACE(how_to_replay(seed));
    Job job(5, {{"chaos", plan(seed)}, {"control_ring_bytes", "4096"}});
    std::mt19937_64 random(seed);
    GroupContext group(job, {2, 0, 4, 1, 3});
    post_at_random(job, group, 60, 20, random);
    for (uint32_t rank = 0; rank < 5; ++rank) EXPECT_EQ(0u, job.counter(rank, "protocol_errors"));
    if (HasFailure()) return;
  }
}

// The low 32 bits of a number travel.
// Proves: SS-60
TEST(GroupBarrier, NumbersPass32Bits) {
  for (const uint64_t seed : seeds(20)) {
    SCOPED_TRACE(how_to_replay(seed));
    Job job(3, {{"chaos", plan(seed)}, {"peer_memory", seed % 2 == 0 ? "rings" : "all"}});
    std::mt19937_64 random(seed);
    GroupContext group(job, {0, 1, 2});
    start_at(job, group, (uint64_t{1} << 32) - 100);
    post_at_random(job, group, 200, 16, random);
    if (HasFailure()) return;
  }
}

// A loop that has nothing to do sleeps until a member tells it something.
TEST(GroupBarrier, LoopsPostThemAndSleep) {
  constexpr uint64_t kBarriers = 100;
  constexpr uint64_t kLong = 10'000'000'000;
  Job job(3);
  const auto loop = [&](uint32_t rank) {
    LaneDriver lane(job, rank);
    lci_descriptor op{};
    op.op = LCI_OP_COLLECTIVE;
    op.port = LCI_COLLECTIVE_BARRIER;
    EXPECT_EQ(LCI_DONE, lci_context_id(make_context(make_group(job.runtime(rank), {2, 1, 0})), &op.tag));
    uint64_t posted = 0, ended = 0;
    while (ended < kBarriers) {
      lci_descriptor* added = nullptr;
      if (posted < kBarriers && posted - ended < 3) added = &lane.add(op);
      const int code = lane.enter();
      if (added) {
        EXPECT_EQ(LCI_POSTED, added->outcome);
        ++posted;
      }
      const uint32_t records = lane.read([&](const lci_record& record) {
        EXPECT_EQ(LCI_RECORD_OP, record.kind);
        EXPECT_EQ(LCI_DONE, record.code);
        ++ended;
      });
      if (code == LCI_DONE || records != 0 || added) continue;
      EXPECT_EQ(LCI_DONE, lci_lane_park(lane.handle(), kLong)) << "nobody woke it";
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) threads.emplace_back(loop, rank);
  for (std::thread& thread : threads) thread.join();
  for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(0u, job.counter(rank, "late_wakes"));
}

/// Posts the next barrier when one has ended, within the signal.
struct Chain {
  lci_context* context;
  lci_comp* handler = nullptr;
  uint32_t left;
  uint32_t ended = 0;
};

TEST(GroupBarrier, AHandlerPostsTheNextOne) {
  Job job(3);
  std::vector<Chain> chains;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    chains.push_back({make_context(make_group(job.runtime(rank), {0, 1, 2})), nullptr, 200});
  }
  const auto next = [](const lci_status* status, void* argument) {
    auto& chain = *static_cast<Chain*>(argument);
    EXPECT_EQ(LCI_DONE, status->code);
    EXPECT_EQ(chain.ended++, status->tag);
    if (--chain.left == 0) return;
    EXPECT_EQ(LCI_POSTED, lci_post_group_barrier(chain.context, chain.handler, 0));
  };
  for (uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), next, &chains[rank], &chains[rank].handler));
    ASSERT_EQ(LCI_POSTED, lci_post_group_barrier(chains[rank].context, chains[rank].handler, 0));
  }
  EXPECT_TRUE(until(job, [&] {
    return std::all_of(chains.begin(), chains.end(), [](const Chain& chain) { return chain.ended == 200; });
  }));
}

TEST(GroupBarrier, ArgumentsAreChecked) {
  Job job(3, {{"devices", "2"}});
  lci_runtime* const runtime = job.runtime(0);
  lci_group* group = nullptr;
  const uint32_t twice[] = {0, 1, 0}, without[] = {1, 2}, outside[] = {0, 3};
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_group_create(runtime, twice, 3, 0, &group));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_group_create(runtime, without, 2, 0, &group));
  EXPECT_EQ(LCI_ERR_RANK, lci_group_create(runtime, outside, 2, 0, &group));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_group_create(runtime, twice, 0, 0, &group));
  group = make_group(runtime, {2, 0});
  lci_group_state state{};
  ASSERT_EQ(LCI_DONE, lci_group_info(group, &state));
  EXPECT_EQ(2u, state.size);
  EXPECT_EQ(1u, state.own);
  EXPECT_NE(0u, state.id);
  uint32_t rank = 0;
  EXPECT_EQ(LCI_DONE, lci_group_rank(group, 0, &rank));
  EXPECT_EQ(2u, rank);
  EXPECT_EQ(LCI_ERR_RANK, lci_group_rank(group, 2, &rank));
  lci_context* context = nullptr;
  EXPECT_EQ(LCI_ERR_DEVICE, lci_context_create(group, 0, 2, &context));
  EXPECT_EQ(nullptr, context);
  context = make_context(group, 0, 1);
  uint64_t id = 0;
  ASSERT_EQ(LCI_DONE, lci_context_id(context, &id));
  lci_comp* const ended = make_queue(runtime);
  lci_descriptor op{};
  op.op = LCI_OP_COLLECTIVE;
  op.port = LCI_COLLECTIVE_BARRIER;
  op.tag = id;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0), &op, ended, nullptr)) << "it is on the other device";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0, 1), &op, nullptr, nullptr)) << "nobody would be told";
  lci_failure failure{};
  EXPECT_EQ(LCI_RETRY, lci_context_failure(context, &failure));
  EXPECT_EQ(LCI_POSTED, lci_post(job.device(0, 1), &op, ended, nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_ERR_BUSY, lci_context_free(context));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_context_revoke(context, LCI_RETRY));
  ASSERT_EQ(LCI_DONE, lci_context_revoke(context, LCI_ERR_CANCELLED));
  lci_status status{};
  while (lci_queue_pop(ended, &status) != LCI_DONE) lci_progress(job.device(0, 1));
  EXPECT_EQ(LCI_DONE, lci_context_free(context));
  op.tag = id;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(job.device(0, 1), &op, ended, nullptr)) << "it is gone";
  EXPECT_EQ(LCI_DONE, lci_group_free(group));
}

TEST(GroupBarrier, AContextThatIsForgottenLeavesNothing) {
  Job job(1);
  lci_group* const group = make_group(job.runtime(0), {0});
  const auto made = [&](uint64_t* id) {
    lci_context* const context = make_context(group, 5);
    EXPECT_EQ(LCI_DONE, lci_context_id(context, id));
    return context;
  };
  uint64_t first = 0, again = 0, third = 0;
  EXPECT_EQ(LCI_DONE, lci_context_forget(made(&first)));
  EXPECT_EQ(LCI_DONE, lci_context_free(made(&again)));
  EXPECT_EQ(LCI_DONE, lci_context_free(made(&third)));
  EXPECT_EQ(first, again) << "no life before is known";
  EXPECT_NE(again, third);
  EXPECT_EQ(LCI_DONE, lci_context_forget(nullptr));
  EXPECT_EQ(LCI_DONE, lci_group_free(group));
}

}  // namespace
}  // namespace lci_test
