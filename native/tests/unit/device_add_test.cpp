// SPDX-License-Identifier: Apache-2.0
// Devices that are added to a runtime that is running: what waits for the peer's, and what its coming tells.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "api/handles.hpp"
#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/rma_job.hpp"
#include "transport/shm/arena.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 4;

lci_device* add_device(Job& job, uint32_t rank) {
  lci_device* device = nullptr;
  EXPECT_EQ(LCI_DONE, lci_device_add(job.runtime(rank), &device)) << lci_last_error();
  return device;
}

/// A pass of each device of each rank.
void pass(Job& job) {
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    lci_device* device = nullptr;
    if (!job.runtime(rank)) continue;
    for (uint32_t i = 0; lci_runtime_device(job.runtime(rank), i, &device) == LCI_DONE; ++i) lci_progress(device);
  }
}

void passes(Job& job) {
  for (int i = 0; i < 200; ++i) pass(job);
}

/// The next status of a queue; code is LCI_RETRY if nothing has come.
lci_status next(Job& job, lci_comp* queue) {
  lci_status status{};
  status.code = LCI_RETRY;
  for (const lci::test::Deadline deadline(30); !deadline.passed();) {
    if (lci_queue_pop(queue, &status) == LCI_DONE) return status;
    pass(job);
  }
  return status;
}

/// The next message of a queue, without its bytes.
lci_status next_message(Job& job, lci_comp* queue) {
  const lci_status status = next(job, queue);
  lci_buffer_free(status.buffer);
  return status;
}

int post(lci_device* device, const lci_descriptor& op, lci_comp* comp = nullptr) {
  lci_descriptor attempt = op;
  return lci_post(device, &attempt, comp, nullptr);
}

class DeviceAdd : public testing::TestWithParam<const char*> {
 protected:
  static Attributes attributes(Attributes more = {}) {
    more.emplace_back("peer_memory", GetParam());
    return more;
  }
};
INSTANTIATE_TEST_SUITE_P(PeerMemory, DeviceAdd, testing::Values("all", "rings"),
                         [](const auto& info) { return info.param; });

// Proves: A24
TEST_P(DeviceAdd, DevicesOfOneIndexTalkToEachOther) {
  Job job(2, attributes({{"packets", "16"}, {"packets_max", "32"}}));
  lci_comp* inbox = make_queue(job.runtime(1));
  lci_comp* ended = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  for (uint32_t index = 1; index < 4; ++index) {
    for (const uint32_t rank : {0u, 1u}) {
      lci_device* added = add_device(job, rank);
      EXPECT_EQ(added, job.device(rank, index));
      char text[8];
      ASSERT_EQ(LCI_DONE, lci_device_attr(added, "uid", text, sizeof text));
      EXPECT_EQ(std::to_string(index), text);
    }
    for (const uint32_t size : {8u, 300u, 20'000u}) {
      const auto bytes = pattern(size, index);
      const auto op = operation(LCI_OP_AM, 1, kPort, index, bytes.data(), size, 7);
      int code = LCI_RETRY;
      for (int i = 0; i < 10'000 && is_retry(code); ++i) {
        code = post(job.device(0, index), op, ended);
        pass(job);
      }
      ASSERT_FALSE(is_retry(code) || code >= LCI_ERR_ARGUMENT) << code << lci_last_error();
      const lci_status came = next(job, inbox);
      ASSERT_EQ(LCI_DONE, came.code);
      EXPECT_EQ(index, came.tag);
      EXPECT_EQ(0, compare(bytes.data(), came.buffer, size));
      lci_buffer_free(came.buffer);
      if (code == LCI_POSTED) {
        EXPECT_EQ(LCI_DONE, next(job, ended).code);
      }
    }
    uint64_t counted[256];
    EXPECT_NE(0u, lci_runtime_snapshot_part(job.runtime(0), index, counted, 256));
    EXPECT_EQ(0u, lci_runtime_snapshot_part(job.runtime(0), index + 1, counted, 256));
  }
  passes(job);
  job.check_ledgers();
}

// Both directions: which of the two has more devices is nothing to the other ones.
// Proves: A24
TEST_P(DeviceAdd, APostToAPeerThatHasNoneIsRefusedUntilItHas) {
  for (const uint32_t from : {0u, 1u}) {
    const uint32_t to = 1 - from;
    Job job(2, attributes());
    lci_comp* inbox = make_queue(job.runtime(to));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(to), kPort, "", inbox, 0, 0));
    lci_comp* mine = make_queue(job.runtime(from));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(from), kPort, "", mine, 0, 0));
    lci_device* added = add_device(job, from);
    const uint64_t value = 5;
    auto op = operation(LCI_OP_AM, to, kPort, 1, &value, sizeof value);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(LCI_RETRY_NOCREDIT, post(added, op)) << lci_last_error();
      EXPECT_EQ(LCI_RETRY_NOCREDIT, post(added, operation(LCI_OP_SEND, to, 0, 1, &value, sizeof value)));
      pass(job);
    }
    op.tag = 2;
    op.flags |= LCI_FLAG_NO_RETRY;
    EXPECT_EQ(LCI_DONE_BACKLOG, post(added, op)) << lci_last_error();
    op.rank = from;  // its own device is there
    EXPECT_EQ(LCI_DONE, post(added, op)) << lci_last_error();
    EXPECT_EQ(from, next_message(job, mine).rank);
    op.rank = to;
    op.tag = 3;
    EXPECT_EQ(LCI_DONE, post(job.device(from), op)) << lci_last_error();
    EXPECT_EQ(3u, next_message(job, inbox).tag);
    passes(job);
    lci_status status{};
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox, &status));

    add_device(job, to);
    EXPECT_EQ(2u, next_message(job, inbox).tag) << "what waited in the backlog goes first";
    op.tag = 1;
    op.flags = LCI_FLAG_BUFFER;
    int code = LCI_RETRY;
    for (int i = 0; i < 10'000 && is_retry(code); ++i) {
      code = post(added, op);
      pass(job);
    }
    EXPECT_EQ(LCI_DONE, code);
    EXPECT_EQ(1u, next_message(job, inbox).tag);
    passes(job);
    job.check_ledgers();
  }
}

