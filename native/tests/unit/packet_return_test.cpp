// SPDX-License-Identifier: Apache-2.0
// Where packets go that have come back. [B12, 2B-13]
// Mutation that must make this file fail: packets_to_the_tail.
#include <set>
#include <thread>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;
constexpr uint32_t kLittle = 300, kMuch = 8000;  // below and above the threshold

/// Rank 0 has two devices and six packets; whatever it sends to rank 1 is counted there.
class PacketReturn : public testing::Test {
 protected:
  static constexpr uint32_t kPackets = 6;
  PacketReturn()
      : job_(2, {{"devices", "2"}, {"packets", "6"}, {"packets_max", "6"}, {"packet_return_threshold", "4096"}}) {
    EXPECT_EQ(LCI_DONE, lci_counter_create(job_.runtime(1), &arrived_));
    EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort, "", arrived_, 0, 0));
    for (const uint32_t device : {0u, 1u}) {  // from now on the port needs no credit
      send(device, 8);
      for (int i = 0; i < 1000 && job_.counter(0, "packets_out") != 0; ++i) progress(device);
      EXPECT_EQ(0u, job_.counter(0, "packets_out"));
    }
  }
  void progress(uint32_t device) {
    lci_progress(job_.device(1, device));
    lci_progress(job_.device(0, device));
  }
  /// The packet's first byte says how much it carried.
  void send(uint32_t device, uint32_t size) {
    const std::vector<uint8_t> bytes(size, size == kMuch ? 2 : 1);
    EXPECT_EQ(LCI_DONE, lci_post_am(job_.device(0, device), 1, kPort, 0, bytes.data(), size, nullptr, 0))
        << lci_last_error();
  }
  /// All packets of rank 0 leave by @p device, and are on their way home: half of them carried little.
  void send_all(uint32_t device) {
    for (uint32_t i = 0; i < kPackets; ++i) send(device, i % 2 == 0 ? kLittle : kMuch);
    EXPECT_EQ(kPackets, job_.counter(0, "packets_out"));
    for (int i = 0; i < 100; ++i) lci_progress(job_.device(1, device));
  }
  /// What the packet carried that @p device gets; 0: it gets none.
  uint32_t get(uint32_t device) {
    void* payload = nullptr;
    uint64_t handle = 0;
    const int code = lci_packet_get(job_.device(0, device), &handle, &payload);
    if (code != LCI_DONE) {
      EXPECT_EQ(LCI_RETRY_NOPACKET, code);
      return 0;
    }
    EXPECT_TRUE(held_.insert(handle).second);
    return *static_cast<uint8_t*>(payload) == 2 ? kMuch : kLittle;
  }
  void give_back() {
    for (const uint64_t handle : held_) EXPECT_EQ(LCI_DONE, lci_packet_put(job_.device(0), handle));
    held_.clear();
    job_.check_ledgers();
  }

  Job job_;
  lci_comp* arrived_ = nullptr;
  std::set<uint64_t> held_;
};

// Its owner takes what carried little first.
// Proves: B12
TEST_F(PacketReturn, WhatCarriedMuchGoesToTheHead) {
  const auto there_and_back = [&](uint32_t count, uint32_t size) {
    for (uint32_t i = 0; i < count; ++i) send(0, size);
    for (int i = 0; i < 100; ++i) progress(0);
    ASSERT_EQ(0u, job_.counter(0, "packets_out"));
  };
  there_and_back(kPackets, kLittle);
  there_and_back(kPackets / 2, kMuch);  // the last that come home
  const std::vector<uint32_t> expected = {kLittle, kLittle, kLittle, kMuch, kMuch, kMuch};
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < kPackets; ++i) order.push_back(get(0));
  EXPECT_EQ(expected, order);
  give_back();
}

