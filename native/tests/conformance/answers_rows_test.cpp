// SPDX-License-Identifier: Apache-2.0
// What posts answer, and what is refused at the caller.
#include <algorithm>
#include <atomic>
#include <thread>

#include "conformance/windows.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 9;

// Proves: D2
CONFORMANCE(D2, ASmallMessageIsDoneAndNothingFollows) {
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(kPort, inbox);
  world.barrier();
  for (uint32_t i = 0; i < 20; ++i) {
    uint64_t value = i;
    lci_status status = LCI_STATUS_INIT;
    ASSERT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, world.next(), kPort, i, &value, 8, 3), ended, &status));
    value = 99;  // ours again
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(world.next(), status.rank);
    EXPECT_EQ(8u, status.size);
    EXPECT_EQ(3u, status.user_context);
    lci_status arrival = world.pop(inbox);
    EXPECT_EQ(arrival.tag, *static_cast<const uint64_t*>(arrival.buffer));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &arrival));
  }
  world.barrier();
  EXPECT_EQ(0u, lci_queue_length(ended));
}

// A status that nobody has filled says retry: as it begins, after an empty pop, and after a post that was not done.
// Proves: D6 D7 SS-4
CONFORMANCE(D7, WhatNobodyFilledReadsAsRetry) {
  lci_comp* queue = world.queue();
  lci_status status = LCI_STATUS_INIT;
  EXPECT_EQ(LCI_RETRY, status.code);
  EXPECT_EQ(0xFFFFFFFFu, status.rank);
  status.code = LCI_DONE;
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue, &status));
  EXPECT_EQ(LCI_RETRY, status.code);
  EXPECT_STREQ("retry", lci_code_name(LCI_RETRY));
  uint8_t place[8];
  status.code = LCI_DONE;
  EXPECT_EQ(LCI_POSTED, lci_post_recv(world.device(), world.next(), 1, place, 8, queue, 5, &status));
  EXPECT_EQ(LCI_POSTED, status.code) << "not done, although nothing was filled";
  // Whatever is refused, and why: the category is that of the generic retry, and so is the status's.
  uint64_t value = 1;
  lci_descriptor op = operation(LCI_OP_AM, world.next(), kPort, 0, &value, 8);
  ASSERT_EQ(LCI_DONE, world.post(op, nullptr)) << "announced: the port is not open";
  status.code = LCI_DONE;
  const int code = lci_post(world.device(), &op, nullptr, &status);
  EXPECT_TRUE(is_retry(code)) << code;
  EXPECT_EQ(code, status.code);
  // A cancel is not to be repeated: nothing that could be cancelled is there.
  lci_descriptor cancel{};
  cancel.op = LCI_OP_CANCEL;
  cancel.tag = 6;
  EXPECT_EQ(LCI_ERR_NOT_PENDING, lci_post(world.device(), &cancel, nullptr, nullptr));
  cancel.tag = 5;
  EXPECT_EQ(LCI_DONE, lci_post(world.device(), &cancel, nullptr, nullptr));
  EXPECT_EQ(LCI_ERR_CANCELLED, world.pop(queue).code);
  world.barrier();
  world.open_port(kPort, queue);  // what was announced is not to be waited for in vain
  status = world.pop(queue);
  EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status));
}

// A thread that finds the device taken is told so, whatever it posts, and may go on.
// Proves: D8
CONFORMANCE(D8, ATakenDeviceIsRetryLock) {
  struct Inside {
    std::atomic<bool> entered{false}, leave{false};
  } inside;
  auto stay = [](const lci_status*, void* argument) {
    auto& self = *static_cast<Inside*>(argument);
    self.entered = true;
    while (!self.leave) std::this_thread::yield();
  };
  lci_comp *handler = nullptr, *ended = world.queue();
  ASSERT_EQ(LCI_DONE, lci_handler_create(world.runtime(), stay, &inside, &handler));
  world.open_port(kPort, handler);
  world.barrier();
  ASSERT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, world.rank(), kPort, 0, nullptr, 0), nullptr));
  std::thread progressing([&] {
    while (!inside.entered) lci_progress(world.device());
  });
  while (!inside.entered) std::this_thread::yield();
  uint64_t value = 1;
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND, LCI_OP_RECV}) {
    lci_descriptor op = operation(kind, world.next(), kind == LCI_OP_AM ? kPort : 0, 0, &value, 8);
    lci_status status = LCI_STATUS_INIT;
    EXPECT_EQ(LCI_RETRY_LOCK, lci_post(world.device(), &op, ended, &status));
    EXPECT_EQ(LCI_RETRY_LOCK, status.code);
  }
  EXPECT_EQ(LCI_RETRY, lci_progress(world.device())) << "nor does anybody else progress it";
  inside.leave = true;
  progressing.join();
  EXPECT_EQ(0u, lci_queue_length(ended));
  world.barrier();
}

