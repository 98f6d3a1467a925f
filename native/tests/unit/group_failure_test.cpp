// SPDX-License-Identifier: Apache-2.0
// What ends the calls of a context: members that call something else, give it up, die or leave. Each call that is under
// way ends, at all members, and later ones fail at once.
#include <array>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "api/handles.hpp"
#include "support/groups.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

using lci::CallHeader;

struct Difference {
  const char* field;
  std::function<void(CallHeader&)> make;
};

std::vector<Difference> differences() {
  return {{"kind", [](CallHeader& call) { call.kind = 2; }},
          {"op", [](CallHeader& call) { call.op = 1; }},
          {"type", [](CallHeader& call) { call.type = 1; }},
          {"algorithm", [](CallHeader& call) { call.algorithm = 1; }},
          {"root", [](CallHeader& call) { call.root = 1; }},
          {"segment bytes", [](CallHeader& call) { call.segment_bytes = 1; }},
          {"count", [](CallHeader& call) { call.count = uint64_t{1} << 40; }},
          {"hash", [](CallHeader& call) { call.hash = uint64_t{1} << 63; }}};
}

// Proves: J14
// On: inproc
TEST(GroupFailure, ACallThatDiffersInAnyFieldEndsOnAll) {
  for (const Difference& difference : differences()) {
    for (const auto& [size, memory] : {std::pair{2u, "all"}, {3u, "all"}, {6u, "all"}, {2u, "rings"}, {6u, "rings"}}) {
      SCOPED_TRACE(std::string(difference.field) + " of " + std::to_string(size) + ", " + memory);
      Job job(size, {{"peer_memory", memory}});
      GroupContext group(job, first_ranks(size));
      group.post_all();
      ASSERT_TRUE(group.await(1));
      difference.make(lci::from_handle(group.members[size - 1].context)->barrier);
      group.post_all();
      ASSERT_TRUE(group.await(2));
      for (const auto& member : group.members) {
        EXPECT_EQ(LCI_DONE, member.ends[0].code);
        EXPECT_EQ(LCI_ERR_MISMATCH, member.ends[1].code);
        lci_failure failure{};
        ASSERT_EQ(LCI_DONE, lci_context_failure(member.context, &failure));
        EXPECT_EQ(LCI_ERR_MISMATCH, failure.code);
        EXPECT_EQ(1u, failure.sequence);
        EXPECT_TRUE(failure.ranks[0] == size - 1 || failure.ranks[1] == size - 1);
        EXPECT_NE(failure.ranks[0], failure.ranks[1]);
        EXPECT_NE(0, std::memcmp(&failure.calls[0], &failure.calls[1], sizeof failure.calls[0]));
        EXPECT_EQ(LCI_ERR_MISMATCH, lci_post_group_barrier(member.context, member.ended, 2)) << "it fails at once";
        EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
      }
      if (HasFailure()) return;
    }
  }
}

// A member that comes to a call later than a message of it finds the difference when it posts.
TEST(GroupFailure, AMessageThatWaitedIsComparedToo) {
  Job job(2);
  GroupContext group(job, {0, 1});
  lci::from_handle(group.members[0].context)->barrier.root = 1;
  ASSERT_EQ(LCI_POSTED, group.post(0));
  job.settle();
  ASSERT_EQ(LCI_POSTED, group.post(1));
  ASSERT_TRUE(group.await(1));
  for (const auto& member : group.members) EXPECT_EQ(LCI_ERR_MISMATCH, member.ends[0].code);
  lci_failure failure{};
  ASSERT_EQ(LCI_DONE, lci_context_failure(group.members[1].context, &failure));
  EXPECT_EQ(1u, failure.ranks[0]) << "it was the first to see it";
}

