// SPDX-License-Identifier: Apache-2.0
// The part of a port that is kept for announced messages: neither senders that stand still nor one that announces what
// never comes take it from the others. [X3, X8]
#include <map>

#include "support/hostile_peer.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;

/// Rank 0 has a port, and takes what comes. Other ranks progress only while they send.
class Reserve : public ::testing::Test {
 protected:
  void open(Job& job, uint32_t messages, uint64_t bytes = 1 << 20) {
    job_ = &job;
    queue_ = make_queue(job.runtime(0));
    ended_.clear();
    for (uint32_t rank = 0; rank < job.size(); ++rank) ended_.push_back(make_queue(job.runtime(rank)));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue_, messages, bytes)) << lci_last_error();
  }
  /// One message, until it has been taken.
  bool reaches(uint32_t from, const std::vector<uint8_t>& bytes) {
    const uint64_t before = taken_[from];
    int code = LCI_RETRY;
    for (const lci::test::Deadline deadline(10); taken_[from] == before;) {
      if (deadline.passed()) return false;
      if (is_retry(code)) code = post(from, bytes);
      progress(from);
    }
    return true;
  }
  int post(uint32_t from, const std::vector<uint8_t>& bytes) {
    const auto size = static_cast<uint32_t>(bytes.size());
    const int code = lci_post_am(job_->device(from), 0, kPort, from, bytes.data(), size, ended_[from], 0);
    EXPECT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
    return code;
  }
  void progress(uint32_t sender) {
    lci_progress(job_->device(sender));
    lci_progress(job_->device(0));
    take();
  }
  void take() {
    lci_status status{};
    while (lci_queue_pop(queue_, &status) == LCI_DONE) {
      ++taken_[status.tag];
      lci_buffer_free(status.buffer);
    }
  }

  Job* job_ = nullptr;
  lci_comp* queue_ = nullptr;
  std::vector<lci_comp*> ended_;
  std::map<uint64_t, uint64_t> taken_;
  const std::vector<uint8_t> short_ = std::vector<uint8_t>(8, 1), long_ = std::vector<uint8_t>(40'000, 2);
};

// One holds all that leases may take, and three had their messages admitted to the reserve; none of them answers a
// recall.
// Mutation: reserve_becomes_lease.
// Proves: X3
TEST_F(Reserve, NeverBecomesALease) {
  Job job(6);
  open(job, 16);
  for (uint32_t from = 1; from < 5; ++from) ASSERT_TRUE(reaches(from, short_)) << "rank " << from;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(reaches(5, short_)) << "message " << i;
  job.check_ledgers();
}

// Mutation: further_messages_leave_nothing.
// Proves: X3 X8
TEST_F(Reserve, IsNotForOneThatStandsStillWithLongMessages) {
  Job job(3);
  open(job, 64);
  ASSERT_TRUE(reaches(1, short_));
  job.settle();  // it has its lease
  uint64_t posted = 0;
  for (int refused = 0; refused < 1000; ++refused) {
    posted += !is_retry(post(1, long_));
    lci_progress(job.device(0));
  }
  ASSERT_LT(3u, posted);
  const std::vector<uint8_t> other(50'000, 3);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(2, i % 2 ? short_ : other)) << "message " << i;
  EXPECT_EQ(1u, taken_[1]) << "it stood still";
  EXPECT_TRUE(until(job, [&] {
    take();
    return taken_[1] == 1 + posted;
  }));
  job.check_ledgers();
}

// Without shared memory the bytes of short messages are still to come, too; each device may have one of them.
// Mutation: short_counts_as_long.
// Proves: X3
TEST_F(Reserve, IsLeftToOtherDevicesOfOneThatStandsStill) {
  Job job(2, {{"devices", "2"}, {"peer_memory", "rings"}});
  open(job, 2);
  const auto others_progress = [&] {
    for (const uint32_t rank : {0u, 1u}) lci_progress(job.device(rank, 1));
    take();
  };
  // Over TCP they have to meet first.
  lci_comp* const met = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", met, 0, 0));
  EXPECT_LT(lci_post_am(job.device(0, 1), 1, kPort, 0, nullptr, 0, nullptr, 0), LCI_RETRY);
  ASSERT_TRUE(until(job, [&] {
    others_progress();
    return lci_queue_length(met) == 1;
  }));
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(1, 1), 0, kPort, 1, short_.data(), 8, ended_[1], 0));
  for (const lci::test::Deadline deadline(10); job.counter(0, "pulls") == 0 && !deadline.passed();) {
    lci_progress(job.device(0, 1));
  }
  ASSERT_EQ(1u, job.counter(0, "pulls"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(1, short_)) << "message " << i;
  EXPECT_EQ(20u, taken_[1]) << "the first one is still to come";
  EXPECT_TRUE(until(job, [&] {
    others_progress();
    return taken_[1] == 21;
  }));
}

