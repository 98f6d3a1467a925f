// SPDX-License-Identifier: Apache-2.0
// What goes on in a lane while its inboxes are full, and while its records are being read. [V5, V6]
#include <cstring>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"
#include "support/sanitized.hpp"

namespace lci_test {
namespace {

// Inbox A is full and has no demand. Inbox B gets everything, and each operation has its record in the enter after it
// ended: nothing of A stands in the way.
// Proves: V5
TEST(LaneDispatch, AFullInboxDelaysNoOperation) {
  constexpr uint32_t kFull = 1, kServed = 2, kRounds = 2000;
  Job job(2, {{"lane_completions", "64"}});
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    const uint32_t full = receiver.open(kFull, 64, 1 << 20);
    const uint32_t served = receiver.open(kServed, 64, 1 << 20);
    uint64_t sent = 0, taken = 0, posted = 0, ended = 0;
    const auto turn = [&] {
      sender.enter();
      sender.read([](const lci_record&) {});
      receiver.enter();
      receiver.read([&](const lci_record& record) {
        taken += record.kind == LCI_RECORD_MESSAGE && record.index == served;
        ended += record.kind == LCI_RECORD_OP && record.code == LCI_DONE;
        EXPECT_FALSE(record.kind == LCI_RECORD_MESSAGE && record.index == full);
      });
    };
    for (int refused = 0; refused < 200;) {
      auto& op = sender.add_am(1, kFull, 0, 0);
      turn();
      refused = op.outcome == LCI_DONE ? 0 : refused + 1;
    }
    ASSERT_EQ(64u, receiver.demand(full).depth);
    receiver.demand(served).requested = UINT64_MAX / 2;
    for (uint32_t round = 0; round < kRounds; ++round) {
      auto& message = sender.add_am(1, kServed, 0, round);
      for (uint64_t i = 0; i < 4; ++i) {  // sends to oneself: each send ends at once, its receive in the same pass
        lci_descriptor receive{};
        receive.op = LCI_OP_RECV;
        receive.rank = 1;
        receive.tag = i;
        lci_descriptor send = receive;
        send.op = LCI_OP_SEND;
        auto& received = receiver.add(receive);
        turn();
        if (i == 0) sent += message.outcome == LCI_DONE;
        ASSERT_EQ(LCI_POSTED, received.outcome);
        ++posted;
        int code = LCI_RETRY;
        for (int tries = 0; tries < 10'000 && is_retry(code); ++tries) {
          auto& out = receiver.add(send);
          turn();
          code = out.outcome;
        }
        ASSERT_EQ(LCI_DONE, code) << lci_code_name(code);
        turn();
        ASSERT_EQ(posted, ended) << "an operation that ended waits for its record";
      }
    }
    for (int i = 0; i < 100; ++i) turn();
    EXPECT_EQ(posted, ended);
    EXPECT_EQ(sent, taken);
    EXPECT_EQ(uint64_t{kRounds} * 4, posted);
    EXPECT_GT(sent, kRounds / 2);
    EXPECT_EQ(64u, receiver.demand(full).depth);
    EXPECT_EQ(0u, receiver.demand(full).delivered);
  }
}

constexpr uint64_t kPosts = kSanitized ? 100'000 : 1'000'000;

// Each message is answered from within its dispatch by an enter that posts only: nothing else happens in it, and the
// record that is being read, and those behind it, stay as they are, in a ring of 64.
// Proves: V6
TEST(LaneDispatch, PostsFromWithinLeaveTheRecordsAlone) {
  constexpr uint32_t kPort = 1, kCirculating = 24;
  Job job(1, {{"lane_completions", "64"}});
  {
    LaneDriver lane(job, 0);
    lane.demand(lane.open(kPort)).requested = UINT64_MAX / 2;
    uint64_t posted = 0, received = 0, parked = 0, sum = 0;
    const auto post = [&](uint32_t flags) {
      auto& op = lane.add_am(0, kPort, posted, posted);
      lane.control().flags = flags;
      lane.enter();
      posted += op.outcome == LCI_DONE;
      ASSERT_TRUE(op.outcome == LCI_DONE || is_retry(op.outcome)) << lci_code_name(op.outcome);
      if (op.outcome != LCI_DONE) ++parked;
    };
    constexpr uint32_t kAll = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
    parked = kCirculating;
    for (uint64_t turns = 0; received < kPosts && turns < 20 * kPosts; ++turns) {
      if (parked != 0) {
        --parked;
        post(kAll);
      } else {
        lane.control().flags = kAll;
        lane.enter();
      }
      lane.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_MESSAGE) return;
        const lci_record before = record;
        const uint32_t tail = lane.control().cq_tail;
        ++received;
        sum += LaneDriver::value_of(record);
        post(LCI_ENTER_POST);
        ASSERT_EQ(tail, lane.control().cq_tail) << "it was not to drain";
        ASSERT_EQ(0, std::memcmp(&before, &record, sizeof record)) << "overwritten while it is read";
      });
      if (HasFatalFailure()) return;
    }
    EXPECT_LE(kPosts, received);
    EXPECT_GE(posted, received);
    EXPECT_EQ(received * (received - 1) / 2, sum) << "each once; no order is disturbed here";
  }
}

}  // namespace
}  // namespace lci_test
