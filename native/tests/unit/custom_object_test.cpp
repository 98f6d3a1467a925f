// SPDX-License-Identifier: Apache-2.0
// Custom completion objects, local and remote. [B26, E1, E5, SS-41, SS-46, X2]
// Mutation that must make this file fail: custom_ignores_refusal.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 11;

struct Collector {
  std::vector<lci_status> statuses;
  int answer = LCI_DONE;
};

int collect(const lci_status* status, void* argument) {
  auto& collector = *static_cast<Collector*>(argument);
  if (collector.answer == LCI_DONE) collector.statuses.push_back(*status);
  return collector.answer;
}

int throw_always(const lci_status*, void* argument) {
  ++*static_cast<int*>(argument);
  throw std::runtime_error("no room in my list");
}

lci_comp* make_custom(lci_runtime* runtime, lci_custom_fn function, void* argument, int stores) {
  lci_comp* custom = nullptr;
  EXPECT_EQ(LCI_DONE, lci_custom_create(runtime, function, argument, stores, &custom)) << lci_last_error();
  return custom;
}

int post_until_taken(Job& job, uint64_t tag, const void* bytes, uint32_t size, lci_comp* comp) {
  int code = LCI_RETRY;
  for (int i = 0; i < 100'000 && code >= LCI_RETRY && code < LCI_ERR_ARGUMENT; ++i) {
    code = lci_post_am(job.device(0), 1, kPort, tag, bytes, size, comp, tag);
    job.progress();
  }
  return code;
}

/// [E1] The local object of an operation.
// Proves: E1
TEST(CustomObject, IsSignalledByOperations) {
  Job job(2);
  Collector collector;
  lci_comp* custom = make_custom(job.runtime(0), collect, &collector, 0);
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 0, 0));
  const std::vector<uint8_t> bytes(100'000, 7);
  ASSERT_EQ(LCI_POSTED, post_until_taken(job, 5, bytes.data(), 100'000, custom));
  EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(custom)) << "an operation is to signal it";
  job.settle();
  ASSERT_EQ(1u, collector.statuses.size());
  EXPECT_EQ(LCI_DONE, collector.statuses[0].code);
  EXPECT_EQ(5u, collector.statuses[0].user_context);
  EXPECT_EQ(LCI_DONE, lci_comp_free(custom));
  job.check_ledgers();
}

/// [E1] The remote object; one that keeps nothing needs no credit.
// Proves: E1
TEST(CustomObject, IsSignalledByArrivals) {
  Job job(2);
  Collector collector;
  lci_comp* custom = make_custom(job.runtime(1), collect, &collector, 0);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", custom, 2, 64));
  EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(custom)) << "a port is open on it";
  for (uint64_t tag = 0; tag < 50; ++tag) ASSERT_EQ(LCI_DONE, post_until_taken(job, tag, &tag, 8, nullptr));
  job.settle();
  ASSERT_EQ(50u, collector.statuses.size());
  for (uint64_t tag = 0; tag < 50; ++tag) {
    EXPECT_EQ(tag, collector.statuses[tag].tag);
    EXPECT_EQ(8u, collector.statuses[tag].size);
    EXPECT_EQ(kPort, collector.statuses[tag].port);
  }
  job.check_ledgers();
}

/// [X2] What it keeps counts against the port until it says that it was taken.
TEST(CustomObject, WhatItStoresIsBoundByCredit) {
  constexpr uint32_t kCapacity = 4;
  constexpr uint64_t kMessages = 100;
  Job job(2);
  Collector collector;
  lci_comp* custom = make_custom(job.runtime(1), collect, &collector, 1);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", custom, kCapacity, 1 << 20));
  uint64_t sent = 0, received = 0;
  size_t deepest = 0;
  for (int round = 0; received < kMessages && round < 100'000; ++round) {
    if (sent < kMessages) sent += lci_post_am(job.device(0), 1, kPort, sent, &sent, 8, nullptr, 0) == LCI_DONE;
    job.progress();
    deepest = std::max(deepest, collector.statuses.size());
    if (round % 50 != 0 || collector.statuses.empty()) continue;
    lci_status status = collector.statuses.front();
    collector.statuses.erase(collector.statuses.begin());
    uint64_t value = 0;
    std::memcpy(&value, status.buffer, sizeof value);
    EXPECT_EQ(status.tag, value);
    ASSERT_EQ(LCI_DONE, lci_custom_taken(custom, &status));
    lci_buffer_free(status.buffer);
    ++received;
  }
  EXPECT_EQ(kMessages, received);
  EXPECT_LE(deepest, kCapacity);
  EXPECT_GE(deepest, 2u);
  job.check_ledgers();
}