// Those that have come are stored, but no longer to come.
// Mutation: arrived_count_as_to_come.
TEST_F(Reserve, HasRoomAgainWhenMessagesHaveCome) {
  Job job(2);
  open(job, 64);
  ASSERT_TRUE(reaches(1, short_));
  job.settle();
  const std::vector<uint8_t> bytes(150'000, 3);
  // Of 1 MiB the lease takes 254 KiB in the end, the first message 150,000 bytes, and further ones leave a packet and
  // 64 KiB: three of them. When they have come there is room for one more.
  for (int i = 0; i < 8; ++i) ASSERT_EQ(LCI_POSTED, post(1, bytes));
  EXPECT_TRUE(until(job, [&] { return lci_queue_length(queue_) == 5; })) << lci_queue_length(queue_);
  job.settle();
  EXPECT_EQ(5u, lci_queue_length(queue_));
  EXPECT_TRUE(until(job, [&] {
    take();
    return taken_[1] == 9;
  }));
  job.check_ledgers();
}

// The peer announces one message after the other, as soon as there is room, and sends none of them.
// Mutation: long_messages_leave_nothing.
// Proves: X8
TEST_F(Reserve, IsNotForAHostilePeer) {
  const std::vector<uint8_t> packet(5000, 4);
  for (const uint32_t room : {2u, 3u, 8u, 16u, 64u}) {
    for (const uint64_t bytes : {1u << 15, 1u << 20}) {
      for (const uint32_t size : {8u, 100'000u}) {
        SCOPED_TRACE("room for " + std::to_string(room) + " of " + std::to_string(bytes) + " bytes, size " +
                     std::to_string(size));
        Job job(2, {{"arena_bytes", "8M"}, {"packets", "16"}, {"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}});
        open(job, room, bytes);
        HostilePeer peer(job);
        uint64_t sent = 0;
        do {  // one more when the last one was admitted: the first ones may wait, no more
          sent += peer.send({lci::MessageKind::kRendezvous, 0, kPort, size, 0, 1, sent});
          for (int i = 0; i < 100; ++i) lci_progress(job.device(0));
        } while (job.counter(0, "pulls") == sent);
        EXPECT_NE(0u, job.counter(0, "pulls"));
        for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(0, packet)) << "message " << i;
        EXPECT_EQ(0u, job.counter(0, "peers_failed"));
      }
    }
  }
}

// A short one does not wait for a long one of its sender, whose bytes may need the packet that it has; another short
// one leaves what others need.
TEST_F(Reserve, IsNotForAHostilePeerWithoutSharedMemory) {
  for (const uint32_t room : {3u, 8u, 16u, 64u}) {
    SCOPED_TRACE("room for " + std::to_string(room));
    Job job(2, {{"arena_bytes", "8M"}, {"packets", "16"}, {"ring_bytes", "16K"}, {"peer_memory", "rings"}});
    open(job, room);
    HostilePeer peer(job);
    for (uint32_t sent = 0; sent < 4; ++sent) {
      if (job.counter(0, "pulls") < sent) break;
      ASSERT_TRUE(peer.send({lci::MessageKind::kRendezvous, 0, kPort, sent == 0 ? 100'000u : 8u, 0, 1, sent}));
      for (int i = 0; i < 100; ++i) lci_progress(job.device(0));
    }
    EXPECT_LE(2u, job.counter(0, "pulls"));
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(0, short_)) << "message " << i;
    EXPECT_EQ(0u, job.counter(0, "peers_failed"));
  }
}

}  // namespace
}  // namespace lci_test
