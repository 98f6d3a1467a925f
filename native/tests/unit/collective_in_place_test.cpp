// SPDX-License-Identifier: Apache-2.0
// Long payloads that lie in memory of the runtime: a member reads those of others where they lie, and not when they
// have been taken back.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "support/groups.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kBlock = 64 << 10;  // elements
constexpr uint64_t kBytes = kBlock * sizeof(int64_t);

/// Two members, each of which has something for the other one in memory of its runtime.
class Exchange {
 public:
  explicit Exchange(const Attributes& attributes = {}) : job(2, attributes), group(job, first_ranks(2)) {
    for (uint32_t i = 0; i < 2; ++i) {
      in_[i] = place(i);
      out_[i] = place(i);
      for (uint64_t at = 0; at < 2 * kBlock; ++at) in_[i][at] = value(i, at);
    }
  }
  void post() {
    for (uint32_t i = 0; i < 2; ++i) {
      lci_collective call{};
      call.kind = LCI_COLLECTIVE_ALLTOALL;
      call.type = LCI_TYPE_I64;
      call.count = kBlock;
      call.in = in_[i];
      call.out = out_[i];
      auto& member = group.members[i];
      ASSERT_EQ(LCI_POSTED, lci_post_collective(member.context, &call, member.ended, 0)) << lci_last_error();
      ++member.posted;
    }
  }
  void expect_result(uint32_t member) const {
    for (uint32_t from = 0; from < 2; ++from) {
      const int64_t* const block = out_[member] + from * kBlock;
      uint64_t wrong = 0;
      for (uint64_t at = 0; at < kBlock; ++at) wrong += block[at] != value(from, member * kBlock + at);
      EXPECT_EQ(0u, wrong) << "elements of member " << from << " at member " << member;
    }
  }
  /// The program has taken its memory for something else.
  void use_otherwise(uint32_t member) { std::memset(in_[member], 0x55, 2 * kBytes); }

  Job job;
  GroupContext group;

 private:
  static int64_t value(uint32_t from, uint64_t at) { return static_cast<int64_t>((from + 1) * 1'000'000'007u + at); }
  int64_t* place(uint32_t member) {
    lci_memory* memory = nullptr;
    void* address = nullptr;
    EXPECT_EQ(LCI_DONE, lci_memory_allocate(job.runtime(member), 2 * kBytes, &memory, &address)) << lci_last_error();
    return static_cast<int64_t*>(address);
  }

  int64_t *in_[2], *out_[2];
};

/// The most packets that rank 0 had out.
uint64_t most_packets_of_exchange(const Attributes& attributes) {
  Exchange exchange(attributes);
  exchange.post();
  uint64_t most = 0;
  EXPECT_TRUE(until(exchange.job, [&] {
    most = std::max(most, exchange.job.counter(0, "packets_out"));
    exchange.group.look();
    return exchange.group.members[0].ends.size() + exchange.group.members[1].ends.size() == 2;
  }));
  for (uint32_t i = 0; i < 2; ++i) exchange.expect_result(i);
  return most;
}

// A packet refers to 64 KiB; those that carry a copy have 8 KiB.
TEST(CollectiveInPlace, IsReadWhereItLies) {
  EXPECT_GE(kBytes / (64 << 10), most_packets_of_exchange({{"peer_memory", "all"}}));
}

TEST(CollectiveInPlace, IsCopiedWhereOthersDoNotReadIt) {
  EXPECT_LT(kBytes / (64 << 10), most_packets_of_exchange({{"peer_memory", "rings"}}));
}

// Words that its call has failed may come later than what it has sent.
TEST(CollectiveInPlace, WhatIsTakenBackDoesNotCount) {
  uint64_t discarded = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Exchange exchange({{"chaos", "seed=" + std::to_string(seed) + ",delay=0.5,ticks=40"}, {"peer_memory", "all"}});
    exchange.post();
    for (uint64_t i = random() % 60; i > 0; --i) exchange.job.progress();
    auto& members = exchange.group.members;
    ASSERT_EQ(LCI_DONE, lci_context_revoke(members[0].context, LCI_ERR_TIMEOUT));
    ASSERT_TRUE(until(exchange.job, [&] {
      exchange.group.look();
      if (members[0].ends.size() == 1 && members[0].ends[0].code != LCI_DONE) exchange.use_otherwise(0);
      return members[0].ends.size() + members[1].ends.size() == 2;
    }));
    for (uint32_t i = 0; i < 2; ++i) {
      if (members[i].ends[0].code == LCI_DONE) exchange.expect_result(i);
      EXPECT_EQ(0u, exchange.job.counter(i, "protocol_errors"));
      EXPECT_EQ(0u, exchange.job.counter(i, "sends_pending"));
    }
    discarded += exchange.job.counter(1, "discarded");
    exchange.job.settle();
    exchange.job.check_ledgers();
    if (HasFailure()) return;
  }
  EXPECT_NE(0u, discarded) << "nothing was taken back";
}

}  // namespace
}  // namespace lci_test