/// Records that a loop on device 1 of rank 0 sees.
struct Seen {
  uint32_t writable = 0;
  uint32_t peer = 0;
};

Seen turn(LaneDriver& lane) {
  Seen seen;
  lane.enter();
  lane.read([&](const lci_record& record) {
    seen.writable += record.kind == LCI_RECORD_WRITABLE && record.rank == 1 && record.port == kPort;
    seen.peer += record.kind == LCI_RECORD_PEER;
  });
  return seen;
}

// A loop that polls hears a bell, one that is about to sleep does not, and the flow is told once.
// Proves: A24
TEST_P(DeviceAdd, ALaneIsToldWhenThePeerHasTheDevice) {
  Job job(2, attributes());
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  add_device(job, 0);
  LaneDriver lane(job, 0, 1);
  auto& first = lane.add_am(1, kPort, 1, 1);
  auto& second = lane.add_am(1, kPort, 2, 2);
  EXPECT_EQ(0u, turn(lane).writable);
  EXPECT_EQ(LCI_RETRY_NOCREDIT, first.outcome);
  EXPECT_EQ(LCI_RETRY_ORDER, second.outcome);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(0u, turn(lane).writable);
  ASSERT_FALSE(lane.rings()) << "nobody waits busily";
  const uint32_t generation = lane.control().generation[0];
  lane.park_word().store(1);

  add_device(job, 1);
  EXPECT_EQ(0u, lane.park_word().load()) << "it would sleep";
  EXPECT_EQ(LCI_DONE, lci_lane_park(lane.handle(), 1'000'000));
  ASSERT_TRUE(lane.rings());
  EXPECT_EQ(1u, turn(lane).writable);
  EXPECT_NE(generation, lane.control().generation[0]);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(0u, turn(lane).writable);
  auto& again = lane.add_am(1, kPort, 1, 1);
  turn(lane);
  EXPECT_EQ(LCI_DONE, again.outcome);
  lci_status status{};
  for (int i = 0; i < 1000 && lci_queue_pop(inbox, &status) != LCI_DONE; ++i) {
    pass(job);
    turn(lane);
  }
  EXPECT_EQ(1u, status.tag);
  lci_buffer_free(status.buffer);
  for (int i = 0; i < 200; ++i, pass(job)) turn(lane);
}

