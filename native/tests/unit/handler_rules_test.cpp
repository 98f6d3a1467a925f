// SPDX-License-Identifier: Apache-2.0
// What a handler may do, and what it is told when it may not. [E11, 2B-22, 2B-28, SS-46, SS-47]
// Mutation that must make this file fail: signal_context_off.
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 2;
constexpr uint32_t kOther = 3;

using Action = std::function<void(const lci_status&)>;

void run_handler(const lci_status* status, void* argument) {
  (*static_cast<Action*>(argument))(*status);
}
int run_custom(const lci_status* status, void* argument) {
  (*static_cast<Action*>(argument))(*status);
  return LCI_DONE;
}

/// Rank 0 sends to a handler, or a custom object, of its own.
class HandlerRules : public testing::TestWithParam<bool> {
 protected:
  HandlerRules() : job_(1, {{"devices", "2"}}) {
    lci_comp* object = nullptr;
    if (GetParam()) {
      EXPECT_EQ(LCI_DONE, lci_custom_create(job_.runtime(0), run_custom, &action_, 0, &object));
    } else {
      EXPECT_EQ(LCI_DONE, lci_handler_create(job_.runtime(0), run_handler, &action_, &object));
    }
    EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kPort, "", object, 0, 0));
  }
  void trigger(uint64_t messages) {
    for (uint64_t tag = 0; tag < messages;) {
      const int code = lci_post_am(job_.device(0), 0, kPort, tag, &tag, sizeof tag, nullptr, 0);
      ASSERT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
      if (code == LCI_DONE) ++tag;
      lci_progress(job_.device(0));
    }
    job_.settle();
  }

  Action action_;
  Job job_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, HandlerRules, testing::Bool(),
                         [](const auto& each) { return each.param ? std::string("Custom") : std::string("Handler"); });

/// [SS-47] Progress and every blocking form are refused, and do nothing.
// Proves: E11 SS-47
TEST_P(HandlerRules, ProgressAndBlockingFormsAreRefused) {
  lci_comp* queue = make_queue(job_.runtime(0));
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job_.runtime(0), 1, &synchronizer));
  const lci_status given{};
  ASSERT_EQ(LCI_DONE, lci_comp_signal(queue, &given)) << "also when nothing would have to be waited for";
  ASSERT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &given));
  std::vector<int> codes;
  uint32_t popped = 9;
  action_ = [&](const lci_status&) {
    lci_device* const devices[] = {job_.device(0, 0), job_.device(0, 1)};
    lci_status status{};
    uint8_t byte = 0;
    for (lci_device* device : devices) {
      codes.push_back(lci_progress(device));
      codes.push_back(lci_wait_drained(device, 10));
      codes.push_back(lci_post_am(device, 0, kOther, 0, &byte, 1, LCI_COMP_NULL, 0));
      codes.push_back(lci_post_recv(device, 0, 0, &byte, 1, LCI_COMP_NULL_RETRY, 0, &status));
    }
    codes.push_back(lci_queue_wait(queue, devices, 2, 10, &status));
    codes.push_back(lci_queue_wait(queue, nullptr, 0, 10, &status));
    codes.push_back(lci_queue_wait_many(queue, devices, 2, 10, &status, 1, &popped));
    codes.push_back(lci_synchronizer_wait(synchronizer, nullptr, 0, 10, &status));
  };
  trigger(1);
  EXPECT_EQ(std::vector<int>(12, LCI_ERR_SIGNAL_CONTEXT), codes);
  EXPECT_EQ(0u, popped);
  EXPECT_EQ(1u, lci_queue_length(queue));
  EXPECT_EQ(0u, job_.counter(0, "receives_pending"));
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_queue_wait(queue, nullptr, 0, 0, &status)) << "outside it is allowed again";
  EXPECT_EQ(LCI_DONE, lci_synchronizer_wait(synchronizer, nullptr, 0, 0, &status));
}

/// [SS-47] So is what waits for other ranks, or for the device that this very thread has: it would wait for ever.
TEST_P(HandlerRules, WhatWaitsForDevicesOrRanksIsRefused) {
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job_.runtime(0), 1, 1, &lane)) << lci_last_error();
  std::vector<int> codes;
  lci_lane* created = nullptr;
  lci_runtime* runtime = nullptr;
  action_ = [&](const lci_status&) {
    for (const uint32_t timeout_ms : {0u, 10u}) codes.push_back(lci_runtime_close(job_.runtime(0), timeout_ms));
    codes.push_back(lci_lane_create(job_.runtime(0), 0, 1, &created));
    codes.push_back(lci_lane_free(lane));
    codes.push_back(lci_lane_park(lane, 1000));
    codes.push_back(lci_runtime_create(nullptr, nullptr, 0, &runtime));
    codes.push_back(lci_global_init(nullptr, &runtime));
    codes.push_back(lci_global_fini(10));
    EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("global fini: called from a handler"));
  };
  trigger(1);
  EXPECT_EQ(std::vector<int>(8, LCI_ERR_SIGNAL_CONTEXT), codes);
  EXPECT_EQ(nullptr, created);
  EXPECT_EQ(nullptr, runtime);
  EXPECT_EQ(nullptr, lci_global_runtime());
  EXPECT_EQ(LCI_DONE, lci_lane_free(lane)) << "outside it is allowed again";
}

