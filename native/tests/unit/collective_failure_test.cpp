// SPDX-License-Identifier: Apache-2.0
// Calls with data that end badly: members that call something else, give the call up, die, or leave when they are done.
// A member whose call has ended gets nothing more: its memory goes then, so that the sanitizers see it.
#include <functional>
#include <random>
#include <string>

#include "support/background.hpp"
#include "support/collective_failures.hpp"

namespace lci_test {
namespace {

/// What one member calls, and what another one does.
struct Difference {
  const char* what;
  CollectiveCase ours;
  CollectiveCase theirs;
};

std::vector<Difference> differences() {
  CollectiveCase sum;
  sum.kind = LCI_COLLECTIVE_ALLREDUCE;
  sum.count = 20;
  const auto with = [](CollectiveCase of, const std::function<void(CollectiveCase&)>& change) {
    change(of);
    return of;
  };
  CollectiveCase blocks = sum;
  blocks.kind = LCI_COLLECTIVE_ALLGATHER;
  CollectiveCase pairs = sum;
  pairs.kind = LCI_COLLECTIVE_ALLTOALL;
  pairs.listed = true;
  const auto kind = [](lci_collective_kind of) { return [of](CollectiveCase& call) { call.kind = of; }; };
  const auto count = [](uint64_t of) { return [of](CollectiveCase& call) { call.count = of; }; };
  const auto algorithm = [](uint32_t of) { return [of](CollectiveCase& call) { call.algorithm = of; }; };
  return {
      {"kind", sum, with(sum, kind(LCI_COLLECTIVE_ALLGATHER))},
      {"barrier", sum, CollectiveCase{}},
      {"count", sum, with(sum, count(19))},
      {"count, short and long", sum, with(sum, count(21))},
      {"count, both long", with(sum, count(1000)), with(sum, count(1001))},
      {"algorithm", with(sum, algorithm(LCI_ALGORITHM_RING)), with(sum, algorithm(LCI_ALGORITHM_RECURSIVE_DOUBLING))},
      {"list or none", blocks, with(blocks, [](CollectiveCase& call) { call.listed = true; })},
      {"bytes of a pair", pairs, with(pairs, count(17))},
      {"bytes of a pair, short and long", with(pairs, count(60)), with(pairs, count(3))}};
}

// Proves: J14
TEST(CollectiveFailure, CallsThatDifferEndOnAll) {
  for (const Difference& difference : differences()) {
    for (const uint32_t size : {2u, 3u, 5u}) {
      SCOPED_TRACE(std::string(difference.what) + " of " + std::to_string(size));
      Job job(size);
      GroupContext group(job, first_ranks(size));
      expect_mismatch(job, group,
                      [&](uint32_t member) { return member + 1 == size ? difference.theirs : difference.ours; });
    }
  }
}

// Where nothing is to travel a call needs nobody, and is over before the others, which wait for that member, have said
// what they call.
TEST(CollectiveFailure, AMemberWithoutElementsDiffersFromThoseThatHaveSome) {
  for (const char* memory : {"all", "rings"}) {
    for (const lci_collective_kind kind :
         {LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_BROADCAST, LCI_COLLECTIVE_ALLGATHER, LCI_COLLECTIVE_REDUCE}) {
      for (const uint32_t without : {0u, 2u}) {
        SCOPED_TRACE(std::string(memory) + ", kind " + std::to_string(kind) + ", " + std::to_string(without));
        Job job(3, {{"peer_memory", memory}, {"coll_stall_ms", "50"}});
        GroupContext group(job, first_ranks(3));
        CollectiveCase call;
        call.kind = kind;
        call.root = without == 0 ? 2 : 0;
        std::vector<std::unique_ptr<MemberCall>> calls;
        for (const uint32_t i : {without, 1u, 2 - without}) {  // the others are late
          call.count = i == without ? 0 : 20;
          calls.push_back(std::make_unique<MemberCall>(call, i, 3, 1));
          const lci_collective posted = calls.back()->call();
          const int code = lci_post_collective(group.members[i].context, &posted, group.members[i].ended, 0);
          ASSERT_TRUE(code == LCI_POSTED || code == LCI_ERR_MISMATCH) << code << lci_last_error();
          for (int pass = 0; pass < 10; ++pass) lci_progress(job.device(i));
        }
        lci_failure failure{};
        for (auto& member : group.members) {
          ASSERT_TRUE(until(job, [&] { return lci_context_failure(member.context, &failure) == LCI_DONE; }));
          EXPECT_EQ(LCI_ERR_MISMATCH, failure.code);
          EXPECT_NE(failure.calls[0].count, failure.calls[1].count);
        }
        // Each member that has elements hears how its call ended
        for (uint32_t i = 0; i < 3; ++i) {
          lci_status status{};
          if (i == without) continue;
          ASSERT_TRUE(until(job, [&] { return lci_queue_pop(group.members[i].ended, &status) == LCI_DONE; }));
        }
        job.settle();
      }
    }
  }
}

// Member 0 has fewer elements for member 1 than that one awaits.
TEST(CollectiveFailure, ADifferenceOfAPairIsToldInElements) {
  for (const uint64_t count : {uint64_t{5}, uint64_t{700}}) {
    SCOPED_TRACE(count);
    Job job(2);
    GroupContext group(job, {0, 1});
    const uint64_t counts[2][4] = {{0, count, 0, count}, {count, 0, count + 2, 0}};
    std::vector<std::vector<int32_t>> in(2, std::vector<int32_t>(count)), out(2, std::vector<int32_t>(count + 2));
    for (uint32_t i = 0; i < 2; ++i) {
      const lci_collective call{LCI_COLLECTIVE_ALLTOALL, 0, LCI_TYPE_I32, 0, 0, 0, in[i].data(),
                                out[i].data(),           0, counts[i]};
      const int code = lci_post_collective(group.members[i].context, &call, group.members[i].ended, 0);
      ASSERT_TRUE(code == LCI_POSTED || code == LCI_ERR_MISMATCH) << code << lci_last_error();
    }
    for (const auto& member : group.members) {
      lci_failure failure{};
      ASSERT_TRUE(until(job, [&] { return lci_context_failure(member.context, &failure) == LCI_DONE; }));
      for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(failure.ranks[i] == 0 ? count : count + 2, failure.calls[i].count);
    }
  }
}

// Proves: J16
TEST(CollectiveFailure, ACallThatIsGivenUpEndsOnAllAndLetsGoOfItsMemory) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto size = static_cast<uint32_t>(2 + seed % 4);
    Interrupted scene(seed, size, {{"chaos", seed % 2 == 0 ? "" : "seed=" + std::to_string(seed) + ",delay=0.2"}});
    scene.begin();
    scene.one_gives_up();
    if (HasFailure()) return;
  }
}

