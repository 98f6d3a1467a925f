// SPDX-License-Identifier: Apache-2.0
// Send-receive: matching, protocols, unexpected floods, truncation. [C2, C11, C15-C17, SS-12..16, SS-25, SS-29..32, X7,
// X8]
#include "support/posting.hpp"
#include "support/resident.hpp"

namespace lci_test {
namespace {

int send_until_taken(Job& job, uint32_t from, uint32_t to, uint64_t tag, const void* bytes, uint32_t size,
                     lci_comp* comp, uint64_t context = 0) {
  int code = LCI_RETRY;
  for (int i = 0; i < 200000 && is_retry(code); ++i) {
    code = lci_post_send(job.device(from), to, tag, bytes, size, comp, context);
    if (is_retry(code)) job.progress();
  }
  return code;
}

// Proves: C2 C16 C17 D4 D15 G4 H1 H9 SS-15 SS-30 SS-31 SS-32 G15
TEST(SendReceive, EverySizeExpectedAndUnexpected) {
  for (const uint32_t ranks : {1u, 2u}) {
    Job job(ranks);
    const uint32_t to = ranks - 1;
    lci_comp* sent = make_queue(job.runtime(0));
    lci_comp* received = make_queue(job.runtime(to));
    const uint32_t eager = lci_runtime_max_eager(job.runtime(0));
    for (const bool expected : {true, false}) {
      uint64_t tag = 1;
      for (const uint32_t size : {0u, 8u, 64u, 65u, 192u, 193u, eager, eager + 1, 65536u, 300000u}) {
        const auto bytes = pattern(size, ++tag);
        std::vector<uint8_t> buffer(size + 16, 0xEE);  // a longer buffer is fine [SS-30]
        lci_status status{};
        int got = LCI_RETRY;
        auto receive = [&] {
          got = lci_post_recv(job.device(to), 0, tag, buffer.data(), size + 8, received, 77, &status);
          ASSERT_TRUE(got == LCI_POSTED || got == LCI_DONE) << lci_last_error();
        };
        if (expected) receive();
        const int code = send_until_taken(job, 0, to, tag, bytes.data(), size, sent, 99);
        ASSERT_EQ(size > eager ? LCI_POSTED : LCI_DONE, code) << size << lci_last_error();
        if (!expected) {
          job.settle();
          receive();
        }
        if (got == LCI_POSTED) {
          ASSERT_TRUE(pop(job, received, &status)) << size;
        }
        EXPECT_EQ(LCI_DONE, status.code);
        EXPECT_EQ(0u, status.rank);
        EXPECT_EQ(tag, status.tag);
        EXPECT_EQ(size, status.size);
        EXPECT_EQ(77u, status.user_context);
        EXPECT_EQ(buffer.data(), status.buffer);
        EXPECT_EQ(0, compare(buffer.data(), bytes.data(), size)) << size;
        EXPECT_EQ(0xEE, buffer[size]) << "bytes behind the message were touched";
        if (code == LCI_POSTED) {
          ASSERT_TRUE(pop(job, sent, &status));
          EXPECT_EQ(99u, status.user_context);
        }
      }
    }
    job.check_ledgers();
    EXPECT_EQ(0u, job.counter(to, "unexpected_stored"));
  }
}

// A receive smaller than the message: bounded copy, error at the receiver, sender completes. [SS-29]
// Mutation of the idea: without the bound the canary dies under ASan.
// Proves: G8 SS-29
TEST(SendReceive, TruncationIsTheReceiversErrorOnly) {
  Job job(2);
  lci_comp* sent = make_queue(job.runtime(0));
  lci_comp* received = make_queue(job.runtime(1));
  for (const uint32_t size : {64u, 5000u, 100000u}) {
    const auto bytes = pattern(size, 3);
    std::vector<uint8_t> buffer(32, 0xEE);
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, size, buffer.data(), 16, received, 1, nullptr));
    const int code = send_until_taken(job, 0, 1, size, bytes.data(), size, sent);
    lci_status status{};
    ASSERT_TRUE(pop(job, received, &status));
    EXPECT_EQ(LCI_ERR_TRUNCATED, status.code);
    EXPECT_EQ(size, status.size);
    EXPECT_EQ(0, compare(buffer.data(), bytes.data(), 16));
    EXPECT_EQ(0xEE, buffer[16]);
    if (code == LCI_POSTED) {
      ASSERT_TRUE(pop(job, sent, &status));
      EXPECT_EQ(LCI_DONE, status.code);
    }
  }
  job.check_ledgers();
}