/// The handlers that a closing runtime calls may set what holds for the next one.
TEST_P(HandlerRules, AttributesMayBeSetWhileTheGlobalRuntimeCloses) {
  lci_runtime* runtime = nullptr;
  ASSERT_EQ(LCI_DONE, lci_global_init(nullptr, &runtime)) << lci_last_error();
  lci_comp* handler = nullptr;
  int code = LCI_RETRY;
  action_ = [&](const lci_status& status) {
    EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
    code = lci_global_set("packets", "17");
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(runtime, run_handler, &action_, &handler));
  uint8_t byte = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(nullptr, 0, 1, &byte, 1, handler, 0, nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_global_fini(10)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, code);
  EXPECT_EQ(LCI_DONE, lci_global_set("packets", nullptr));
}

/// [SS-47] Posts with retry disallowed are legal: through its own device, and through another.
// Proves: SS-47
TEST_P(HandlerRules, PostsWithoutRetryAreLegal) {
  constexpr uint64_t kMessages = 500;
  lci_comp* counter = nullptr;
  lci_comp* signals = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job_.runtime(0), &counter));
  ASSERT_EQ(LCI_DONE, lci_counter_create(job_.runtime(0), &signals));
  ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(0), kOther, "", counter, 0, 0));
  uint64_t accepted = 0, posted = 0;
  action_ = [&](const lci_status& status) {
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_INLINE | LCI_FLAG_NO_RETRY;
    if (status.tag % 2 == 0) op.flags |= LCI_FLAG_SIGNAL;
    op.port = kOther;
    const int code = lci_post(job_.device(0, status.tag % 3 == 0), &op, signals, nullptr);
    EXPECT_LT(code, LCI_RETRY) << lci_last_error();
    accepted += code < LCI_RETRY;
    posted += code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
  };
  trigger(kMessages);
  for (int i = 0; i < 10'000; ++i) {
    lci_progress(job_.device(0, 0));
    lci_progress(job_.device(0, 1));
  }
  EXPECT_EQ(kMessages, accepted);
  EXPECT_EQ(kMessages, lci_counter_get(counter));
  EXPECT_EQ(posted, lci_counter_get(signals));
  EXPECT_EQ(kMessages / 2, posted);
}

/// [SS-46] An exception ends at the boundary: the rest of the batch is handled.
// Proves: SS-46
TEST_P(HandlerRules, ExceptionsDoNotStopTheBatch) {
  constexpr uint64_t kMessages = 100;
  uint64_t calls = 0;
  action_ = [&](const lci_status& status) {
    ++calls;
    if (status.tag % 2 == 0) throw std::runtime_error("even");
    if (status.tag % 3 == 0) throw 3;
  };
  trigger(kMessages);
  EXPECT_EQ(kMessages, calls);
  EXPECT_EQ(LCI_RETRY, lci_progress(job_.device(0))) << "not in signal context any more, and nothing left";
  job_.check_ledgers();
}

/// Objects may be signalled from a handler; that one in use is not freed there, at once and not for ever. [B26]
TEST_P(HandlerRules, FreeingWhatIsInUseIsRefused) {
  lci_comp* queue = make_queue(job_.runtime(0));
  uint8_t byte = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job_.device(0), 0, 77, &byte, 1, queue, 1, nullptr));
  int freed = LCI_DONE;
  action_ = [&](const lci_status& status) {
    freed = lci_comp_free(queue);
    lci_status given = status;
    EXPECT_EQ(LCI_DONE, lci_comp_signal(queue, &given));
  };
  trigger(1);
  EXPECT_EQ(LCI_ERR_BUSY, freed);
  EXPECT_EQ(1u, lci_queue_length(queue));
}

