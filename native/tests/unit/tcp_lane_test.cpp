// SPDX-License-Identifier: Apache-2.0
// Loops that have links over TCP: what comes by those rings no bell, and wakes who sleeps, as do peers of the same
// host. [V9, V11]
#include <atomic>
#include <thread>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 4;

/// Two ranks, each with a lane: over TCP, or on one host of a job that could have others (routed).
class TcpLane : public testing::TestWithParam<const char*> {
 protected:
  TcpLane() : job_(2, {{"transport", GetParam()}}), first_(job_, 0), second_(job_, 1) {
    for (LaneDriver* lane : {&first_, &second_}) lane->demand(lane->open(kPort, 64)).requested = UINT64_MAX / 2;
  }

  /// One turn of a loop: enters if it posts, or hears a bell. @return messages
  static uint32_t turn(LaneDriver& lane) {
    if (lane.control().submit_count == 0 && !lane.rings()) return 0;
    lane.enter();
    uint32_t messages = 0;
    const uint32_t read = lane.read([&](const lci_record& record) { messages += record.kind == LCI_RECORD_MESSAGE; });
    if (read != 0) lane.enter();  // the records go back, and credit with them
    return messages;
  }
  /// Posts to the other rank until it is taken.
  void post(LaneDriver& lane, LaneDriver& other, uint32_t to, uint64_t value) {
    for (int i = 0; i < 100'000; ++i) {
      lci_descriptor& op = lane.add_am(to, kPort, value, value);
      lane.enter();
      if (op.outcome == LCI_DONE) return;
      lane.read([](const lci_record&) {});
      turn(other);
    }
    ADD_FAILURE() << "never taken";
  }

  Job job_;
  LaneDriver first_, second_;
};

TEST_P(TcpLane, ALoopThatOnlyLooksAtItsBellsHearsWhatComes) {
  uint32_t came = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    post(first_, second_, 1, i);
    for (int pass = 0; pass < 100'000 && came <= i; ++pass) {
      came += turn(second_);
      turn(first_);  // a message without credit is asked for
    }
    ASSERT_EQ(i + 1, came);
  }
}

// Each rank sleeps until the other one's message comes. A wake that is lost shows as a sleep that ends by its limit
// over something that could be read (late_wakes).
TEST_P(TcpLane, SleepersAreWokenByWhatComes) {
  constexpr uint64_t kRounds = 100;
  post(first_, second_, 1, 0);  // the link is there
  while (turn(second_) == 0) turn(first_);
  std::atomic<uint64_t> woken{0};
  const auto loop = [&](LaneDriver& lane, uint32_t other, bool begins) {
    const auto send = [&](uint64_t value) {
      for (;;) {
        lci_descriptor& op = lane.add_am(other, kPort, value, value);
        lane.enter();
        if (op.outcome == LCI_DONE) return;
        lane.read([](const lci_record&) {});
      }
    };
    if (begins) send(0);
    for (uint64_t round = 0; round < kRounds;) {
      lane.park_word().store(1, std::memory_order_seq_cst);
      if (lci_lane_park(lane.handle(), 1'000'000'000) == LCI_DONE) woken.fetch_add(1);
      lane.enter();
      uint32_t messages = 0;
      if (lane.read([&](const lci_record& record) { messages += record.kind == LCI_RECORD_MESSAGE; }) != 0)
        lane.enter();
      if (messages == 0) continue;
      ++round;
      if (!begins || round < kRounds) send(round);
    }
  };
  std::thread second([&] { loop(second_, 0, false); });
  loop(first_, 1, true);
  second.join();
  EXPECT_GE(woken.load(), kRounds) << "of twice as many; those that time out were not woken";
  EXPECT_EQ(0u, job_.counter(0, "late_wakes"));
  EXPECT_EQ(0u, job_.counter(1, "late_wakes"));
}

INSTANTIATE_TEST_SUITE_P(Ways, TcpLane, testing::Values("tcp", "routed"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lci_test
