// SPDX-License-Identifier: Apache-2.0
// Parts of a port on lanes of different threads: what comes to one device is for the other's lane, while both open,
// take and close.
#include <atomic>
#include <thread>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 9;
constexpr uint32_t kParts = 2;
constexpr uint64_t kMessages = 20'000;

void take_part(Job& job, uint32_t part, std::atomic<uint64_t>& taken, std::atomic<bool>& stop) {
  LaneDriver lane(job, 1, part);
  uint32_t index = 0;
  uint64_t base = 0, length = 0;
  ASSERT_EQ(LCI_DONE, lci_lane_open_part(lane.handle(), kPort, "p", part, kParts, 64, 1 << 20, &index, &base, &length))
      << lci_last_error();
  lane.demand(index).requested = UINT64_MAX / 2;
  while (!stop.load(std::memory_order_acquire)) {
    lane.enter();
    lane.read([&](const lci_record& record) {
      if (record.kind != LCI_RECORD_MESSAGE) return;
      EXPECT_EQ(part, record.tag % kParts);
      EXPECT_EQ(record.tag, LaneDriver::value_of(record));
      taken.fetch_add(1, std::memory_order_release);
    });
    std::this_thread::yield();
  }
  EXPECT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), index));
}

TEST(PortPartsStress, LanesOfTwoThreadsShareAPort) {
  Job job(2, {{"devices", "2"}});
  std::atomic<uint64_t> taken{0};
  std::atomic<bool> stop{false};
  std::thread first([&] { take_part(job, 0, taken, stop); });
  std::thread second([&] { take_part(job, 1, taken, stop); });
  {
    LaneDriver sender(job, 0, 0), other(job, 0, 1);
    uint64_t sent = 0;
    while (taken.load(std::memory_order_acquire) < kMessages) {
      LaneDriver& lane = sent / kParts % 2 == 0 ? sender : other;  // each part over each device
      if (sent < kMessages) {
        auto& op = lane.add_am(1, kPort, sent, sent);
        lane.enter();
        if (op.outcome == LCI_DONE) ++sent;
      }
      for (LaneDriver* each : {&sender, &other}) {
        each->enter();
        each->read([](const lci_record&) {});
      }
      std::this_thread::yield();
    }
    stop.store(true, std::memory_order_release);
    first.join();
    second.join();
  }
  EXPECT_EQ(kMessages, taken.load());
}

}  // namespace
}  // namespace lci_test
