// SPDX-License-Identifier: Apache-2.0
// Messages that a loop keeps where they lie, and gives back by descriptors. [V14, B14]
// Mutation that must make this file fail: keep_released.
#include <deque>
#include <functional>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;
constexpr uint32_t kBytes = 1000;

/// Rank 0 sends, and the lane of the last rank keeps what it may.
class Keeping {
 public:
  struct Kept {
    uint64_t number;
    uint64_t tag;
    const uint8_t* bytes;
    uint32_t size;
  };

  explicit Keeping(uint32_t ranks = 2, const Attributes& attributes = {}, uint32_t messages = 16)
      : job(ranks, attributes), lane(std::make_unique<LaneDriver>(job, ranks - 1)) {
    inbox = lane->open(kPort, messages, 4 << 20);
    EXPECT_EQ(LCI_DONE, lci_lane_zero_copy(lane->handle(), inbox, 1)) << lci_last_error();
    lane->demand(inbox).requested = UINT64_MAX / 2;
  }

  void turn() {
    lane->enter();
    lane->read([&](const lci_record& record) {
      if (record.kind != LCI_RECORD_MESSAGE) return;
      ++received;
      if (!(record.flags & LCI_RECORD_FLAG_LOAN)) return;
      EXPECT_TRUE(record.flags & LCI_RECORD_FLAG_ADDRESS);
      ++loans;
      if (!keep) return;
      const_cast<lci_record&>(record).flags |= LCI_RECORD_FLAG_KEPT;
      kept.push_back({record.context, record.tag, reinterpret_cast<const uint8_t*>(record.u.address), record.size});
    });
  }
  void turn_until(const std::function<bool()>& done) {
    for (int i = 0; i < 200'000 && !done(); ++i) {
      turn();
      for (uint32_t rank = 0; rank + 1 < job.size(); ++rank) lci_progress(job.device(rank));
    }
    EXPECT_TRUE(done());
  }
  /// Sends @p count messages of @p size, by those ranks that have devices to post on.
  void send(uint32_t count, uint32_t size = kBytes) {
    const auto bytes = pattern(size, 5);
    lci_comp* ended = make_queue(job.runtime(0));
    uint32_t posted = 0;
    for (uint32_t sent = 0; sent < count;) {
      auto op = operation(LCI_OP_AM, job.size() - 1, kPort, sent, bytes.data(), size);
      const int code = lci_post(job.device(0), &op, ended, nullptr);
      ASSERT_TRUE(code <= LCI_POSTED_BACKLOG || is_retry(code)) << lci_last_error();
      sent += code <= LCI_POSTED_BACKLOG;
      posted += code == LCI_POSTED;
      turn();
      lci_progress(job.device(0));
    }
    lci_status status = LCI_STATUS_INIT;
    turn_until([&] { return posted == 0 || (lci_queue_pop(ended, &status) == LCI_DONE && --posted == 0); });
    EXPECT_EQ(LCI_DONE, lci_comp_free(ended));
  }
  int release(uint64_t number) {
    lci_descriptor op{};
    op.op = LCI_OP_RELEASE;
    op.user_context = number;
    const lci_descriptor& entry = lane->add(op);
    turn();
    return entry.outcome;
  }
  void settle() {
    for (int i = 0; i < 50; ++i) {
      turn();
      for (uint32_t rank = 0; rank + 1 < job.size(); ++rank) lci_progress(job.device(rank));
    }
  }

  Job job;
  std::unique_ptr<LaneDriver> lane;
  uint32_t inbox = 0;
  bool keep = true;
  uint64_t received = 0, loans = 0;
  std::deque<Kept> kept;
};

