// SPDX-License-Identifier: Apache-2.0
// One active message, C to C, and the flow control under it. [C3, D1-D11, X1-X6, X12, X13]
#include <numeric>

#include "support/job.hpp"
#include "support/sanitized.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;

std::vector<uint8_t> pattern(uint32_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  for (uint32_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(seed * 31 + i * 7);
  return bytes;
}

/// Posts until accepted, driving everybody.
int post_until_taken(Job& job, uint32_t from, uint32_t to, uint64_t tag, const std::vector<uint8_t>& bytes,
                     lci_comp* comp = nullptr) {
  for (int i = 0; i < 100000; ++i) {
    const int code =
        lci_post_am(job.device(from), to, kPort, tag, bytes.data(), static_cast<uint32_t>(bytes.size()), comp, tag);
    if (code < LCI_RETRY || code >= LCI_ERR_ARGUMENT) return code;
    job.progress();
  }
  return LCI_RETRY;
}

bool pop_soon(Job& job, lci_comp* queue, lci_status* out) {
  for (int i = 0; i < 100000; ++i) {
    if (lci_queue_pop(queue, out) == LCI_DONE) return true;
    job.progress();
  }
  return false;
}

// Mutation: none; sizes around every protocol boundary.
// Proves: C3 C21 G6 SS-20 SS-32 G15
// Proves: C16 D15
TEST(ActiveMessage, CarriesPayloadAndMetadataAtEverySize) {
  for (const uint32_t ranks : {1u, 2u}) {
    Job job(ranks);
    const uint32_t to = ranks - 1;
    lci_comp* queue = make_queue(job.runtime(to));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(to), kPort, "numbers", queue, 0, 0)) << lci_last_error();
    lci_comp* local = make_queue(job.runtime(0));
    const uint32_t eager = lci_runtime_max_eager(job.runtime(0));
    for (const uint32_t size : {0u, 1u, 8u, 31u, 32u, 33u, 64u, 92u, 93u, 191u, 192u, 193u, 4000u, eager - 1, eager,
                                eager + 1, 60000u, 1000000u}) {
      const auto bytes = pattern(size, size);
      const int code = post_until_taken(job, 0, to, 0x100000000ull + size, bytes, local);
      ASSERT_EQ(size > eager ? LCI_POSTED : LCI_DONE, code) << size << " " << lci_last_error();
      lci_status status{};
      ASSERT_TRUE(pop_soon(job, queue, &status)) << size;
      EXPECT_EQ(0u, status.rank);
      EXPECT_EQ(0x100000000ull + size, status.tag);
      EXPECT_EQ(size, status.size);
      EXPECT_EQ(kPort, status.port);
      ASSERT_NE(nullptr, status.buffer);
      EXPECT_EQ(0, compare(bytes.data(), status.buffer, size)) << size;
      lci_buffer_free(status.buffer);
      if (code == LCI_POSTED) {
        ASSERT_TRUE(pop_soon(job, local, &status));
        EXPECT_EQ(0x100000000ull + size, status.user_context);
        EXPECT_EQ(LCI_DONE, status.code);
      }
    }
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(local, nullptr) == LCI_DONE ? LCI_DONE : LCI_RETRY);
    job.check_ledgers();
  }
}

// What nobody takes goes with its queue or synchronizer, when that is freed and when the runtime is: seen by
// LeakSanitizer.
TEST(ActiveMessage, ArrivalsThatNobodyTookAreFreed) {
  Job job(2);
  lci_comp* freed_early = make_queue(job.runtime(1));
  lci_comp* many;
  lci_comp* one;
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(1), 3, &many));
  ASSERT_EQ(LCI_DONE, lci_synchronizer_create(job.runtime(1), 1, &one));
  uint16_t port = kPort;
  for (lci_comp* stored : {freed_early, make_queue(job.runtime(1)), many, one}) {
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), port, "unread", stored, 0, 0)) << lci_last_error();
    for (int i = 0; i < (stored == one ? 1 : 2); ++i) {
      int code;
      for (int tries = 0; tries < 100000; ++tries) {
        code = lci_post_am(job.device(0), 1, port, 0, "unread", 6, nullptr, 0);
        if (code == LCI_DONE) break;
        job.progress();
      }
      ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    }
    ++port;
  }
  for (int i = 0; i < 1000; ++i) job.progress();
  EXPECT_EQ(2u, lci_queue_length(freed_early));
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  EXPECT_EQ(LCI_DONE, lci_comp_free(freed_early));
}