// The one that adds need not know the one that waits yet; whoever is about to sleep sees the device all the same.
TEST_P(DeviceAdd, ALaneThatLooksBeforeItSleepsSeesTheDevice) {
  Job job(2, attributes());
  add_device(job, 0);
  LaneDriver lane(job, 0, 1);
  lane.add_am(1, kPort, 1, 1);
  turn(lane);
  lci::MemoryHeader& header = job.runtime(1)->runtime->memory().header();
  add_device(job, 1);
  turn(lane);  // hears the bell
  EXPECT_EQ(2u, header.devices_now.load());
  lane.park_word().store(1);
  EXPECT_EQ(LCI_RETRY, lci_lane_park(lane.handle(), 1000)) << "there is nothing to wait for any more";
}

// Puts, gets and atomic operations that the peer has a part in have no flow: the generation word moves.
// Proves: A24
TEST_P(DeviceAdd, PutsAndGetsByMessagesWaitForTheDevice) {
  Job job(2, attributes({{"rma", "messages"}}));
  uint64_t memory[4] = {1, 2, 3, 4};
  Registered region(job.runtime(1), memory, sizeof memory);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  add_device(job, 0);
  uint64_t local = 9;
  {
    LaneDriver lane(job, 0, 1);
    auto& put = lane.add(remote_op(LCI_OP_PUT, 1, &local, 8, remote, 0));
    auto& get = lane.add(remote_op(LCI_OP_GET, 1, &local, 8, remote, 8));
    auto& atomic = lane.add(atomic_op(LCI_ATOMIC_ADD, 1, 5, 0, remote, 16));
    turn(lane);
    for (const auto* op : {&put, &get, &atomic}) EXPECT_EQ(LCI_RETRY_NOCREDIT, op->outcome);
    const uint32_t generation = lane.control().generation[0];
    for (int i = 0; i < 10; ++i) turn(lane);
    EXPECT_EQ(generation, lane.control().generation[0]);
    add_device(job, 1);
    turn(lane);
    EXPECT_NE(generation, lane.control().generation[0]);
  }
  lci_comp* ended = make_queue(job.runtime(0));
  for (const auto& op : {remote_op(LCI_OP_PUT, 1, &local, 8, remote, 0), remote_op(LCI_OP_GET, 1, &local, 8, remote, 8),
                         atomic_op(LCI_ATOMIC_ADD, 1, 5, 0, remote, 16)}) {
    ASSERT_EQ(LCI_POSTED, post(job.device(0, 1), op, ended)) << lci_last_error();
    EXPECT_EQ(LCI_DONE, next(job, ended).code);
  }
  EXPECT_EQ(9u, memory[0]);
  EXPECT_EQ(2u, local);
  EXPECT_EQ(8u, memory[2]);
}

TEST(DeviceAddMemory, CopiesNeedNoDeviceOfThePeer) {
  Job job(2);
  const Allocated region(job.runtime(1), 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  const uint64_t value = 7;
  lci_comp* ended = make_queue(job.runtime(0));
  EXPECT_EQ(LCI_DONE, post(add_device(job, 0), remote_op(LCI_OP_PUT, 1, &value, 8, remote, 8), ended));
  EXPECT_EQ(0, compare(region.bytes_at + 8, &value, 8));
  // But a signal does, and is refused before a byte is written.
  const uint64_t other = 8;
  EXPECT_EQ(LCI_RETRY_NOCREDIT, post(job.device(0, 1), remote_op(LCI_OP_PUT, 1, &other, 8, remote, 8, kPort), ended));
  EXPECT_EQ(0, compare(region.bytes_at + 8, &value, 8));
}

// A region ends when the copies of all devices are over, of those that came later, too.
TEST(DeviceAddMemory, TheEndOfARegionWaitsForCopiesOfAnAddedDevice) {
  Job job(2);
  add_device(job, 0);
  add_device(job, 0);
  lci::PeerMemory& copying = job.runtime(0)->runtime->memory();
  uint64_t memory[8] = {};
  Registered region(job.runtime(1), memory, sizeof memory);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  copying.copying_here(2).store(1);
  copying.header().device[2].copying.store(1);
  std::atomic<bool> ended{false};
  std::thread ending([&] {
    region.end();
    ended.store(true);
  });
  const uint64_t value = 7;
  lci_comp* puts = make_queue(job.runtime(0));
  int put = LCI_DONE;
  for (const lci::test::Deadline limit(60); put != LCI_ERR_MEMORY_CLOSED && !limit.passed();
       std::this_thread::yield()) {
    put = post(job.device(0), remote_op(LCI_OP_PUT, 1, &value, 8, remote, 0), puts);
  }
  EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, put) << "nothing new is copied";
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(ended.load());
  copying.copying_here(2).store(2);
  copying.header().device[2].copying.store(2);
  ending.join();
}