// Wildcards match only sends that chose the same policy. [SS-12, SS-13]
// Proves: C11 SS-12 SS-13 SS-15
TEST(SendReceive, PoliciesDoNotMeet) {
  Job job(2);
  lci_comp* received = make_queue(job.runtime(1));
  uint64_t value = 5;
  uint64_t places[4] = {};
  const uint32_t ranks[4] = {0, 0, LCI_ANY_SOURCE, LCI_ANY_SOURCE};
  const uint64_t tags[4] = {5, LCI_ANY_TAG, 5, LCI_ANY_TAG};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), ranks[i], tags[i], &places[i], 8, received, i, nullptr));
  }
  for (int policy = 3; policy >= 0; --policy) {
    lci_descriptor op{};
    op.op = LCI_OP_SEND;
    op.flags = LCI_FLAG_BUFFER;
    op.rank = 1;
    op.policy = static_cast<uint8_t>(policy);
    op.tag = 5;
    op.size = 8;
    op.u.ref.address = reinterpret_cast<uint64_t>(&value);
    int code = LCI_RETRY;
    while (is_retry(code = lci_post(job.device(0), &op, nullptr, nullptr))) job.progress();
    ASSERT_EQ(LCI_DONE, code);
    lci_status status{};
    ASSERT_TRUE(pop(job, received, &status));
    EXPECT_EQ(static_cast<uint64_t>(policy), status.user_context);
    EXPECT_EQ(0u, status.rank);
    EXPECT_EQ(5u, status.tag);
  }
  job.check_ledgers();
}

// 10^5 sends against pools of 256 packets; the receiver starts matching at the first retry. [X7, SS-16]
// Proves: X7 H5 SS-16
TEST(SendReceive, AnUnexpectedFloodIsHeldAtTheSender) {
  Job job(2, {{"packets_max", "256"}});
  constexpr uint64_t kSends = 100000;
  std::vector<uint8_t> seen(kSends);
  uint64_t posted = 0, matched = 0;
  lci_comp* received = make_queue(job.runtime(1), 8);
  auto match = [&] {
    uint64_t value = 0;
    lci_status status{};
    const int code = lci_post_recv(job.device(1), 0, matched, &value, 8, received, 0, &status);
    if (code == LCI_POSTED) {
      ASSERT_TRUE(pop(job, received, &status));
    } else {
      ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    }
    ASSERT_EQ(matched, value);
    seen[value] = 1;
    ++matched;
  };
  bool refused = false;
  while (posted < kSends) {
    const int code = lci_post_send(job.device(0), 1, posted, &posted, 8, nullptr, 0);
    if (code == LCI_DONE) {
      ++posted;
      continue;
    }
    ASSERT_TRUE(is_retry(code)) << lci_last_error();
    job.progress();
    if (code == LCI_RETRY_NOPACKET) refused = true;
    if (refused && matched < posted) match();
    if (HasFatalFailure()) return;
  }
  while (matched < kSends) {
    match();
    if (HasFatalFailure()) return;
  }
  EXPECT_TRUE(refused) << "the flood never met the bound";
  job.check_ledgers();
}

// 70,000 announced messages of 1 MiB: the receiver's memory is bounded. [X8]
// A sender that is faster than its receiver waits for the credit of what is matched: announcements cost more. [X7]
TEST(SendReceive, AFastSenderWaitsForCreditBeforeItAnnounces) {
  constexpr uint64_t kMessages = 20000;
  Job job(2);
  lci_comp* received = make_queue(job.runtime(1));
  uint64_t payload = 0, sent = 0, posted = 0, done = 0;
  std::vector<uint64_t> places(16);
  for (int passes = 0; done < kMessages && passes < 1'000'000; ++passes) {
    if (sent == 1) job.settle();  // the first one asks for a lease
    const uint64_t may_send = sent == 0 ? 1 : kMessages;
    while (sent < may_send && lci_post_send(job.device(0), 1, 5, &payload, 8, nullptr, 0) == LCI_DONE) ++sent;
    for (; posted < kMessages && posted - done < places.size(); ++posted) {
      lci_status status{};
      const int code = lci_post_recv(job.device(1), 0, 5, &places[posted % places.size()], 8, received, 0, &status);
      ASSERT_TRUE(code == LCI_POSTED || code == LCI_DONE) << lci_last_error();
      done += code == LCI_DONE;
    }
    job.progress();
    for (lci_status status; lci_queue_pop(received, &status) == LCI_DONE;) ++done;
  }
  EXPECT_EQ(kMessages, done);
  EXPECT_EQ(1u, job.counter(0, "announcements"));
  job.check_ledgers();
}