// Kept messages stay as they are while others come and go; each is charged until it is released, once.
TEST(KeptMessages, StayWhereTheyLieUntilTheyAreReleased) {
  Keeping keeping(2, {}, 20);
  keeping.send(1);  // announced, and copied: there was no credit
  keeping.settle();
  const auto bytes = pattern(kBytes, 5);
  for (int round = 0; round < 20; ++round) {
    keeping.send(12);
    keeping.settle();
    ASSERT_EQ(12u, keeping.kept.size());
    EXPECT_EQ(12u, keeping.job.counter(0, "packets_out")) << "they lie in the sender's packets";
    EXPECT_GE(keeping.job.counter(1, "credits_leased"), 12u);
    while (!keeping.kept.empty()) {
      const Keeping::Kept kept = keeping.kept.front();
      keeping.kept.pop_front();
      ASSERT_EQ(kBytes, kept.size);
      EXPECT_EQ(0, compare(bytes.data(), kept.bytes, kBytes)) << kept.tag;
      ASSERT_EQ(LCI_DONE, keeping.release(kept.number)) << lci_last_error();
      EXPECT_EQ(LCI_ERR_ARGUMENT, keeping.release(kept.number)) << "once";
    }
  }
  for (const uint64_t number : {uint64_t{0}, uint64_t{99}, UINT64_MAX}) {
    EXPECT_EQ(LCI_ERR_ARGUMENT, keeping.release(number));
  }
  keeping.settle();
  EXPECT_EQ(0u, keeping.job.counter(0, "packets_out"));
  EXPECT_EQ(241u, keeping.received);
  keeping.lane.reset();
  keeping.job.check_ledgers();
}

// A loop that keeps nothing gives everything back by reading on, and without zero copy nothing may be kept.
TEST(KeptMessages, WhatIsNotKeptGoesBackWithItsRecord) {
  for (const bool zero_copy : {true, false}) {
    Keeping keeping;
    keeping.keep = false;
    ASSERT_EQ(LCI_DONE, lci_lane_zero_copy(keeping.lane->handle(), keeping.inbox, zero_copy));
    keeping.send(200);
    keeping.settle();
    EXPECT_EQ(200u, keeping.received);
    EXPECT_EQ(zero_copy, keeping.loans != 0);
    EXPECT_EQ(0u, keeping.job.counter(0, "packets_out"));
    EXPECT_EQ(LCI_ERR_PORT, lci_lane_zero_copy(keeping.lane->handle(), keeping.inbox + 1, 1));
    keeping.lane.reset();
    keeping.job.check_ledgers();
  }
}

// Without demand they are stored in their packets, as far as may be lent; the rest is copied.
TEST(KeptMessages, AreStoredWhereTheyLieWithoutDemand) {
  Keeping keeping;
  keeping.lane->demand(keeping.inbox).requested = 0;
  keeping.send(12);
  keeping.settle();
  EXPECT_EQ(0u, keeping.received);
  EXPECT_GE(keeping.job.counter(0, "packets_out"), 10u);
  keeping.lane->demand(keeping.inbox).requested = 1000;
  keeping.settle();
  EXPECT_EQ(12u, keeping.received);
  EXPECT_GE(keeping.kept.size(), 10u);
  for (const auto& kept : keeping.kept) EXPECT_EQ(LCI_DONE, keeping.release(kept.number));
  keeping.settle();
  keeping.lane.reset();
  keeping.job.check_ledgers();
}

