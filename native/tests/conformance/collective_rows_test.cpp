// SPDX-License-Identifier: Apache-2.0
// Rows about what groups do together with data. Each rank posts the same calls, and looks at what it gets.
#include <memory>
#include <vector>

#include "conformance/world.hpp"
#include "support/collectives.hpp"

namespace lci_test {
namespace {

/// A context of all ranks, and calls of it at this one.
class Calls {
 public:
  explicit Calls(World& world)
      : world_(world), ended_(world.queue()), group_(make_group(world.runtime(), first_ranks(world.size()))) {
    context_ = make_context(group_);
    EXPECT_EQ(LCI_DONE, lci_context_id(context_, &id_));
  }
  ~Calls() {
    EXPECT_EQ(LCI_DONE, lci_context_free(context_)) << lci_last_error();
    EXPECT_EQ(LCI_DONE, lci_group_free(group_));
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void post(const CollectiveCase& of) {
    calls_.push_back(std::make_unique<MemberCall>(of, world_.rank(), world_.size(), calls_.size()));
    const lci_collective call = calls_.back()->call();
    lci_descriptor op{};
    op.op = LCI_OP_COLLECTIVE;
    op.port = static_cast<uint16_t>(call.kind);
    op.policy = static_cast<uint8_t>(call.op);
    op.rank = call.root;
    op.size = call.type | call.algorithm << 8;
    op.tag = id_;
    op.u.collective = {reinterpret_cast<uint64_t>(call.in), reinterpret_cast<uint64_t>(call.out), call.count,
                       reinterpret_cast<uint64_t>(call.counts)};
    op.user_context = calls_.size() - 1;
    EXPECT_EQ(LCI_POSTED, world_.post(op, ended_)) << of.name() << ": " << lci_last_error();
  }
  void await() {
    const lci_status status = world_.pop(ended_);
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(status.user_context, status.tag) << "its number is that of its post";
    if (status.code == LCI_DONE) calls_[status.user_context]->expect_result();
    calls_[status.user_context].reset();
  }
  /// Short ones and long ones, of each root, with and without lists, in place and not, four under way.
  void make_all_of(lci_collective_kind kind) {
    uint32_t under_way = 0;
    for (const uint64_t count : {0, 1, 20, 21, 4000}) {
      CollectiveCase of;
      of.kind = kind;
      of.count = count;
      for (of.root = 0; of.root < (of.has_root() ? world_.size() : 1); ++of.root) {
        for (const bool listed : {false, true}) {
          for (const bool in_place : {false, true}) {
            of.listed = listed;
            if ((listed && !of.may_be_listed()) || (in_place && !of.may_be_in_place())) continue;
            of.in_place = in_place;
            post(of);
            if (++under_way > 4) await();
          }
        }
      }
    }
    for (under_way = std::min(under_way, 4u); under_way != 0; --under_way) await();
  }

 private:
  World& world_;
  lci_comp* const ended_;
  lci_group* const group_;
  lci_context* context_ = nullptr;
  uint64_t id_ = 0;
  std::vector<std::unique_ptr<MemberCall>> calls_;
};

// Proves: J2
CONFORMANCE(J2, ABroadcastBringsWhatTheRootHas) {
  Calls(world).make_all_of(LCI_COLLECTIVE_BROADCAST);
}

// Proves: J3
CONFORMANCE(J3, AReductionIsAtItsRoot) {
  Calls(world).make_all_of(LCI_COLLECTIVE_REDUCE);
}

// Proves: J4
CONFORMANCE(J4, EachMemberGetsItsBlockOfAReduction) {
  Calls(world).make_all_of(LCI_COLLECTIVE_REDUCE_SCATTER);
}

// Proves: J5
CONFORMANCE(J5, AllMembersGetAReduction) {
  Calls(world).make_all_of(LCI_COLLECTIVE_ALLREDUCE);
}

// Proves: J6
CONFORMANCE(J6, AllMembersGetTheBlocksOfAll) {
  Calls(world).make_all_of(LCI_COLLECTIVE_ALLGATHER);
}

// Proves: J7
CONFORMANCE(J7, EachMemberGetsABlockOfEach) {
  Calls(world).make_all_of(LCI_COLLECTIVE_ALLTOALL);
}

// More than 16 bits, of which the numbers of rounds have no more.
// Proves: J8
CONFORMANCE(J8, CallsKeepTheirNumbers) {
  const uint64_t count = soak() ? 70'000 : 1'000;
  Calls calls(world);
  CollectiveCase of;
  for (uint64_t i = 0; i < count; ++i) {
    of.kind = i % 2 == 0 ? LCI_COLLECTIVE_ALLREDUCE : LCI_COLLECTIVE_SCAN;
    of.count = i % 3;
    calls.post(of);
    if (i >= 8) calls.await();
  }
  for (int i = 0; i < 8; ++i) calls.await();
}

// Proves: J9
CONFORMANCE(J9, WhatElseMembersDoTogether) {
  Calls calls(world);
  for (const lci_collective_kind kind : {LCI_COLLECTIVE_GATHER, LCI_COLLECTIVE_SCATTER, LCI_COLLECTIVE_SCAN,
                                         LCI_COLLECTIVE_EXCLUSIVE_SCAN, LCI_COLLECTIVE_NEIGHBOURS}) {
    calls.make_all_of(kind);
  }
}

}  // namespace
}  // namespace lci_test