// Proves: J16
TEST(CollectiveFailure, ADeathEndsTheCallsOfAll) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    const auto size = static_cast<uint32_t>(2 + seed % 4);
    Interrupted scene(seed, size);
    scene.begin();
    scene.one_dies();
    if (HasFailure()) return;
  }
}

// Whoever has its result may go: that others have not is no error, for them neither.
// Proves: J15
TEST(CollectiveFailure, AMemberMayLeaveWhenItsCallsAreDone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto size = static_cast<uint32_t>(2 + seed % 4);
    Job job(size, {{"chaos", seed % 2 == 0 ? "" : "seed=" + std::to_string(seed) + ",delay=0.3,ticks=8"}});
    GroupContext group(job, first_ranks(size));
    std::vector<CollectiveCase> cases;
    for (int i = 0; i < 4; ++i) cases.push_back(any_case(random, size, {1, 20, 21, 5000}));
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < size; ++i) {
      threads.emplace_back([&, i, pause = random() % 3] {
        lci_device* const device = job.device(i);
        std::vector<std::unique_ptr<MemberCall>> calls;
        for (const CollectiveCase& of : cases) {
          calls.push_back(std::make_unique<MemberCall>(of, i, size, 1));
          const lci_collective call = calls.back()->call();
          int code = LCI_RETRY;
          while (is_retry(code)) {
            code = lci_post_collective(group.members[i].context, &call, group.members[i].ended, calls.size() - 1);
            lci_progress(device);
          }
          EXPECT_EQ(LCI_POSTED, code) << of.name() << ": " << lci_last_error();
          if (code != LCI_POSTED) break;
          std::this_thread::sleep_for(std::chrono::milliseconds(pause));
        }
        size_t ended = 0;
        for (const lci::test::Deadline deadline(60); ended < calls.size() && !deadline.passed();) {
          lci_status status{};
          lci_progress(device);
          if (lci_queue_pop(group.members[i].ended, &status) != LCI_DONE) continue;
          ++ended;
          EXPECT_EQ(LCI_DONE, status.code) << cases[status.user_context].name() << ", member " << i << " of " << size;
          if (status.code == LCI_DONE) calls[status.user_context]->expect_result();
        }
        EXPECT_EQ(cases.size(), ended) << "member " << i << " of " << size;
        job.close(i, 30'000);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (HasFailure()) return;
  }
}

TEST(CollectiveFailure, ACallThatCannotBeIsRefused) {
  Job job(3);
  GroupContext group(job, first_ranks(3));
  std::vector<int64_t> in(9), out(9);
  const uint64_t counts[] = {1, 2, 3}, twice[] = {2, 1, 1, 0}, self[] = {1, 0, 0}, beyond[] = {1, 3, 0},
                 uneven[] = {1, 1, 1, 2, 1, 1};
  struct Refused {
    const char* what;
    int code;
    std::function<void(lci_collective&)> make;
  };
  const std::vector<Refused> all{
      {"no kind", LCI_ERR_ARGUMENT, [](auto& call) { call.kind = 0; }},
      {"unknown kind", LCI_ERR_ARGUMENT, [](auto& call) { call.kind = 13; }},
      {"kind beyond its field", LCI_ERR_ARGUMENT, [](auto& call) { call.kind = 65536 + LCI_COLLECTIVE_ALLREDUCE; }},
      {"no type", LCI_ERR_ARGUMENT, [](auto& call) { call.type = 0; }},
      {"unknown type", LCI_ERR_ARGUMENT, [](auto& call) { call.type = 15; }},
      {"no operator", LCI_ERR_ARGUMENT, [](auto& call) { call.op = 0; }},
      {"unknown operator", LCI_ERR_ARGUMENT, [](auto& call) { call.op = 10; }},
      {"operator of pairs", LCI_ERR_ARGUMENT, [](auto& call) { call.op = LCI_REDUCE_MINLOC; }},
      {"bits of floats", LCI_ERR_ARGUMENT,
       [](auto& call) {
         call.type = LCI_TYPE_F64;
         call.op = LCI_REDUCE_BXOR;
       }},
      {"operator where nothing is combined", LCI_ERR_ARGUMENT,
       [](auto& call) {
         call.kind = LCI_COLLECTIVE_ALLGATHER;
         call.count = 3;
       }},
      {"unknown algorithm", LCI_ERR_ARGUMENT, [](auto& call) { call.algorithm = LCI_ALGORITHM_HIERARCHICAL + 1; }},
      {"algorithm of another kind", LCI_ERR_ARGUMENT, [](auto& call) { call.algorithm = LCI_ALGORITHM_DISSEMINATION; }},
      {"algorithm for 2^k members", LCI_ERR_ARGUMENT, [](auto& call) { call.algorithm = LCI_ALGORITHM_RABENSEIFNER; }},
      {"root where there is none", LCI_ERR_RANK, [](auto& call) { call.root = 1; }},
      {"root beyond the group", LCI_ERR_RANK,
       [](auto& call) {
         call.kind = LCI_COLLECTIVE_REDUCE;
         call.root = 3;
       }},
      {"null in", LCI_ERR_ARGUMENT, [](auto& call) { call.in = nullptr; }},
      {"null out", LCI_ERR_ARGUMENT, [](auto& call) { call.out = nullptr; }},
      {"overlap", LCI_ERR_ARGUMENT, [&](auto& call) { call.out = in.data() + 1; }},
      {"overlap from below", LCI_ERR_ARGUMENT, [&](auto& call) { call.in = out.data() + 1; }},
      {"in place where it cannot be", LCI_ERR_ARGUMENT,
       [&](auto& call) {
         call.kind = LCI_COLLECTIVE_REDUCE_SCATTER;
         call.out = in.data();
       }},
      {"beyond memory", LCI_ERR_ARGUMENT, [](auto& call) { call.count = uint64_t{1} << 61; }},
      {"beyond numbers", LCI_ERR_ARGUMENT, [](auto& call) { call.count = UINT64_MAX; }},
      {"own block of two lengths", LCI_ERR_ARGUMENT,
       [&](auto& call) {
         call.kind = LCI_COLLECTIVE_ALLTOALL;
         call.op = 0;
         call.counts = uneven;
       }},
      {"list without use", LCI_ERR_ARGUMENT, [&](auto& call) { call.counts = counts; }},
      {"no neighbours", LCI_ERR_ARGUMENT,
       [](auto& call) {
         call.kind = LCI_COLLECTIVE_NEIGHBOURS;
         call.op = 0;
       }},
      {"neighbour twice", LCI_ERR_ARGUMENT,
       [&](auto& call) {
         call.kind = LCI_COLLECTIVE_NEIGHBOURS;
         call.op = 0;
         call.counts = twice;
       }},
      {"own neighbour", LCI_ERR_ARGUMENT,
       [&](auto& call) {
         call.kind = LCI_COLLECTIVE_NEIGHBOURS;
         call.op = 0;
         call.counts = self;
       }},
      {"neighbour beyond the group", LCI_ERR_ARGUMENT,
       [&](auto& call) {
         call.kind = LCI_COLLECTIVE_NEIGHBOURS;
         call.op = 0;
         call.counts = beyond;
       }},
      {"barrier with memory", LCI_ERR_ARGUMENT, [](auto& call) { call.kind = LCI_COLLECTIVE_BARRIER; }},
      {"reserved", LCI_ERR_ARGUMENT, [](auto& call) { call.reserved = 1; }}};
  auto& own = group.members[0];
  for (const Refused& refused : all) {
    lci_collective call{
        LCI_COLLECTIVE_ALLREDUCE, 0, LCI_TYPE_I64, LCI_REDUCE_SUM, 0, 0, in.data(), out.data(), 9, nullptr};
    if (refused.what == std::string("in place where it cannot be")) call.count = 3;
    refused.make(call);
    EXPECT_EQ(refused.code, lci_post_collective(own.context, &call, own.ended, 0)) << refused.what;
    EXPECT_LT(10u, std::string(lci_last_error()).size()) << refused.what;
  }
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_collective(own.context, nullptr, own.ended, 0));
  // None of them was a call.
  for (auto& member : group.members) {
    const lci_collective call{
        LCI_COLLECTIVE_ALLREDUCE, 0, LCI_TYPE_I64, LCI_REDUCE_SUM, 0, 0, in.data(), in.data(), 9, nullptr};
    ASSERT_EQ(LCI_POSTED, lci_post_collective(member.context, &call, member.ended, 0)) << lci_last_error();
    lci_status status{};
    if (&member != &group.members.back()) continue;
    ASSERT_TRUE(pop(job, member.ended, &status));
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(0u, status.tag) << "the first call";
  }
}

}  // namespace
}  // namespace lci_test