// Proves: X8
TEST(SendReceive, AnnouncedMessagesCostTheReceiverNoPayload) {
  Job job(2, {{"announcements", "65536"}});
  const uint64_t before = resident_bytes();
  std::vector<uint8_t> big(1 << 20, 7);
  lci_comp* sent = make_queue(job.runtime(0), 131072);
  uint64_t announced = 0;
  int code = LCI_POSTED;
  while (announced < 70000) {
    code = lci_post_send(job.device(0), 1, announced, big.data(), 1 << 20, sent, announced);
    if (code == LCI_RETRY_NOMEM) {
      job.progress();
      continue;
    }
    if (code != LCI_POSTED) break;
    ++announced;
  }
  EXPECT_EQ(LCI_RETRY_NOCREDIT, code);
  EXPECT_EQ(32768u, announced) << "the bound of 65,536 is split between the two ranks";
  job.settle();
  EXPECT_EQ(announced, job.counter(1, "unexpected_stored"));
  EXPECT_GT(before + (uint64_t{256} << 20), resident_bytes()) << "for 32 GiB that were announced, at both ranks";
  // What was announced can still be had.
  std::vector<uint8_t> buffer(1 << 20);
  lci_comp* received = make_queue(job.runtime(1));
  for (const uint64_t tag : {uint64_t{0}, announced - 1}) {
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, tag, buffer.data(), 1 << 20, received, 0, nullptr));
    lci_status status{};
    ASSERT_TRUE(pop(job, received, &status));
    EXPECT_EQ(big, buffer);
  }
}

// Proves: X8
TEST(SendReceive, AMessageAboveTheBoundOfBytesIsGrantedAlone) {
  constexpr uint32_t kPort = 7, kBound = 1 << 20, kMessages = 3;
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  lci_comp* sent = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 16, kBound));
  const std::vector<uint8_t> big = pattern(3 * kBound, 1);
  uint32_t posted = 0;
  auto post_and_settle = [&] {
    for (int i = 0; i < 1000; ++i) {
      if (posted < kMessages &&
          lci_post_am(job.device(0), 1, kPort, posted, big.data(), 3 * kBound, sent, posted) == LCI_POSTED) {
        ++posted;
      }
      job.progress();
    }
    job.settle();
  };
  for (uint32_t taken = 0; taken < kMessages; ++taken) {
    post_and_settle();
    ASSERT_EQ(1u, lci_queue_length(queue)) << taken;
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
    ASSERT_EQ(big.size(), status.size);
    EXPECT_EQ(0, compare(big.data(), status.buffer, big.size()));
    lci_buffer_free(status.buffer);
  }
  EXPECT_EQ(kMessages, posted);
  job.check_ledgers();
}

// Two ranks, few packets, crossing rendezvous: control needs no packet. [SS-25]
// Proves: SS-25
// Proves: H8
TEST(SendReceive, CrossingRendezvousWithTinyPools) {
  Job job(2, {{"packets", "4"}, {"packets_max", "4"}});
  constexpr int kMessages = 500;
  std::vector<std::vector<uint8_t>> in[2], out[2];
  lci_comp* done[2] = {make_queue(job.runtime(0)), make_queue(job.runtime(1))};
  int pending = 0;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    in[rank].resize(kMessages);
    for (int i = 0; i < kMessages; ++i) out[rank].push_back(pattern(20000 + i, i));
  }
  for (int i = 0; i < kMessages; ++i) {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      in[rank][i].resize(20000 + i);
      ASSERT_EQ(LCI_POSTED, send_until_taken(job, rank, 1 - rank, i, out[rank][i].data(), 20000 + i, done[rank]));
      lci_status status{};
      ASSERT_EQ(LCI_POSTED,
                lci_post_recv(job.device(rank), 1 - rank, i, in[rank][i].data(), 20000 + i, done[rank], 0, &status));
      pending += 2;
    }
  }
  lci_status status{};
  for (int i = 0; i < 1000000 && pending != 0; ++i) {
    job.progress();
    for (lci_comp* queue : done) {
      while (lci_queue_pop(queue, &status) == LCI_DONE) {
        ASSERT_EQ(LCI_DONE, status.code);
        --pending;
      }
    }
  }
  ASSERT_EQ(0, pending);
  for (uint32_t rank = 0; rank < 2; ++rank) EXPECT_EQ(out[1 - rank], in[rank]);
  job.check_ledgers();
}

