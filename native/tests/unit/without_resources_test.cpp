// SPDX-License-Identifier: Apache-2.0
// Runtimes without devices, packets or a matching engine: what needs them is an error, never a crash. Progress needs no
// packets here, so it is refused only where there is no device.
#include <gtest/gtest.h>

#include "support/posting.hpp"

namespace lci_test {
namespace {

// Proves: A9
TEST(WithoutResources, ARuntimeWithoutDevicesKeepsWhatIsLocal) {
  Job job(2, {{"alloc_default_device", "0"}});
  int dummy = 0;
  auto* device = reinterpret_cast<lci_device*>(&dummy);
  EXPECT_EQ(LCI_ERR_DEVICE, lci_runtime_device(job.runtime(0), 0, &device));
  EXPECT_EQ(nullptr, device);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_progress(device));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_am(device, 1, 1, 0, nullptr, 0, nullptr, 0));
  lci_lane* lane = nullptr;
  EXPECT_NE(LCI_DONE, lci_lane_create(job.runtime(0), 0, 1, &lane));
  lci_comp* queue = make_queue(job.runtime(0), 4);
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_comp_signal(queue, &status)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
}

// Proves: A9
// On: shm (puts and gets copy, and need no packets)
TEST(WithoutResources, ARuntimeWithoutPacketsPutsAndGets) {
  Job job(2, {{"alloc_default_packet_pool", "0"}});
  uint64_t handle = 7;
  void* payload = nullptr;
  EXPECT_EQ(LCI_ERR_UNSUPPORTED, lci_packet_get(job.device(0), &handle, &payload));
  EXPECT_EQ(0u, handle);
  lci_comp* ended = make_queue(job.runtime(0), 4);
  EXPECT_EQ(LCI_ERR_UNSUPPORTED, lci_post_am(job.device(0), 1, 1, 0, nullptr, 0, ended, 0));
  EXPECT_EQ(LCI_ERR_UNSUPPORTED, lci_post_send(job.device(0), 1, 1, &handle, 8, ended, 0));
  lci_memory* memory = nullptr;
  void* address = nullptr;
  ASSERT_EQ(LCI_DONE, lci_memory_allocate(job.runtime(1), 64, &memory, &address));
  uint8_t name[LCI_MEMORY_HANDLE_SIZE];
  ASSERT_EQ(LCI_DONE, lci_memory_handle(memory, name, sizeof name));
  uint64_t id = 0;
  ASSERT_EQ(LCI_DONE, lci_remote_open(job.runtime(0), 1, name, sizeof name, &id, nullptr)) << lci_last_error();
  const uint64_t value = 4711;
  EXPECT_EQ(LCI_DONE, lci_post_put(job.device(0), 1, &value, sizeof value, id, 8, ended, 0)) << lci_last_error();
  EXPECT_EQ(value, static_cast<uint64_t*>(address)[1]);
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(job.device(0), ended, 0)) << lci_last_error();
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(job.device(1), make_queue(job.runtime(1), 4), 0));
  lci_status status{};
  EXPECT_TRUE(pop(job, ended, &status)) << "progress serves what needs no packet";
}

// Proves: A9
TEST(WithoutResources, ARuntimeWithoutEngineHasActiveMessages) {
  Job job(2, {{"alloc_default_matching_engine", "0"}});
  char text[64];
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_engine_attr(job.runtime(0), 0, "keyed", text, sizeof text));
  uint64_t value = 5;
  lci_comp* ended = make_queue(job.runtime(0), 4);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_send(job.device(0), 1, 1, &value, sizeof value, ended, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_recv(job.device(0), 1, 1, &value, sizeof value, ended, 0, nullptr));
  lci_comp* inbox = make_queue(job.runtime(1), 4);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 2, "", inbox, 0, 0));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_AM, 1, 2, 0, &value, sizeof value), ended));
  lci_status status{};
  ASSERT_TRUE(pop(job, inbox, &status));
  lci_buffer_free(status.buffer);
  job.check_ledgers();
}

// Each rank may say so for itself: what is sent to it waits, as far as an engine has room for announcements, and nobody
// is blamed. Mutation: absent_engine_has_one_slot.
// Proves: A9
TEST(WithoutResources, SendersToARankWithoutEngineWaitForRoom) {
  constexpr int kEach = 4;  // announcements of a rank
  const Attributes bound = {{"announcements", std::to_string(2 * kEach)}};
  Attributes without = bound;
  without.emplace_back("alloc_default_matching_engine", "0");
  Job job({bound, without});
  const auto bytes = pattern(500, 1);
  for (int i = 0; i < 3 * kEach; ++i) {
    lci_descriptor op = operation(LCI_OP_SEND, 1, 0, 3, bytes.data(), static_cast<uint32_t>(bytes.size()));
    EXPECT_EQ(i < kEach ? LCI_DONE : LCI_RETRY_NOCREDIT, lci_post(job.device(0), &op, nullptr, nullptr)) << i;
    job.settle();
  }
  EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
  EXPECT_EQ(0u, job.counter(1, "peers_failed"));
}

// Proves: A9
TEST(WithoutResources, AllRanksMustAgreeOnPackets) {
  lci_inproc* inproc = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &inproc));
  lci::test::run_threads(2, [&](uint32_t rank) {
    lci_attrs* attrs = nullptr;
    ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
    ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "alloc_default_packet_pool", rank == 0 ? "0" : "1"));
    lci_runtime* runtime = nullptr;
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, lci_runtime_create(attrs, inproc, rank, &runtime));
    lci_attrs_free(attrs);
  });
  lci_inproc_free(inproc);
}

}  // namespace
}  // namespace lci_test
