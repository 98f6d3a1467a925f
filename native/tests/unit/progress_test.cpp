// SPDX-License-Identifier: Apache-2.0
// Progress as its callers see it: a batch is processed whole whatever is wrong in it, and nobody waits for a device.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7, kThrowing = 8, kClosed = 9, kStaying = 10;

void count(const lci_status*, void* argument) {
  ++*static_cast<uint64_t*>(argument);
}
void count_and_throw(const lci_status* status, void* argument) {
  count(status, argument);
  throw std::runtime_error("a handler's own affair");
}

lci_comp* open_handler(Job& job, uint32_t rank, uint32_t port, lci_handler_fn function, void* argument) {
  lci_comp* handler = nullptr;
  EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), function, argument, &handler));
  EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), port, "", handler, 0, 0)) << lci_last_error();
  return handler;
}

void know_port(Job& job, uint32_t port) {
  while (lci_post_am(job.device(0), 1, port, 0, nullptr, 0, nullptr, 0) != LCI_DONE) job.progress();
  job.settle();
}

// Thirty-two messages in one batch, wrong ones between good ones: one pass handles all. Each error is that of its own
// operation, nothing else of the pass is lost, and the pass itself has moved.
// Proves: H4 SS-57
TEST(Progress, ABatchWithErrorsIsProcessedWhole) {
  Job job(2);
  uint64_t handled = 0, thrown = 0;
  open_handler(job, 1, kPort, count, &handled);
  open_handler(job, 1, kThrowing, count_and_throw, &thrown);
  lci_comp* const closed = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kClosed, "", closed, 0, 0));
  for (const uint32_t port : {kPort, kThrowing, kClosed}) know_port(job, port);
  handled = thrown = 0;
  const uint64_t discarded = job.counter(1, "discarded");
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kClosed));  // the sender does not know yet

  lci_comp* const received = make_queue(job.runtime(1));
  uint64_t value = 42, places[8] = {};
  for (uint64_t i = 0; i < 8; ++i) {
    const uint32_t size = i % 2 == 0 ? 8 : 4;  // every other one is too small
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, i, &places[i], size, received, i, nullptr));
  }
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(0), 1, i, &value, 8, nullptr, 0));
    for (const uint32_t port : {kThrowing, kClosed, kPort}) {
      ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, port, i, &value, 8, nullptr, 0)) << port;
    }
  }
  EXPECT_EQ(LCI_DONE, lci_progress(job.device(1)));
  EXPECT_EQ(8u, handled);
  EXPECT_EQ(8u, thrown);
  EXPECT_EQ(8u, job.counter(1, "discarded") - discarded);
  ASSERT_EQ(8u, lci_queue_length(received));
  for (uint64_t i = 0; i < 8; ++i) {
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_queue_pop(received, &status));
    EXPECT_EQ(status.user_context % 2 == 0 ? LCI_DONE : LCI_ERR_TRUNCATED, status.code);
    EXPECT_EQ(42u, places[status.user_context]) << "little-endian: the small one has the low bytes";
  }
  EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
  job.check_ledgers();
}

/// A handler that stays in a thread's progress until it is let go.
struct Gate {
  std::atomic<bool> entered{false}, open{false};
};
void stay(const lci_status*, void* argument) {
  auto& gate = *static_cast<Gate*>(argument);
  gate.entered = true;
  while (!gate.open) std::this_thread::yield();
}

// Another thread is inside a device, for as long as it likes: whoever comes is told "nothing", or retry_lock, at once.
// That does not mean that there is nothing: what waits there arrives when the device is free.
// Proves: H16 SS-55 D8
TEST(Progress, NobodyWaitsForADevice) {
  Job job(2);
  Gate gate;
  uint64_t handled = 0;
  open_handler(job, 1, kStaying, stay, &gate);
  open_handler(job, 1, kPort, count, &handled);
  know_port(job, kPort);
  handled = 0;
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kStaying, 0, nullptr, 0, nullptr, 0));
  std::thread inside([&] {
    while (!gate.entered) lci_progress(job.device(1));
  });
  while (!gate.entered) std::this_thread::yield();
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kPort, 0, nullptr, 0, nullptr, 0));
  lci_comp* const received = make_queue(job.runtime(1));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(LCI_RETRY, lci_progress(job.device(1))) << "it looked for somebody else's device";
    ASSERT_EQ(LCI_RETRY, lci_test_drained(job.device(1))) << "a lost lock is no proof of rest";
    ASSERT_EQ(LCI_RETRY_LOCK, lci_post_am(job.device(1), 0, kPort, 0, nullptr, 0, nullptr, 0));
    ASSERT_EQ(LCI_RETRY_LOCK, lci_post_recv(job.device(1), 0, 1, nullptr, 0, received, 0, nullptr));
  }
  EXPECT_EQ(0u, handled);
  gate.open = true;
  inside.join();
  job.settle();
  EXPECT_EQ(1u, handled);
  job.check_ledgers();
}