// Calls before the one that differs are nobody's fault.
TEST(GroupFailure, EarlierCallsGoOn) {
  Job job(3, {{"peer_memory", "rings"}});  // so that messages of later calls come
  GroupContext group(job, {0, 1, 2});
  for (const uint32_t member : {0u, 1u}) {
    for (int i = 0; i < 3; ++i) ASSERT_EQ(LCI_POSTED, group.post_until_taken(member));
    if (member == 1) lci::from_handle(group.members[1].context)->barrier.root = 1;
    ASSERT_EQ(LCI_POSTED, group.post_until_taken(member));
  }
  job.settle();
  group.look();
  for (const uint32_t member : {0u, 1u}) {
    ASSERT_EQ(1u, group.members[member].ends.size());
    EXPECT_EQ(LCI_ERR_MISMATCH, group.members[member].ends[0].code);
    EXPECT_EQ(3u, group.members[member].ends[0].tag);
  }
  for (int i = 0; i < 3; ++i) ASSERT_EQ(LCI_POSTED, group.post_until_taken(2)) << lci_last_error();
  ASSERT_TRUE(until(job, [&] {
    group.look();
    return group.members[0].ends.size() == 4 && group.members[1].ends.size() == 4 && group.members[2].ends.size() == 3;
  }));
  for (const auto& member : group.members) {
    for (const lci_status& end : member.ends) EXPECT_EQ(end.tag == 3 ? LCI_ERR_MISMATCH : LCI_DONE, end.code);
  }
  EXPECT_EQ(LCI_ERR_MISMATCH, group.post(2));
}

TEST(GroupFailure, AContextThatIsGivenUpEndsOnAll) {
  Job job(4);
  GroupContext group(job, {0, 1, 2, 3}), other(job, {0, 1, 2, 3}, 1);
  for (const uint32_t member : {0u, 1u, 2u}) ASSERT_EQ(LCI_POSTED, group.post(member));
  job.settle();
  ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[3].context, LCI_ERR_TRUNCATED));
  ASSERT_EQ(LCI_DONE, lci_context_free(group.members[3].context)) << "it need not stay for that";
  ASSERT_TRUE(until(job, [&] {
    group.look();
    return std::all_of(group.members.begin(), group.members.begin() + 3, [](auto& of) { return of.ends.size() == 1; });
  }));
  for (const uint32_t member : {0u, 1u, 2u}) {
    const lci_status& end = group.members[member].ends[0];
    EXPECT_EQ(LCI_ERR_COLLECTIVE, end.code);
    EXPECT_EQ(3u, end.rank);
    EXPECT_EQ(static_cast<uint64_t>(LCI_ERR_TRUNCATED), end.size);
    EXPECT_EQ(LCI_ERR_COLLECTIVE, group.post(member));
    EXPECT_EQ(3, lci_last_error_rank());
  }
  other.post_all();
  EXPECT_TRUE(other.await(1)) << "of another context nothing has changed";
}

// It was told before it had the context, and is told again.
TEST(GroupFailure, AMemberThatComesLateHearsOfIt) {
  for (const bool freed : {false, true}) {
    SCOPED_TRACE(freed);
    Job job(3);
    GroupContext group(job, {0, 1, 2}, 0, false);
    group.open(0);
    group.open(1);
    ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[0].context, LCI_ERR_CANCELLED));
    job.settle();
    EXPECT_EQ(LCI_ERR_COLLECTIVE, group.post(1));
    for (const uint32_t member : {0u, 1u}) {
      if (!freed) break;
      ASSERT_EQ(LCI_DONE, lci_context_free(group.members[member].context));
    }
    job.settle();
    group.open(2);
    ASSERT_EQ(LCI_POSTED, group.post(2));
    ASSERT_TRUE(until(job, [&] {
      group.look();
      return group.members[2].ends.size() == 1;
    }));
    EXPECT_EQ(LCI_ERR_COLLECTIVE, group.members[2].ends[0].code);
    EXPECT_EQ(0u, group.members[2].ends[0].rank);
  }
}

