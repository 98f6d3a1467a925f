// SPDX-License-Identifier: Apache-2.0
// Long payloads that lie in memory of the runtime: a member reads those of others where they lie, and not when they
// have been taken back.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

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

/// Broadcasts of member 0, of so many bytes, each by a context of its own.
class Broadcasts {
 public:
  Broadcasts(uint32_t size, uint64_t bytes, const Attributes& attributes = {}) : job(size, attributes), bytes_(bytes) {}

  /// @param heap whether the bytes of the root lie where others do not see them
  /// @param algorithm the same for all members
  void post(bool heap, uint32_t algorithm = LCI_ALGORITHM_AUTO) {
    const auto key = static_cast<uint64_t>(calls.size());
    calls.push_back({std::make_unique<GroupContext>(job, first_ranks(job.size()), key), {}, {}});
    Call& call = calls.back();
    call.owned.resize(job.size());
    for (uint32_t i = 0; i < job.size(); ++i) {
      call.memory.push_back(i == 0 && !heap ? place() : owned(call.owned[i]));
      for (uint64_t at = 0; i == 0 && at < bytes_; ++at) call.memory[0][at] = value(key, at);
      lci_collective posted{};
      posted.kind = LCI_COLLECTIVE_BROADCAST;
      posted.algorithm = algorithm;
      posted.type = LCI_TYPE_U8;
      posted.count = bytes_;
      posted.out = call.memory[i];
      auto& member = call.group->members[i];
      ASSERT_EQ(LCI_POSTED, lci_post_collective(member.context, &posted, member.ended, 0)) << lci_last_error();
      ++member.posted;
    }
  }
  bool has_ended(size_t index, uint32_t member) {
    calls[index].group->look();
    return calls[index].group->members[member].ends.size() == 1;
  }
  bool have_ended(size_t index) {
    bool all = true;
    for (uint32_t i = 0; i < job.size(); ++i) all &= has_ended(index, i);
    return all;
  }
  int code(size_t index, uint32_t member) const { return calls[index].group->members[member].ends[0].code; }
  void expect_result(size_t index, uint32_t member) const {
    uint64_t wrong = 0;
    for (uint64_t at = 0; at < bytes_; ++at) wrong += calls[index].memory[member][at] != value(index, at);
    EXPECT_EQ(0u, wrong) << "bytes of call " << index << " at member " << member;
  }
  /// The program has taken the memory of the root for something else.
  void use_otherwise(size_t index) { std::memset(calls[index].memory[0], 0x55, bytes_); }
  /// One call to its end. @return the most packets that the root had out
  uint64_t most_packets(bool heap, uint32_t algorithm = LCI_ALGORITHM_AUTO) {
    post(heap, algorithm);
    uint64_t most = 0;
    EXPECT_TRUE(until(job, [&] {
      most = std::max(most, job.counter(0, "packets_out"));
      return have_ended(calls.size() - 1);
    }));
    for (uint32_t i = 0; i < job.size(); ++i) {
      EXPECT_EQ(LCI_DONE, code(calls.size() - 1, i));
      expect_result(calls.size() - 1, i);
    }
    return most;
  }

  struct Call {
    std::unique_ptr<GroupContext> group;
    std::vector<uint8_t*> memory;
    std::vector<std::vector<uint8_t>> owned;
  };
  Job job;
  std::vector<Call> calls;

 private:
  static uint8_t value(uint64_t call, uint64_t at) { return static_cast<uint8_t>(at * 31 + (at >> 9) + call * 77); }
  uint8_t* owned(std::vector<uint8_t>& memory) const {
    memory.resize(bytes_);
    return memory.data();
  }
  uint8_t* place() {
    lci_memory* memory = nullptr;
    void* address = nullptr;
    EXPECT_EQ(LCI_DONE, lci_memory_allocate(job.runtime(0), bytes_, &memory, &address)) << lci_last_error();
    return static_cast<uint8_t*>(address);
  }

  const uint64_t bytes_;
};

