// SPDX-License-Identifier: Apache-2.0
// Short calls of members that read each other's memory: they look at each other's boards.
#include <string>
#include <thread>

#include "api/handles.hpp"
#include "support/collectives.hpp"
#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

/// Also where the environment says something else.
const std::pair<std::string, std::string> kReadAll{"peer_memory", "all"};

CollectiveCase sum_of(uint64_t count) {
  CollectiveCase made;
  made.kind = LCI_COLLECTIVE_ALLREDUCE;
  made.count = count;
  return made;
}

int post(GroupContext& group, uint32_t member, const lci_collective& call) {
  auto& of = group.members[member];
  const int code = lci_post_collective(of.context, &call, of.ended, of.posted);
  of.posted += code == LCI_POSTED;
  return code;
}

// Proves: J2
TEST(CollectiveBoards, BringTheSumsOfAllAtAnyOrderOfPosts) {
  for (const uint32_t size : {2u, 3u, 8u, 16u}) {
    SCOPED_TRACE(size);
    std::mt19937_64 random(size);
    Job job(size, {kReadAll});
    GroupContext group(job, first_ranks(size));
    CollectiveCalls calls(job, group);
    for (const uint64_t count : {1, 2, 3, 128}) {
      for (const auto kind : {LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_ALLGATHER}) {
        CollectiveCase of = sum_of(count);
        of.kind = kind;
        of.algorithm = LCI_ALGORITHM_ARENA_SLOTS;
        calls.add(of);
        of.in_place = of.may_be_in_place();
        calls.add(of);
      }
      CollectiveCase barrier;
      barrier.algorithm = LCI_ALGORITHM_ARENA_LINE;
      calls.add(barrier);
    }
    calls.run(10, random);
    for (uint32_t i = 0; i < size; ++i) EXPECT_EQ(0u, job.counter(i, "protocol_errors"));
  }
}

// Calls that go over messages take no turn.
TEST(CollectiveBoards, MayBeMixedWithMessages) {
  std::mt19937_64 random(3);
  Job job(4, {kReadAll});
  GroupContext group(job, first_ranks(4));
  CollectiveCalls calls(job, group);
  for (int i = 0; i < 200; ++i) calls.add(any_case(random, 4, {0, 1, 128, 129, 3000}));
  calls.run(20, random);
}

TEST(CollectiveBoards, ChaosHoldsBackWhatIsShown) {
  uint64_t delayed = 0;
  for (const char* seed : {"1", "2", "3"}) {
    std::mt19937_64 random(1);
    Job job(3, {{"chaos", std::string("seed=") + seed + ",delay=0.5,ticks=20"}, kReadAll});
    GroupContext group(job, first_ranks(3));
    CollectiveCalls calls(job, group);
    for (int i = 0; i < 40; ++i) calls.add(sum_of(1));
    calls.run(5, random);
    delayed += job.counter(0, "chaos_delayed");
  }
  EXPECT_LT(20u, delayed) << "of 120";
}

/// In a barrier, in which each member asks the others once: later calls are not asked after.
void wait_for_a_while(Job& job, GroupContext& group) {
  const auto count = static_cast<uint32_t>(group.members.size());
  for (uint32_t late = 0; late < count; ++late) {
    for (uint32_t i = 0; i < count; ++i) {
      if (i == late) continue;
      EXPECT_EQ(LCI_POSTED, group.post(i));
    }
    const uint64_t until = lci::now_ns() + 20'000'000;
    while (lci::now_ns() < until) job.progress();
    EXPECT_EQ(LCI_POSTED, group.post(late));
    EXPECT_TRUE(group.await(late + 1));
  }
  for (auto& member : group.members) member.ends.resize(1);
}

/// A call of one member, and another one of the rest, of which none sends the other anything.
void expect_difference(const lci_collective& ours, const lci_collective& theirs) {
  for (const uint32_t size : {2u, 4u}) {
    Job job(size, {{"coll_stall_ms", "0"}, kReadAll});  // nobody asks
    GroupContext group(job, first_ranks(size));
    wait_for_a_while(job, group);
    for (uint32_t i = 0; i < size; ++i) ASSERT_EQ(LCI_POSTED, post(group, i, i == 0 ? ours : theirs));
    ASSERT_TRUE(group.await(2));
    for (const auto& member : group.members) EXPECT_EQ(LCI_ERR_MISMATCH, member.ends[1].code);
    lci_failure failure{};
    ASSERT_EQ(LCI_DONE, lci_context_failure(group.members[0].context, &failure));
    EXPECT_NE(0, std::memcmp(&failure.calls[0], &failure.calls[1], sizeof failure.calls[0]));
  }
}

