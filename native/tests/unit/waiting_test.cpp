// SPDX-License-Identifier: Apache-2.0
// The blocking forms of completion objects. [E2, E10, H10, S1 4.7.2, SS-43, SS-54]
// Mutation that must make this file fail: wait_never_expires.
#include <atomic>
#include <thread>

#include "support/background.hpp"
#include "support/job.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5;
constexpr uint32_t kLong = 30'000;  // ms; a test that gets there fails
constexpr uint32_t kShort = 30;

/// A queue of rank @p rank, behind kPort.
lci_comp* open_queue(Job& job, uint32_t rank) {
  lci_comp* queue = make_queue(job.runtime(rank));
  EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", queue, 0, 0)) << lci_last_error();
  return queue;
}

void send(lci_device* device, uint32_t rank, uint64_t tag) {
  int code = LCI_RETRY;
  for (int i = 0; i < 1'000'000 && code != LCI_DONE; ++i) {
    code = lci_post_am(device, rank, kPort, tag, nullptr, 0, nullptr, 0);
    if (code != LCI_DONE) lci_progress(device);
  }
  EXPECT_EQ(LCI_DONE, code) << lci_last_error();
}

/// [H10] Looking is passive.
// Proves: H10
TEST(Waiting, LooksDoNotProgress) {
  Job job(2);
  lci_comp* queue = open_queue(job, 1);
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(1), 1, &synchronizer));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 1, nullptr, 0, synchronizer, 0, nullptr));
  send(job.device(0), 1, 1);
  lci_descriptor op{};
  op.op = LCI_OP_SEND;
  op.rank = 1;
  op.tag = 1;
  int code = lci_post(job.device(0), &op, nullptr, nullptr);
  for (int i = 0; i < 100'000 && code != LCI_DONE; ++i) {
    lci_progress(job.device(0));
    code = lci_post(job.device(0), &op, nullptr, nullptr);
  }
  ASSERT_EQ(LCI_DONE, code);
  lci_status status{};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &status));
    EXPECT_EQ(LCI_RETRY, lci_synchronizer_test(synchronizer, nullptr));
    EXPECT_EQ(0u, lci_queue_length(queue));
  }
  job.settle();
  EXPECT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
  EXPECT_EQ(LCI_DONE, lci_synchronizer_test(synchronizer, nullptr));
  lci_buffer_free(status.buffer);
}

TEST(Waiting, QueueWaitProgressesUntilAMessageComes) {
  Job job(2);
  lci_comp* queue = open_queue(job, 1);
  lci_device* device = job.device(1);
  const Background peer([&, sent = false]() mutable {
    if (!sent) send(job.device(0), 1, 77);
    sent = true;
    lci_progress(job.device(0));
  });
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_queue_wait(queue, &device, 1, kLong, &status)) << lci_last_error();
  EXPECT_EQ(77u, status.tag);
  lci_buffer_free(status.buffer);
}

/// Devices of several runtimes: one thread drives both ranks.
TEST(Waiting, QueueWaitProgressesDevicesOfSeveralRuntimes) {
  Job job(2);
  lci_comp* queue = open_queue(job, 1);
  lci_comp* ended = make_queue(job.runtime(0));
  // Too long for a packet, so the sender's rank has work to do after the post.
  std::vector<std::byte> bytes(1 << 20, std::byte{7});
  lci_device* devices[] = {job.device(0), job.device(1)};
  int code = LCI_RETRY;
  while (is_retry(code)) {
    code = lci_post_am(job.device(0), 1, kPort, 78, bytes.data(), static_cast<uint32_t>(bytes.size()), ended, 0);
    if (is_retry(code)) lci_progress(job.device(0));
  }
  ASSERT_EQ(LCI_POSTED, code) << lci_last_error();
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_queue_wait(queue, devices, 2, kLong, &status)) << lci_last_error();
  EXPECT_EQ(78u, status.tag);
  EXPECT_EQ(bytes.size(), status.size);
  lci_buffer_free(status.buffer);
  EXPECT_EQ(LCI_DONE, lci_queue_wait(ended, devices, 2, kLong, &status)) << lci_last_error();
}

