// SPDX-License-Identifier: Apache-2.0
// Receives of messages whose length is not known: memory comes when a long one is matched. [C2, SS-29, SS-30]
#include <cstdlib>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kTag = 7;
constexpr uint64_t kLongest = 1 << 20;

/// Rank 0 sends to rank 1, whose receive is posted before or after.
class LongReceive : public testing::Test {
 protected:
  /// Sends @p size bytes and receives them; the status that ends the receive.
  lci_status exchange(uint32_t size, bool expected, uint64_t longest = kLongest) {
    bytes_ = pattern(size, size);
    lci_status status{};
    if (expected) receive(longest, &status);
    const auto send = operation(LCI_OP_SEND, 1, 0, kTag, bytes_.data(), size);
    const int code = post_until_taken(job_, 0, send, sent_);
    EXPECT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
    if (!expected) {
      job_.settle();
      receive(longest, &status);
    }
    if (code_ == LCI_POSTED) {
      EXPECT_TRUE(pop(job_, received_, &status));
    }
    if (code == LCI_POSTED) {
      lci_status sent{};
      EXPECT_TRUE(pop(job_, sent_, &sent));
      EXPECT_EQ(LCI_DONE, sent.code);
    }
    return status;
  }
  void receive(uint64_t longest, lci_status* status) {
    code_ = lci_post_recv_long(job_.device(1), 0, kTag, buffer_.data(), eager_, longest, received_, 77, status);
    ASSERT_TRUE(code_ == LCI_POSTED || code_ == LCI_DONE) << lci_last_error();
  }

  Job job_{2};
  const uint32_t eager_ = lci_runtime_max_eager(job_.runtime(1));
  lci_comp* const sent_ = make_queue(job_.runtime(0));
  lci_comp* const received_ = make_queue(job_.runtime(1));
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> buffer_ = std::vector<uint8_t>(eager_);
  int code_ = LCI_RETRY;
};

