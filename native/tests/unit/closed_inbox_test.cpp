// SPDX-License-Identifier: Apache-2.0
// What a lane keeps of inboxes that are closed. Mutation that must make this file fail: closed_inboxes_stay. [V15, X13]
#include <set>
#include <utility>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 9;
constexpr int kCycles = 1'000;

struct Opened {
  uint32_t index;
  uint64_t base, length;
};

Opened open_port(LaneDriver& lane, uint64_t bytes, uint32_t part = 0, uint32_t parts = 1) {
  Opened opened{};
  EXPECT_EQ(LCI_DONE, lci_lane_open_part(lane.handle(), kPort, "p", part, parts, 64, bytes, &opened.index, &opened.base,
                                         &opened.length))
      << lci_last_error();
  return opened;
}

TEST(ClosedInbox, ItsMemoryIsUsedAgain) {
  Job job(1);
  LaneDriver lane(job, 0);
  std::set<uint64_t> ranges;
  for (int i = 0; i < kCycles; ++i) {
    const Opened opened = open_port(lane, i % 2 == 0 ? 1 << 20 : 1 << 16);
    EXPECT_GE(opened.length, i % 2 == 0 ? 1u << 20 : 1u << 16);
    ranges.insert(opened.base);
    ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), opened.index));
  }
  EXPECT_EQ(1u, ranges.size());
}

TEST(ClosedInbox, PartsAreUsedAgainWhicheverClosesFirst) {
  Job job(1, {{"devices", "2"}});
  LaneDriver first(job, 0, 0), second(job, 0, 1);
  std::set<uint64_t> ranges;
  for (int i = 0; i < kCycles; ++i) {
    const Opened zero = open_port(first, 1 << 16, 0, 2), one = open_port(second, 1 << 16, 1, 2);
    ranges.insert({zero.base, one.base});
    std::pair<LaneDriver*, uint32_t> order[] = {{&first, zero.index}, {&second, one.index}};
    if (i % 2 != 0) std::swap(order[0], order[1]);
    for (const auto& [lane, index] : order) ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane->handle(), index));
  }
  EXPECT_EQ(2u, ranges.size());
}

/// Nor what never opened, since a part is missing.
TEST(ClosedInbox, APartWithoutTheOthersIsUsedAgain) {
  Job job(1);
  LaneDriver lane(job, 0);
  std::set<uint64_t> ranges;
  for (int i = 0; i < kCycles; ++i) {
    const Opened opened = open_port(lane, 1 << 16, i % 2, 2);
    ranges.insert(opened.base);
    ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), opened.index));
  }
  EXPECT_EQ(1u, ranges.size());
}

/// The loop still reads what it was given.
TEST(ClosedInbox, ItStaysUntilItsLastRecordIsRead) {
  Job job(1);
  LaneDriver lane(job, 0);
  const Opened opened = open_port(lane, 1 << 16);
  lane.demand(opened.index).requested = 1;
  lane.add_am(0, kPort, 0, 7);
  bool seen = false;
  for (int i = 0; i < 10'000 && !seen; ++i) {
    lane.enter();
    seen = lane.control().cq_tail != lane.control().cq_head;
  }
  ASSERT_TRUE(seen);
  ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), opened.index));
  const Opened other = open_port(lane, 1 << 16);
  EXPECT_NE(opened.base, other.base);
  EXPECT_NE(opened.index, other.index);
  EXPECT_EQ(1u, lane.read([](const lci_record& record) { EXPECT_EQ(7u, LaneDriver::value_of(record)); }));
  lane.enter();
  ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), other.index));
  std::set<uint64_t> ranges;
  for (int i = 0; i < kCycles; ++i) {
    const Opened again = open_port(lane, 1 << 16);
    ranges.insert(again.base);
    ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), again.index));
  }
  EXPECT_EQ((std::set<uint64_t>{opened.base, other.base}), ranges);
}

/// Its rank leaves, and has not left yet: senders are told that, for to send again would be in vain.
TEST(ClosedPort, SaysThatItsRankLeaves) {
  for (const bool leaving : {false, true}) {
    Job job(2);
    LaneDriver sender(job, 0), receiver(job, 1);
    const Opened opened = open_port(receiver, 1 << 16);
    sender.add_am(1, kPort, 0, 1);
    for (int i = 0; i < 100; ++i) {
      sender.enter();
      receiver.enter();
    }
    if (leaving) receiver.control().flags |= LCI_ENTER_LEAVING;
    ASSERT_EQ(LCI_DONE, lci_lane_close_port(receiver.handle(), opened.index));
    int told = LCI_DONE;
    for (int i = 0; i < 10'000 && told == LCI_DONE; ++i) {
      receiver.enter();
      sender.enter();
      sender.read([&](const lci_record& record) {
        if (record.kind == LCI_RECORD_PORT) told = record.code;
      });
    }
    const int code = leaving ? LCI_ERR_PEER_LEFT : LCI_ERR_PORT_CLOSED;
    EXPECT_EQ(code, told);
    const lci_descriptor& late = sender.add_am(1, kPort, 0, 2);
    sender.enter();
    EXPECT_EQ(code, late.outcome);
  }
}

}  // namespace
}  // namespace lci_test