// However many have ended with it: as many as a rank may have.
TEST(GroupFailure, AMemberThatComesLateHearsOfEachOfMany) {
  constexpr uint64_t kContexts = 1024;
  Job job(2);
  lci_group* const group = make_group(job.runtime(0), {0, 1});
  std::vector<lci_context*> contexts;
  for (uint64_t key = 0; key < kContexts; ++key) contexts.push_back(make_context(group, key));
  for (lci_context* context : contexts) ASSERT_EQ(LCI_DONE, lci_context_revoke(context, LCI_ERR_CANCELLED));
  job.settle();
  for (lci_context* context : contexts) ASSERT_EQ(LCI_DONE, lci_context_free(context)) << lci_last_error();
  job.settle();
  for (uint64_t key = 0; key < kContexts; key += 100) {
    SCOPED_TRACE(key);
    GroupContext late(job, {0, 1}, key, false);
    late.open(1);
    ASSERT_EQ(LCI_POSTED, late.post(1)) << lci_last_error();
    ASSERT_TRUE(until(job, [&] {
      late.look();
      return late.members[1].ends.size() == 1;
    }));
    EXPECT_EQ(LCI_ERR_COLLECTIVE, late.members[1].ends[0].code);
  }
}

// Also one that says nothing to anybody, and asks nobody.
TEST(GroupFailure, AMemberThatComesLateAndOnlyReceivesHearsOfIt) {
  for (const bool freed : {false, true}) {
    SCOPED_TRACE(freed);
    Job job(2, {{"peer_memory", "rings"}, {"coll_stall_ms", "0"}});
    GroupContext group(job, {0, 1}, 0, false);
    group.open(0);
    ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[0].context, LCI_ERR_CANCELLED));
    job.settle();
    if (freed) {
      ASSERT_EQ(LCI_DONE, lci_context_free(group.members[0].context));
    }
    job.settle();
    group.open(1);
    int32_t word = 0;
    lci_collective broadcast{};
    broadcast.kind = LCI_COLLECTIVE_BROADCAST;
    broadcast.type = LCI_TYPE_I32;
    broadcast.out = &word;
    broadcast.count = 1;
    ASSERT_EQ(LCI_POSTED, lci_post_collective(group.members[1].context, &broadcast, group.members[1].ended, 0))
        << lci_last_error();
    lci_status status{};
    ASSERT_TRUE(until(job, [&] { return lci_queue_pop(group.members[1].ended, &status) == LCI_DONE; }));
    EXPECT_EQ(LCI_ERR_COLLECTIVE, status.code);
    EXPECT_EQ(0u, status.rank);
  }
}

// Proves: J15
// On: inproc
TEST(GroupFailure, ADeathAtAnyTimeEndsWhatIsUnderWay) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const uint32_t size = 2 + static_cast<uint32_t>(random() % 5);
    Job job(size + 1, {{"chaos", "seed=" + std::to_string(seed) + ",delay=0.3,ticks=8"}});
    GroupContext group(job, first_ranks(size));
    const auto victim = static_cast<uint32_t>(random() % size);
    for (uint64_t steps = random() % 400; steps != 0; --steps) {
      const auto member = static_cast<uint32_t>(random() % size);
      if (group.members[member].posted < 40) group.post(member);
      lci_progress(job.device(member));
      group.look();
    }
    job.close(victim, 0);
    ASSERT_TRUE(until(job, [&] {
      group.look();
      bool all = true;
      for (const auto& of : group.members) all &= of.rank == victim || of.ends.size() == of.posted;
      return all;
    }));
    for (auto& of : group.members) {
      if (of.rank == victim) continue;
      for (const lci_status& end : of.ends) {
        if (end.code == LCI_DONE) continue;
        EXPECT_EQ(LCI_ERR_PEER_FAILED, end.code);
        EXPECT_EQ(victim, end.rank);
      }
      lci_failure failure{};
      EXPECT_TRUE(until(job, [&] { return lci_context_failure(of.context, &failure) == LCI_DONE; }));
      EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post_group_barrier(of.context, of.ended, of.posted));
      EXPECT_EQ(0u, job.counter(of.rank, "protocol_errors"));
    }
    if (HasFailure()) return;
  }
}

