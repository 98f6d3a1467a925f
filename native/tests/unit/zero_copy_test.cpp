// SPDX-License-Identifier: Apache-2.0
// What becomes of packets that users hold: freed late, never, or after their sender has gone. [B14, SS-21]
// Mutations that must make this file fail: keep_lent_packet, return_after_leaving, reclaim_from_living,
// lose_other_returns.
#include <cstdlib>
#include <cstring>

#include "api/handles.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;

lci_comp* zero_copy_queue(Job& job, uint32_t rank) {
  lci_comp* queue = make_queue(job.runtime(rank));
  EXPECT_EQ(LCI_DONE, lci_comp_zero_copy(queue)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", queue, 16, 1 << 20)) << lci_last_error();
  // The first message is announced, and copied; then its sender has credit.
  EXPECT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_AM, rank, kPort, 0, nullptr, 0), nullptr));
  lci_status first = LCI_STATUS_INIT;
  EXPECT_TRUE(pop(job, queue, &first));
  EXPECT_EQ(0u, first.packet);
  EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(rank), &first));
  job.settle();
  return queue;
}

/// Sends @p count messages of 1000 bytes that the last rank holds in their packets.
std::vector<lci_status> hold(Job& job, lci_comp* queue, uint32_t count) {
  const auto bytes = pattern(1000, 5);
  std::vector<lci_status> held(count);
  for (uint32_t i = 0; i < count; ++i) {
    const auto op = operation(LCI_OP_AM, job.size() - 1, kPort, i, bytes.data(), 1000);
    EXPECT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr)) << lci_last_error();
    EXPECT_TRUE(pop(job, queue, &held[i]));
    EXPECT_NE(0u, held[i].packet);
    EXPECT_EQ(0, compare(bytes.data(), held[i].buffer, 1000));
  }
  return held;
}

TEST(ZeroCopy, FreedPacketsComeBackAndTheirRoomDoes) {
  for (const uint32_t ranks : {1u, 2u}) {
    Job job(ranks);
    const uint32_t to = ranks - 1;
    lci_comp* queue = zero_copy_queue(job, to);
    for (int round = 0; round < 20; ++round) {  // more than the capacity, all in all
      auto held = hold(job, queue, 10);
      job.settle();
      EXPECT_EQ(10u, job.counter(0, "packets_out"));
      EXPECT_GE(job.counter(to, "credits_leased"), 10u) << "charged until they are freed";
      for (lci_status& status : held) {
        EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(to), &status)) << lci_last_error();
      }
    }
    job.check_ledgers();
  }
}

TEST(ZeroCopy, WhatNobodyTookGoesWithItsQueue) {
  Job job(2);
  lci_comp* queue = zero_copy_queue(job, 1);
  const auto bytes = pattern(1000, 1);
  for (int i = 0; i < 5; ++i) {
    const auto op = operation(LCI_OP_AM, 1, kPort, 0, bytes.data(), 1000);
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr));
  }
  job.settle();
  EXPECT_EQ(5u, lci_queue_length(queue));
  EXPECT_EQ(5u, job.counter(0, "packets_out"));
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  ASSERT_EQ(LCI_DONE, lci_comp_free(queue)) << lci_last_error();
  job.check_ledgers();
}

TEST(ZeroCopy, WhatDoesNotFitIntoItsQueueGoesBack) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1), 1);
  lci_comp* other = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &other));
  ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(queue));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 16, 1 << 20));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, operation(LCI_OP_AM, 1, kPort, 0, nullptr, 0), nullptr));
  lci_status first = LCI_STATUS_INIT;
  ASSERT_TRUE(pop(job, queue, &first));
  EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(1), &first));
  job.settle();
  lci_status filler = LCI_STATUS_INIT;
  filler.code = LCI_DONE;
  ASSERT_EQ(LCI_DONE, lci_comp_signal(queue, &filler)) << "full, whatever the port was promised";
  const auto bytes = pattern(1000, 1);
  const auto op = operation(LCI_OP_AM, 1, kPort, 0, bytes.data(), 1000);
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr));
  job.settle();
  EXPECT_EQ(1u, job.counter(1, "discarded"));
  job.check_ledgers();
}

// The memory stays readable, and freeing it is no error.
TEST(ZeroCopy, PacketsOutliveTheirSender) {
  for (const uint32_t timeout_ms : {0u, 1000u}) {
    Job job(2);
    lci_comp* queue = zero_copy_queue(job, 1);
    auto held = hold(job, queue, 3);
    job.close(0, timeout_ms);
    for (int i = 0; i < 2'000'000 && job.counter(1, "peers_failed") + job.counter(1, "peers_left") == 0; ++i) {
      job.progress();
    }
    job.settle();
    const auto bytes = pattern(1000, 5);
    for (lci_status& status : held) {
      EXPECT_EQ(0, compare(bytes.data(), status.buffer, 1000));
      EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(1), &status)) << lci_last_error();
    }
    job.settle();
    EXPECT_EQ(0u, job.counter(1, "credits_leased"));
  }
}

/// malloc, whose first free lets rank 0 hear what rank 1 has said.
struct Listening {
  Job& job;
  bool heard = false;
  lci_allocator functions{&allocate, &deallocate, this};

