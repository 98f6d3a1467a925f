// SPDX-License-Identifier: Apache-2.0
// A bounded queue has a place for the signal of every operation that was answered with posted. [D4, E8, SS-45]
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/graph.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPlaces = 4;
constexpr uint16_t kPort = 5;

lci_comp* make_array(lci_runtime* runtime, uint32_t capacity) {
  lci_comp* queue = nullptr;
  EXPECT_EQ(LCI_DONE, lci_queue_create_kind(runtime, LCI_QUEUE_ARRAY, capacity, &queue)) << lci_last_error();
  return queue;
}

/// One rank that talks to itself, and a queue with few places.
class FullQueue : public testing::Test {
 protected:
  int receive(uint64_t tag, lci_status* out = nullptr) {
    return lci_post_recv(device_, 0, tag, &received_, sizeof received_, queue_, tag, out);
  }
  int send(uint64_t tag) { return lci_post_send(device_, 0, tag, &tag, sizeof tag, nullptr, 0); }
  bool pop(lci_status* status) { return lci_queue_pop(queue_, status) == LCI_DONE; }
  /// Fills the places with receives that nothing matches.
  void fill() {
    for (uint64_t tag = 0; tag < kPlaces; ++tag) ASSERT_EQ(LCI_POSTED, receive(1000 + tag)) << lci_last_error();
  }
  /// All places are free: so many receives are posted, and no more; then they are cancelled and popped.
  void expect_all_free(const char* after) {
    fill();
    EXPECT_EQ(LCI_RETRY_NOMEM, receive(2000)) << after;
    for (uint64_t tag = 0; tag < kPlaces; ++tag) ASSERT_EQ(LCI_DONE, lci_post_cancel(device_, 1000 + tag)) << after;
    lci_status status{};
    for (uint64_t tag = 0; tag < kPlaces; ++tag) ASSERT_TRUE(pop(&status)) << after;
    EXPECT_FALSE(pop(&status)) << after;
  }

  Job job_{1, {{"log_outfile", "none"}, {"log_keep", "64"}}};
  lci_device* const device_ = job_.device(0);
  lci_comp* const queue_ = make_array(job_.runtime(0), kPlaces);
  uint64_t received_ = 0;
};

TEST_F(FullQueue, TakesNoMoreThanItHasPlacesFor) {
  int posted = 0;
  for (uint64_t tag = 0; tag < 64; ++tag) {
    const int code = receive(tag);
    if (code == LCI_POSTED) {
      ++posted;
    } else {
      ASSERT_EQ(LCI_RETRY_NOMEM, code) << lci_last_error();
    }
  }
  EXPECT_EQ(static_cast<int>(kPlaces), posted);
  for (uint64_t tag = 0; tag < 64; ++tag) ASSERT_EQ(LCI_DONE, send(tag)) << lci_last_error();
  job_.settle();
  int signals = 0;
  for (lci_status status{}; pop(&status); ++signals) EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(posted, signals) << "each posted operation has one signal";
  EXPECT_EQ(0u, job_.counter(0, "discarded"));
  EXPECT_EQ(60u, job_.counter(0, "retries_nomem"));
  lci_status status{};
  for (uint64_t tag = kPlaces; tag < 64; ++tag) ASSERT_EQ(LCI_DONE, receive(tag, &status)) << lci_last_error();
  job_.check_ledgers();
}

TEST_F(FullQueue, EachPopMakesRoomForOne) {
  fill();
  lci_status status{};
  for (uint64_t round = 0; round < 1000; ++round) {
    ASSERT_EQ(LCI_RETRY_NOMEM, receive(round));
    ASSERT_EQ(LCI_DONE, lci_post_cancel(device_, round < kPlaces ? 1000 + round : round - kPlaces));
    ASSERT_EQ(LCI_RETRY_NOMEM, receive(round)) << "its signal is still in the queue";
    ASSERT_TRUE(pop(&status));
    EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
    ASSERT_EQ(LCI_POSTED, receive(round)) << lci_last_error();
  }
}