// Proves: J15
// On: inproc
// It completed them: that others have not is no error.
TEST(GroupFailure, AMemberThatLeavesEndsOnlyWhatItHasNotCompleted) {
  for (uint32_t run = 0; run < 8; ++run) {
    const uint32_t size = std::array{2u, 3u, 5u, 9u}[run / 2];
    SCOPED_TRACE(size);
    Job job(size, {{"chaos", size % 2 == 0 ? "" : "seed=5,delay=0.3,ticks=8"},
                   {"peer_memory", run % 2 == 0 ? "all" : "rings"}});
    GroupContext group(job, first_ranks(size));
    for (int i = 0; i < 5; ++i) group.post_all();
    auto& leaver = group.members[size - 1];
    ASSERT_TRUE(until(job, [&] {
      group.look();
      return leaver.ends.size() == 5;
    }));
    for (uint32_t member = 0; member + 1 < size; ++member) ASSERT_EQ(LCI_POSTED, group.post_until_taken(member));
    job.close(leaver.rank, 10'000);
    ASSERT_TRUE(group.await(6));
    for (const auto& of : group.members) {
      if (of.rank == size - 1) continue;
      for (const lci_status& end : of.ends) {
        EXPECT_EQ(end.tag < 5 ? LCI_DONE : LCI_ERR_PEER_LEFT, end.code) << of.rank << ", call " << end.tag;
        EXPECT_TRUE(end.tag < 5 || end.rank == size - 1);
      }
      EXPECT_EQ(LCI_ERR_PEER_LEFT, lci_post_group_barrier(of.context, of.ended, 6));
    }
  }
}

// Members that have no message from it to wait for hear of it from one that has.
TEST(GroupFailure, ACallWithoutAMemberThatLeftEndsOnAllThatPostIt) {
  Job job(9);
  GroupContext group(job, first_ranks(9));
  group.post_all();
  ASSERT_TRUE(group.await(1));
  job.close(8, 10'000);
  ASSERT_TRUE(until(job, [&] { return job.counter(0, "peers_left") == 1; }));
  uint32_t posted = 0;
  for (uint32_t member = 0; member < 8; ++member) {
    const int code = group.post(member);
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_ERR_PEER_LEFT) << code;
    posted += code == LCI_POSTED;
  }
  EXPECT_LT(posted, 8u);
  EXPECT_TRUE(until(job, [&] {
    group.look();
    uint32_t ended = 0;
    for (uint32_t member = 0; member < 8; ++member) ended += group.members[member].ends.size() == 2;
    return ended == posted;
  }));
}

// The runtime waits for what is under way.
TEST(GroupFailure, AGracefulCloseWaitsForCalls) {
  Job job(2);
  GroupContext group(job, {0, 1});
  ASSERT_EQ(LCI_POSTED, group.post(0));
  std::thread closing([&] { job.close(0, 30'000); });
  ASSERT_EQ(LCI_POSTED, lci_post_group_barrier(group.members[1].context, group.members[1].ended, 0));
  lci_status status{};
  while (lci_queue_pop(group.members[1].ended, &status) != LCI_DONE) lci_progress(job.device(1));
  closing.join();
  EXPECT_EQ(LCI_DONE, status.code);
  int32_t state = 0;
  while (lci_runtime_peer(job.runtime(1), 0, &state) == LCI_DONE && state == LCI_PEER_ALIVE) {
    lci_progress(job.device(1));
  }
  EXPECT_EQ(LCI_PEER_LEFT, state);
}

TEST(GroupFailure, WhatIsUnderWayIsCancelledWhenTheRuntimeCloses) {
  Job job(2);
  GroupContext group(job, {0, 1});
  uint32_t codes = 0;
  lci_comp* handler = nullptr;
  const auto note = [](const lci_status* status, void* seen) {
    *static_cast<uint32_t*>(seen) = static_cast<uint32_t>(status->code);
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), note, &codes, &handler));
  ASSERT_EQ(LCI_POSTED, lci_post_group_barrier(group.members[0].context, handler, 0));
  job.close(0, 0);
  EXPECT_EQ(static_cast<uint32_t>(LCI_ERR_CANCELLED), codes);
}

}  // namespace
}  // namespace lci_test
