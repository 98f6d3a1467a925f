// SPDX-License-Identifier: Apache-2.0
// Threads at devices: choices that go together, progress by many, posts whose operations end before they return.
#include <atomic>
#include <thread>

#include "conformance/world.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 9;

/// Answers of a post that may be repeated.
template <typename Post>
int until_taken(lci_device* device, Post post) {
  int code = LCI_RETRY;
  const lci::test::Deadline end(30);
  while (is_retry(code = post()) && !end.passed()) {
    lci_progress(device);
    std::this_thread::yield();
  }
  return code;
}

// A device to each thread; engine, port and completion objects are everybody's, and packets come from one pool. What a
// device sends, the device of the same number receives, whichever device the receive was posted on.
// Proves: C18
CONFORMANCE(C18, AnyDeviceWithAnyEnginePortAndPacket, {"devices", "3"}) {
  constexpr uint32_t kDevices = 3, kEach = 20;
  ASSERT_EQ(LCI_DONE, lci_engine_create(world.runtime(), 4, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
  lci_comp* inbox = world.queue();
  lci_comp* received = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(kPort, inbox);
  world.barrier();
  const auto key = [](uint32_t device, uint32_t i) { return device * kEach + i; };
  std::vector<uint64_t> places(kDevices * kEach), values(kDevices * kEach);
  lci::test::run_threads(kDevices, [&](uint32_t index) {
    lci_device* device = world.device(index);
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t mine = key(index, i);
      values[mine] = uint64_t{world.rank()} << 32 | mine;
      // The message of this tag comes by another device.
      const uint32_t tag = key((index + 1) % kDevices, i);
      const auto engine = static_cast<uint16_t>(i % 2 == 0 ? 4 : 0);
      lci_descriptor receive = operation(LCI_OP_RECV, world.previous(), engine, tag, &places[tag], 8, tag);
      EXPECT_EQ(LCI_POSTED, until_taken(device, [&] { return lci_post(device, &receive, received, nullptr); }) & ~1)
          << lci_last_error();
    }
  });
  world.barrier();
  std::atomic<uint32_t> finished{0};
  lci::test::run_threads(kDevices, [&](uint32_t index) {
    lci_device* device = world.device(index);
    for (uint32_t i = 0; i < kEach; ++i) {
      const uint32_t mine = key(index, i);
      const auto engine = static_cast<uint16_t>(i % 2 == 0 ? 4 : 0);
      lci_descriptor send = operation(LCI_OP_SEND, world.next(), engine, mine, &values[mine], 8);
      EXPECT_EQ(LCI_DONE, until_taken(device, [&] { return lci_post(device, &send, nullptr, nullptr); }));
      // A packet that another device gave.
      uint64_t handle = 0;
      void* payload = nullptr;
      lci_device* giver = world.device((index + 2) % kDevices);
      EXPECT_EQ(LCI_DONE, until_taken(device, [&] { return lci_packet_get(giver, &handle, &payload); }));
      std::memcpy(payload, &values[mine], 8);
      lci_descriptor message = operation(LCI_OP_AM, world.next(), kPort, mine, nullptr, 300);
      message.flags = LCI_FLAG_PACKET;
      message.u.ref.address = handle;
      EXPECT_EQ(LCI_DONE, until_taken(device, [&] { return lci_post(device, &message, ended, nullptr); }));
    }
    // A device that nobody progresses answers nothing: those of the other ranks may wait for it.
    for (++finished; finished != kDevices; std::this_thread::yield()) lci_progress(device);
  });
  std::vector<int> matched(kDevices * kEach), arrived(kDevices * kEach);
  for (uint32_t i = 0; i < kDevices * kEach; ++i) {
    const lci_status end = world.pop(received);
    ASSERT_GT(matched.size(), end.tag);
    ++matched[end.tag];
    EXPECT_EQ(uint64_t{world.previous()} << 32 | end.tag, places[end.tag]);
    lci_status arrival = world.pop(inbox);
    ASSERT_GT(arrived.size(), arrival.tag);
    ++arrived[arrival.tag];
    EXPECT_EQ(uint64_t{world.previous()} << 32 | arrival.tag, *static_cast<const uint64_t*>(arrival.buffer));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &arrival));
  }
  EXPECT_EQ(std::vector<int>(kDevices * kEach, 1), matched);
  EXPECT_EQ(matched, arrived);
}

