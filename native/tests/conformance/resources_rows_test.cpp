// SPDX-License-Identifier: Apache-2.0
// Rows of area B: devices, engines and packets that ranks share or have for themselves.
#include <atomic>
#include <thread>

#include "conformance/world.hpp"

namespace lci_test {
namespace {

/// Ping-pong with the next rank over one device, by a thread that uses nothing else.
void talk(World& world, uint32_t index, uint32_t rounds) {
  lci_device* device = world.device(index);
  lci_comp* ended = world.queue();
  const lci::test::Deadline deadline(30);
  const auto finish = [&](uint64_t tag, auto post) {
    int code = LCI_RETRY;
    while (is_retry(code) && !deadline.passed()) {
      code = post(tag);
      lci_progress(device);
    }
    return code;
  };
  for (uint64_t round = 0; round < rounds; ++round) {
    uint64_t sent = round, received = ~uint64_t{0};
    const uint64_t tag = index * 1000 + round;
    uint32_t posted = 0;
    posted += finish(tag, [&](uint64_t t) {
                return lci_post_recv(device, world.previous(), t, &received, 8, ended, 0, nullptr);
              }) == LCI_POSTED;
    posted += finish(tag, [&](uint64_t t) { return lci_post_send(device, world.next(), t, &sent, 8, ended, 0); }) ==
              LCI_POSTED;
    while (posted > 0) {
      lci_status status{};
      if (lci_queue_pop(ended, &status) == LCI_DONE) {
        EXPECT_EQ(LCI_DONE, status.code);
        --posted;
      } else {
        ASSERT_FALSE(deadline.passed()) << "device " << index;
        if (lci_progress(device) != LCI_DONE) std::this_thread::yield();
      }
    }
    ASSERT_EQ(round, received);
  }
}

// Threads with a device each meet no lock of each other.
// Proves: B1
CONFORMANCE(B1, ThreadsOnTheirOwnDevicesDoNotMeet, {"devices", "3"}) {
  world.barrier();
  const uint64_t before = world.counter("retries_lock");
  std::atomic<uint32_t> talking{3};
  lci::test::run_threads(3, [&](uint32_t index) {
    talk(world, index, 8);
    // What a device still holds back goes out by progress: others may wait for it.
    for (talking.fetch_sub(1); talking.load() != 0; std::this_thread::yield()) lci_progress(world.device(index));
  });
  if (world.seed() == 0) {  // chaos refuses on purpose
    EXPECT_EQ(before, world.counter("retries_lock"));
  }
}

// A receive that is posted on another device than the one its send comes by gets it all the same, by every protocol,
// whichever was first; and the books of both devices are right (world.end()).
// Proves: SS-17
CONFORMANCE(SS17, ReceivesMatchWhatComesByAnotherDevice, {"devices", "2"}) {
  constexpr uint32_t kSizes[] = {8, 4000, 50'000};
  lci_comp* ended = world.queue();
  for (const bool receive_first : {true, false}) {
    std::vector<Bytes> sent, received;
    uint32_t posted = 0;
    const auto receive = [&] {
      for (uint64_t i = 0; i < std::size(kSizes); ++i) {
        Bytes& bytes = received.emplace_back(kSizes[i]);
        const auto op = operation(LCI_OP_RECV, world.previous(), 0, i, bytes.data(), kSizes[i]);
        posted += world.post(op, ended, nullptr, 1) == LCI_POSTED;
      }
    };
    received.reserve(std::size(kSizes));
    sent.reserve(std::size(kSizes));
    if (receive_first) receive();
    world.barrier();
    for (uint64_t i = 0; i < std::size(kSizes); ++i) {
      const Bytes& bytes = sent.emplace_back(pattern(kSizes[i], world.rank() + i));
      const auto op = operation(LCI_OP_SEND, world.next(), 0, i, bytes.data(), kSizes[i]);
      posted += world.post(op, ended, nullptr, 0) == LCI_POSTED;
    }
    world.barrier();
    if (!receive_first) receive();
    for (uint32_t i = 0; i < posted; ++i) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
    for (uint64_t i = 0; i < std::size(kSizes); ++i) EXPECT_EQ(pattern(kSizes[i], world.previous() + i), received[i]);
  }
}

// The same numbers mean the same on all ranks, chosen freely and used again; what is not open takes nothing, what was
// closed says so. [2B-42]
// Proves: B25
CONFORMANCE(B25, PortNumbersAreTheSameEverywhere) {
  constexpr uint16_t kNumbers[] = {1, 2, 3, 777, LCI_MAX_PORT};
  lci_comp* ended = world.queue();
  std::vector<lci_comp*> inboxes;
  for (const uint16_t number : kNumbers) world.open_port(number, inboxes.emplace_back(world.queue()));
  EXPECT_EQ(LCI_ERR_PORT, lci_port_open(world.runtime(), 777, "", inboxes[0], 0, 0)) << "taken";
  EXPECT_EQ(LCI_ERR_PORT, lci_port_open(world.runtime(), 0, "", inboxes[0], 0, 0));
  EXPECT_EQ(LCI_ERR_PORT, lci_port_open(world.runtime(), LCI_MAX_PORT + 1, "", inboxes[0], 0, 0));
  const auto send = [&](uint16_t number) {
    const uint64_t value = number;
    const int code = world.post(operation(LCI_OP_AM, world.next(), number, 1, &value, sizeof value), ended);
    if (code != LCI_POSTED) return code;
    return static_cast<int>(world.pop(ended).code);
  };
  for (const uint16_t number : kNumbers) EXPECT_EQ(LCI_DONE, send(number));
  for (size_t i = 0; i < std::size(kNumbers); ++i) {
    const lci_status status = world.pop(inboxes[i]);
    EXPECT_EQ(kNumbers[i], status.port);
    EXPECT_EQ(kNumbers[i], *static_cast<uint64_t*>(status.buffer));
    lci_buffer_free(status.buffer);
  }
  world.barrier();
  EXPECT_EQ(LCI_DONE, lci_port_close(world.runtime(), 777));
  EXPECT_EQ(LCI_ERR_PORT, lci_port_close(world.runtime(), 777)) << "closed already";
  world.barrier();
  int code = LCI_DONE;  // a message may be on its way when the closing is heard of
  world.until([&] { return (code = send(777)) != LCI_DONE; });
  EXPECT_EQ(LCI_ERR_PORT_CLOSED, code);
  world.barrier();
  world.open_port(777, inboxes[3]);
  world.barrier();
  world.until([&] {
    const uint64_t value = 5;
    return lci_post_am(world.device(), world.next(), 777, 2, &value, sizeof value, ended, 0) == LCI_DONE;
  });
  const lci_status status = world.pop(inboxes[3]);
  EXPECT_EQ(2u, status.tag) << "only what was sent to the new one";
  lci_buffer_free(status.buffer);
}

}  // namespace
}  // namespace lci_test
