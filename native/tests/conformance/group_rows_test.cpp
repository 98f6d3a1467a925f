// SPDX-License-Identifier: Apache-2.0
// Rows about groups and their contexts: barriers of groups, independent contexts, members that come late, and what ends
// the calls of all.
#include <utility>

#include "api/handles.hpp"
#include "conformance/world.hpp"
#include "support/groups.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 7;

/// A context of some ranks, at one of them.
class Side {
 public:
  Side(World& world, const std::vector<uint32_t>& ranks, uint64_t key = 0)
      : world_(world), ended_(world.queue()), group_(make_group(world.runtime(), ranks)) {
    context = make_context(group_, key);
    EXPECT_EQ(LCI_DONE, lci_context_id(context, &op_.tag));
    op_.op = LCI_OP_COLLECTIVE;
    op_.port = LCI_COLLECTIVE_BARRIER;
  }
  void free() {
    EXPECT_EQ(LCI_DONE, lci_context_free(context)) << lci_last_error();
    EXPECT_EQ(LCI_DONE, lci_group_free(group_));
  }
  void post() { EXPECT_EQ(LCI_POSTED, world_.post(op_, ended_)) << lci_last_error(); }
  lci_status await() { return world_.pop(ended_); }
  void barrier() {
    post();
    EXPECT_EQ(LCI_DONE, await().code);
  }
  /// The code of a barrier, be it that of its end or, if the context has failed, of its post; and whose fault it is.
  std::pair<int, uint32_t> call() {
    const int code = world_.post(op_, ended_);
    if (code != LCI_POSTED) return {code, static_cast<uint32_t>(lci_last_error_rank())};
    const lci_status status = await();
    return {status.code, status.rank};
  }
  bool has_ended() const { return lci_queue_length(ended_) != 0; }

  lci_context* context = nullptr;

 private:
  World& world_;
  lci_comp* const ended_;
  lci_group* const group_;
  lci_descriptor op_{};
};

/// Ranks tell each other how far they are.
class Telling {
 public:
  explicit Telling(World& world) : world_(world), inbox_(world.queue()) {
    world.open_port(kPort, inbox_);
    world.barrier();
  }
  void tell(uint32_t rank) {
    EXPECT_EQ(LCI_DONE, world_.post(operation(LCI_OP_AM, rank, kPort, 0, nullptr, 0), nullptr));
  }
  void hear(uint32_t times) {
    for (; times != 0; --times) lci_buffer_free(world_.pop(inbox_).buffer);
  }

 private:
  World& world_;
  lci_comp* const inbox_;
};

/// Every rank but this one.
std::vector<uint32_t> all_but(const World& world, uint32_t one) {
  std::vector<uint32_t> ranks = first_ranks(world.size());
  ranks.erase(ranks.begin() + one);
  return ranks;
}

void progress_for_a_while(World& world) {
  for (int i = 0; i < 200; ++i) world.progress();
}

// Each rank is the last once: nobody is through before it has posted, however long that takes.
// Proves: J1
CONFORMANCE(J1, ABarrierOfAGroupEndsWhenAllMembersHavePosted) {
  Telling telling(world);
  Side all(world, first_ranks(world.size()));
  for (uint32_t last = 0; last < world.size(); ++last) {
    if (world.rank() == last) {
      telling.hear(world.size() - 1);
      all.post();
    } else {
      all.post();
      progress_for_a_while(world);
      EXPECT_FALSE(all.has_ended()) << "without rank " << last;
      telling.tell(last);
    }
    EXPECT_EQ(LCI_DONE, all.await().code);
  }
  for (int i = 0; i < 500; ++i) all.barrier();
  all.free();
}

