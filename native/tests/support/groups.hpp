// SPDX-License-Identifier: Apache-2.0
// A context of a group in a job of this process, at each of its members, and barriers in it that are watched: none ends
// before all members have posted it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "support/posting.hpp"

namespace lci_test {

inline lci_group* make_group(lci_runtime* runtime, const std::vector<uint32_t>& ranks, uint64_t key = 0) {
  lci_group* group = nullptr;
  EXPECT_EQ(LCI_DONE, lci_group_create(runtime, ranks.data(), static_cast<uint32_t>(ranks.size()), key, &group))
      << lci_last_error();
  return group;
}

inline lci_context* make_context(lci_group* group, uint64_t key = 0, uint32_t device = 0) {
  lci_context* context = nullptr;
  EXPECT_EQ(LCI_DONE, lci_context_create(group, key, device, &context)) << lci_last_error();
  return context;
}

/// Ranks 0 to @p size - 1.
inline std::vector<uint32_t> first_ranks(uint32_t size) {
  std::vector<uint32_t> ranks(size);
  for (uint32_t i = 0; i < size; ++i) ranks[i] = i;
  return ranks;
}

class GroupContext {
 public:
  struct Member {
    uint32_t rank;
    lci_group* group = nullptr;
    lci_context* context = nullptr;
    lci_comp* ended = nullptr;
    uint64_t posted = 0;
    std::vector<lci_status> ends = {};  ///< In the order in which they came.
  };

  /// @param open whether the members have it from the start
  GroupContext(Job& job, const std::vector<uint32_t>& ranks, uint64_t key = 0, bool open = true)
      : job_(job), ranks_(ranks), key_(key) {
    for (const uint32_t rank : ranks) members.push_back({rank});
    for (uint32_t i = 0; open && i < members.size(); ++i) this->open(i);
  }
  void open(uint32_t member) {
    Member& of = members[member];
    of.group = make_group(job_.runtime(of.rank), ranks_);
    of.context = make_context(of.group, key_);
    of.ended = make_queue(job_.runtime(of.rank));
  }
  /// Posts a barrier of a member.
  int post(uint32_t member) {
    Member& of = members[member];
    const int code = lci_post_group_barrier(of.context, of.ended, of.posted);
    if (code == LCI_POSTED || code == LCI_POSTED_BACKLOG) ++of.posted;
    return code;
  }
  int post_until_taken(uint32_t member) {
    int code = LCI_RETRY;
    EXPECT_TRUE(until(job_,
                      [&] {
                        code = post(member);
                        return !is_retry(code);
                      }))
        << "member " << member;
    return code;
  }
  void post_all() {
    for (uint32_t i = 0; i < members.size(); ++i) EXPECT_EQ(LCI_POSTED, post_until_taken(i)) << lci_last_error();
  }
  /// Takes what has ended.
  void look() {
    for (Member& of : members) {
      lci_status status{};
      while (of.ended && job_.runtime(of.rank) && lci_queue_pop(of.ended, &status) == LCI_DONE) {
        of.ends.push_back(status);
        EXPECT_EQ(status.user_context, status.tag - first) << "its number is that of its post";
        if (status.code != LCI_DONE) continue;
        for (const Member& other : members) {
          EXPECT_GT(other.posted, status.user_context) << of.rank << " was not waited for by " << other.rank;
        }
      }
    }
  }
  /// Progresses until each member that is there has @p count ends.
  bool await(uint64_t count) {
    return until(job_, [&] {
      look();
      return std::all_of(members.begin(), members.end(),
                         [&](const Member& of) { return !job_.runtime(of.rank) || of.ends.size() >= count; });
    });
  }

  std::vector<Member> members;
  uint64_t first = 0;  ///< Number of the first call.

 private:
  Job& job_;
  const std::vector<uint32_t> ranks_;
  const uint64_t key_;
};

}  // namespace lci_test