// Operations that wait for a rank end when it goes, and so do later ones.
// Proves: A24
TEST_P(DeviceAdd, WhatWaitsForADeviceEndsWithItsRank) {
  for (const bool graceful : {true, false}) {
    const int gone = graceful ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED;
    Job job(2, attributes());
    lci_comp* ended = make_queue(job.runtime(0));
    lci_device* added = add_device(job, 0);
    const auto bytes = pattern(20'000, 1);
    auto op = operation(LCI_OP_AM, 1, kPort, 1, bytes.data(), 20'000, 7);
    op.flags |= LCI_FLAG_NO_RETRY;
    ASSERT_EQ(LCI_POSTED_BACKLOG, post(added, op, ended)) << lci_last_error();
    pass(job);
    job.close(1, graceful ? 1000 : 0);
    const lci_status status = next(job, ended);
    EXPECT_EQ(gone, status.code);
    EXPECT_EQ(7u, status.user_context);
    EXPECT_EQ(gone, post(added, operation(LCI_OP_AM, 1, kPort, 2, bytes.data(), 8))) << lci_last_error();
    // One that comes later knows it from its start, and tells its lane.
    add_device(job, 0);
    EXPECT_EQ(gone, post(job.device(0, 2), operation(LCI_OP_AM, 1, kPort, 2, bytes.data(), 8))) << lci_last_error();
    LaneDriver lane(job, 0, 2);
    auto& posted = lane.add_am(1, kPort, 1, 1);
    EXPECT_EQ(1u, turn(lane).peer);
    EXPECT_EQ(gone, posted.outcome);
  }
}

// A receive ends when all devices to which the peer spoke have read what it had sent; one that came later is no other.
TEST_P(DeviceAdd, AReceiveEndsWhenAnAddedDeviceHasReadAll) {
  Job job(2, attributes());
  lci_comp* ended = make_queue(job.runtime(1));
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  for (const uint32_t rank : {0u, 1u}) add_device(job, rank);
  const uint64_t value = 3;
  ASSERT_EQ(LCI_DONE, post(job.device(0, 1), operation(LCI_OP_AM, 1, kPort, 1, &value, 8)));
  uint64_t received = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 5, &received, 8, ended, 9, nullptr));
  job.close(0, 0);
  lci_status status{};
  for (int i = 0; i < 300; ++i) lci_progress(job.device(1, 0));
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended, &status)) << "device 1 may still bring its message";
  add_device(job, 1);
  for (int i = 0; i < 300; ++i) lci_progress(job.device(1, 2));
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended, &status)) << "device 1 may still bring its message";
  EXPECT_EQ(LCI_ERR_PEER_FAILED, next(job, ended).code);
  if (std::string(GetParam()) == "all") {  // else it was not asked for before its sender went
    EXPECT_EQ(LCI_DONE, lci_queue_pop(inbox, &status));
    lci_buffer_free(status.buffer);
  }
}

// Proves: A24
TEST(DeviceAddLimits, ARuntimeHasUpTo128) {
  Job job(1, {{"devices", "126"}});
  EXPECT_NE(nullptr, add_device(job, 0));
  lci_device* const last = add_device(job, 0);
  EXPECT_EQ(last, job.device(0, 127));
  lci_device* none = job.device(0);
  EXPECT_EQ(LCI_ERR_EXHAUSTED, lci_device_add(job.runtime(0), &none));
  EXPECT_EQ(nullptr, none);
  lci_comp* inbox = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", inbox, 0, 0));
  const auto bytes = pattern(300, 1);
  ASSERT_EQ(LCI_DONE, post(job.device(0, 127), operation(LCI_OP_AM, 0, kPort, 1, bytes.data(), 300)));
  const lci_status came = next(job, inbox);
  EXPECT_EQ(0, compare(bytes.data(), came.buffer, 300));
  lci_buffer_free(came.buffer);
}

TEST(DeviceAddLimits, ARuntimeMayStartWithoutAny) {
  Job job(2, {{"alloc_default_device", "0"}});
  lci_device* device = nullptr;
  EXPECT_EQ(LCI_ERR_DEVICE, lci_runtime_device(job.runtime(0), 0, &device));
  lci_comp* ended = make_queue(job.runtime(0));
  lci_comp* other = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(add_device(job, 0), ended, 1)) << lci_last_error();
  passes(job);
  lci_status status{};
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended, &status));
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(add_device(job, 1), other, 2)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, next(job, ended).code);
  EXPECT_EQ(LCI_DONE, next(job, other).code);
}