// Two threads with a device each: the one posts and looks no more, the other runs dry and takes back what came. What
// carried little is in its own deque then, the rest in the deque of the one who had posted it, from which it steals.
// Proves: B12
TEST_F(PacketReturn, AnotherDeviceTakesBackWhatItNeeds) {
  std::thread([&] { send_all(1); }).join();
  EXPECT_EQ(0u, get(0)) << "all packets are out";
  const uint64_t steals = job_.counter(0, "packets_steal");
  lci_progress(job_.device(0, 0));
  EXPECT_EQ(0u, job_.counter(0, "packets_out"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(kLittle, get(0));
  EXPECT_EQ(steals, job_.counter(0, "packets_steal"));
  EXPECT_EQ(kMuch, get(0));
  EXPECT_EQ(steals + 1, job_.counter(0, "packets_steal"));
  EXPECT_EQ(kMuch, get(1)) << "one was left there";
  give_back();
}

// Who needs none leaves them to the device that posted, and so does one of another pool.
TEST_F(PacketReturn, OthersLeaveThemToTheDeviceThatPosted) {
  send_all(1);
  for (int i = 0; i < 100; ++i) lci_progress(job_.device(0, 0));
  EXPECT_EQ(kPackets, job_.counter(0, "packets_out")) << "nobody wants any";
  uint32_t pool = 0;
  ASSERT_EQ(LCI_DONE, lci_pool_create(job_.runtime(0), 1, 1, &pool));
  ASSERT_EQ(LCI_DONE, lci_device_use_pool(job_.device(0, 0), pool));
  void* payload = nullptr;
  uint64_t only = 0, none = 0;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job_.device(0, 0), &only, &payload));
  EXPECT_EQ(LCI_RETRY_NOPACKET, lci_packet_get(job_.device(0, 0), &none, &payload));
  for (int i = 0; i < 100; ++i) lci_progress(job_.device(0, 0));
  EXPECT_EQ(kPackets, job_.counter(0, "packets_out")) << "of another pool";
  EXPECT_EQ(LCI_DONE, lci_packet_put(job_.device(0, 0), only));
  for (int i = 0; i < 100; ++i) progress(1);
  EXPECT_EQ(0u, job_.counter(0, "packets_out"));
  give_back();
}

// The threshold is the user's to choose.
TEST(PacketReturnThreshold, SaysWhatIsMuch) {
  for (const char* threshold : {"0", "1M"}) {
    Job job(1, {{"packets", "2"}, {"packets_max", "2"}, {"packet_return_threshold", threshold}});
    lci_comp* arrived = nullptr;
    ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &arrived));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", arrived, 0, 0));
    uint64_t first = 0, other = 0;
    void* payload = nullptr;
    ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &first, &payload));
    lci_descriptor op = operation(LCI_OP_AM, 0, kPort, 0, nullptr, kLittle);
    op.flags = LCI_FLAG_PACKET;
    op.u.ref.address = first;
    ASSERT_EQ(LCI_DONE, lci_post(job.device(0), &op, nullptr, nullptr)) << lci_last_error();
    job.settle();
    ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &other, &payload));
    EXPECT_EQ(threshold[0] == '0', first != other) << "at the head it is the last that comes out";
    EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0), other));
    job.check_ledgers();
  }
}

// A packet comes back to the deque of the device that posted it, whoever had taken it before.
// Proves: B12
TEST(PacketReturnHome, IsTheDeviceThatPosted) {
  Job job(1, {{"devices", "2"}, {"packets", "8"}, {"packets_max", "8"}});
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 0, 0));
  for (const uint32_t size : {8u, 300u, 8000u}) {  // by the ring, and in the packet
    uint64_t handle = 0;
    void* payload = nullptr;
    ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0, 0), &handle, &payload));
    std::memset(payload, 1, size);
    auto op = operation(LCI_OP_AM, 0, kPort, 0, nullptr, size);
    op.flags = LCI_FLAG_PACKET;
    op.u.ref.address = handle;
    int code = LCI_RETRY;
    for (int i = 0; i < 100'000 && is_retry(code); ++i) {
      code = lci_post(job.device(0, 1), &op, nullptr, nullptr);
      lci_progress(job.device(0, 1));
    }
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    for (int i = 0; i < 200; ++i) lci_progress(job.device(0, 1));
    uint64_t next = 0;
    ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0, 1), &next, &payload));
    EXPECT_EQ(handle, next) << "of " << size << " bytes: the last that came back is the first to go out";
    EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0, 0), next)) << "or where its user puts it";
    EXPECT_EQ(LCI_DONE, lci_packet_get(job.device(0, 0), &next, &payload));
    EXPECT_EQ(handle, next);
    EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0, 0), next));
    lci_status status = LCI_STATUS_INIT;
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(0), &status));
  }
}

}  // namespace
}  // namespace lci_test