TEST(Waiting, TheTimeEnds) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(0), 2, &synchronizer));
  lci_device* device = job.device(0);
  lci_status statuses[2] = {};
  uint32_t popped = 9;
  for (const uint32_t timeout : {0u, 1u, kShort}) {
    EXPECT_EQ(LCI_ERR_TIMEOUT, lci_queue_wait(queue, &device, 1, timeout, statuses));
    EXPECT_NE(nullptr, std::strstr(lci_last_error(), std::to_string(timeout).c_str())) << lci_last_error();
    EXPECT_EQ(LCI_ERR_TIMEOUT, lci_queue_wait_many(queue, &device, 1, timeout, statuses, 2, &popped));
    EXPECT_EQ(0u, popped);
    EXPECT_EQ(LCI_ERR_TIMEOUT, lci_synchronizer_wait(synchronizer, &device, 1, timeout, statuses));
  }
}

/// Without time it is a look, one round of progress, and another look.
TEST(Waiting, WithoutTimeItProgressesOnce) {
  Job job(1);
  lci_comp* queue = open_queue(job, 0);
  lci_device* device = job.device(0);
  send(device, 0, 3);
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_queue_wait(queue, &device, 1, 0, &status)) << lci_last_error();
  EXPECT_EQ(3u, status.tag);
  lci_buffer_free(status.buffer);
}

/// [SS-54] The devices that the caller names, and no other.
// Proves: SS-54
TEST(Waiting, OnlyNamedDevicesAreProgressed) {
  Job job(1, {{"devices", "2"}});
  lci_comp* queue = open_queue(job, 0);
  lci_device* const devices[] = {job.device(0, 0), job.device(0, 1)};
  send(devices[1], 0, 1);
  lci_status status{};
  EXPECT_EQ(LCI_ERR_TIMEOUT, lci_queue_wait(queue, &devices[0], 1, kShort, &status));
  EXPECT_EQ(LCI_ERR_TIMEOUT, lci_queue_wait(queue, nullptr, 0, kShort, &status));
  EXPECT_EQ(LCI_DONE, lci_queue_wait(queue, &devices[1], 1, kLong, &status));
  lci_buffer_free(status.buffer);
  send(devices[1], 0, 2);
  EXPECT_EQ(LCI_DONE, lci_queue_wait(queue, devices, 2, kLong, &status));
  lci_buffer_free(status.buffer);
}

TEST(Waiting, WithoutDevicesAnotherThreadSignals) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  std::thread other([&] {
    lci_status status{};
    status.tag = 8;
    EXPECT_EQ(LCI_DONE, lci_comp_signal(queue, &status));
  });
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_queue_wait(queue, nullptr, 0, LCI_FOREVER, &status));
  EXPECT_EQ(8u, status.tag);
  other.join();
}

/// [E10] What came before the time was over is the caller's.
// Proves: E10
TEST(Waiting, WaitManyCollects) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  lci_status status{};
  for (status.tag = 0; status.tag < 3; ++status.tag) lci_comp_signal(queue, &status);
  lci_status out[5] = {};
  uint32_t popped = 0;
  EXPECT_EQ(LCI_ERR_TIMEOUT, lci_queue_wait_many(queue, nullptr, 0, kShort, out, 5, &popped));
  ASSERT_EQ(3u, popped);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(i, out[i].tag);
  for (status.tag = 3; status.tag < 10; ++status.tag) lci_comp_signal(queue, &status);
  EXPECT_EQ(LCI_DONE, lci_queue_wait_many(queue, nullptr, 0, 0, out, 5, &popped));
  EXPECT_EQ(5u, popped);
  EXPECT_EQ(3u, out[0].tag);
  EXPECT_EQ(2u, lci_queue_length(queue)) << "no more than was asked for";
  EXPECT_EQ(LCI_DONE, lci_queue_wait_many(queue, nullptr, 0, 0, out, 0, &popped));
  EXPECT_EQ(0u, popped);
}