struct Books {
  uint64_t cancelled = 0, other = 0;
};
void keep_books(const lci_status* status, void* argument) {
  auto& books = *static_cast<Books*>(argument);
  ++(status->code == LCI_ERR_CANCELLED ? books.cancelled : books.other);
}

// Whoever waits in the backlog of a runtime that closes is told.
// Proves: H13
TEST(Backlog, WhatIsLeftAtTheEndIsCancelled) {
  Books books;
  uint64_t promised = 0;
  {
    Job job(2);
    lci_comp* handler = nullptr;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), keep_books, &books, &handler));
    for (uint64_t i = 0; i < 20; ++i) {
      lci_descriptor op = operation(LCI_OP_AM, 1, kPort, i, &i, sizeof i);
      op.flags |= LCI_FLAG_NO_RETRY | LCI_FLAG_SIGNAL;
      const int code = lci_post(job.device(0), &op, handler, nullptr);
      promised += code == LCI_POSTED_BACKLOG;
      ASSERT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_code_name(code);
    }
    job.settle();
    EXPECT_EQ(promised, job.counter(0, "backlog_depth"));
    books = {};
    job.close(0, 0);
  }
  EXPECT_EQ(19u, promised) << "one is announced";
  EXPECT_EQ(promised, books.cancelled);
  EXPECT_EQ(0u, books.other);
}

// Failure notices are control: a rank dies while all inboxes are full, and the others learn it.
// Proves: X1
TEST(ControlTraffic, ADeathIsNoticedBehindFullInboxes) {
  Job job(3);
  lci_comp* inboxes[3];
  for (uint32_t rank = 0; rank < 3; ++rank) {
    inboxes[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", inboxes[rank], 4, 1 << 20));
  }
  for (uint32_t from = 0; from < 3; ++from) {
    for (uint32_t to = 0; to < 3; ++to) {
      for (int refused = 0; refused < 200;) {
        const int code = lci_post_am(job.device(from), to, kPort, 0, &from, 4, nullptr, 0);
        refused = code == LCI_DONE ? 0 : refused + 1;
        job.progress();
      }
    }
  }
  for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(4u, lci_queue_length(inboxes[rank]));
  lci_comp* const ended = make_queue(job.runtime(0));
  uint64_t place = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 2, 1, &place, 8, ended, 5, nullptr));
  job.close(2, 0);
  lci_status status{};
  ASSERT_TRUE(pop(job, ended, &status));
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
  EXPECT_EQ(2u, status.rank);
  EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post_am(job.device(0), 2, kPort, 0, &place, 8, nullptr, 0));
}

// Whoever fills the ring before each pass does not hold up the pieces of a large message: some room is theirs. [H8]
// Mutation: starve_streams.
TEST(Progress, AFloodLeavesRoomForPieces) {
  constexpr uint32_t kSize = 100'000;
  Job job(2, {{"ring_bytes", "4096"}});
  uint64_t arrived = 0;
  open_handler(job, 1, kPort, count, &arrived);
  know_port(job, kPort);
  lci_comp* const ended = make_queue(job.runtime(1));
  lci_comp* const sent = make_queue(job.runtime(0));
  const auto bytes = pattern(kSize, 3);
  std::vector<uint8_t> received(kSize);
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 5, received.data(), kSize, ended, 0, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(0), 1, 5, bytes.data(), kSize, sent, 0));
  lci_status status{};
  uint64_t flooded = 0;
  for (int round = 0; round < 200 && lci_queue_pop(ended, &status) != LCI_DONE; ++round) {
    int code = LCI_DONE;
    while ((code = lci_post_am(job.device(0), 1, kPort, 0, &flooded, 8, nullptr, 0)) == LCI_DONE) ++flooded;
    ASSERT_EQ(LCI_RETRY_NOMEM, code);
    lci_progress(job.device(0));
    lci_progress(job.device(1));
  }
  EXPECT_EQ(kSize, status.size);
  EXPECT_EQ(bytes, received);
  job.settle();
  EXPECT_EQ(flooded + 1, arrived);
}

}  // namespace
}  // namespace lci_test