  static void* allocate(size_t bytes, void*) { return std::malloc(bytes); }
  static void deallocate(void* memory, void* argument) {
    std::free(memory);
    auto& self = *static_cast<Listening*>(argument);
    if (self.heard) return;
    self.heard = true;
    for (const lci::test::Deadline deadline(30); !deadline.passed() && self.job.counter(0, "peers_left") == 0;) {
      lci_progress(self.job.device(0));
    }
    lci_progress(self.job.device(0));
  }
};

// A rank that has said goodbye gives no packet back: their owner has taken them by then, and may have sent them again.
TEST(ZeroCopy, WhatNobodyTookGoesWithItsRuntime) {
  constexpr uint32_t kMessages = 500;
  for (const int kind : {LCI_QUEUE_ARRAY, LCI_QUEUE_LCRQ}) {
    Job job(2, {{"packets", "4096"}, {"packets_max", "4096"}});
    Listening listening{job};
    lci_comp* queue = nullptr;
    const int created = lci_queue_create_kind(job.runtime(1), kind, 1024, &queue);
    if (created == LCI_ERR_UNSUPPORTED) continue;
    ASSERT_EQ(LCI_DONE, created) << lci_last_error();
    ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(queue));
    ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job.runtime(1), &listening.functions));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 1000, 8 << 20));
    const auto bytes = pattern(1000, 1);
    for (uint32_t i = 0; i < kMessages; ++i) {  // the first is copied, and will be the first to be freed
      const auto op = operation(LCI_OP_AM, 1, kPort, 0, bytes.data(), 1000);
      ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr));
    }
    job.settle();
    EXPECT_LT(kMessages / 2, job.counter(0, "packets_out"));
    job.close(1, 1000);
    EXPECT_TRUE(listening.heard);
    job.check_ledgers();
  }
}

// Who is treated as failed and lives may read its packets still, and gives them back: nobody else gets them meanwhile.
TEST(ZeroCopy, PacketsStayWithWhomTheyWereLentTo) {
  for (const bool frees : {true, false}) {
    Job job(2, {{"packets", "16"}, {"packets_max", "16"}});
    lci_comp* queue = zero_copy_queue(job, 1);
    auto held = hold(job, queue, 3);
    job.runtime(0)->runtime->peers().treat_as_gone(1, lci::RankState::kFailed);
    job.settle();
    EXPECT_EQ(3u, job.counter(0, "packets_out"));
    lci_comp* own = make_queue(job.runtime(0));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", own, 16, 1 << 20));
    const auto other = pattern(1000, 6);
    for (int i = 0; i < 32; ++i) {  // each packet of the pool
      lci_status status = LCI_STATUS_INIT;
      const auto op = operation(LCI_OP_AM, 0, kPort, 0, other.data(), 1000);
      ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, op, nullptr));
      ASSERT_TRUE(pop(job, own, &status));
      lci_arrival_free(job.runtime(0), &status);
    }
    const auto bytes = pattern(1000, 5);
    for (lci_status& status : held) {
      EXPECT_EQ(0, compare(bytes.data(), status.buffer, 1000));
      if (frees) {
        EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(1), &status)) << lci_last_error();
      }
    }
    job.settle();
    EXPECT_EQ(frees ? 0u : 3u, job.counter(0, "packets_out"));
    job.close(1, 0);
    for (const lci::test::Deadline end(30); !end.passed() && job.counter(0, "packets_out") != 0;) job.progress();
    job.check_ledgers();
  }
}

// A peer that gives back what it has not is counted, and what others gave back is not lost with it.
TEST(ZeroCopy, APacketThatIsNotOutIsPassedOver) {
  Job job(2);
  lci_comp* queue = zero_copy_queue(job, 1);
  auto held = hold(job, queue, 3);
  for (lci_status& status : held) EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(1), &status));
  uint64_t mine = 0;
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &mine, &payload));
  lci::OwnMemory& arena = job.runtime(0)->runtime->memory();
  const auto handle = static_cast<uint32_t>(mine);
  arena.header().device[0].returned_packets.give(&handle, 1, [&](uint32_t packet) -> lci::PacketHeader& {
    return *reinterpret_cast<lci::PacketHeader*>(arena.at(uint64_t{packet} * lci::kPacketUnit));
  });
  job.settle();
  EXPECT_EQ(1u, job.counter(0, "protocol_errors"));
  EXPECT_EQ(0u, job.counter(0, "packets_out"));
  EXPECT_EQ(1u, job.counter(0, "packets_held"));
  EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0), mine)) << lci_last_error();
}

TEST(ZeroCopy, OnlyArrivalsAreFreed) {
  Job job(1);
  lci_status status = LCI_STATUS_INIT;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_arrival_free(nullptr, &status));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_arrival_free(job.runtime(0), nullptr));
  uint8_t mine[8] = {1};
  status.code = LCI_DONE;
  status.buffer = mine;
  EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(0), &status));
  EXPECT_EQ(mine, status.buffer) << "no arrival: left alone";
  status.port = kPort;
  for (const uint32_t packet : {1u, 12345u, 0xFFFFFFFFu}) {
    for (const uint32_t rank : {0u, 1u, 0xFFFFFFFFu}) {
      status.packet = packet;
      status.rank = rank;
      EXPECT_EQ(LCI_ERR_ARGUMENT, lci_arrival_free(job.runtime(0), &status)) << packet;
    }
  }
}

}  // namespace
}  // namespace lci_test
