// SPDX-License-Identifier: Apache-2.0
// Devices that are added while others run: threads post and progress on those that are there, and begin on the new ones
// before the peer has them.
#include <atomic>
#include <thread>
#include <vector>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;
constexpr uint32_t kDevices = 6;

/// Messages that two ranks have sent and received.
struct Books {
  std::atomic<uint64_t> sent[2]{};
  std::atomic<uint64_t> came[2]{};
  std::atomic<uint64_t> sum_sent[2]{};
  std::atomic<uint64_t> sum_came[2]{};
};

/// Sends @p messages to the other rank over one device, and takes what comes to this rank, until @p over.
void talk(Job& job, uint32_t rank, uint32_t index, uint64_t messages, lci_comp* inbox, Books& books,
          const std::atomic<bool>& over) {
  lci_device* device = job.device(rank, index);
  uint64_t sent = 0;
  while (!over.load(std::memory_order_acquire)) {
    if (sent < messages) {
      const uint64_t value = (uint64_t{index} << 32) + sent;
      const uint32_t size = sent % 7 == 0 ? 8 : 0;
      auto op = operation(LCI_OP_AM, 1 - rank, kPort, value, &value, size);
      if (sent % 5 == 0) op.flags |= LCI_FLAG_NO_RETRY;
      const int code = lci_post(device, &op, nullptr, nullptr);
      if (code == LCI_DONE || code == LCI_DONE_BACKLOG) {
        books.sent[rank].fetch_add(1);
        books.sum_sent[rank].fetch_add(value);
        ++sent;
      } else {
        ASSERT_TRUE(is_retry(code)) << lci_last_error();
      }
    }
    lci_status status{};
    while (lci_queue_pop(inbox, &status) == LCI_DONE) {
      books.came[rank].fetch_add(1);
      books.sum_came[rank].fetch_add(status.tag);
      if (status.buffer) lci_buffer_free(status.buffer);
    }
    if (lci_progress(device) != LCI_DONE) std::this_thread::yield();
  }
}

// Nothing is lost and nothing comes twice, whoever adds first.
// Proves: A24
TEST(DeviceAddStress, ThreadsTalkWhileDevicesAreAdded) {
  constexpr uint64_t kMessages = 4000;
  Job job(2, {{"packets", "64"}, {"packets_max", "256"}});
  Books books;
  std::atomic<bool> over{false};
  lci_comp* inbox[2];
  for (const uint32_t rank : {0u, 1u}) {
    inbox[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", inbox[rank], 256, 1 << 20));
  }
  std::vector<std::thread> threads[2];
  const auto begin = [&](uint32_t rank, uint32_t index) {
    threads[rank].emplace_back([&, rank, index] { talk(job, rank, index, kMessages, inbox[rank], books, over); });
  };
  lci::test::run_threads(2, [&](uint32_t rank) {
    begin(rank, 0);
    for (uint32_t index = 1; index < kDevices; ++index) {
      const lci::test::Deadline soon(30);  // the ranks are some devices apart, one way and the other
      while (books.sent[rank] < (rank == 0 ? index * 300 : index * index * 100) && !soon.passed()) {
        std::this_thread::yield();
      }
      lci_device* added = nullptr;
      ASSERT_EQ(LCI_DONE, lci_device_add(job.runtime(rank), &added)) << lci_last_error();
      begin(rank, index);
    }
  });
  const lci::test::Deadline deadline(120);
  const auto all_came = [&] { return books.came[0] + books.came[1] == 2 * kDevices * kMessages; };
  while (!all_came() && !deadline.passed()) std::this_thread::yield();
  over.store(true, std::memory_order_release);
  for (auto& each : threads) {
    for (auto& thread : each) thread.join();
  }
  for (const uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(kDevices * kMessages, books.sent[rank]);
    EXPECT_EQ(books.sent[rank], books.came[1 - rank]);
    EXPECT_EQ(books.sum_sent[rank], books.sum_came[1 - rank]);
  }
  for (int pass = 0; pass < 200; ++pass) {  // each device takes back the packets that it sent last
    for (const uint32_t rank : {0u, 1u}) {
      for (uint32_t index = 0; index < kDevices; ++index) lci_progress(job.device(rank, index));
    }
  }
  job.check_ledgers();
}

// The flow's own device and another one take what came to it, from the moment that there are two.
// Mutation: part_returns_alone.
TEST(DeviceAddStress, CreditIsNotLostWhenASecondDeviceBeginsToReceive) {
  constexpr uint32_t kRounds = 20;
  constexpr uint64_t kMessages = 1500;
  for (uint32_t round = 0; round < kRounds; ++round) {
    Job job(2, {{"packets", "64"}, {"packets_max", "64"}, {"engine_messages", "64"}});
    std::atomic<uint64_t> received{0}, next_tag{0};
    std::atomic<bool> over{false};
    const auto receive = [&](uint32_t index) {
      lci_device* device = job.device(1, index);
      lci_comp* ended = make_queue(job.runtime(1), 16);
      while (!over.load(std::memory_order_acquire)) {
        uint64_t value = 0;
        lci_status done{};
        const uint64_t tag = next_tag.fetch_add(1);
        if (tag >= kMessages) {
          if (lci_progress(device) != LCI_DONE) std::this_thread::yield();
          continue;
        }
        auto op = operation(LCI_OP_RECV, 0, 0, tag, &value, sizeof value);
        int code = LCI_RETRY;
        while (is_retry(code) && !over.load()) code = lci_post(device, &op, ended, &done);
        while (code == LCI_POSTED && !over.load() && lci_queue_pop(ended, &done) != LCI_DONE) lci_progress(device);
        if (!over.load()) {
          EXPECT_EQ(tag, value);
          received.fetch_add(1);
        }
      }
    };
    std::thread first([&] { receive(0); });
    std::thread sending([&] {
      for (uint64_t tag = 0; tag < kMessages && !over.load();) {
        auto op = operation(LCI_OP_SEND, 1, 0, tag, &tag, sizeof tag);
        const int code = lci_post(job.device(0), &op, nullptr, nullptr);
        if (code == LCI_DONE) ++tag;
        lci_progress(job.device(0));
      }
      while (!over.load()) lci_progress(job.device(0));
    });
    while (received.load() < kMessages / 4) std::this_thread::yield();
    lci_device* added = nullptr;
    EXPECT_EQ(LCI_DONE, lci_device_add(job.runtime(1), &added));
    std::thread second([&] { receive(1); });
    for (const lci::test::Deadline deadline(60); received.load() < kMessages && !deadline.passed();) {
      std::this_thread::yield();
    }
    over.store(true, std::memory_order_release);
    for (std::thread* thread : {&first, &second, &sending}) thread->join();
    ASSERT_EQ(kMessages, received.load()) << "round " << round;
  }
}

}  // namespace
}  // namespace lci_test
