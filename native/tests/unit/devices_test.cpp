// SPDX-License-Identifier: Apache-2.0
// Several devices of a runtime: what they have for themselves, and what they share.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 4;

// What was sent on device k waits there, however much the other devices progress.
// Proves: B1
TEST(Devices, TrafficStaysOnItsDevice) {
  constexpr uint32_t kDevices = 3;
  Job job(2, {{"devices", std::to_string(kDevices)}});
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  for (uint64_t k = 0; k < kDevices; ++k) {
    ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0, static_cast<uint32_t>(k)), 1, kPort, k, &k, sizeof k, nullptr, 0));
    lci_status status{};
    for (int pass = 0; pass < 300; ++pass) {
      for (uint32_t device = 0; device < kDevices; ++device) {
        if (device == k) continue;
        lci_progress(job.device(0, device));
        lci_progress(job.device(1, device));
      }
    }
    ASSERT_EQ(LCI_RETRY, lci_queue_pop(inbox, &status)) << "came by another device than " << k;
    int code = LCI_RETRY;
    for (int pass = 0; pass < 300 && code != LCI_DONE; ++pass) {
      lci_progress(job.device(1, static_cast<uint32_t>(k)));
      lci_progress(job.device(0, static_cast<uint32_t>(k)));
      code = lci_queue_pop(inbox, &status);
    }
    ASSERT_EQ(LCI_DONE, code);
    EXPECT_EQ(k, status.tag);
    lci_buffer_free(status.buffer);
  }
}

// The last of so many is as good as the first, also where the packets lie with another one.
// Proves: B1
TEST(Devices, ARuntimeHasUpTo128) {
  constexpr uint32_t kDevices = 128;
  Job job(2, {{"devices", std::to_string(kDevices)}, {"packets", "64"}, {"packets_max", "64"}});
  lci_comp* inbox = make_queue(job.runtime(1));
  lci_comp* sent = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  const auto progress = [&](uint32_t device) {
    lci_progress(job.device(0, device));
    lci_progress(job.device(1, device));
  };
  const std::vector<uint8_t> bytes = pattern(300, 1);
  for (const uint32_t device : {0u, 63u, 64u, 127u}) {
    int code = LCI_RETRY;
    for (int pass = 0; pass < 10'000 && is_retry(code); ++pass) {
      code = lci_post_am(job.device(0, device), 1, kPort, device, bytes.data(), 300, sent, 0);
      progress(device);
    }
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    lci_status status{};
    for (int pass = 0; pass < 10'000 && lci_queue_pop(inbox, &status) != LCI_DONE; ++pass) progress(device);
    EXPECT_EQ(device, status.tag);
    EXPECT_EQ(0, compare(bytes.data(), status.buffer, 300));
    lci_buffer_free(status.buffer);
  }
  // A receive of one device ends when the last device has read all that the peer had sent.
  lci_comp* received = make_queue(job.runtime(1));
  uint64_t value = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1, 127), 0, 5, &value, 8, received, 9, nullptr));
  job.close(0, 0);
  lci_status status{};
  for (int pass = 0; pass < 100'000 && lci_queue_pop(received, &status) != LCI_DONE; ++pass) {
    for (uint32_t device = 0; device < kDevices; ++device) lci_progress(job.device(1, device));
  }
  EXPECT_EQ(9u, status.user_context);
  EXPECT_TRUE(status.code == LCI_ERR_PEER_LEFT || status.code == LCI_ERR_PEER_FAILED) << status.code;
}

/// Which of two devices the thread of device 1 progresses in a pass, while that of device 0 is in a long task.
using Strategy = uint32_t (*)(uint32_t pass);

uint32_t local(uint32_t) {
  return 1;
}
uint32_t random(uint32_t pass) {
  return (pass * 2654435761u) >> 31;
}
uint32_t global(uint32_t pass) {
  return pass % 256 == 255 ? 0 : 1;
}

// Who progresses which device is the caller's choice, where no lane has it: a thread in a long task starves its device
// if the others progress their own alone, and else not. [Q3, ADR 0008]
TEST(Devices, ADeviceWhoseThreadIsBusyIsServedByWhoeverProgressesIt) {
  for (const auto& [strategy, helps] : {std::pair<Strategy, bool>{local, false}, {random, true}, {global, true}}) {
    Job job(2, {{"devices", "2"}});
    lci_comp* inbox = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
    for (uint64_t k = 0; k < 2; ++k) {
      ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0, static_cast<uint32_t>(k)), 1, kPort, k, &k, sizeof k, nullptr, 0));
    }
    uint32_t came = 0;
    for (uint32_t pass = 0; pass < 2048; ++pass) {
      lci_progress(job.device(1, strategy(pass)));
      for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(0, device));
      lci_status status{};
      if (lci_queue_pop(inbox, &status) != LCI_DONE) continue;
      came |= 1u << status.tag;
      lci_buffer_free(status.buffer);
    }
    EXPECT_EQ(helps ? 3u : 2u, came) << (strategy == local ? "local" : strategy == random ? "random" : "global");
  }
}