// Long ones have memory of their own, and may be kept as well; short ones are copied.
TEST(KeptMessages, LongOnesToo) {
  Keeping keeping;
  keeping.send(1);
  for (const uint32_t size : {8u, 192u, 70'000u}) {
    const size_t before = keeping.kept.size();
    keeping.send(3, size);
    keeping.settle();
    EXPECT_EQ(size > 192 ? 3u : 0u, keeping.kept.size() - before) << size;
  }
  const auto bytes = pattern(70'000, 5);
  for (const auto& kept : keeping.kept) {
    EXPECT_EQ(0, compare(bytes.data(), kept.bytes, kept.size));
    EXPECT_EQ(LCI_DONE, keeping.release(kept.number));
  }
  keeping.lane.reset();
  keeping.job.check_ledgers();
}

// Closing the port, freeing the lane and the end of the sender: nothing is lost, nothing given back twice.
TEST(KeptMessages, OutliveTheirPortAndGoWithTheirLane) {
  Keeping keeping;
  keeping.send(12);
  keeping.settle();
  ASSERT_GE(keeping.kept.size(), 10u);
  ASSERT_EQ(LCI_DONE, lci_lane_close_port(keeping.lane->handle(), keeping.inbox));
  keeping.settle();
  const auto bytes = pattern(kBytes, 5);
  for (const auto& kept : keeping.kept) EXPECT_EQ(0, compare(bytes.data(), kept.bytes, kBytes));
  EXPECT_EQ(LCI_DONE, keeping.release(keeping.kept.front().number)) << lci_last_error();
  keeping.inbox = keeping.lane->open(kPort, 16, 1 << 20);  // the room of the last opening is not this one's
  EXPECT_EQ(LCI_DONE, keeping.release(keeping.kept.back().number)) << lci_last_error();
  keeping.lane.reset();
  keeping.job.check_ledgers();
}

TEST(KeptMessages, OutliveTheirSender) {
  for (const uint32_t timeout_ms : {0u, 1000u}) {
    Keeping keeping;
    keeping.send(12);
    keeping.settle();
    keeping.job.close(0, timeout_ms);
    for (int i = 0; i < 2'000'000 && keeping.job.counter(1, "peers_failed") + keeping.job.counter(1, "peers_left") == 0;
         ++i) {
      keeping.turn();
    }
    const auto bytes = pattern(kBytes, 5);
    for (const auto& kept : keeping.kept) {
      EXPECT_EQ(0, compare(bytes.data(), kept.bytes, kBytes));
      EXPECT_EQ(LCI_DONE, keeping.release(kept.number)) << lci_last_error();
    }
    for (int i = 0; i < 50; ++i) keeping.turn();
    EXPECT_EQ(0u, keeping.job.counter(1, "credits_leased"));
    keeping.lane.reset();
  }
}

// By another lane's device: pushed to the home lane, and not copied on the way.
TEST(KeptMessages, ComeByDevicesOfOtherLanes) {
  Job job(2, {{"devices", "2"}});
  {
    LaneDriver home(job, 1, 0), other(job, 1, 1);
    const uint32_t inbox = home.open(kPort, 16, 1 << 20);
    ASSERT_EQ(LCI_DONE, lci_lane_zero_copy(home.handle(), inbox, 1));
    home.demand(inbox).requested = 1000;
    lci_device* device = nullptr;
    ASSERT_EQ(LCI_DONE, lci_runtime_device(job.runtime(0), 1, &device));
    const auto bytes = pattern(kBytes, 5);
    std::vector<uint64_t> kept;
    uint32_t received = 0;
    for (int i = 0, sent = 0; i < 200'000 && (received < 100 || !kept.empty()); ++i) {
      auto op = operation(LCI_OP_AM, 1, kPort, 0, bytes.data(), kBytes);
      if (sent < 100) sent += lci_post(device, &op, nullptr, nullptr) == LCI_DONE;
      lci_progress(device);
      other.enter();
      for (const uint64_t number : kept) {
        lci_descriptor release{};
        release.op = LCI_OP_RELEASE;
        release.user_context = number;
        home.add(release);
      }
      kept.clear();
      home.enter();
      home.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_MESSAGE) return;
        ++received;
        EXPECT_EQ(0, compare(bytes.data(), reinterpret_cast<const void*>(record.u.address), kBytes));
        if (!(record.flags & LCI_RECORD_FLAG_LOAN)) return;
        const_cast<lci_record&>(record).flags |= LCI_RECORD_FLAG_KEPT;
        kept.push_back(record.context);
      });
    }
    EXPECT_EQ(100u, received);
    for (int i = 0; i < 50; ++i) {
      home.enter();
      other.enter();
      lci_progress(device);
    }
    EXPECT_EQ(0u, job.counter(0, "packets_out"));
  }
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