// At most `capacity` messages are stored, whatever many senders do. [X2]
// Proves: X2
TEST(FlowControl, NeverStoresMoreThanTheCapacity) {
  Job job(9);
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 16, 1 << 20));
  uint64_t sent = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    for (uint32_t rank = 1; rank < 9; ++rank) {
      const uint64_t value = sent;
      const int code = lci_post_am(job.device(rank), 0, kPort, 0, &value, sizeof value, nullptr, 0);
      if (code == LCI_DONE) {
        ++sent;
      } else {
        ASSERT_EQ(LCI_RETRY_NOCREDIT, code);
        ++refused;
      }
    }
    job.progress();
    ASSERT_LE(lci_queue_length(queue), 16u);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GE(sent, 16u);
  EXPECT_LE(sent, 16u + 8u);  // the eight announcement slots hold one more each
  std::vector<bool> seen(sent + 10000);
  uint64_t received = 0;
  lci_status status{};
  while (received < sent && pop_soon(job, queue, &status)) {
    uint64_t value;
    std::memcpy(&value, status.buffer, sizeof value);
    ASSERT_FALSE(seen[value]);
    seen[value] = true;
    lci_buffer_free(status.buffer);
    ++received;
  }
  EXPECT_EQ(sent, received);
  job.check_ledgers();
}

// Ports of a few messages: a sender that stops with credit in hand gets its announced message through, too. [X3]
TEST(FlowControl, SmallPortsKeepNothingBack) {
  for (uint32_t capacity = 1; capacity <= 9; ++capacity) {
    Job job(2);
    lci_comp* queue = make_queue(job.runtime(0));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, capacity, 1 << 20));
    uint64_t sent = 0, received = 0;
    lci_status status{};
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 200; ++i) {
        sent += lci_post_am(job.device(1), 0, kPort, sent, &sent, sizeof sent, nullptr, 0) == LCI_DONE;
        job.progress();
      }
      EXPECT_LE(lci_queue_length(queue), capacity);
      while (received < sent && pop_soon(job, queue, &status)) {
        lci_buffer_free(status.buffer);
        ++received;
      }
      ASSERT_EQ(sent, received) << "capacity " << capacity;
    }
    EXPECT_GE(sent, 5u * capacity);
    job.check_ledgers();
  }
}

// 64 idle lease holders take all that leases may take; rank 65 still gets through. [X3]
// Proves: X3
TEST(FlowControl, IdleLeaseHoldersDoNotLockANewcomerOut) {
  Job job(66, {{"packets", "8"}, {"ring_bytes", "4096"}, {"control_ring_bytes", "4096"}, {"arena_bytes", "64M"}});
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 64, 1 << 20));
  uint64_t received = 0;
  lci_status status{};
  for (uint32_t rank = 1; rank < 66; ++rank) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(LCI_DONE, post_until_taken(job, rank, 0, rank, {1, 2, 3})) << "rank " << rank;
      ASSERT_TRUE(pop_soon(job, queue, &status)) << "rank " << rank;
      EXPECT_EQ(rank, status.rank);
      lci_buffer_free(status.buffer);
      ++received;
    }
  }
  EXPECT_EQ(65u * 3u, received);
  job.check_ledgers();
}