// Proves: J14
TEST(CollectiveBoards, CallsThatDifferAreFound) {
  lci_collective barrier{};
  barrier.kind = LCI_COLLECTIVE_BARRIER;
  lci_collective other = barrier;
  other.algorithm = LCI_ALGORITHM_DISSEMINATION;
  expect_difference(barrier, other);
  expect_difference(other, barrier);
  int64_t out[2] = {};
  lci_collective receives{};  // and sends nothing
  receives.kind = LCI_COLLECTIVE_BROADCAST;
  receives.type = LCI_TYPE_I64;
  receives.count = 1;
  receives.out = out;
  expect_difference(barrier, receives);
  lci_collective sum = receives;
  sum.kind = LCI_COLLECTIVE_ALLREDUCE;
  sum.op = LCI_REDUCE_SUM;
  int64_t in[2] = {};
  sum.in = in;
  expect_difference(barrier, sum);
  lci_collective longer = sum;
  longer.count = 2;
  expect_difference(sum, longer);
}

// A board is used again, so that any number of contexts needs no more of them than there are at a time.
TEST(CollectiveBoards, AreUsedAgain) {
  Job job(2, {kReadAll});
  uint64_t before = 0;
  for (uint64_t key = 1; key <= 300; ++key) {
    GroupContext group(job, {0, 1}, key);
    group.post_all();
    ASSERT_TRUE(group.await(1));
    for (auto& member : group.members) ASSERT_EQ(LCI_DONE, lci_context_free(member.context));
    job.settle();
    auto& memory = lci::from_handle(job.device(0))->parts().memory();
    const uint64_t here = memory.allocate(64);
    ASSERT_NE(0u, here);
    if (key == 10) before = here;
    if (key == 300) {
      EXPECT_GE((300 - 10) * 64u + 4 * sizeof(lci::Board), here - before);
    }
  }
}

// The loop says that it is to be entered, since nothing rings a bell.
TEST(CollectiveBoards, ALoopEntersWhileItWaitsAndIsWokenWhenItSleeps) {
  Job job(2, {kReadAll});
  GroupContext group(job, {0, 1});
  LaneDriver lane(job, 0);
  lci_descriptor op{};
  op.op = LCI_OP_COLLECTIVE;
  op.port = LCI_COLLECTIVE_BARRIER;
  ASSERT_EQ(LCI_DONE, lci_context_id(group.members[0].context, &op.tag));
  for (int i = 0; i < 20; ++i) {
    lane.add(op);
    lane.enter();
    EXPECT_EQ(1u, lane.control().must_enter);
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      EXPECT_EQ(LCI_POSTED, group.post(1));
      while (group.members[1].ends.size() <= static_cast<size_t>(i)) {
        lci_progress(job.device(1));
        lci_status status{};
        if (lci_queue_pop(group.members[1].ended, &status) == LCI_DONE) group.members[1].ends.push_back(status);
      }
    });
    uint32_t records = 0;
    for (const lci::test::Deadline deadline(60); records == 0 && !deadline.passed();) {
      lane.park_word().store(1);
      lci_lane_park(lane.handle(), 1'000'000'000);
      lane.enter();
      records += lane.read([](const lci_record& record) { EXPECT_EQ(LCI_DONE, record.code); });
    }
    other.join();
    EXPECT_EQ(1u, records);
  }
  EXPECT_EQ(0u, lane.control().late_wakes) << "a wake was lost";
}

lci::Device& core(Job& job, uint32_t rank) {
  return *lci::from_handle(job.device(rank));
}

lci::Boards& boards(Job& job, uint32_t rank) {
  return core(job, rank).parts().transport.boards();
}

/// That of a context at a member, for what an honest member does not do.
lci::Board* board_of(Job& job, GroupContext& group, uint32_t member) {
  uint64_t id = 0;
  EXPECT_EQ(LCI_DONE, lci_context_id(group.members[member].context, &id));
  uint32_t looked = 0;
  lci::PeerMemory* memory = nullptr;
  const uint32_t other = member == 0 ? 1 : 0;
  EXPECT_EQ(LCI_DONE, core(job, other).parts().peers.memory(member, "test", &memory)) << lci_last_error();
  auto* const found = const_cast<lci::Board*>(lci::Boards::find(*memory, id, &looked));
  EXPECT_NE(nullptr, found);
  return found;
}