/// A handler that holds its device until it is let go.
struct Holding {
  std::atomic<bool> inside{false}, let_go{false};
};

void hold(const lci_status*, void* argument) {
  auto* holding = static_cast<Holding*>(argument);
  holding->inside = true;
  for (const lci::test::Deadline deadline(30); !holding->let_go && !deadline.passed();) std::this_thread::yield();
}

// Nobody waits for a device that another thread progresses: it says so, and the other devices go on. [ADR 0008]
TEST(Devices, ADeviceThatIsHeldHoldsNobodyElse) {
  Job job(2, {{"devices", "2"}});
  Holding holding;
  lci_comp* holder = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), hold, &holding, &holder));
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", holder, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort + 1, "", inbox, 0, 0));
  uint64_t word = 7;
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0, 0), 1, kPort, 0, &word, sizeof word, nullptr, 0));
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0, 1), 1, kPort + 1, 1, &word, sizeof word, nullptr, 0));
  std::thread held([&] {
    for (const lci::test::Deadline deadline(30); !holding.inside && !deadline.passed();) {
      lci_progress(job.device(1, 0));
    }
  });
  const lci::test::Deadline deadline(30);
  while (!holding.inside && !deadline.passed()) {
    for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(0, device));
  }
  EXPECT_TRUE(holding.inside);
  lci_status status{};
  int code = LCI_RETRY;
  while (code != LCI_DONE && !deadline.passed()) {
    EXPECT_EQ(LCI_RETRY, lci_progress(job.device(1, 0)));
    lci_progress(job.device(1, 1));
    code = lci_queue_pop(inbox, &status);
  }
  EXPECT_FALSE(deadline.passed()) << "the held device held the other one, or this thread";
  holding.let_go = true;
  held.join();
  if (code == LCI_DONE) lci_buffer_free(status.buffer);
}

// All ranks have the same number of devices, or none joins.
// Proves: A19
TEST(Devices, RanksMustAgreeOnTheirNumber) {
  lci_inproc* inproc = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(3, &inproc));
  lci::test::run_threads(3, [&](uint32_t rank) {
    lci_attrs* attrs = nullptr;
    ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
    ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "devices", rank == 2 ? "3" : "2"));
    lci_runtime* runtime = nullptr;
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, lci_runtime_create(attrs, inproc, rank, &runtime));
    EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("devices")) << lci_last_error();
    lci_attrs_free(attrs);
  });
  lci_inproc_free(inproc);
}

/// Takes packets by one device until there are no more, and looks again, since one miss proves nothing.
std::vector<uint64_t> take_all(Job& job, uint32_t device) {
  std::vector<uint64_t> taken;
  uint64_t packet = 0;
  void* payload = nullptr;
  for (int misses = 0; misses < 1000;) {
    const int code = lci_packet_get(job.device(0, device), &packet, &payload);
    EXPECT_TRUE(code == LCI_DONE || code == LCI_RETRY_NOPACKET) << code;
    if (code == LCI_DONE) taken.push_back(packet);
    misses = code == LCI_DONE ? 0 : misses + 1;
  }
  return taken;
}

// Packets belong to no thread: what short-lived threads took by any device and gave back by any other is found again,
// all of it, by whoever comes later. One pool serves four devices.
// Proves: SS-23 B15
TEST(Devices, PacketsOfThreadsThatEndedAreFound) {
  constexpr uint32_t kDevices = 4, kPackets = 64;
  Job job(1, {{"devices", "4"}, {"packets", "16"}, {"packets_max", std::to_string(kPackets)}});
  for (uint32_t round = 0; round < 5; ++round) {
    lci::test::run_threads(2 * kDevices, [&](uint32_t thread) {
      uint64_t packet = 0;
      void* payload = nullptr;
      std::vector<uint64_t> held;
      for (int i = 0; i < 20; ++i) {
        if (lci_packet_get(job.device(0, thread % kDevices), &packet, &payload) == LCI_DONE) held.push_back(packet);
      }
      for (const uint64_t each : held) {
        EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0, (thread + round) % kDevices), each));
      }
    });
  }
  for (uint32_t device = 0; device < kDevices; ++device) {
    const auto all = take_all(job, device);
    EXPECT_EQ(kPackets, all.size()) << "by device " << device;
    for (const uint64_t packet : all)
      EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0, (device + 1) % kDevices), packet));
  }
  job.check_ledgers();
}

