// SPDX-License-Identifier: Apache-2.0
// Long payloads that lie in memory of the runtime: a member reads those of others where they lie, and not when they
// have been taken back.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "api/handles.hpp"
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

/// Rank 0 broadcasts long memory of its runtime, and writes it as soon as it hears that the call is over. Rank 1 has
/// said where the bytes are to go, and then stands still while rank 0 sends.
class StandingReceiver {
 public:
  StandingReceiver() : job(2, {{"peer_memory", "all"}}), group(job, first_ranks(2)), out_(kCount) {
    lci_memory* memory = nullptr;
    void* address = nullptr;
    EXPECT_EQ(LCI_DONE, lci_memory_allocate(job.runtime(0), kCount, &memory, &address)) << lci_last_error();
    in_ = static_cast<uint8_t*>(address);
    std::memset(in_, 1, kCount);
    EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), use_otherwise, this, &heard_));
    post(0, in_, heard_);
    post(1, out_.data(), group.members[1].ended);
    EXPECT_TRUE(until(job, [&] { return job.counter(0, "packets_out") != 0; }));
    for (int i = 0; i < 100; ++i) lci_progress(job.device(0));
    EXPECT_EQ(LCI_DONE, code_of_sender) << "it has ended";
  }
  void await_end_at_sender() {
    for (const lci::test::Deadline deadline(60); code_of_sender == LCI_DONE && !deadline.passed();) {
      lci_progress(job.device(0));
    }
  }
  /// The sender has heard; the receiver goes on.
  void expect_nothing_wrong() {
    EXPECT_NE(LCI_DONE, code_of_sender) << "it was to end by an error";
    lci_status status{};
    for (int i = 0; i < 100; ++i) lci_progress(job.device(1));  // it reads what was sent
    job.close(0, 0);
    EXPECT_TRUE(until(job, [&] { return pop_of_receiver(&status); }));
    EXPECT_NE(0u, job.counter(1, "discarded")) << "nothing was taken back";
    EXPECT_NE(LCI_DONE, status.code) << "with what the sender has written later";
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
  }

  Job job;
  GroupContext group;
  int code_of_sender = LCI_DONE;

 private:
  static constexpr uint64_t kCount = 1 << 20;

  void post(uint32_t member, void* memory, lci_comp* ended) {
    lci_collective call{};
    call.kind = LCI_COLLECTIVE_BROADCAST;
    call.type = LCI_TYPE_U8;
    call.count = kCount;
    call.out = memory;
    EXPECT_EQ(LCI_POSTED, lci_post_collective(group.members[member].context, &call, ended, 0)) << lci_last_error();
  }
  bool pop_of_receiver(lci_status* status) {
    if (!popped_) popped_ = lci_queue_pop(group.members[1].ended, status) == LCI_DONE;
    return popped_;
  }
  static void use_otherwise(const lci_status* status, void* argument) {
    auto& self = *static_cast<StandingReceiver*>(argument);
    self.code_of_sender = status->code;
    std::memset(self.in_, 0x55, kCount);
  }

  uint8_t* in_ = nullptr;
  std::vector<uint8_t> out_;
  lci_comp* heard_ = nullptr;
  bool popped_ = false;
};

TEST(CollectiveInPlace, IsTakenBackByWhoCloses) {
  StandingReceiver scene;
  scene.job.close(0, 0);
  scene.expect_nothing_wrong();
}

// The receiver lives on, and reads what lies in its rings.
TEST(CollectiveInPlace, IsTakenBackFromWhoIsTreatedAsFailed) {
  StandingReceiver scene;
  scene.job.runtime(0)->runtime->peers().treat_as_gone(1, lci::RankState::kFailed);
  scene.await_end_at_sender();
  scene.expect_nothing_wrong();
}

TEST(CollectiveInPlace, IsTakenBackByWhoIsFenced) {
  StandingReceiver scene;
  static_cast<lci::PeerEvents&>(scene.job.runtime(0)->runtime->peers()).fenced(1);
  scene.await_end_at_sender();
  scene.expect_nothing_wrong();
}

}  // namespace
}  // namespace lci_test