// What ends without a signal gives its place back, whatever the answer was.
TEST_F(FullQueue, PlacesOfWhatIsNotSignalledComeBack) {
  lci_status status{};
  for (uint64_t tag = 0; tag < 100; ++tag) {  // done: the message was there
    ASSERT_EQ(LCI_DONE, send(tag));
    job_.settle();
    ASSERT_EQ(LCI_DONE, receive(tag, &status)) << lci_last_error();
  }
  expect_all_free("receives that were done at once");

  lci_memory* memory = nullptr;
  void* address = nullptr;
  ASSERT_EQ(LCI_DONE, lci_memory_allocate(job_.runtime(0), 4096, &memory, &address));
  std::vector<uint8_t> handle(LCI_MEMORY_HANDLE_SIZE);
  ASSERT_EQ(LCI_DONE, lci_memory_handle(memory, handle.data(), handle.size()));
  uint64_t id = 0;
  ASSERT_EQ(LCI_DONE, lci_remote_open(job_.runtime(0), 0, handle.data(), handle.size(), &id, nullptr));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(LCI_DONE, lci_post_put(device_, 0, &received_, sizeof received_, id, 0, queue_, 0)) << lci_last_error();
  }
  expect_all_free("puts that were done at once");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(LCI_ERR_SIZE, lci_post_put(device_, 0, &received_, sizeof received_, id, 1 << 20, queue_, 0));
    ASSERT_EQ(LCI_ERR_RANK, lci_post_recv(device_, 7, 0, &received_, sizeof received_, queue_, 0, nullptr));
  }
  expect_all_free("errors");
  const auto large = pattern(100'000, 1);
  for (int i = 0; i < 100; ++i) {  // no port: the first is announced, the others are refused
    const int code = lci_post_am(device_, 0, 9, 0, large.data(), 100'000, queue_, 0);
    if (i != 0) {
      ASSERT_TRUE(is_retry(code));
    }
  }
  lci_comp* inbox = make_array(job_.runtime(0), 1024);
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), 9, "", inbox, 0, 0));
  job_.settle();
  while (pop(&status)) EXPECT_EQ(LCI_DONE, status.code);
  expect_all_free("retries");
}

TEST_F(FullQueue, IsExhaustedWhereRetryIsNotAllowed) {
  fill();
  auto op = operation(LCI_OP_RECV, 0, 0, 1, &received_, sizeof received_, 1);
  op.flags |= LCI_FLAG_NO_RETRY;
  EXPECT_EQ(LCI_ERR_EXHAUSTED, lci_post(device_, &op, queue_, nullptr));
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "queue")) << lci_last_error();
}

TEST_F(FullQueue, HoldsBackWhatIsSignalledByDemandAndNothingElse) {
  fill();
  uint64_t word = 7;
  auto op = operation(LCI_OP_SEND, 0, 0, 1, &word, sizeof word, 1);
  op.flags |= LCI_FLAG_SIGNAL;
  EXPECT_EQ(LCI_RETRY_NOMEM, lci_post(device_, &op, queue_, nullptr));
  EXPECT_EQ(LCI_DONE, lci_post_send(device_, 0, 1, &word, sizeof word, queue_, 0)) << "this one signals nobody";
  EXPECT_EQ(LCI_RETRY_NOMEM, lci_post_barrier(device_, queue_, 0));
  op.flags = LCI_FLAG_BUFFER | LCI_FLAG_SIGNAL | LCI_FLAG_COMP;
  op.user_context = lci_comp_id(queue_);
  EXPECT_EQ(LCI_RETRY_NOMEM, lci_post(device_, &op, nullptr, nullptr));
}

// What waits in the backlog has its place, and needs no second one to leave it.
TEST_F(FullQueue, WhatIsInTheBacklogKeepsItsPlace) {
  const auto large = pattern(100'000, 1);
  std::vector<uint64_t> contexts;
  for (uint64_t i = 0; i < kPlaces; ++i) {
    auto op = operation(LCI_OP_AM, 0, kPort, i, large.data(), 100'000, i);
    op.flags |= LCI_FLAG_NO_RETRY;
    const int code = lci_post(device_, &op, queue_, nullptr);
    ASSERT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_last_error();
  }
  EXPECT_EQ(LCI_RETRY_NOMEM, receive(1));
  lci_comp* inbox = make_array(job_.runtime(0), 1024);
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kPort, "", inbox, 0, 0));
  lci_status status{};
  for (uint64_t i = 0; i < kPlaces; ++i) {
    ASSERT_TRUE(lci_test::pop(job_, queue_, &status));
    EXPECT_EQ(LCI_DONE, status.code);
    contexts.push_back(status.user_context);
  }
  std::sort(contexts.begin(), contexts.end());
  for (uint64_t i = 0; i < kPlaces; ++i) EXPECT_EQ(i, contexts[i]);
  expect_all_free("the backlog");
  while (lci_queue_pop(inbox, &status) == LCI_DONE) lci_buffer_free(status.buffer);
  job_.check_ledgers();
}

