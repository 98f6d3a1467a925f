// SPDX-License-Identifier: Apache-2.0
// Calls of groups that end badly, on all members: those that differ, and those that something interrupts. The memory of
// a call that has ended goes at once, so that the sanitizers see whoever writes there.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/collectives.hpp"

namespace lci_test {

using AnyCase = std::function<CollectiveCase(std::mt19937_64&, uint32_t size, const std::vector<uint64_t>& counts)>;

/// Members call what @p called says of each, which differs: all hear of it, and what two of them said. Whoever sends or
/// gets a block, and no more, may be through before.
inline void expect_mismatch(Job& job, GroupContext& group, const std::function<CollectiveCase(uint32_t)>& called) {
  const auto size = static_cast<uint32_t>(group.members.size());
  std::vector<std::unique_ptr<MemberCall>> calls;
  for (uint32_t i = 0; i < size; ++i) {
    calls.push_back(std::make_unique<MemberCall>(called(i), i, size, 1));
    const lci_collective call = calls.back()->call();
    const int code = lci_post_collective(group.members[i].context, &call, group.members[i].ended, 0);
    ASSERT_TRUE(code == LCI_POSTED || code == LCI_ERR_MISMATCH) << code << lci_last_error();
    group.members[i].posted = code == LCI_POSTED;
  }
  ASSERT_TRUE(until(job, [&] {
    bool all = true;
    for (auto& member : group.members) {
      lci_status status{};
      if (lci_queue_pop(member.ended, &status) == LCI_DONE) member.ends.push_back(status);
      lci_failure failure{};
      all &= member.ends.size() == member.posted && lci_context_failure(member.context, &failure) == LCI_DONE;
    }
    return all;
  }));
  for (auto& member : group.members) {
    const lci_collective_kind kind = called(member.rank).kind;
    const bool may_be_through = kind == LCI_COLLECTIVE_BROADCAST || kind == LCI_COLLECTIVE_REDUCE;
    for (const lci_status& end : member.ends) {
      EXPECT_TRUE(end.code == LCI_ERR_MISMATCH || (may_be_through && end.code == LCI_DONE)) << end.code;
    }
    lci_failure failure{};
    ASSERT_EQ(LCI_DONE, lci_context_failure(member.context, &failure));
    EXPECT_NE(0, std::memcmp(&failure.calls[0], &failure.calls[1], sizeof failure.calls[0]));
    EXPECT_EQ(LCI_ERR_MISMATCH, lci_post_group_barrier(member.context, member.ended, 2)) << "it fails at once";
    EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
  }
}

/// Calls of all members but some that have not come yet; then something happens, and all calls end.
class Interrupted {
 public:
  /// @param any makes one of the calls
  Interrupted(uint64_t seed, uint32_t size, const Attributes& attributes = {}, const AnyCase& any = any_case)
      : random(seed), job(size, attributes), group(job, first_ranks(size)), calls(job, group) {
    for (int i = 0; i < 3; ++i) calls.add(any_long(any));
  }
  /// All post at once, and move for some passes.
  void begin() {
    for (uint32_t i = 0; i < group.members.size(); ++i) {
      while (calls.has_more(i)) {
        const int code = calls.post(i);
        ASSERT_TRUE(code == LCI_POSTED || is_retry(code)) << code << lci_last_error();
        if (is_retry(code)) job.progress();
      }
    }
    for (uint64_t i = random() % 60; i > 0; --i) job.progress();
  }
  /// Each member that is there hears of all its calls; the memory of each goes at once.
  void await_ends(uint32_t without) {
    ASSERT_TRUE(until(job, [&] {
      bool all = true;
      for (auto& member : group.members) {
        if (member.rank == without) continue;
        lci_status status{};
        while (lci_queue_pop(member.ended, &status) == LCI_DONE) {
          member.ends.push_back(status);
          MemberCall& call = calls.call(member.rank, status.user_context);
          if (status.code == LCI_DONE) call.expect_result();
          call.free_memory();
        }
        all &= member.ends.size() == member.posted;
      }
      return all;
    }));
    job.settle();
  }

  /// One of them, then all hear of it.
  void one_gives_up() {
    const auto size = static_cast<uint32_t>(group.members.size());
    const auto who = static_cast<uint32_t>(random() % size);
    ASSERT_EQ(LCI_DONE, lci_context_revoke(group.members[who].context, LCI_ERR_TIMEOUT));
    await_ends(size);
    for (const auto& member : group.members) {
      for (const lci_status& end : member.ends) {
        EXPECT_TRUE(end.code == LCI_DONE || end.code == LCI_ERR_COLLECTIVE) << end.code;
      }
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
      EXPECT_EQ(0u, job.counter(member.rank, "sends_pending"));
    }
  }
  void one_dies() {
    const auto victim = static_cast<uint32_t>(random() % group.members.size());
    job.close(victim, 0);
    await_ends(victim);
    for (const auto& member : group.members) {
      if (member.rank == victim) continue;
      for (const lci_status& end : member.ends) {
        EXPECT_TRUE(end.code == LCI_DONE || (end.code == LCI_ERR_PEER_FAILED && end.rank == victim)) << end.code;
      }
      EXPECT_EQ(0u, job.counter(member.rank, "protocol_errors"));
    }
  }

  std::mt19937_64 random;
  Job job;
  GroupContext group;
  CollectiveCalls calls;

 private:
  CollectiveCase any_long(const AnyCase& any) {
    CollectiveCase made;
    do {
      made = any(random, static_cast<uint32_t>(group.members.size()), {25'000});
    } while (made.kind == LCI_COLLECTIVE_BARRIER);
    return made;
  }
};

}  // namespace lci_test