// A packet has 8,128 bytes: 64 KiB fill eight, and there is a rest.
TEST(CollectiveInPlace, OfAMiddlingPayloadABeginningIs) {
  Broadcasts some(2, 64 << 10, {{"peer_memory", "all"}});
  const uint64_t packets = some.most_packets(false);
  EXPECT_GE(6u, packets) << "one refers to the first 24 KiB, and five are full";
  EXPECT_LT(1u, packets) << "only the beginning is read in place";
  EXPECT_EQ(9u, some.most_packets(true));
  Broadcasts few(2, 20'000, {{"peer_memory", "all"}});
  EXPECT_EQ(3u, few.most_packets(false)) << "so few bytes leave at once";
}

// What refers to it may be back before the last one has left, or after it.
TEST(CollectiveInPlace, AMiddlingPayloadEndsWheneverItsPacketsAreBack) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Broadcasts some(2, 50'000 + random() % 150'000, {{"peer_memory", "all"}, {"packets", "4"}, {"packets_max", "8"}});
    some.post(false);
    for (int i = 0; i < 100; ++i) lci_progress(some.job.device(static_cast<uint32_t>(random() % 2)));
    ASSERT_TRUE(until(some.job, [&] { return some.have_ended(0); }));
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(LCI_DONE, some.code(0, i));
      some.expect_result(0, i);
    }
    some.job.settle();
    some.job.check_ledgers();
    if (HasFailure()) return;
  }
}

// Each of three receivers is sent references to 64 KiB, also of a copy.
TEST(CollectiveInPlace, SeveralMembersReadTheSame) {
  constexpr uint64_t kReferences = 3 * (1 << 20) / (64 << 10);
  Broadcasts near(4, 1 << 20, {{"peer_memory", "all"}});
  EXPECT_GE(kReferences, near.most_packets(false));
  for (int i = 0; i < 6; ++i) EXPECT_GE(kReferences, near.most_packets(true)) << "from the heap, by a stage " << i;
}

TEST(CollectiveInPlace, WhatIsLongerThanAStageIsSentToEach) {
  Broadcasts near(4, 2 << 20, {{"peer_memory", "all"}});
  EXPECT_LT(3u * (2 << 20) / (64 << 10), near.most_packets(true, LCI_ALGORITHM_KNOMIAL));
}

// More calls are under way than there are stages.
TEST(CollectiveInPlace, CallsWithoutAStageSendPackets) {
  Broadcasts some(3, 40'000, {{"peer_memory", "all"}});
  for (int i = 0; i < 10; ++i) some.post(true);
  ASSERT_TRUE(until(some.job, [&] {
    bool all = true;
    for (size_t i = 0; i < 10; ++i) all &= some.have_ended(i);
    return all;
  }));
  for (size_t call = 0; call < 10; ++call) {
    for (uint32_t i = 0; i < 3; ++i) some.expect_result(call, i);
  }
  some.job.settle();
  some.job.check_ledgers();
}

TEST(CollectivePayload, EndsItsCallInThePassInWhichItComes) {
  Broadcasts some(2, 20'000);
  some.post(true);
  lci_progress(some.job.device(1));  // it says where the bytes are to go
  for (const lci::test::Deadline deadline(60); some.job.counter(0, "packets_out") < 3 && !deadline.passed();) {
    lci_progress(some.job.device(0));
  }
  EXPECT_FALSE(some.has_ended(0, 1));
  EXPECT_EQ(LCI_DONE, lci_progress(some.job.device(1)));
  EXPECT_TRUE(some.has_ended(0, 1));
  some.expect_result(0, 1);
}

/// A call fails at its root, which takes its memory, or the stage, for another one at once.
void expect_nothing_of_later(uint32_t size, bool heap) {
  uint64_t discarded = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Broadcasts some(size, 150'000,
                    {{"chaos", "seed=" + std::to_string(seed) + ",delay=0.5,ticks=40"}, {"peer_memory", "all"}});
    some.post(heap);
    for (uint64_t i = random() % 60; i > 0; --i) some.job.progress();
    ASSERT_EQ(LCI_DONE, lci_context_revoke(some.calls[0].group->members[0].context, LCI_ERR_TIMEOUT));
    bool used = false;
    ASSERT_TRUE(until(some.job, [&] {
      if (!used && some.has_ended(0, 0)) {
        used = true;
        some.use_otherwise(0);
        some.post(heap);
      }
      return used && some.have_ended(0) && some.have_ended(1);
    }));
    for (uint32_t i = 0; i < size; ++i) {
      if (i != 0 && some.code(0, i) == LCI_DONE) some.expect_result(0, i);
      EXPECT_EQ(LCI_DONE, some.code(1, i));
      some.expect_result(1, i);
      EXPECT_EQ(0u, some.job.counter(i, "protocol_errors"));
      EXPECT_EQ(0u, some.job.counter(i, "sends_pending"));
    }
    discarded += some.job.counter(1, "discarded");
    some.job.settle();
    some.job.check_ledgers();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_NE(0u, discarded) << "nothing was taken back";
}

TEST(CollectiveInPlace, ABeginningThatIsTakenBackDoesNotCount) {
  expect_nothing_of_later(2, false);
}

TEST(CollectiveInPlace, AStageThatIsUsedAgainDoesNotCount) {
  expect_nothing_of_later(3, true);
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