void progress(Job& job, uint32_t rank, int passes = 100) {
  for (int i = 0; i < passes; ++i) lci_progress(job.device(rank));
}

// Members 0 and 1 have shown a call, and none has seen it through.
TEST(CollectiveBoards, OfContextsThatFailedInTheMiddleOfATurnAreUsedAgain) {
  Job job(3, {kReadAll});
  for (uint64_t key = 1; key <= 10; ++key) {
    GroupContext group(job, first_ranks(3), key);
    for (const uint32_t member : {0u, 1u}) ASSERT_EQ(LCI_POSTED, group.post(member));
    job.settle();
    ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[0].context, LCI_ERR_TIMEOUT));
    ASSERT_TRUE(until(job, [&] {
      group.look();
      return group.members[0].ends.size() == 1 && group.members[1].ends.size() == 1;
    }));
    for (auto& member : group.members) ASSERT_EQ(LCI_DONE, lci_context_free(member.context));
    job.settle();
  }
  GroupContext group(job, first_ranks(3), 11);
  group.post_all();
  ASSERT_TRUE(group.await(1));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(0u, boards(job, i).waiting()) << i;
}

// Its process may live, and read.
TEST(CollectiveBoards, WaitForWhoIsTreatedAsFailedUntilItHasEnded) {
  Job job(3, {kReadAll});
  GroupContext group(job, first_ranks(3));
  for (const uint32_t member : {0u, 1u}) ASSERT_EQ(LCI_POSTED, group.post(member));
  progress(job, 0);
  job.runtime(0)->runtime->peers().treat_as_gone(1, lci::RankState::kFailed);
  ASSERT_TRUE(until(job, [&] {
    group.look();
    return group.members[0].ends.size() == 1;
  }));
  ASSERT_EQ(LCI_DONE, lci_context_free(group.members[0].context));
  progress(job, 0);
  EXPECT_EQ(1u, boards(job, 0).waiting());
  job.close(1, 0);
  GroupContext rest(job, {0, 2});
  rest.post_all();
  ASSERT_TRUE(rest.await(1));
  ASSERT_TRUE(until(job, [&] { return core(job, 0).parts().peers.has_ended(1); }));
  for (auto& member : rest.members) ASSERT_EQ(LCI_DONE, lci_context_free(member.context));
  job.settle();
  EXPECT_EQ(0u, boards(job, 0).waiting());
}

// What a member shows is a peer's word, and may change at any time.
TEST(CollectiveBoards, ACallThatDiffersMayGoAgain) {
  Job job(3, {{"coll_stall_ms", "0"}, kReadAll});
  GroupContext group(job, first_ranks(3));
  lci_collective barrier{};
  barrier.kind = LCI_COLLECTIVE_BARRIER;
  int64_t in[3] = {}, out[3] = {};
  lci_collective sum{};
  sum.kind = LCI_COLLECTIVE_ALLREDUCE;
  sum.type = LCI_TYPE_I64;
  sum.op = LCI_REDUCE_SUM;
  sum.count = 1;
  sum.in = &in[1];
  sum.out = &out[1];
  ASSERT_EQ(LCI_POSTED, post(group, 0, barrier));
  ASSERT_EQ(LCI_POSTED, post(group, 1, sum));
  lci_progress(job.device(0));
  board_of(job, group, 1)->slots[0].shown.store(0);
  ASSERT_EQ(LCI_POSTED, post(group, 2, barrier));
  for (auto& member : group.members) {
    lci_status status{};
    ASSERT_TRUE(pop(job, member.ended, &status));
    EXPECT_EQ(LCI_ERR_MISMATCH, status.code) << member.rank;
  }
}

