// SPDX-License-Identifier: Apache-2.0
// Several packet pools in one runtime.
#include <gtest/gtest.h>

#include <vector>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 4;

std::vector<uint64_t> take(Job& job, uint32_t device, uint32_t most) {
  std::vector<uint64_t> taken;
  uint64_t packet = 0;
  void* payload = nullptr;
  for (int misses = 0; misses < 1000 && taken.size() < most;) {
    const int code = lci_packet_get(job.device(0, device), &packet, &payload);
    if (code == LCI_DONE) taken.push_back(packet);
    misses = code == LCI_DONE ? 0 : misses + 1;
  }
  return taken;
}

void put(Job& job, uint32_t device, const std::vector<uint64_t>& packets) {
  for (const uint64_t each : packets) EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0, device), each));
}

// A device with a pool of its own neither runs dry because of others nor lets them run dry; a pool may serve several
// devices; a packet goes back to its own pool, also by a device of another.
// Proves: B15
TEST(PacketPools, DevicesTakeFromTheirOwn) {
  Job job(1, {{"devices", "4"}, {"packets", "8"}, {"packets_max", "8"}});
  uint32_t own = 0, shared = 0;
  ASSERT_EQ(LCI_DONE, lci_pool_create(job.runtime(0), 4, 4, &own)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_pool_create(job.runtime(0), 2, 6, &shared));
  ASSERT_NE(own, shared);
  ASSERT_EQ(LCI_DONE, lci_device_use_pool(job.device(0, 1), own)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_device_use_pool(job.device(0, 2), shared));
  ASSERT_EQ(LCI_DONE, lci_device_use_pool(job.device(0, 3), shared));
  const auto first = take(job, 0, 100);
  EXPECT_EQ(8u, first.size());
  const auto second = take(job, 1, 100);
  EXPECT_EQ(4u, second.size()) << "not dry because of device 0";
  const auto third = take(job, 2, 3), fourth = take(job, 3, 100);
  EXPECT_EQ(3u, third.size());
  EXPECT_EQ(3u, fourth.size()) << "what device 2 has left";
  put(job, 3, first);
  put(job, 0, second);
  EXPECT_EQ(4u, take(job, 1, 100).size()) << "found in the deque of device 0";
  EXPECT_EQ(8u, take(job, 0, 100).size()) << "they are back in pool 0";
  EXPECT_EQ(0u, take(job, 2, 100).size());
}

// Messages go out in packets of whatever pool, and their packets come back to it.
// Proves: B15
TEST(PacketPools, CarryMessages) {
  Job job(2, {{"devices", "2"}, {"packets", "4"}, {"packets_max", "4"}});
  uint32_t own = 0;
  ASSERT_EQ(LCI_DONE, lci_pool_create(job.runtime(0), 4, 4, &own));
  ASSERT_EQ(LCI_DONE, lci_device_use_pool(job.device(0, 0), own));
  lci_comp *inbox = make_queue(job.runtime(1)), *ended = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  const auto others = take(job, 1, 4);  // pool 0 is empty, and stays so
  ASSERT_EQ(4u, others.size());
  for (const uint32_t size : {4000u, 100'000u}) {
    const auto bytes = pattern(size, size);
    for (uint64_t i = 0; i < 20; ++i) {
      const int code = post_until_taken(job, 0, operation(LCI_OP_AM, 1, kPort, i, bytes.data(), size), ended);
      ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code << lci_last_error();
      lci_status status{};
      ASSERT_TRUE(pop(job, inbox, &status));
      EXPECT_EQ(0, compare(bytes.data(), status.buffer, size));
      lci_buffer_free(status.buffer);
    }
  }
  // A packet of the one pool on a device of the other.
  lci_descriptor op = operation(LCI_OP_AM, 1, kPort, 77, nullptr, 8);
  op.flags = LCI_FLAG_PACKET;
  op.u.ref.address = others[0];
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr)) << lci_last_error();
  lci_status status{};
  ASSERT_TRUE(pop(job, inbox, &status));
  lci_buffer_free(status.buffer);
  job.settle();
  EXPECT_EQ(1u, take(job, 1, 4).size()) << "it is back in pool 0, which device 1 uses";
  EXPECT_EQ(4u, take(job, 0, 8).size());
}

TEST(PacketPools, LimitsAreChecked) {
  Job job(1);
  uint32_t number = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_pool_create(job.runtime(0), 0, 4, &number));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_pool_create(job.runtime(0), 5, 4, &number));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_device_use_pool(job.device(0), 1));
  for (int i = 0; i < 15; ++i) EXPECT_EQ(LCI_DONE, lci_pool_create(job.runtime(0), 1, 1, &number));
  EXPECT_EQ(LCI_ERR_EXHAUSTED, lci_pool_create(job.runtime(0), 1, 1, &number));
  EXPECT_EQ(LCI_DONE, lci_device_use_pool(job.device(0), 15));
  EXPECT_EQ(LCI_DONE, lci_device_use_pool(job.device(0), 0));
}

}  // namespace
}  // namespace lci_test
