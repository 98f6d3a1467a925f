// SPDX-License-Identifier: Apache-2.0
// What a peer can make a rank remember is bounded: who goes beyond it breaks the protocol. What an honest one does in
// bad company, or late, is no breach.
#include "matching/matching_engine.hpp"
#include "support/hostile_peer.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

using lci::MessageHeader;
using lci::MessageKind;

constexpr uint16_t kPort = 7;

Attributes small(Attributes more = {}) {
  more.insert(more.end(), {{"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}});
  return more;
}

/// Sends @p header with ascending tags, and lets the victim progress, until it is called nonsense; at most @p most
/// times.
uint32_t sent_until_refused(Job& job, HostilePeer& peer, MessageHeader header, uint32_t most) {
  for (uint32_t sent = 0; sent < most;) {
    header.tag = header.kind == MessageKind::kGet ? 1 : sent;
    if (peer.send(header)) ++sent;
    lci_progress(job.device(0));
    if (job.counter(0, "protocol_errors") != 0) return sent;
  }
  return most;
}

lci_comp* open_handler(Job& job, uint32_t rank, uint32_t* count) {
  lci_comp* handler = nullptr;
  auto add = [](const lci_status*, void* counter) { ++*static_cast<uint32_t*>(counter); };
  EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), add, count, &handler));
  EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", handler, 0, 0));
  return handler;
}

TEST(HostileLimits, AnnouncementsToAnEngine) {
  constexpr uint32_t kAnnouncements = 64;  // of 2 ranks
  Job job(2, small({{"announcements", std::to_string(kAnnouncements)}}));
  HostilePeer peer(job);
  const MessageHeader rendezvous{MessageKind::kRendezvous, 0, lci::kEngineTarget, 100000, 0, 0, 1};
  EXPECT_GE(kAnnouncements + 1, sent_until_refused(job, peer, rendezvous, 1000));
  EXPECT_GE(kAnnouncements, job.counter(0, "unexpected_stored"));
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  job.close(0, 0);
}

TEST(HostileLimits, AnsweredAnnouncementsDoNotCount) {
  Job job(2, small({{"announcements", "4"}}));
  HostilePeer peer(job);
  lci_comp* local = make_queue(job.runtime(0));
  uint8_t bytes[100];
  for (uint64_t tag = 0; tag < 100; ++tag) {
    lci_status status{};
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, tag, bytes, sizeof bytes, local, 1, &status));
    peer.send({MessageKind::kAnnounce, 0, lci::kEngineTarget, 8, 0, tag, peer.packet()});
    ASSERT_TRUE(lci_progress(job.device(0)) == LCI_DONE);
    ASSERT_EQ(LCI_DONE, lci_queue_pop(local, &status));
  }
  EXPECT_EQ(0u, job.counter(0, "protocol_errors"));
  job.close(0, 0);
}

/// Asked for and then given up by the peer.
TEST(HostileLimits, LongMessagesWithoutCreditComeAFewAtATime) {
  constexpr uint32_t kSize = 1u << 20;  // two of them fill the room
  Job job(2, small());
  HostilePeer peer(job);
  uint32_t arrived = 0;
  open_handler(job, 0, &arrived);
  const MessageHeader rendezvous{MessageKind::kRendezvous, 0, kPort, kSize, 0, 0, 1};
  EXPECT_EQ(100u, sent_until_refused(job, peer, rendezvous, 100));
  std::vector<MessageHeader> asked;
  auto look = [&] {
    for (const MessageHeader& answer : peer.take_answers()) {
      if (answer.kind == MessageKind::kReady) asked.push_back(answer);
    }
    return asked.size();
  };
  for (size_t i = 2; i <= 100; ++i) {
    ASSERT_EQ(i, look());
    peer.send({MessageKind::kWithdraw, 0, 0, 0, 0, asked[i - 2].tag, 0});
    lci_progress(job.device(0));  // ends it, and asks the device to look again
    lci_progress(job.device(0));
  }
  EXPECT_EQ(0u, job.counter(0, "protocol_errors"));
  EXPECT_GE(200u, sent_until_refused(job, peer, rendezvous, 1000));
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  job.close(0, 0);
}

TEST(HostileLimits, AnHonestSenderStaysWithin) {
  constexpr uint32_t kMessages = 150, kSize = 100000;
  Job job(2, small());
  uint32_t arrived = 0;
  open_handler(job, 1, &arrived);
  lci_comp* local = make_queue(job.runtime(0));
  const std::vector<uint8_t> bytes = pattern(kSize, 1);
  // The first learns that no credit is needed.
  lci_status status{};
  while (lci_post_am(job.device(0), 1, kPort, 0, bytes.data(), 8, local, 0) != LCI_DONE) job.progress();
  job.settle();
  uint32_t posted = 0;
  int code = LCI_POSTED;
  while (code == LCI_POSTED && posted < kMessages) {
    code = lci_post_am(job.device(0), 1, kPort, 0, bytes.data(), kSize, local, posted);
    if (code == LCI_POSTED) ++posted;
  }
  EXPECT_EQ(LCI_RETRY_NOCREDIT, code);
  while (posted < kMessages) {
    code = lci_post_am(job.device(0), 1, kPort, 0, bytes.data(), kSize, local, posted);
    if (code == LCI_POSTED) ++posted;
    job.progress();
  }
  job.settle();
  EXPECT_EQ(kMessages + 1, arrived);
  uint32_t ended = 0;
  while (lci_queue_pop(local, &status) == LCI_DONE) ++ended;
  EXPECT_EQ(kMessages, ended);
  job.check_ledgers();
}

