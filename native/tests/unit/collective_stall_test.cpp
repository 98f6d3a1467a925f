// SPDX-License-Identifier: Apache-2.0
// Calls that do not go on: who is waited for is found and named, and calls that differ are found where no message
// meets.
#include <array>
#include <string>

#include "api/handles.hpp"
#include "support/collectives.hpp"

namespace lci_test {
namespace {

Attributes soon() {
  return {{"coll_stall_ms", "50"}, {"log_keep", "100"}, {"log_outfile", "none"}};
}

/// The lines of a rank about collectives.
std::string lines_of(lci_runtime* runtime) {
  lci_log* log = nullptr;
  EXPECT_EQ(LCI_DONE, lci_runtime_log(runtime, &log));
  std::string all;
  char line[1024];
  int32_t level = 0;
  while (lci_log_take(log, &level, line, sizeof line) == LCI_DONE) {
    if (std::string(line).find("[collective]") != std::string::npos) all += std::string(line) + "\n";
  }
  lci_log_free(log);
  return all;
}

/// A rank has asked after its call, and said what it found.
std::string await_line(Job& job, uint32_t rank, uint64_t stalls = 1) {
  EXPECT_TRUE(until(job, [&] { return job.counter(rank, "collective_stalls") >= stalls; }));
  return lines_of(job.runtime(rank));
}

// Proves: J17
TEST(CollectiveStall, NamesWhoHasNotMadeTheCallHoweverFarAway) {
  for (uint32_t run = 0; run < 6; ++run) {
    const uint32_t size = std::array{2u, 5u, 8u}[run / 2];
    SCOPED_TRACE(size);
    Attributes attributes = soon();
    attributes.emplace_back("peer_memory", run % 2 == 0 ? "all" : "rings");
    Job job(size, attributes);
    GroupContext group(job, first_ranks(size));
    group.post_all();
    ASSERT_TRUE(group.await(1));
    const uint32_t missing = size == 8 ? 5 : size - 1;
    for (uint32_t i = 0; i < size; ++i) {
      if (i == missing) continue;
      ASSERT_EQ(LCI_POSTED, group.post(i));
    }
    const std::string lines = await_line(job, 0);
    EXPECT_NE(std::string::npos, lines.find("barrier 1 of context")) << lines;
    EXPECT_NE(std::string::npos, lines.find("not made by rank " + std::to_string(missing))) << lines;
    EXPECT_EQ(std::string::npos, lines.find("no answer")) << lines;
    ASSERT_EQ(LCI_POSTED, group.post(missing));
    EXPECT_TRUE(group.await(2)) << "it was late, and nothing more";
    for (const auto& member : group.members) {
      EXPECT_EQ(LCI_DONE, member.ends[1].code);
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
    }
  }
}

TEST(CollectiveStall, NamesWhoHasNoContext) {
  Job job(3, soon());
  GroupContext group(job, {0, 1, 2}, 0, false);
  group.open(0);
  group.open(1);
  ASSERT_EQ(LCI_POSTED, group.post(0));
  ASSERT_EQ(LCI_POSTED, group.post(1));
  const std::string lines = await_line(job, 0);
  EXPECT_NE(std::string::npos, lines.find("not made by rank 2")) << lines;
  group.open(2);
  ASSERT_EQ(LCI_POSTED, group.post(2));
  EXPECT_TRUE(group.await(1));
}

TEST(CollectiveStall, NamesWhoDoesNotAnswer) {
  Job job(3, soon());
  GroupContext group(job, {0, 1, 2});
  group.post_all();
  ASSERT_TRUE(group.await(1));
  ASSERT_EQ(LCI_POSTED, group.post(0));
  ASSERT_EQ(LCI_POSTED, group.post(1));
  for (const lci::test::Deadline deadline(60); job.counter(0, "collective_stalls") == 0 && !deadline.passed();) {
    lci_progress(job.device(0));
    lci_progress(job.device(1));
  }
  const std::string lines = lines_of(job.runtime(0));
  EXPECT_NE(std::string::npos, lines.find("no answer of rank 2")) << lines;
  EXPECT_EQ(std::string::npos, lines.find("not made")) << lines;
  ASSERT_EQ(LCI_POSTED, group.post(2));
  EXPECT_TRUE(group.await(2));
}

// Each waits for messages, and none is sent.
// Proves: J14
TEST(CollectiveStall, FindsThatMembersDifferWhoNeverTalk) {
  Job job(3, soon());
  GroupContext group(job, {0, 1, 2});
  std::vector<std::unique_ptr<MemberCall>> calls;
  for (uint32_t i = 0; i < 3; ++i) {
    CollectiveCase of;
    of.kind = LCI_COLLECTIVE_GATHER;
    of.count = 5;
    of.root = i == 1 ? 1 : 0;
    calls.push_back(std::make_unique<MemberCall>(of, i, 3, 1));
    const lci_collective call = calls.back()->call();
    ASSERT_EQ(LCI_POSTED, lci_post_collective(group.members[i].context, &call, group.members[i].ended, 0));
  }
  for (auto& member : group.members) {
    lci_status status{};
    ASSERT_TRUE(pop(job, member.ended, &status));
    EXPECT_TRUE(status.code == LCI_ERR_MISMATCH || member.rank == 2) << status.code;
    EXPECT_TRUE(
        until(job, [&] { return lci_post_group_barrier(member.context, member.ended, 1) == LCI_ERR_MISMATCH; }));
  }
}

// Short passes are passes, too, but not those in which calls are looked at.
TEST(CollectiveStall, IsFoundHoweverManyShortPassesAreBetween) {
  Attributes attributes = soon();
  attributes.push_back({"peer_memory", "all"});
  Job job(2, attributes);
  GroupContext still(job, {0, 1}, 1), quick(job, {0, 1}, 2);
  lci_collective call{};
  call.kind = LCI_COLLECTIVE_BARRIER;
  call.algorithm = LCI_ALGORITHM_DISSEMINATION;
  ASSERT_EQ(LCI_POSTED, lci_post_collective(still.members[0].context, &call, still.members[0].ended, 0));
  lci::Device& device = *lci::from_handle(job.device(0));
  const auto passes = [&] { return job.counter(0, "progress_calls"); };
  while (passes() % 8 != 0) lci_progress(job.device(0));
  for (const lci::test::Deadline deadline(60); job.counter(0, "collective_stalls") == 0 && !deadline.passed();) {
    lci_progress(job.device(0));
    ASSERT_EQ(1u, passes() % 8) << "it was to find nothing on boards";
    for (int i = 0; i < 7; ++i) {
      for (const uint32_t member : {0u, 1u}) ASSERT_EQ(LCI_POSTED, quick.post(member));
      ASSERT_TRUE(device.short_pass());
      lci_progress(job.device(1));
    }
    quick.look();
  }
  EXPECT_NE(0u, job.counter(0, "collective_stalls"));
  EXPECT_EQ(LCI_DONE, lci_context_revoke(still.members[0].context, LCI_ERR_TIMEOUT));
  job.settle();
}

// Rank 1 has given the context up before rank 0 had it, and says so to whoever asks. There is no room for the question
// for long.
TEST(CollectiveStall, AMemberIsAskedWhenThereIsRoom) {
  Job job(2, {{"coll_stall_ms", "0"}, {"peer_memory", "all"}, {"control_ring_bytes", "4096"}});
  std::vector<std::unique_ptr<GroupContext>> others;
  for (uint64_t key = 1; key <= 200; ++key) others.push_back(std::make_unique<GroupContext>(job, first_ranks(2), key));
  job.settle();
  GroupContext group(job, first_ranks(2), 0, false);
  group.open(1);
  ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[1].context, LCI_ERR_TIMEOUT));
  job.settle();
  for (auto& other : others) ASSERT_EQ(LCI_DONE, lci_context_revoke(other->members[0].context, LCI_ERR_TIMEOUT));
  for (int i = 0; i < 100; ++i) lci_progress(job.device(0));  // words to rank 1 fill its ring
  group.open(0);
  ASSERT_EQ(LCI_POSTED, group.post(0));
  for (const uint64_t end = lci::now_ns() + 50'000'000; lci::now_ns() < end;) lci_progress(job.device(0));
  EXPECT_TRUE(group.members[0].ends.empty());
  ASSERT_TRUE(until(job, [&] {
    group.look();
    return group.members[0].ends.size() == 1;
  }));
  EXPECT_EQ(LCI_ERR_COLLECTIVE, group.members[0].ends[0].code);
}

}  // namespace
}  // namespace lci_test