// A packet comes back to the device that wrote and posted it, whatever its payload: nobody steals for steady traffic.
// Proves: SS-23
TEST(Devices, PacketsComeBackToTheDeviceThatWroteThem) {
  Job job(2, {{"devices", "2"}, {"packets", "8"}, {"packets_max", "8"}});
  lci_comp* inbox = make_queue(job.runtime(1));
  lci_comp* ended = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  const auto bytes = pattern(8000, 1);
  for (uint32_t i = 0; i < 200; ++i) {
    const uint32_t size = i % 2 == 0 ? 8000 : 300;
    int code = LCI_RETRY;
    for (const lci::test::Deadline deadline(30); is_retry(code) && !deadline.passed();) {
      code = lci_post_am(job.device(0, 1), 1, kPort, i, bytes.data(), size, ended, 0);
      for (uint32_t rank = 0; rank < 2; ++rank) lci_progress(job.device(rank, 1));
    }
    ASSERT_EQ(LCI_DONE, code);
    lci_status status{};
    for (const lci::test::Deadline deadline(30); lci_queue_pop(inbox, &status) != LCI_DONE;) {
      ASSERT_FALSE(deadline.passed());
      for (uint32_t rank = 0; rank < 2; ++rank) lci_progress(job.device(rank, 1));
    }
    ASSERT_EQ(size, status.size);
    lci_buffer_free(status.buffer);
  }
  EXPECT_EQ(0u, job.counter(0, "packets_steal"));
  EXPECT_GE(job.counter(0, "packets_get"), 200u);
}

// Receives of another device take what came, and its credit goes back by the device on which it came, whose passes
// alone may touch its flows.
TEST(Devices, CreditGoesBackByTheDeviceOnWhichItCame) {
  constexpr uint64_t kMessages = 12;
  Job job(2, {{"devices", "2"}, {"initial_lease", "16"}});
  lci_comp* ended = make_queue(job.runtime(1));
  const auto progress = [&] {
    for (int pass = 0; pass < 100; ++pass) {
      lci_progress(job.device(0));
      lci_progress(job.device(1));  // device 0 of each rank
    }
  };
  uint64_t value = 5;
  for (uint64_t tag = 0; tag < kMessages; ++tag) {
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_SEND, 1, 0, tag, &value, sizeof value), nullptr));
    progress();  // so that all but the first have credit
  }
  ASSERT_EQ(kMessages, job.counter(1, "unexpected_stored"));
  const uint64_t before = job.counter(1, "grants");
  for (uint64_t tag = 0; tag < kMessages; ++tag) {
    uint64_t received = 0;
    lci_status done{};
    auto receive = operation(LCI_OP_RECV, 0, 0, tag, &received, sizeof received);
    ASSERT_EQ(LCI_DONE, lci_post(job.device(1, 1), &receive, ended, &done)) << lci_last_error();
    EXPECT_EQ(value, received);
  }
  progress();
  EXPECT_LT(before, job.counter(1, "grants")) << "what was taken was told to a device that does not pass";
}

// Whose posts may not be refused are kept in memory of their own when there is no packet, to a bound, and then told so;
// nobody waits, and nobody is killed. [2B-38]
// Proves: SS-24
TEST(Devices, WithoutPacketsPostsThatMayNotBeRefusedAreKept) {
  constexpr uint32_t kKept = 8;
  Job job(2, {{"packets", "2"}, {"packets_max", "2"}, {"backlog_messages", std::to_string(kKept)}});
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  const auto bytes = pattern(4000, 2);
  lci_status status{};
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_AM, 1, kPort, 99, bytes.data(), 4000), nullptr));
  ASSERT_TRUE(pop(job, inbox, &status));
  lci_buffer_free(status.buffer);
  job.settle();
  const auto packets = take_all(job, 0);
  ASSERT_EQ(2u, packets.size());
  auto op = operation(LCI_OP_AM, 1, kPort, 0, bytes.data(), 4000);
  EXPECT_EQ(LCI_RETRY_NOPACKET, lci_post(job.device(0), &op, nullptr, nullptr));
  op.flags |= LCI_FLAG_NO_RETRY;
  for (op.tag = 0; op.tag < kKept; ++op.tag) {
    ASSERT_EQ(LCI_DONE_BACKLOG, lci_post(job.device(0), &op, nullptr, nullptr)) << op.tag << lci_last_error();
  }
  EXPECT_EQ(LCI_ERR_EXHAUSTED, lci_post(job.device(0), &op, nullptr, nullptr));
  job.settle();
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox, &status)) << "the packets are ours";
  for (const uint64_t packet : packets) ASSERT_EQ(LCI_DONE, lci_packet_put(job.device(0), packet));
  uint64_t tags = 0;
  for (uint32_t i = 0; i < kKept; ++i) {
    ASSERT_TRUE(pop(job, inbox, &status));
    EXPECT_EQ(0, compare(bytes.data(), status.buffer, 4000));
    tags |= 1u << status.tag;
    lci_buffer_free(status.buffer);
  }
  EXPECT_EQ((1u << kKept) - 1, tags);
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