// Proves: D17
CONFORMANCE(D17, WhatMakesNoSenseIsRefusedAtTheCaller) {
  lci_device* device = world.device();
  lci_comp* queue = world.queue();
  Windows windows(world, 4096);
  uint64_t value[8] = {};
  const auto refused = [&](int expected, lci_descriptor op, lci_comp* comp, const char* why) {
    lci_status status = LCI_STATUS_INIT;
    EXPECT_EQ(expected, lci_post(device, &op, comp, &status)) << why;
    EXPECT_EQ(expected, status.code) << why;
    EXPECT_NE(std::string(), lci_last_error());
  };
  const uint32_t to = world.next();
  auto flags = [](lci_descriptor op, int more) {
    op.flags = static_cast<uint8_t>(op.flags | more);
    return op;
  };
  auto remote = [&](uint8_t kind, uint64_t displacement, uint64_t size) {
    lci_descriptor op = operation(kind, to, 0, 0, value, static_cast<uint32_t>(size));
    op.u.ref.remote = windows.of(to);
    op.u.ref.displacement = displacement;
    return op;
  };
  lci_descriptor null = operation(LCI_OP_SEND, to, 0, 0, value, 8);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(nullptr, &null, queue, nullptr));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(device, nullptr, queue, nullptr));
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND, LCI_OP_RECV, LCI_OP_PUT, LCI_OP_GET}) {
    const auto port = static_cast<uint16_t>(kind == LCI_OP_AM ? kPort : 0);
    for (const uint32_t rank : {world.size(), world.size() + 1000, 0x7FFFFFFFu, LCI_ANY_SOURCE - 1}) {
      refused(LCI_ERR_RANK, operation(kind, rank, port, 0, value, 8), queue, "rank");
    }
    const lci_descriptor good = operation(kind, to, port, 0, value, 8);
    refused(LCI_ERR_ARGUMENT, operation(kind, to, port, 0, nullptr, 8), queue, "null with a size");
    refused(LCI_ERR_ARGUMENT, flags(good, LCI_FLAG_PACKET), queue, "two forms of payload");
    refused(LCI_ERR_ARGUMENT, flags(good, LCI_FLAG_WAIT | LCI_FLAG_SIGNAL), queue, "neither done nor posted allowed");
    refused(LCI_ERR_ARGUMENT, flags(good, LCI_FLAG_WAIT | LCI_FLAG_COMP), queue, "a signal to a post that waits");
    if (kind != LCI_OP_GET && kind != LCI_OP_PUT) {
      refused(LCI_ERR_ARGUMENT, flags(good, LCI_FLAG_SIGNAL), nullptr, "a signal to nobody");
    }
  }
  refused(LCI_ERR_RANK, operation(LCI_OP_SEND, LCI_ANY_SOURCE, 0, 0, value, 8), queue, "a send to anybody");
  refused(LCI_ERR_PORT, operation(LCI_OP_AM, to, 0, 0, value, 8), queue, "no port");
  refused(LCI_ERR_PORT, operation(LCI_OP_AM, to, 0x8000, 0, value, 8), queue, "an engine's number");
  refused(LCI_ERR_ARGUMENT, operation(LCI_OP_SEND, to, 3, 0, value, 8), queue, "no engine");
  refused(LCI_ERR_ARGUMENT, operation(LCI_OP_RECV, to, 999, 0, value, 8), queue, "nor any");
  lci_descriptor policy = operation(LCI_OP_SEND, to, 0, 0, value, 8);
  policy.policy = 4;
  refused(LCI_ERR_ARGUMENT, policy, queue, "no policy");
  refused(LCI_ERR_ARGUMENT, operation(77, to, 0, 0, value, 8), queue, "no operation");
  refused(LCI_ERR_ARGUMENT, operation(0, to, 0, 0, value, 8), queue, "no operation");
  lci_descriptor inline_payload = operation(LCI_OP_AM, to, kPort, 0, value, LCI_INLINE_MAX + 1);
  inline_payload.flags = LCI_FLAG_INLINE;
  refused(LCI_ERR_SIZE, inline_payload, queue, "too long to be inline");
  inline_payload.op = LCI_OP_RECV;
  inline_payload.port = 0;
  refused(LCI_ERR_ARGUMENT, inline_payload, queue, "a receive without a place");
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    refused(LCI_ERR_SIZE, remote(kind, 4096, 1), queue, "over the end");
    refused(LCI_ERR_SIZE, remote(kind, 4090, 8), queue, "over the end");
    refused(LCI_ERR_SIZE, remote(kind, ~uint64_t{0}, 8), queue, "around");
    lci_descriptor both = remote(kind, 0, 8);
    both.u.ref.count = 8;
    refused(LCI_ERR_ARGUMENT, both, queue, "two sizes");
    lci_descriptor unknown = remote(kind, 0, 8);
    unknown.u.ref.remote = ~uint64_t{0};
    refused(LCI_ERR_MEMORY_CLOSED, unknown, queue, "no region");
  }
  EXPECT_EQ(0u, lci_queue_length(queue));
  world.barrier();
}