// Rank 1 has given its context up, and its board away, while rank 0 still waits for rank 2.
TEST(CollectiveBoards, ABoardThatHasChangedHandsBringsNoResult) {
  for (const auto kind : {LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_ALLGATHER}) {
    Job job(3, {{"coll_stall_ms", "0"}, kReadAll});
    GroupContext group(job, first_ranks(3));
    std::vector<int64_t> in{1, 2, 3}, out(9);
    lci_collective sum{};
    sum.kind = kind;
    sum.type = LCI_TYPE_I64;
    sum.op = kind == LCI_COLLECTIVE_ALLREDUCE ? LCI_REDUCE_SUM : 0;
    sum.count = 1;
    const auto post_one = [&](uint32_t member) {
      sum.in = &in[member];
      sum.out = &out[size_t{3} * member];
      ASSERT_EQ(LCI_POSTED, post(group, member, sum)) << lci_last_error();
    };
    post_one(0);
    post_one(1);
    lci_progress(job.device(0));
    lci::Board* const board = board_of(job, group, 1);
    board->give_to(77);
    const int64_t other = 1000;
    board->show(0, 0, {.kind = static_cast<uint8_t>(kind)}, &other, sizeof other);
    post_one(2);
    progress(job, 0);
    group.look();
    EXPECT_TRUE(group.members[0].ends.empty()) << "with what is of another context";
    EXPECT_FALSE(core(job, 0).has_work()) << "there is nothing to do until the context has failed";
    ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[1].context, LCI_ERR_TIMEOUT));
    ASSERT_TRUE(until(job, [&] {
      group.look();
      return group.members[0].ends.size() == 1;
    }));
    EXPECT_EQ(LCI_ERR_COLLECTIVE, group.members[0].ends[0].code);
  }
}

// The broadcast of rank 1 goes on when that makes a pass; the barrier behind it needs none.
TEST(CollectiveBoards, ABarrierBehindALongCallIsWorkWhenAllHaveShownIt) {
  Job job(2, {kReadAll});
  GroupContext group(job, {0, 1});
  std::vector<uint8_t> bytes[2] = {std::vector<uint8_t>(1 << 20), std::vector<uint8_t>(1 << 20)};
  const auto post_both = [&](uint32_t member) {
    lci_collective call{};
    call.kind = LCI_COLLECTIVE_BROADCAST;
    call.type = LCI_TYPE_U8;
    call.root = 1;
    call.count = bytes[member].size();
    call.out = bytes[member].data();
    ASSERT_EQ(LCI_POSTED, post(group, member, call)) << lci_last_error();
    ASSERT_EQ(LCI_POSTED, group.post(member)) << lci_last_error();
  };
  post_both(0);
  progress(job, 0);
  EXPECT_FALSE(core(job, 0).has_work());
  post_both(1);
  EXPECT_TRUE(core(job, 0).has_work());
  EXPECT_TRUE(core(job, 0).short_pass());
  group.look();
  ASSERT_EQ(1u, group.members[0].ends.size());
  EXPECT_EQ(1u, group.members[0].ends[0].user_context) << "the barrier";
  EXPECT_TRUE(group.await(2));
}

// The second of two has its turn when the first is over.
TEST(CollectiveBoards, AShortPassAsksForThePassInWhichTheNextIsShown) {
  Job job(2, {kReadAll});
  GroupContext group(job, {0, 1});
  for (const uint32_t member : {0u, 0u, 1u, 1u}) {
    ASSERT_EQ(LCI_POSTED, group.post(member));
    if (group.members[0].posted == 2 && group.members[1].posted == 0) progress(job, 0);
  }
  ASSERT_TRUE(core(job, 0).short_pass());
  group.look();
  ASSERT_EQ(1u, group.members[0].ends.size());
  EXPECT_TRUE(core(job, 0).has_work()) << "it is to be shown";
  EXPECT_TRUE(group.await(2));
}

TEST(CollectiveBoards, WhatChaosHoldsBackIsWork) {
  Job job(2, {{"chaos", "seed=1,delay=1,ticks=20"}, kReadAll});
  GroupContext group(job, {0, 1});
  ASSERT_EQ(LCI_POSTED, group.post(0));
  const lci::Board* const board = board_of(job, group, 0);
  uint64_t id = 0;
  ASSERT_EQ(LCI_DONE, lci_context_id(group.members[0].context, &id));
  int passes = 0;
  for (; !board->look(0, id, 0) && passes < 100; ++passes) {
    ASSERT_TRUE(core(job, 0).has_work()) << passes;
    lci_progress(job.device(0));
  }
  EXPECT_LT(0, passes);
  EXPECT_GT(100, passes);
  ASSERT_EQ(LCI_POSTED, group.post(1));
  EXPECT_TRUE(group.await(1));
}

}  // namespace
}  // namespace lci_test
