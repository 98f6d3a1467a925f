// SPDX-License-Identifier: Apache-2.0
// Parts of a port on lanes of different threads: what comes to one device is for the other's lane, while both open,
// take and close.
#include <atomic>
#include <thread>

#include "api/handles.hpp"
#include "support/lane_driver.hpp"
#include "support/threads.hpp"

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

/// Two threads leave it together, while both run.
class Meeting {
 public:
  void meet(const lci::test::Deadline& end) {
    const uint32_t all = (arrived_.fetch_add(1) / 2 + 1) * 2;
    for (uint32_t spins = 1; arrived_.load(std::memory_order_acquire) < all; ++spins) {
      if (spins % 100'000 != 0) continue;
      if (end.passed()) return;
      std::this_thread::yield();
    }
  }

 private:
  std::atomic<uint32_t> arrived_{0};
};

constexpr uint32_t kRounds = 100, kHeld = 500;

/// In every round it keeps the records of some kHeld messages, and gives them back when the other one does. It goes on
/// taking until the other one has as many, too: what comes for both comes on the device that one of them looks after.
void hold_and_give_back(Job& job, uint32_t part, Meeting& meeting, std::atomic<uint32_t>& have_theirs,
                        std::atomic<bool>& stop, const lci::test::Deadline& end) {
  LaneDriver lane(job, 1, part);
  uint32_t index = 0;
  uint64_t base = 0, length = 0;
  ASSERT_EQ(LCI_DONE,
            lci_lane_open_part(lane.handle(), kPort, "p", part, kParts, 4096, 1 << 20, &index, &base, &length))
      << lci_last_error();
  lane.demand(index).requested = UINT64_MAX / 2;
  uint32_t& head = lane.control().cq_head;
  uint64_t taken = 0;
  for (uint32_t round = 0, given_back = head; round < kRounds; ++round) {
    uint32_t seen = given_back;
    bool has_its_own = false;
    while (have_theirs.load(std::memory_order_acquire) < (round + 1) * kParts && !end.passed()) {
      head = given_back;
      lane.enter();
      head = seen;
      taken += lane.read([](const lci_record&) {});
      seen = head;
      if (!has_its_own && taken >= (round + 1) * uint64_t{kHeld}) {
        has_its_own = true;
        have_theirs.fetch_add(1, std::memory_order_release);
      }
      std::this_thread::yield();
    }
    meeting.meet(end);
    lane.enter();
    given_back = seen;
  }
  while (!stop.load(std::memory_order_acquire)) {
    lane.enter();
    lane.read([](const lci_record&) {});
    std::this_thread::yield();
  }
  EXPECT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), index));
}

// Both parts' messages come on one device, under one key: what both lanes give back to it is all there in the end.
// Mutation: part_returns_alone.
TEST(PortPartsStress, NothingIsLostOfWhatTwoLanesGiveBackToOneKey) {
  constexpr uint64_t kSent = uint64_t{kParts} * kRounds * kHeld;
  Job job(2, {{"devices", "2"}, {"lane_completions", "4096"}});
  const lci::test::Deadline end(300);
  Meeting meeting;
  std::atomic<uint32_t> have_theirs{0};
  std::atomic<bool> stop{false};
  std::thread first([&] { hold_and_give_back(job, 0, meeting, have_theirs, stop, end); });
  std::thread second([&] { hold_and_give_back(job, 1, meeting, have_theirs, stop, end); });
  const lci::Target& port = *job.runtime(1)->runtime->targets().port(kPort);
  uint64_t sent = 0;
  {
    LaneDriver sender(job, 0, 0);
    constexpr uint32_t kBatch = 100;
    lci_descriptor* batch[kBatch];
    while (sent < kSent && !end.passed()) {
      for (uint32_t i = 0; i < kBatch; ++i) batch[i] = &sender.add_am(1, kPort, sent + i, sent + i);
      sender.enter();
      for (uint32_t i = 0; i < kBatch && batch[i]->outcome == LCI_DONE; ++i) ++sent;
      sender.read([](const lci_record&) {});
      std::this_thread::yield();
    }
  }
  EXPECT_LE(kSent, sent);
  job.close(0, 10'000);  // who leaves gives back what was leased to him
  const lci::Credit all = port.capacity.total();
  const lci::test::Deadline back(10);
  while (port.capacity.free().messages != all.messages && !back.passed()) std::this_thread::yield();
  EXPECT_EQ(all.messages, port.capacity.free().messages);
  EXPECT_EQ(all.bytes, port.capacity.free().bytes);
  stop.store(true, std::memory_order_release);
  first.join();
  second.join();
}

}  // namespace
}  // namespace lci_test