// What an idle holder of credit gives back others may use: they fill the port.
// Mutation: lease_never_recalled.
// Proves: X3
TEST(FlowControl, IdleCreditGoesToWhoNeedsIt) {
  Job job(3);
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 16, 1 << 20));
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 1, 0, 1, {1, 2, 3}));
  lci_status status{};
  ASSERT_TRUE(pop_soon(job, queue, &status));
  lci_buffer_free(status.buffer);
  job.settle();
  for (int refused = 0; refused < 2000; ++refused) {
    if (lci_post_am(job.device(2), 0, kPort, 2, &refused, sizeof refused, nullptr, 0) == LCI_DONE) refused = 0;
    job.progress();
  }
  EXPECT_EQ(16u, lci_queue_length(queue));
}

constexpr uint64_t kFlood = kSanitized ? 500'000 : 10'000'000;

// Flood of targets that store nothing, a handler and a counter: there is no credit traffic. [X5]
// Proves: X5
TEST(FlowControl, HandlersAndCountersNeedNoCredit) {
  Job job(2);
  uint64_t sum = 0;
  lci_comp *handler = nullptr, *counter = nullptr;
  auto add = [](const lci_status* status, void* argument) {
    uint64_t value;
    std::memcpy(&value, status->buffer, sizeof value);
    *static_cast<uint64_t*>(argument) += value;
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), add, &sum, &handler));
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", handler, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort + 1, "", counter, 0, 0));
  lci_device* const device = job.device(0);
  uint64_t expected = 0;
  for (uint64_t i = 0; i < kFlood;) {
    const int code = lci_post_am(device, 1, kPort + i % 2, 0, &i, sizeof i, nullptr, 0);
    ASSERT_TRUE(code == LCI_DONE || (code >= LCI_RETRY && code < LCI_ERR_ARGUMENT)) << lci_last_error();
    if (code == LCI_DONE) {
      expected += i % 2 == 0 ? i : 0;
      ++i;
    } else {
      job.progress();
    }
  }
  job.settle();
  EXPECT_EQ(expected, sum);
  EXPECT_EQ(kFlood / 2, lci_counter_get(counter));
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(rank == 0 ? 0u : 2u, job.counter(rank, "grants")) << "each port says once that it needs none";
    EXPECT_EQ(0u, job.counter(rank, "recalls") + job.counter(rank, "returns"));
  }
  EXPECT_LE(job.counter(0, "announcements"), 16u) << "only until the ports have said so";
  job.check_ledgers();
}

// [X12]
// Proves: X12
TEST(FlowControl, AnUnopenedPortGrantsNothingAndLosesNothing) {
  Job job(2);
  std::vector<uint8_t> bytes(100, 9);
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kPort, 1, bytes.data(), 100, nullptr, 0));
  for (int i = 0; i < 1000; ++i) {
    job.progress();
    ASSERT_EQ(LCI_RETRY_NOCREDIT, lci_post_am(job.device(0), 1, kPort, 2, bytes.data(), 100, nullptr, 0));
  }
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 0, 0));
  lci_status status{};
  ASSERT_TRUE(pop_soon(job, queue, &status));
  EXPECT_EQ(1u, status.tag);
  lci_buffer_free(status.buffer);
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 0, 1, 2, bytes));
  ASSERT_TRUE(pop_soon(job, queue, &status));
  EXPECT_EQ(2u, status.tag);
  lci_buffer_free(status.buffer);
  job.check_ledgers();
}

// [X13, 2B-42]
// Proves: X13 SS-40
TEST(FlowControl, AClosedPortIsAnErrorAndMayOpenAgain) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  for (int generation = 0; generation < 5; ++generation) {
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 0, 0)) << lci_last_error();
    int code = LCI_ERR_PORT_CLOSED;
    for (int i = 0; i < 10000 && code == LCI_ERR_PORT_CLOSED; ++i) {
      job.progress();
      code = lci_post_am(job.device(0), 1, kPort, 5, nullptr, 0, nullptr, 0);
    }
    ASSERT_EQ(LCI_DONE, code);
    lci_status status{};
    ASSERT_TRUE(pop_soon(job, queue, &status));
    lci_buffer_free(status.buffer);
    ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
    for (int i = 0; i < 10000 && code != LCI_ERR_PORT_CLOSED; ++i) {
      job.progress();
      code = lci_post_am(job.device(0), 1, kPort, 6, nullptr, 0, nullptr, 0);
    }
    ASSERT_EQ(LCI_ERR_PORT_CLOSED, code);
    job.settle();
  }
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("port 7 of rank 1"));
  job.check_ledgers();
}

