// SPDX-License-Identifier: Apache-2.0
// A lane whose thread is elsewhere is helped by another one: what others wait for moves, what is for its loop waits.
// Mutations that must make this file fail: help_writes_records, help_untold.
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 3, kQueuePort = 4;

/// Rank 1 has the lane, whose thread is this test's; rank 0 progresses as usual.
class LaneHelp : public testing::Test {
 protected:
  /// Passes of both ranks, the lane's by help alone.
  void help_until(const std::function<bool()>& done) {
    bool is_done = done();
    for (int i = 0; i < 20'000 && !is_done; ++i) {
      lci_progress(job_.device(0));
      lci_lane_help(lane_.handle());
      is_done = done();
    }
    EXPECT_TRUE(is_done);
  }
  int send(uint32_t port, uint64_t value) {
    lci_descriptor op = operation(LCI_OP_AM, 1, port, value, &value, sizeof value);
    return lci_post(job_.device(0), &op, nullptr, nullptr);
  }
  std::vector<std::byte> block() {
    uint64_t base = 0, length = 0;
    EXPECT_EQ(LCI_DONE, lci_lane_memory(lane_.handle(), &base, &length));
    const auto* bytes = reinterpret_cast<const std::byte*>(base);
    return {bytes, bytes + length};
  }

  Job job_{2};
  LaneDriver lane_{job_, 1};
};

TEST_F(LaneHelp, AMessageToAnotherObjectArrives) {
  lci_comp* queue = make_queue(job_.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kQueuePort, "", queue, 0, 0)) << lci_last_error();
  lci_status status{};
  int posted = LCI_RETRY;
  help_until([&] {
    if (posted != LCI_DONE) posted = send(kQueuePort, 7);
    return lci_queue_pop(queue, &status) == LCI_DONE;
  });
  EXPECT_EQ(7u, status.tag);
  EXPECT_LT(0u, job_.counter(1, "lane_helps"));
  EXPECT_EQ(LCI_DONE, lci_arrival_free(job_.runtime(1), &status));
  EXPECT_EQ(LCI_DONE, lci_port_close(job_.runtime(1), kQueuePort));
}

TEST_F(LaneHelp, AMessageToTheLaneWaitsForItsEnter) {
  const uint32_t index = lane_.open(kPort);
  lane_.demand(index).requested = 100;
  for (int i = 0; i < 100; ++i) lane_.enter();
  const std::vector<std::byte> before = block();
  int posted = LCI_RETRY;
  help_until([&] {
    if (posted != LCI_DONE) posted = send(kPort, 9);
    return job_.counter(1, "arrivals") == 1;
  });
  EXPECT_EQ(before, block()) << "its thread may be reading and writing it";
  for (int i = 0; i < 3; ++i) {  // nothing moves any more
    EXPECT_TRUE(lane_.rings()) << "a loop that only looks at its bells would not enter";
    lci_lane_help(lane_.handle());
  }
  uint64_t value = 0;
  for (int i = 0; i < 100 && value == 0; ++i) {
    lane_.enter();
    lane_.read([&](const lci_record& record) {
      if (record.kind == LCI_RECORD_MESSAGE) value = LaneDriver::value_of(record);
    });
  }
  EXPECT_EQ(9u, value);
}

TEST_F(LaneHelp, AnOperationThatEndsMeanwhileIsRecordedByTheNextEnter) {
  std::vector<std::byte> out(300'000, std::byte{5}), in(out.size());
  auto receive = operation(LCI_OP_RECV, 0, 0, 1, in.data(), static_cast<uint32_t>(in.size()), 77);
  lane_.add(receive);
  lane_.enter();
  auto op = operation(LCI_OP_SEND, 1, 0, 1, out.data(), static_cast<uint32_t>(out.size()), 1);
  lci_comp* queue = make_queue(job_.runtime(0));
  ASSERT_EQ(LCI_POSTED, lci_post(job_.device(0), &op, queue, nullptr)) << lci_last_error();
  lci_status status{};
  help_until([&] { return lci_queue_pop(queue, &status) == LCI_DONE; });
  help_until([&] { return job_.counter(1, "signals") == 1; });
  uint64_t context = 0;
  lane_.enter();
  lane_.read([&](const lci_record& record) {
    if (record.kind == LCI_RECORD_OP) context = record.context;
  });
  EXPECT_EQ(77u, context);
  EXPECT_EQ(out, in);
}

TEST_F(LaneHelp, ALeftBellStays) {
  for (int i = 0; i < 100; ++i) lane_.enter();
  ASSERT_FALSE(lane_.rings());
  lci_lane_wake(lane_.handle());
  for (int i = 0; i < 100; ++i) lci_lane_help(lane_.handle());
  EXPECT_TRUE(lane_.rings()) << "it was not the helper's";
}

TEST_F(LaneHelp, AHandlerOfTheHelperIsToldBusy) {
  struct Call {
    lci_lane* lane;
    std::atomic<int> code{LCI_DONE};
  } call{lane_.handle()};
  lci_comp* handler = nullptr;
  const auto enter = [](const lci_status*, void* argument) {
    auto* called = static_cast<Call*>(argument);
    called->code = lci_lane_enter(called->lane);
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job_.runtime(1), enter, &call, &handler)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kQueuePort, "", handler, 0, 0)) << lci_last_error();
  int posted = LCI_RETRY;
  help_until([&] {
    if (posted != LCI_DONE) posted = send(kQueuePort, 1);
    return call.code != LCI_DONE;
  });
  EXPECT_EQ(LCI_ERR_BUSY, call.code);
  EXPECT_EQ(LCI_DONE, lci_port_close(job_.runtime(1), kQueuePort));
}

TEST_F(LaneHelp, NobodyHelpsAParkedLane) {
  std::atomic<bool> parking{false};
  std::thread owner([&] {
    for (int i = 0; i < 100; ++i) lane_.enter();
    lane_.park_word().store(1, std::memory_order_seq_cst);
    parking.store(true);
    lci_lane_park(lane_.handle(), 50'000'000);
  });
  while (!parking.load()) std::this_thread::yield();
  while (lane_.park_word().load() != 0) EXPECT_EQ(LCI_RETRY, lci_lane_help(lane_.handle()));
  owner.join();
}

TEST_F(LaneHelp, IsRefusedInHandlersAndForNothing) {
  struct Call {
    lci_lane* lane;
    int code = LCI_DONE;
  } call{lane_.handle()};
  lci_comp* handler = nullptr;
  const auto help = [](const lci_status*, void* argument) {
    auto* called = static_cast<Call*>(argument);
    called->code = lci_lane_help(called->lane);
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job_.runtime(0), help, &call, &handler)) << lci_last_error();
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_comp_signal(handler, &status));
  EXPECT_EQ(LCI_ERR_SIGNAL_CONTEXT, call.code);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_lane_help(nullptr));
}

}  // namespace
}  // namespace lci_test