// Without a word: whoever gives the same has the same. What a rank frees and makes anew is another one.
// Proves: J11
CONFORMANCE(J11, GroupsAndContextsAreTheSameWithoutCommunication) {
  std::vector<uint32_t> ranks = first_ranks(world.size());
  std::reverse(ranks.begin(), ranks.end());
  const auto id_of = [&](uint64_t key) {
    lci_group* const group = make_group(world.runtime(), ranks, 1);
    lci_context* const context = make_context(group, key);
    EXPECT_EQ(group, make_group(world.runtime(), ranks, 1));
    EXPECT_EQ(context, make_context(group, key));
    uint64_t id = 0;
    EXPECT_EQ(LCI_DONE, lci_context_id(context, &id));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(LCI_DONE, lci_context_free(context));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(LCI_DONE, lci_group_free(group));
    return id;
  };
  const uint64_t ids[] = {id_of(5), id_of(6), id_of(5)};
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[0], ids[2]) << "made anew";
  const Bytes mine(reinterpret_cast<const uint8_t*>(ids), reinterpret_cast<const uint8_t*>(ids) + sizeof ids);
  for (const Bytes& theirs : world.gather(mine)) EXPECT_EQ(mine, theirs);
  for (int life = 0; life < 3; ++life) {
    Side all(world, ranks);
    for (int i = 0; i < 20; ++i) all.barrier();
    all.free();
  }
}

// The last rank enters one context when the other has seen hundreds of calls, and others are in a group without it.
// Proves: J12
CONFORMANCE(J12, ContextsDoNotWaitForEachOther) {
  const uint32_t last = world.size() - 1;
  Side still(world, first_ranks(world.size()), 1), runs(world, first_ranks(world.size()), 2);
  const bool late = world.rank() == last;
  for (int i = 0; i < 8 && !late; ++i) still.post();
  for (int i = 0; i < 300; ++i) runs.barrier();
  EXPECT_FALSE(still.has_ended());
  runs.barrier();  // all have looked
  if (!late) {
    Side others(world, all_but(world, last));
    for (int i = 0; i < 50; ++i) others.barrier();
    others.free();
  }
  for (int i = 0; i < 8 && late; ++i) still.post();
  for (uint64_t i = 0; i < 8; ++i) {
    const lci_status status = still.await();
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_GT(8u, status.tag);
  }
  still.free();
  runs.free();
}

// Each rank is the one whose context is not there yet once.
// Proves: J13
CONFORMANCE(J13, AMemberMayMakeItsContextLate) {
  Telling telling(world);
  for (uint32_t last = 0; last < world.size(); ++last) {
    if (world.rank() == last) {
      telling.hear(world.size() - 1);
      progress_for_a_while(world);
    }
    Side all(world, first_ranks(world.size()), last);
    for (int i = 0; i < 10; ++i) all.post();
    if (world.rank() != last) {
      progress_for_a_while(world);
      telling.tell(last);
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQ(LCI_DONE, all.await().code);
    all.free();
  }
}

// Proves: J14
CONFORMANCE(J14, MembersThatCallDifferentThingsAllHearOfIt) {
  Side all(world, first_ranks(world.size())), other(world, first_ranks(world.size()), 1);
  all.barrier();
  if (world.rank() == 0) lci::from_handle(all.context)->barrier.count = 1;
  EXPECT_EQ(LCI_ERR_MISMATCH, all.call().first);
  lci_failure failure{};
  ASSERT_EQ(LCI_DONE, lci_context_failure(all.context, &failure));
  EXPECT_EQ(1u, failure.sequence);
  EXPECT_TRUE(failure.ranks[0] == 0 || failure.ranks[1] == 0);
  EXPECT_EQ(1u, failure.calls[0].count + failure.calls[1].count);
  lci_comp* const none = world.queue(1);
  EXPECT_EQ(LCI_ERR_MISMATCH, lci_post_group_barrier(all.context, none, 0));
  other.barrier();
  all.free();
  other.free();
}

// Proves: J15
CONFORMANCE(J15, AContextThatAMemberGivesUpEndsOnAll) {
  Side all(world, first_ranks(world.size())), other(world, first_ranks(world.size()), 1);
  other.barrier();
  const uint32_t last = world.size() - 1;
  if (world.rank() == last) {
    EXPECT_EQ(LCI_DONE, lci_context_revoke(all.context, LCI_ERR_TRUNCATED));
    lci_failure failure{};
    world.until([&] { return lci_context_failure(all.context, &failure) == LCI_DONE; });
  } else {
    EXPECT_EQ(std::make_pair(int{LCI_ERR_COLLECTIVE}, last), all.call());
    lci_failure failure{};
    EXPECT_EQ(LCI_DONE, lci_context_failure(all.context, &failure));
    EXPECT_EQ(static_cast<uint32_t>(LCI_ERR_TRUNCATED), failure.cause);
  }
  other.barrier();
  all.free();
  other.free();
}

}  // namespace
}  // namespace lci_test