/// What a handler of rank 0 leaves to the device, since it is called within a post.
class HandedOver : public testing::Test {
 protected:
  HandedOver() { EXPECT_EQ(LCI_DONE, lci_handler_create(job_.runtime(0), run_handler, &action_, &handler_)); }
  void call(Action action) {
    action_ = std::move(action);
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job_.device(0), 1, kTag + 1, nullptr, 0, handler_, 99, nullptr));
    ASSERT_EQ(LCI_DONE, lci_post_cancel(job_.device(0), 99)) << lci_last_error();
    job_.settle();
  }
  lci_descriptor receive(uint32_t rank, uint64_t context) {
    lci_descriptor op{};
    op.op = LCI_OP_RECV;
    op.flags = LCI_FLAG_BUFFER | LCI_FLAG_NO_RETRY;
    op.rank = rank;
    op.tag = kTag;
    op.size = sizeof word_;
    op.user_context = context;
    op.u.ref.address = reinterpret_cast<uint64_t>(&word_);
    return op;
  }

  static constexpr uint64_t kTag = 7;
  uint64_t word_ = 0;
  Action action_;
  Job job_{2};
  lci_comp* handler_ = nullptr;
  lci_comp* ended_ = make_queue(job_.runtime(0));
};

// Both are free of credit, also when what is before them in the backlog is not. Mutation: receives_wait_for_credit.
// Proves: H13
TEST_F(HandedOver, ReceivesAndBarriersDoNotWaitForCredit) {
  for (const uint32_t rank : {0u, 1u}) {
    for (const int code : {LCI_DONE, LCI_DONE_BACKLOG}) {  // to a port that is not open: the first one is announced
      lci_descriptor op{};
      op.op = LCI_OP_AM;
      op.flags = LCI_FLAG_NO_RETRY;
      op.rank = rank;
      op.port = kOther;
      op.size = 8;
      ASSERT_EQ(code, lci_post(job_.device(0), &op, nullptr, nullptr)) << lci_last_error();
    }
  }
  call([&](const lci_status&) {
    lci_descriptor received = receive(1, 1), barrier{};
    barrier.op = LCI_OP_BARRIER;
    barrier.flags = LCI_FLAG_NO_RETRY;
    barrier.user_context = 2;
    EXPECT_EQ(LCI_POSTED_BACKLOG, lci_post(job_.device(0), &received, ended_, nullptr)) << lci_last_error();
    EXPECT_EQ(LCI_POSTED_BACKLOG, lci_post(job_.device(0), &barrier, ended_, nullptr)) << lci_last_error();
  });
  const uint64_t value = 5;
  ASSERT_EQ(LCI_DONE, lci_post_send(job_.device(1), 0, kTag, &value, sizeof value, nullptr, 0)) << lci_last_error();
  ASSERT_EQ(LCI_POSTED, lci_post_barrier(job_.device(1), make_queue(job_.runtime(1)), 0)) << lci_last_error();
  job_.settle();
  EXPECT_EQ(2u, lci_queue_length(ended_));
  EXPECT_EQ(value, word_);
  EXPECT_EQ(2u, job_.counter(0, "backlog_depth"));
  for (const uint32_t rank : {0u, 1u}) {
    lci_comp* counter = nullptr;
    ASSERT_EQ(LCI_DONE, lci_counter_create(job_.runtime(rank), &counter));
    ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(rank), kOther, "", counter, 0, 0));
  }
  job_.check_ledgers();
}

// Whether the message or the receive came first. [SS-29]
TEST_F(HandedOver, ATruncatedReceiveHasTheStatusOfItsMessage) {
  const std::vector<uint8_t> bytes(100, 1);
  for (const bool receive_first : {true, false}) {
    SCOPED_TRACE(receive_first ? "receive first" : "message first");
    auto send = [&] {
      lci_descriptor op{};
      op.op = LCI_OP_SEND;
      op.flags = LCI_FLAG_BUFFER;
      op.policy = LCI_POLICY_TAG;
      op.tag = kTag;
      op.size = static_cast<uint32_t>(bytes.size());
      op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
      ASSERT_EQ(LCI_DONE, lci_post(job_.device(1), &op, nullptr, nullptr)) << lci_last_error();
      job_.settle();
    };
    if (!receive_first) send();
    call([&](const lci_status&) {
      lci_descriptor op = receive(LCI_ANY_SOURCE, 41);
      EXPECT_EQ(LCI_POSTED_BACKLOG, lci_post(job_.device(0), &op, ended_, nullptr)) << lci_last_error();
    });
    if (receive_first) send();
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_queue_pop(ended_, &status));
    EXPECT_EQ(LCI_ERR_TRUNCATED, status.code);
    EXPECT_EQ(1u, status.rank);
    EXPECT_EQ(kTag, status.tag);
    EXPECT_EQ(bytes.size(), status.size);
    EXPECT_EQ(&word_, status.buffer);
    EXPECT_EQ(41u, status.user_context);
  }
  job_.check_ledgers();
}

}  // namespace
}  // namespace lci_test