// Sixteen threads progress one device while messages of every size go both ways: nothing is lost or doubled, and who
// finds nothing to do, or somebody at it, is told retry.
// Proves: C19
CONFORMANCE(C19, SixteenThreadsProgressOneDevice) {
  constexpr uint32_t kThreads = 16, kMessages = 60;
  const uint32_t sizes[] = {8, 1000, 30'000};
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(kPort, inbox);
  world.barrier();
  std::vector<Bytes> sent;
  for (const uint32_t size : sizes) sent.push_back(pattern(size, world.rank() + size));
  std::atomic<uint32_t> next{0}, arrived{0}, posted{0}, ends{0};
  std::atomic<bool> wrong{false};
  lci::test::run_threads(kThreads, [&](uint32_t) {
    const lci::test::Deadline deadline(30);
    while (!deadline.passed() && (arrived < kMessages || next < kMessages || ends < posted)) {
      uint32_t mine = next.load();
      if (mine < kMessages && next.compare_exchange_strong(mine, mine + 1)) {
        const Bytes& bytes = sent[mine % sent.size()];
        const int code = until_taken(world.device(), [&] {
          return lci_post_am(world.device(), world.next(), kPort, mine, bytes.data(),
                             static_cast<uint32_t>(bytes.size()), ended, mine);
        });
        if (code == LCI_POSTED) ++posted;
        wrong = wrong || code > LCI_POSTED;
      }
      const int moved = lci_progress(world.device());
      wrong = wrong || (moved != LCI_DONE && moved != LCI_RETRY);
      lci_status status = LCI_STATUS_INIT;
      if (lci_queue_pop(ended, &status) == LCI_DONE) ++ends;
      if (lci_queue_pop(inbox, &status) == LCI_DONE) {
        const Bytes expected = pattern(status.size, world.previous() + status.size);
        wrong =
            wrong || status.size != sizes[status.tag % 3] || compare(expected.data(), status.buffer, status.size) != 0;
        wrong = wrong || lci_arrival_free(world.runtime(), &status) != LCI_DONE;
        ++arrived;
      }
      std::this_thread::yield();
    }
  });
  EXPECT_FALSE(wrong);
  EXPECT_EQ(kMessages, arrived);
  EXPECT_EQ(posted, ends);
  world.barrier();
}

// While one thread posts, others progress: operations end, and what the core remembered of them is gone, before their
// posts have returned. The sanitizers see who touches it after that.
// Proves: SS-8
CONFORMANCE(SS8, OperationsMayEndBeforeTheirPostReturns) {
  constexpr uint32_t kRounds = 100, kSize = 12'000;
  lci_comp *sent = nullptr, *received = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(world.runtime(), &sent));
  ASSERT_EQ(LCI_DONE, lci_counter_create(world.runtime(), &received));
  const Bytes bytes = pattern(kSize, world.rank());
  std::vector<Bytes> places(kRounds, Bytes(kSize));
  std::atomic<bool> over{false};
  std::thread progressing([&] {
    while (!over) {
      lci_progress(world.device());
      std::this_thread::yield();
    }
  });
  uint64_t sends = 0, receives = 0;
  for (uint32_t i = 0; i < kRounds; ++i) {
    lci_status status = LCI_STATUS_INIT;
    lci_descriptor receive = operation(LCI_OP_RECV, world.previous(), 0, i, places[i].data(), kSize);
    int code = until_taken(world.device(), [&] { return lci_post(world.device(), &receive, received, &status); });
    EXPECT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    receives += code == LCI_POSTED;
    lci_descriptor send = operation(LCI_OP_SEND, world.next(), 0, i, bytes.data(), kSize);
    send.flags |= i % 2 == 0 ? LCI_FLAG_SIGNAL : LCI_FLAG_NETWORK;
    code = until_taken(world.device(), [&] { return lci_post(world.device(), &send, sent, &status); });
    EXPECT_EQ(LCI_POSTED, code) << lci_last_error();
    sends += code == LCI_POSTED;
  }
  world.until([&] { return lci_counter_get(sent) == sends && lci_counter_get(received) == receives; });
  over = true;
  progressing.join();
  const Bytes expected = pattern(kSize, world.previous());
  for (const Bytes& place : places) EXPECT_EQ(expected, place);
}

}  // namespace
}  // namespace lci_test