/// Rendezvous that were never announced are answered; the peer reads none of the answers.
void fill_with_withdrawals(Job& job, HostilePeer& peer, uint32_t count) {
  lci_comp* local = make_queue(job.runtime(0));
  const std::vector<uint8_t> bytes(8);
  EXPECT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kPort, 0, bytes.data(), 8, local, 0));
  for (uint32_t sent = 0; sent < count;) {
    if (peer.send({MessageKind::kReady, 0, 0, 0, 0, sent, uint64_t{99} << 32})) ++sent;
    lci_progress(job.device(0));
  }
}

TEST(HostileLimits, GetsThatAreRefused) {
  Job job(2, small());
  HostilePeer peer(job);
  fill_with_withdrawals(job, peer, 1000);
  EXPECT_GE(300u, sent_until_refused(job, peer, {MessageKind::kGet, 0, 0, 0, 0, 1, 7}, 5000));
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  job.close(0, 0);
}

TEST(HostileLimits, OtherAnswersDoNotCountAsGets) {
  constexpr uint32_t kInRing = 4096 / 64, kGets = 256;
  for (const uint32_t waiting : {kGets - 1, kGets, kGets + 1}) {
    Job job(2, small());
    HostilePeer peer(job);
    fill_with_withdrawals(job, peer, kInRing + waiting);
    for (uint32_t i = 0; i < kGets; ++i) {
      while (!peer.send({MessageKind::kGet, 0, 0, 0, 0, 1, 7})) lci_progress(job.device(0));
    }
    lci_progress(job.device(0));
    EXPECT_EQ(0u, job.counter(0, "protocol_errors")) << waiting;
    job.close(0, 0);
  }
}

// The peer reads no answer: those that wait are bounded, and so is the memory for them.
// Mutation: atomics_without_limit.
TEST(HostileLimits, AtomicOperationsWhoseAnswersAreNotRead) {
  constexpr uint32_t kInRing = 4096 / 64, kMost = 256;
  Job job(2, small());
  HostilePeer peer(job);
  const uint32_t sent = sent_until_refused(job, peer, {MessageKind::kAtomic, 0, 0, 0, LCI_ATOMIC_ADD, 0, 7}, 5000);
  EXPECT_LT(kMost, sent);
  EXPECT_GE(kInRing + kMost + 44, sent);
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  job.close(0, 0);
}

TEST(HostileLimits, AKeyOfTheWrongKindIsNobodys) {
  Job job(3, small());
  HostilePeer peer(job);
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), 1, LCI_ENGINE_MAP, nullptr, nullptr));
  lci_comp* local = make_queue(job.runtime(0));
  uint8_t bytes[100];
  lci_descriptor receive = operation(LCI_OP_RECV, 2, 1, 5, bytes, sizeof bytes);
  lci_status status{};
  ASSERT_EQ(LCI_POSTED, lci_post(job.device(0), &receive, local, &status)) << lci_last_error();
  const uint64_t forged = lci::make_key(2, 5, LCI_POLICY_RANK_TAG);
  uint64_t payload[LCI_INLINE_MAX / sizeof forged] = {forged};
  peer.send({MessageKind::kAnnounce, lci::kFlagKeyed, lci::kEngineTarget + 1, 8, 0, 5, peer.packet()}, payload);
  lci_progress(job.device(0));
  lci_progress(job.device(0));
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(local, &status));
  EXPECT_EQ(1u, job.counter(0, "receives_pending"));
  const std::vector<MessageHeader> answers = peer.take_answers();
  EXPECT_TRUE(std::any_of(answers.begin(), answers.end(),
                          [](const MessageHeader& answer) { return answer.kind == MessageKind::kRefuse; }));
  job.close(0, 0);
}

TEST(HostileLimits, ABarrierThatAnErrorEndedIsNoBreachOfThoseWhoComeLate) {
  Job job(3, small());
  HostilePeer peer(job);  // rank 1, which has not seen yet that rank 2 is gone
  lci_comp* local = make_queue(job.runtime(0));
  lci_descriptor barrier{};
  barrier.op = LCI_OP_BARRIER;
  lci_status status{};
  ASSERT_EQ(LCI_POSTED, lci_post(job.device(0), &barrier, local, &status));
  job.close(2, 0);
  while (lci_queue_pop(local, &status) != LCI_DONE) lci_progress(job.device(0));
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
  peer.send({MessageKind::kBarrier, 0, 0, 0, 1, 0, 0});
  lci_progress(job.device(0));
  EXPECT_EQ(0u, job.counter(0, "protocol_errors")) << lci_last_error();
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  job.close(0, 0);
}

}  // namespace
}  // namespace lci_test