// Proves: SS-35
CONFORMANCE(SS35, ASignalCarriesATagOf16BitsAndNoMore) {
  constexpr uint32_t kBytes = 4096;
  lci_comp* told = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(LCI_MAX_PORT, told);
  Windows windows(world, kBytes);
  const Bytes bytes = pattern(64, world.rank());
  std::fill(windows.mine(), windows.mine() + kBytes, uint8_t{0xEE});
  world.barrier();
  lci_device* device = world.device();
  const uint32_t to = world.next();
  uint8_t place[64];
  for (const uint64_t tag : {uint64_t{LCI_MAX_SIGNAL_TAG} + 1, uint64_t{1} << 32, ~uint64_t{0}}) {
    EXPECT_EQ(LCI_ERR_TAG, lci_post_put_signal(device, to, bytes.data(), 64, windows.of(to), kBytes - 64, LCI_MAX_PORT,
                                               tag, ended, 0));
    EXPECT_EQ(LCI_ERR_TAG, lci_post_get_signal(device, to, place, 64, windows.of(to), 0, LCI_MAX_PORT, tag, ended, 0));
  }
  for (const uint32_t port : {0u, LCI_MAX_PORT + 1, 0xFFFFFFFFu}) {
    EXPECT_EQ(LCI_ERR_PORT, lci_post_put_signal(device, to, bytes.data(), 64, windows.of(to), 0, port, 1, ended, 0));
    EXPECT_EQ(LCI_ERR_PORT, lci_post_get_signal(device, to, place, 64, windows.of(to), 0, port, 1, ended, 0));
  }
  world.barrier();
  EXPECT_EQ(kBytes, std::count(windows.mine(), windows.mine() + kBytes, 0xEE)) << "what was refused wrote nothing";
  world.barrier();
  std::vector<uint64_t> seen;
  for (const uint64_t tag : {0u, 1u, LCI_MAX_SIGNAL_TAG}) {
    int code = LCI_RETRY;
    world.until([&] {
      code =
          lci_post_put_signal(device, to, bytes.data(), 64, windows.of(to), kBytes - 128, LCI_MAX_PORT, tag, ended, 0);
      return !is_retry(code);
    });
    ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    if (code == LCI_POSTED) {
      EXPECT_EQ(LCI_DONE, world.pop(ended).code);
    }
    const lci_status status = world.pop(told);  // in any order
    seen.push_back(status.tag);
    EXPECT_EQ(world.previous(), status.rank);
    EXPECT_EQ(nullptr, status.buffer);
    EXPECT_EQ(0u, status.size);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ((std::vector<uint64_t>{0, 1, LCI_MAX_SIGNAL_TAG}), seen) << "not cut";
  const Bytes expected = pattern(64, world.previous());
  EXPECT_EQ(0, compare(expected.data(), windows.mine() + kBytes - 128, 64));
  EXPECT_EQ(64, std::count(windows.mine() + kBytes - 64, windows.mine() + kBytes, 0xEE)) << "nothing past the data";
  world.barrier();
}

// The sender's signal means that its data is out, the receiver's that it is here: each comes once, and neither waits
// for the other's owner to look.
// Proves: SS-59
CONFORMANCE(SS59, TheTwoEndsOfARendezvousAreSignalledApart) {
  constexpr uint32_t kSize = 40'000;
  lci_comp* sent = world.queue();
  lci_comp* received = world.queue();
  const Bytes bytes = pattern(kSize, world.rank());
  Bytes place(kSize);
  ASSERT_EQ(LCI_POSTED, world.post(operation(LCI_OP_RECV, world.previous(), 0, 1, place.data(), kSize, 1), received));
  ASSERT_EQ(LCI_POSTED, world.post(operation(LCI_OP_SEND, world.next(), 0, 1, bytes.data(), kSize, 2), sent));
  if (world.rank() % 2 == 0) {  // by turns: who looks for which first
    EXPECT_EQ(2u, world.pop(sent).user_context);
    EXPECT_EQ(1u, world.pop(received).user_context);
  } else {
    EXPECT_EQ(1u, world.pop(received).user_context);
    EXPECT_EQ(2u, world.pop(sent).user_context);
  }
  EXPECT_EQ(pattern(kSize, world.previous()), place);
  world.barrier();
  EXPECT_EQ(0u, lci_queue_length(sent) + lci_queue_length(received));
}

}  // namespace
}  // namespace lci_test