// Proves: SS-18 A20
TEST(SendReceive, AnUnmatchedReceiveIsCancelledAtClose) {
  Job job(2);
  lci_comp* received = make_queue(job.runtime(1));
  uint64_t value = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 1, &value, 8, received, 4, nullptr));
  lci_descriptor cancel{};
  cancel.op = LCI_OP_CANCEL;
  cancel.tag = 4;
  ASSERT_EQ(LCI_DONE, lci_post(job.device(1), &cancel, nullptr, nullptr)) << lci_last_error();
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_queue_pop(received, &status));
  EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 1, &value, 8, received, 5, nullptr));
  job.close(1, 1000);  // must not hang [2B-10, SS-18]
}

TEST(Barrier, NobodyLeavesBeforeTheLastEnters) {
  for (const uint32_t ranks : {1u, 2u, 3u, 5u, 8u}) {
    Job job(ranks);
    std::vector<lci_comp*> queues;
    for (uint32_t rank = 0; rank < ranks; ++rank) queues.push_back(make_queue(job.runtime(rank)));
    for (int round = 0; round < 20; ++round) {
      lci_status status{};
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        job.settle();
        for (uint32_t other = 0; other < rank; ++other) {
          ASSERT_EQ(LCI_RETRY, lci_queue_pop(queues[other], &status)) << "left before rank " << rank << " entered";
        }
        lci_descriptor op{};
        op.op = LCI_OP_BARRIER;
        ASSERT_EQ(LCI_POSTED, lci_post(job.device(rank), &op, queues[rank], nullptr)) << lci_last_error();
      }
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        ASSERT_TRUE(pop(job, queues[rank], &status));
        EXPECT_EQ(LCI_DONE, status.code);
      }
    }
    job.check_ledgers();
  }
}

// Proves: D16 SS-58
TEST(PeerFailure, EndsWhatIsBoundToThePeerAndNothingElse) {
  Job job(3);
  lci_comp* queue = make_queue(job.runtime(0));
  uint64_t value[3] = {};
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 1, &value[0], 8, queue, 1, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 2, 1, &value[1], 8, queue, 2, nullptr));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), LCI_ANY_SOURCE, 9, &value[2], 8, queue, 3, nullptr));
  std::vector<uint8_t> big(100000);
  ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(0), 1, 5, big.data(), 100000, queue, 4));
  lci_descriptor op{};
  op.op = LCI_OP_BARRIER;
  op.user_context = 5;
  ASSERT_EQ(LCI_POSTED, lci_post(job.device(0), &op, queue, nullptr));
  job.close(1, 0);  // abortive: peers see a failure
  std::map<uint64_t, lci_status> ended;
  lci_status status{};
  for (int i = 0; i < 2000000 && ended.size() < 3; ++i) {
    job.progress();
    while (lci_queue_pop(queue, &status) == LCI_DONE) ended[status.user_context] = status;
  }
  ASSERT_EQ(3u, ended.size());
  for (const uint64_t context : {1u, 4u, 5u}) {
    EXPECT_EQ(LCI_ERR_PEER_FAILED, ended[context].code) << context;
    EXPECT_EQ(1u, ended[context].rank) << context;
  }
  EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post_send(job.device(0), 1, 5, big.data(), 8, nullptr, 0));
  EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post_recv(job.device(0), 1, 5, big.data(), 8, queue, 0, nullptr));
  EXPECT_EQ(LCI_DONE, send_until_taken(job, 2, 0, 1, "12345678", 8, nullptr)) << "the living go on";
  ASSERT_TRUE(pop(job, queue, &status));
  EXPECT_EQ(2u, status.user_context);
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