// Proves: SS-40
TEST(FlowControl, APortNameThatDiffersIsRefused) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "apples", queue, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_port_name(job.runtime(0), kPort, "pears"));
  int code = lci_post_am(job.device(0), 1, kPort, 5, nullptr, 0, nullptr, 0);
  for (int i = 0; i < 10000 && code != LCI_ERR_PORT_MISMATCH; ++i) {
    job.progress();
    code = lci_post_am(job.device(0), 1, kPort, 5, nullptr, 0, nullptr, 0);
  }
  EXPECT_EQ(LCI_ERR_PORT_MISMATCH, code);
  EXPECT_EQ(0u, lci_queue_length(queue));
}

// A lease holder dies, with messages stored and credit unspent: when they are taken, the capacity is whole. [X4]
// Mutation: keep_dead_lease.
// Proves: X4
TEST(PeerFailure, ADeadHolderLosesItsLease) {
  Job job(3);
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 32, 1 << 20));
  const std::vector<uint8_t> bytes(300, 7);
  for (uint64_t i = 0; i < 10; ++i) ASSERT_EQ(LCI_DONE, post_until_taken(job, 1, 0, i, bytes));
  job.settle();
  ASSERT_EQ(10u, lci_queue_length(queue));
  lci_status status[10];
  ASSERT_TRUE(pop_soon(job, queue, &status[0]));
  EXPECT_GT(job.counter(0, "credits_leased"), 10u);
  job.close(1, 0);
  for (int i = 0; i < 2'000'000 && job.counter(0, "peers_failed") == 0; ++i) job.progress();
  ASSERT_EQ(1u, job.counter(0, "peers_failed"));
  job.settle();
  EXPECT_EQ(9u, job.counter(0, "credits_leased")) << "the unspent credit is back, that of what is stored is not";
  for (int i = 1; i < 10; ++i) ASSERT_TRUE(pop_soon(job, queue, &status[i])) << "what had arrived stays";
  job.settle();
  EXPECT_EQ(0u, job.counter(0, "credits_leased"));
  for (auto& held : status) lci_buffer_free(held.buffer);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(LCI_DONE, post_until_taken(job, 2, 0, i, bytes)) << "the living have the room";
    ASSERT_TRUE(pop_soon(job, queue, &status[0]));
    EXPECT_EQ(2u, status[0].rank);
    lci_buffer_free(status[0].buffer);
  }
  job.check_ledgers();
}

// [D17]
// Proves: C15 D12 D17
TEST(Arguments, AreCheckedAtTheCaller) {
  Job job(2);
  lci_device* device = job.device(0);
  uint64_t value = 0;
  EXPECT_EQ(LCI_ERR_RANK, lci_post_am(device, 2, kPort, 0, &value, 8, nullptr, 0));
  EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("rank 2"));
  EXPECT_EQ(LCI_ERR_PORT, lci_post_am(device, 1, 0, 0, &value, 8, nullptr, 0));
  EXPECT_EQ(LCI_ERR_PORT, lci_post_am(device, 1, 32768, 0, &value, 8, nullptr, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_am(device, 1, kPort, 0, nullptr, 8, nullptr, 0));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post_am(nullptr, 1, kPort, 0, &value, 8, nullptr, 0));
  EXPECT_EQ(LCI_ERR_TAG, lci_post_send(device, 1, 0x100000000ull, &value, 8, nullptr, 0));
  lci_descriptor op{};
  op.op = 77;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(device, &op, nullptr, nullptr));
  op.op = LCI_OP_AM;
  op.port = kPort;
  op.flags = LCI_FLAG_PACKET;
  op.u.ref.address = 12345;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(device, &op, nullptr, nullptr));
}

}  // namespace
}  // namespace lci_test