/// A refusal discards the arrival and gives the credit back: nobody waits for ever.
TEST(CustomObject, MayRefuse) {
  Job job(2);
  Collector collector{{}, LCI_ERR_OVERRUN};
  lci_comp* custom = make_custom(job.runtime(1), collect, &collector, 1);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", custom, 4, 1 << 10));
  for (uint64_t tag = 0; tag < 100; ++tag) ASSERT_EQ(LCI_DONE, post_until_taken(job, tag, &tag, 8, nullptr));
  job.settle();
  EXPECT_EQ(100u, job.counter(1, "discarded"));
  lci_status status{};
  EXPECT_EQ(LCI_ERR_OVERRUN, lci_comp_signal(custom, &status));
  collector.answer = LCI_RETRY;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal(custom, &status)) << "neither done nor an error";
  job.check_ledgers();
}

/// [SS-46] So does an exception; the batch goes on.
// Proves: SS-46
TEST(CustomObject, ExceptionsEndAtTheBoundary) {
  Job job(2);
  int calls = 0;
  lci_comp* custom = make_custom(job.runtime(1), throw_always, &calls, 1);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", custom, 4, 1 << 10));
  for (uint64_t tag = 0; tag < 100; ++tag) ASSERT_EQ(LCI_DONE, post_until_taken(job, tag, &tag, 8, nullptr));
  job.settle();
  EXPECT_EQ(100, calls);
  EXPECT_EQ(100u, job.counter(1, "discarded"));
  lci_status status{};
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_signal(custom, &status));
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "no room in my list")) << lci_last_error();
  job.check_ledgers();
}

/// [E5] What the user signals passes unvalidated, but for the code [SS-44]; its buffer stays the user's.
// Proves: E5
TEST(CustomObject, UserSignalsPassThrough) {
  Job job(1);
  Collector collector;
  lci_comp* custom = make_custom(job.runtime(0), collect, &collector, 0);
  int anything = 0;
  const lci_status given{LCI_ERR_PROTOCOL, 0xFFFFFFFF, ~0ull, &anything, 1ull << 60, 42, 0, 9};
  EXPECT_EQ(LCI_DONE, lci_comp_signal(custom, &given));
  ASSERT_EQ(1u, collector.statuses.size());
  EXPECT_EQ(0, std::memcmp(&given, &collector.statuses[0], sizeof given));
  lci_comp* synchronizer = nullptr;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(0), 1, &synchronizer));
  EXPECT_EQ(LCI_DONE, lci_comp_signal(synchronizer, &given));
  lci_status taken{};
  ASSERT_EQ(LCI_DONE, lci_synchronizer_test(synchronizer, &taken));
  EXPECT_EQ(0, std::memcmp(&given, &taken, sizeof given));
}

TEST(CustomObject, BadArgumentsAreTold) {
  Job job(1);
  Collector collector;
  lci_comp* custom = nullptr;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_custom_create(job.runtime(0), nullptr, nullptr, 0, &custom));
  EXPECT_EQ(nullptr, custom);
  custom = make_custom(job.runtime(0), collect, &collector, 0);
  lci_status status{};
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_custom_taken(custom, &status)) << "it stores nothing";
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_custom_taken(make_queue(job.runtime(0)), &status));
}

/// [B26] The queue without a bound, too.
// Proves: B26
TEST(CustomObject, ObjectsInUseAreNotFreed) {
  Job job(1);
  lci_comp* queue = nullptr;
  if (lci_queue_create_kind(job.runtime(0), LCI_QUEUE_LCRQ, 0, &queue) == LCI_ERR_UNSUPPORTED) {
    GTEST_SKIP() << "this processor has no such queue";
  }
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 0, 1, nullptr, 0, queue, 3, nullptr));
  EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(queue));
  lci_descriptor cancel{};
  cancel.op = LCI_OP_CANCEL;
  cancel.tag = 3;
  EXPECT_EQ(LCI_DONE, lci_post(job.device(0), &cancel, nullptr, nullptr));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 0, 0));
  EXPECT_EQ(LCI_ERR_BUSY, lci_comp_free(queue));
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(0), kPort));
  EXPECT_EQ(LCI_DONE, lci_comp_free(queue)) << "and with it the status that nobody took";
}

}  // namespace
}  // namespace lci_test
