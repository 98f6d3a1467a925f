// SPDX-License-Identifier: Apache-2.0
// Inboxes that close and open again while devices of another lane leave messages in them: none is freed under them, and
// each message was taken or is counted as thrown away. [X13]
#include <atomic>
#include <set>
#include <thread>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 9;
constexpr uint64_t kRounds = 2'000;
constexpr uint32_t kBytes = 1 << 16;

/// A lane that takes a port, or a part of it, for a moment, again and again.
struct Owner {
  Owner(Job& job, uint32_t device, uint32_t part, uint32_t parts) : lane(job, 0, device), part(part), parts(parts) {}

  void open() {
    uint64_t base = 0, length = 0;
    ASSERT_EQ(LCI_DONE, lci_lane_open_part(lane.handle(), kPort, "p", part, parts, 64, kBytes, &index, &base, &length))
        << lci_last_error();
    lane.demand(index).requested = UINT64_MAX / 2;
    ranges.insert(base);
  }
  void take() {
    lane.enter();
    lane.read([&](const lci_record& record) { taken += record.kind == LCI_RECORD_MESSAGE ? 1 : 0; });
  }
  void close() { ASSERT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), index)) << lci_last_error(); }

  LaneDriver lane;
  const uint32_t part, parts;
  uint32_t index = 0;
  uint64_t taken = 0;
  std::set<uint64_t> ranges;
};

/// Sends to its own rank over its own device, until told to stop.
uint64_t send(LaneDriver& lane, const std::atomic<bool>& stop) {
  uint64_t sent = 0;
  while (!stop.load(std::memory_order_acquire)) {
    auto& op = lane.add_am(0, kPort, sent, sent);
    lane.enter();
    if (op.outcome == LCI_DONE) ++sent;
    lane.read([](const lci_record&) {});
  }
  return sent;
}

void closes_while_another_delivers(uint32_t parts) {
  Job job(1, {{"devices", "3"}});
  std::atomic<bool> stop{false};
  uint64_t sent = 0, taken = 0;
  {
    LaneDriver sender(job, 0, 2);
    std::thread sending([&] { sent = send(sender, stop); });
    Owner first(job, 0, 0, parts), second(job, 1, 1, 2);
    for (uint64_t round = 0; round < kRounds; ++round) {
      first.open();
      if (parts == 2) second.open();
      for (uint64_t i = 0; i < 1 + round % 4; ++i) {
        first.take();
        if (parts == 2) second.take();
      }
      if (parts == 2 && round % 2 == 0) second.close();
      first.close();
      if (parts == 2 && round % 2 != 0) second.close();
      first.take();  // records that were written before it closed
      if (parts == 2) second.take();
    }
    stop.store(true, std::memory_order_release);
    sending.join();
    for (int i = 0; i < 1'000; ++i) {
      sender.enter();
      sender.read([](const lci_record&) {});
      first.take();
      second.take();
    }
    taken = first.taken + second.taken;
    EXPECT_LT(first.ranges.size(), 8u) << "ranges are used again";
    EXPECT_LT(second.ranges.size(), 8u);
  }
  EXPECT_EQ(sent, taken + job.counter(0, "discarded"));
}

TEST(ClosedInboxStress, OfAWholePort) {
  closes_while_another_delivers(1);
}
TEST(ClosedInboxStress, OfAPortInParts) {
  closes_while_another_delivers(2);
}

}  // namespace
}  // namespace lci_test