TEST_F(FullQueue, AGraphThatWouldSignalItIsNotStarted) {
  fill();
  lci_graph* graph = nullptr;
  ASSERT_EQ(LCI_DONE, lci_graph_create(job_.runtime(0), queue_, 77, &graph));
  EXPECT_EQ(LCI_RETRY_NOMEM, lci_graph_start(graph));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_graph_test(graph, nullptr)) << "it was never started";
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_post_cancel(device_, 1000));
  ASSERT_TRUE(pop(&status));
  ASSERT_EQ(LCI_POSTED, lci_graph_start(graph)) << lci_last_error();
  ASSERT_TRUE(pop(&status));
  EXPECT_EQ(77u, status.user_context);
  ASSERT_EQ(LCI_DONE, lci_graph_free(graph));
}

TEST_F(FullQueue, AUsersOwnSignalDoesNotTakeThePlaceOfAnOperation) {
  fill();
  lci_status mine{};
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_comp_signal(queue_, &mine));
  ASSERT_EQ(LCI_DONE, lci_post_cancel(device_, 1000));
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_comp_signal(queue_, &mine)) << "the place is taken by the signal now";
  lci_status status{};
  ASSERT_TRUE(pop(&status));
  EXPECT_EQ(LCI_DONE, lci_comp_signal(queue_, &mine));
  EXPECT_EQ(LCI_RETRY_NOMEM, receive(1));
}

// A port and operations share a queue: what comes to the port finds the places taken. It is counted, and told once.
TEST_F(FullQueue, ArrivalsThatFindNoPlaceAreCountedAndTold) {
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kPort, "told", queue_, 0, 0));
  fill();
  uint64_t word = 3;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(LCI_DONE, lci_post_am(device_, 0, kPort, i, &word, sizeof word, nullptr, 0)) << lci_last_error();
    job_.settle();
  }
  EXPECT_EQ(3u, job_.counter(0, "arrivals_overrun"));
  EXPECT_EQ(3u, job_.counter(0, "discarded"));
  lci_log* log = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_log(job_.runtime(0), &log));
  int lines = 0;
  char line[1024];
  for (int32_t level = 0; lci_log_take(log, &level, line, sizeof line) == LCI_DONE;) {
    if (std::strstr(line, "has no room")) ++lines;
  }
  lci_log_free(log);
  EXPECT_EQ(1, lines) << "once for each opening of the port";
  for (uint64_t tag = 0; tag < kPlaces; ++tag) ASSERT_EQ(LCI_DONE, lci_post_cancel(device_, 1000 + tag));
  lci_status status{};
  int signals = 0;
  for (; pop(&status); ++signals) EXPECT_EQ(LCI_ERR_CANCELLED, status.code) << "the operations had the places";
  EXPECT_EQ(static_cast<int>(kPlaces), signals);
  // Their credit came back: the port goes on.
  ASSERT_EQ(LCI_DONE, lci_post_am(device_, 0, kPort, 9, &word, sizeof word, nullptr, 0)) << lci_last_error();
  ASSERT_TRUE(lci_test::pop(job_, queue_, &status));
  EXPECT_EQ(9u, status.tag);
  lci_buffer_free(status.buffer);
}

// Several threads, each with a device, share the queue: nothing that was posted is lost, and nothing waits for ever.
TEST(FullQueueOfThreads, EachPostedOperationIsSignalledOnce) {
  constexpr uint32_t kThreads = 3, kEach = 5000;
  Job job(1, {{"devices", std::to_string(kThreads)}});
  lci_comp* queue = make_array(job.runtime(0), 5);
  lci_comp* taken = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(0), &taken));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", taken, 0, 0));
  std::atomic<uint64_t> posted{0}, popped{0};
  const auto take = [&] {
    for (lci_status status{}; lci_queue_pop(queue, &status) == LCI_DONE; popped.fetch_add(1)) {
      EXPECT_EQ(LCI_DONE, status.code);
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t self = 0; self < kThreads; ++self) {
    threads.emplace_back([&, self] {
      lci_device* device = job.device(0, self);
      uint64_t word = self;
      const lci::test::Deadline deadline(30);
      for (uint32_t i = 0; i < kEach;) {
        ASSERT_FALSE(deadline.passed());
        auto op = operation(LCI_OP_AM, 0, kPort, self, &word, sizeof word, i);
        op.flags |= LCI_FLAG_SIGNAL;
        const int code = lci_post(device, &op, queue, nullptr);
        if (code == LCI_POSTED) {
          ++i;
          posted.fetch_add(1);
        } else {
          ASSERT_TRUE(is_retry(code)) << lci_last_error();
          take();
          lci_progress(device);
          std::this_thread::yield();
        }
      }
      while (popped.load() < posted.load() && !deadline.passed()) take();
    });
  }
  for (auto& thread : threads) thread.join();
  take();
  EXPECT_EQ(uint64_t{kThreads} * kEach, posted.load());
  EXPECT_EQ(posted.load(), popped.load());
}

}  // namespace
}  // namespace lci_test