// Proves: C2 SS-30
TEST_F(LongReceive, TakesMemoryOnlyForWhatDoesNotFit) {
  for (const bool expected : {true, false}) {
    for (const uint32_t size : {0u, 8u, 192u, eager_, eager_ + 1, 300'000u, static_cast<uint32_t>(kLongest)}) {
      lci_status status = exchange(size, expected);
      EXPECT_EQ(LCI_DONE, status.code) << size;
      EXPECT_EQ(size, status.size);
      EXPECT_EQ(77u, status.user_context);
      EXPECT_EQ(size > eager_, status.buffer != buffer_.data()) << size;
      EXPECT_EQ(0, compare(status.buffer, bytes_.data(), size)) << size;
      EXPECT_EQ(LCI_DONE, lci_arrival_free(job_.runtime(1), &status));
      EXPECT_EQ(size > eager_ ? nullptr : buffer_.data(), status.buffer);
    }
  }
  job_.check_ledgers();
}

// The message is lost, its beginning is not, and its sender does not learn of it.
// Proves: SS-29
TEST_F(LongReceive, AboveTheLongestIsTruncated) {
  for (const bool expected : {true, false}) {
    const lci_status status = exchange(100'001, expected, 100'000);
    EXPECT_EQ(LCI_ERR_TRUNCATED, status.code);
    EXPECT_EQ(100'001u, status.size);
    EXPECT_EQ(buffer_.data(), status.buffer);
    EXPECT_EQ(0, compare(buffer_.data(), bytes_.data(), eager_));
  }
  job_.check_ledgers();
}

void* no_memory(size_t, void*) {
  return nullptr;
}
void never(void*, void*) {
  std::abort();
}

TEST_F(LongReceive, SaysSoIfThereIsNoMemory) {
  const lci_allocator allocator{no_memory, never, nullptr};
  ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job_.runtime(1), &allocator));
  for (const bool expected : {true, false}) {
    const lci_status status = exchange(300'000, expected);
    EXPECT_EQ(LCI_ERR_NO_MEMORY, status.code);
    EXPECT_EQ(buffer_.data(), status.buffer);
  }
  ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job_.runtime(1), nullptr));
  EXPECT_EQ(LCI_DONE, exchange(300'000, true).code);
  job_.check_ledgers();
}

TEST_F(LongReceive, NeedsABufferForWhatIsNotAnnounced) {
  lci_status status{};
  EXPECT_EQ(LCI_ERR_ARGUMENT,
            lci_post_recv_long(job_.device(1), 0, kTag, buffer_.data(), eager_ - 1, kLongest, received_, 0, &status));
  EXPECT_NE(nullptr, std::strstr(lci_last_error(), "too small")) << lci_last_error();
  EXPECT_EQ(LCI_POSTED, lci_post_recv_long(job_.device(1), 0, kTag, buffer_.data(), 8, 8, received_, 0, &status));
}

/// Counts what it gives and takes back.
struct Ledger {
  static void* allocate(size_t bytes, void* ledger) {
    ++static_cast<Ledger*>(ledger)->out;
    return std::malloc(bytes);
  }
  static void deallocate(void* memory, void* ledger) {
    --static_cast<Ledger*>(ledger)->out;
    std::free(memory);
  }
  const lci_allocator allocator{allocate, deallocate, this};
  int out = 0;
};

// A queue that is freed with the status in it, an object that keeps no buffers, a user that forgets: nothing is left.
TEST_F(LongReceive, WhatNobodyFreesIsFreed) {
  Ledger ledger;
  ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job_.runtime(1), &ledger.allocator));
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job_.runtime(1), &counter));
  lci_comp* const queue = make_queue(job_.runtime(1));
  bytes_ = pattern(300'000, 1);
  for (lci_comp* object : {queue, counter}) {
    ASSERT_EQ(LCI_POSTED,
              lci_post_recv_long(job_.device(1), 0, kTag, buffer_.data(), eager_, kLongest, object, 0, nullptr));
    const auto send = operation(LCI_OP_SEND, 1, 0, kTag, bytes_.data(), 300'000);
    ASSERT_EQ(LCI_POSTED, post_until_taken(job_, 0, send, sent_));
    job_.settle();
    EXPECT_EQ(object == queue ? 1 : 0, ledger.out);
    ASSERT_EQ(LCI_DONE, lci_comp_free(object)) << lci_last_error();
    EXPECT_EQ(0, ledger.out);
  }
  EXPECT_EQ(LCI_DONE, exchange(300'000, true).code);
  EXPECT_EQ(1, ledger.out);
  job_.close(1, 1000);
  EXPECT_EQ(0, ledger.out);
}

// The record of a lane names the memory.
TEST_F(LongReceive, OfALaneHasARecordWithTheMemory) {
  LaneDriver lane(job_, 1);
  bytes_ = pattern(300'000, 3);
  lci_descriptor receive = operation(LCI_OP_RECV, 0, 0, kTag, buffer_.data(), eager_, 41);
  receive.u.ref.count = kLongest;
  lane.add(receive);
  lane.enter();
  ASSERT_EQ(LCI_POSTED, lci_post_send(job_.device(0), 1, kTag, bytes_.data(), 300'000, sent_, 5));
  uint32_t records = 0;
  for (int i = 0; i < 10'000 && records == 0; ++i) {
    lci_progress(job_.device(0));
    lane.enter();
    lane.read([&](const lci_record& record) {
      if (record.kind != LCI_RECORD_OP) return;
      ++records;
      EXPECT_EQ(LCI_DONE, record.code);
      EXPECT_EQ(41u, record.context);
      EXPECT_EQ(300'000u, record.size);
      ASSERT_EQ(LCI_RECORD_FLAG_RECEIVED, record.flags & LCI_RECORD_FLAG_RECEIVED);
      void* const memory = reinterpret_cast<void*>(record.u.ended.received);
      EXPECT_EQ(0, compare(memory, bytes_.data(), 300'000));
      lci_buffer_free(memory);
    });
  }
  EXPECT_EQ(1u, records);
}

}  // namespace
}  // namespace lci_test