/// [E2, SS-43] Several waiters, k signals: one of them gets the firing, whole.
// Proves: E2
TEST(Waiting, OneOfSeveralWaitersGetsTheFiring) {
  for (const uint32_t threshold : {1u, 3u}) {
    Job job(1);
    lci_comp* synchronizer = nullptr;
    ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(0), threshold, &synchronizer));
    std::atomic<int> winners{0}, losers{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&] {
        lci_status out[3] = {};
        const int code = lci_synchronizer_wait(synchronizer, nullptr, 0, 200, out);
        winners += code == LCI_DONE;
        losers += code == LCI_ERR_TIMEOUT;
        for (uint64_t k = 0; code == LCI_DONE && k < threshold; ++k) EXPECT_EQ(k + 1, out[k].tag);
      });
    }
    lci_status status{};
    for (uint32_t k = 0; k < threshold; ++k) {
      ++status.tag;
      EXPECT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &status));
    }
    for (std::thread& waiter : waiters) waiter.join();
    EXPECT_EQ(1, winners.load());
    EXPECT_EQ(2, losers.load());
  }
}

/// A synchronizer that was signalled too often says so to who waits. [SS-41]
TEST(Waiting, AnOverrunEndsTheWait) {
  Job job(1);
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(0), 1, &synchronizer));
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &status));
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_comp_signal(synchronizer, &status));
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_synchronizer_wait(synchronizer, nullptr, 0, kLong, nullptr));
  EXPECT_EQ(LCI_DONE, lci_synchronizer_wait(synchronizer, nullptr, 0, kLong, nullptr));
}

TEST(Waiting, BadArgumentsAreTold) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &counter));
  lci_device* none = nullptr;
  lci_status status{};
  uint32_t popped = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_wait(counter, nullptr, 0, kLong, &status));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_wait(nullptr, nullptr, 0, kLong, &status));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_wait(queue, nullptr, 1, kLong, &status));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_wait(queue, &none, 1, kLong, &status));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_wait_many(counter, nullptr, 0, kLong, &status, 1, &popped));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_queue_wait_many(queue, nullptr, 0, kLong, &status, 1, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_synchronizer_wait(queue, nullptr, 0, kLong, &status));
}

/// The loop of a lane waits for its devices; nobody else does.
TEST(Waiting, DevicesOfLanesAreRefused) {
  Job job(1);
  lci_comp* queue = make_queue(job.runtime(0));
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(0), 1, &synchronizer));
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job.runtime(0), 0, 1, &lane));
  lci_device* device = job.device(0);
  lci_status status{};
  uint32_t popped = 0;
  EXPECT_EQ(LCI_ERR_DEVICE, lci_queue_wait(queue, &device, 1, kLong, &status));
  EXPECT_EQ(LCI_ERR_DEVICE, lci_queue_wait_many(queue, &device, 1, kLong, &status, 1, &popped));
  EXPECT_EQ(LCI_ERR_DEVICE, lci_synchronizer_wait(synchronizer, &device, 1, kLong, &status));
  EXPECT_EQ(LCI_ERR_DEVICE, lci_test_drained(device));
  EXPECT_EQ(LCI_ERR_DEVICE, lci_wait_drained(device, kLong));
  lci_descriptor op{};
  op.op = LCI_OP_RECV;
  op.flags = LCI_FLAG_WAIT;
  EXPECT_EQ(LCI_ERR_DEVICE, lci_post(device, &op, nullptr, nullptr));
  EXPECT_EQ(0u, job.counter(0, "operations_recv_posted"));
  EXPECT_EQ(LCI_DONE, lci_lane_free(lane));
  EXPECT_EQ(LCI_ERR_TIMEOUT, lci_queue_wait(queue, &device, 1, 0, &status)) << "usable again";
}

}  // namespace
}  // namespace lci_test