void add_in_handler(const lci_status*, void* argument) {
  lci_device* device = nullptr;
  EXPECT_EQ(LCI_ERR_SIGNAL_CONTEXT, lci_device_add(static_cast<lci_runtime*>(argument), &device));
}

TEST(DeviceAddLimits, NotInHandlers) {
  Job job(1);
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), add_in_handler, job.runtime(0), &handler));
  const lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_comp_signal(handler, &status));
  lci_device* device = nullptr;
  EXPECT_EQ(LCI_ERR_DEVICE, lci_runtime_device(job.runtime(0), 1, &device));
}

/// Bytes of pages behind an arena.
uint64_t pages_of(const lci::Arena& arena) {
  struct stat info {};
  EXPECT_EQ(0, fstat(arena.fd(), &info));
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

// With many ranks, peers need much memory of a device: a device that is not there takes none.
TEST(DeviceAddMemory, PagesAreThereForTheDevicesThatThereAre) {
  constexpr uint32_t kRanks = 20'000;
  constexpr uint64_t kOfDevice = kRanks * (sizeof(uint64_t) + 1);
  std::shared_ptr<lci::Arena> arena;
  ASSERT_EQ(LCI_DONE, lci::Arena::create(1u << 30, 0, 0, kRanks, 1, &arena)) << lci_last_error();
  EXPECT_LT(arena->doorbell_length(), uint64_t{1} << 30);
  EXPECT_GT(arena->doorbell_length(), 128 * kOfDevice);
  const uint64_t before = pages_of(*arena);
  EXPECT_LT(before, 10 * kOfDevice);
  const uint64_t offset = arena->allocate(4096);
  ASSERT_NE(0u, offset);
  EXPECT_TRUE(arena->contains(offset, 4096));
  for (const uint32_t device : {1u, 127u}) {
    ASSERT_TRUE(arena->populate_device(device));
    arena->summary(device)[kRanks - 1].store(1);
    arena->ring_pair_offset(device, kRanks - 1).store(64);
  }
  EXPECT_GE(pages_of(*arena), before + 2 * kOfDevice - 4 * 4096);
}

// A peer is believed where its number of devices can be true.
TEST(DeviceAddHostile, NonsenseCountsAsNotSaid) {
  Job job(2);
  lci::PeerMemory& said = job.runtime(1)->runtime->memory();
  const uint64_t value = 1;
  const auto op = operation(LCI_OP_AM, 1, kPort, 1, &value, 8);
  lci_device* added = add_device(job, 0);
  for (const uint32_t nonsense : {129u, 100'000u, UINT32_MAX, 0u}) {
    said.show_devices(nonsense);
    EXPECT_EQ(LCI_RETRY_NOCREDIT, post(added, op));
    passes(job);
  }
  said.show_devices(1);
  add_device(job, 1);
  pass(job);
  EXPECT_EQ(LCI_DONE, post(added, operation(LCI_OP_AM, 1, kPort + 1, 1, &value, 8))) << lci_last_error();
  said.show_devices(0);  // it had two
  EXPECT_EQ(LCI_DONE, post(added, op)) << lci_last_error();
  EXPECT_EQ(2u, said.devices());
}

// Credit goes back to its flow, whichever device's receives took the messages, also while the flow's own device does
// so.
TEST_P(DeviceAdd, AnAddedDeviceTakesWhatCameToAnother) {
  Job job(2, attributes({{"initial_lease", "16"}}));
  lci_device* added = add_device(job, 1);
  uint64_t value = 5;
  for (uint64_t tag = 0; tag < 300; ++tag) {
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 0, tag, &value, sizeof value), nullptr));
    job.progress();
    uint64_t received = 0;
    lci_status done{};
    int code = LCI_RETRY;
    auto receive = operation(LCI_OP_RECV, 0, 0, tag, &received, sizeof received);
    lci_comp* ended = make_queue(job.runtime(1), 16);
    code = lci_post(tag % 3 == 0 ? job.device(1) : added, &receive, ended, &done);
    if (code == LCI_POSTED) {
      done = next(job, ended);
      code = done.code;
    }
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    EXPECT_EQ(value, received);
    EXPECT_EQ(LCI_DONE, lci_comp_free(ended));
  }
}

}  // namespace
}  // namespace lci_test
