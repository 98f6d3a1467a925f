// SPDX-License-Identifier: Apache-2.0
// The part of a port that is kept for announced messages: neither senders that stand still nor one that announces what
// never comes take it from the others. [X3, X8]
#include <map>

#include "support/hostile_peer.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;
constexpr uint32_t kBytes = 1 << 20;

/// Rank 0 has a port, and takes what comes. Other ranks progress only while they send.
class Reserve : public ::testing::Test {
 protected:
  void open(Job& job, uint32_t messages) {
    job_ = &job;
    queue_ = make_queue(job.runtime(0));
    ended_.clear();
    for (uint32_t rank = 0; rank < job.size(); ++rank) ended_.push_back(make_queue(job.runtime(rank)));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue_, messages, kBytes)) << lci_last_error();
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
  const std::vector<uint8_t> short_ = std::vector<uint8_t>(8, 1), long_ = std::vector<uint8_t>(100'000, 2);
};

// One holds all that leases may take, and two had their messages admitted to the reserve; none of them answers a
// recall.
// Mutation: reserve_becomes_lease.
// Proves: X3
TEST_F(Reserve, NeverBecomesALease) {
  Job job(5);
  open(job, 16);
  for (uint32_t from = 1; from < 4; ++from) ASSERT_TRUE(reaches(from, short_)) << "rank " << from;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(reaches(4, short_)) << "message " << i;
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
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(2, i % 2 ? short_ : long_)) << "message " << i;
  EXPECT_EQ(1u, taken_[1]) << "it stood still";
  EXPECT_TRUE(until(job, [&] {
    take();
    return taken_[1] == 1 + posted;
  }));
  job.check_ledgers();
}

// Without shared memory the bytes of short messages are still to come, too.
// Mutation: to_come_of_each_device.
TEST_F(Reserve, IsNotForOneThatStandsStillWithManyDevices) {
  constexpr uint32_t kDevices = 4;
  Job job(3, {{"devices", std::to_string(kDevices)}, {"peer_memory", "rings"}});
  open(job, 3);
  for (uint32_t device = 0; device < kDevices; ++device) {
    EXPECT_EQ(LCI_DONE, lci_post_am(job.device(1, device), 0, kPort, 1, short_.data(), 8, ended_[1], 0));
    for (int i = 0; i < 100; ++i) lci_progress(job.device(0, device));
  }
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(2, short_)) << "message " << i;
  EXPECT_TRUE(until(job, [&] {
    for (const uint32_t rank : {0u, 1u}) {
      for (uint32_t device = 1; device < kDevices; ++device) lci_progress(job.device(rank, device));
    }
    take();
    return taken_[1] == kDevices;
  }));
}

// Those that have come count as long as they are stored, but no longer as to come.
// Mutation: arrived_count_as_to_come.
TEST_F(Reserve, IsLeftLessOfByWhatHasCome) {
  Job job(2);
  open(job, 64);
  ASSERT_TRUE(reaches(1, short_));
  job.settle();
  const std::vector<uint8_t> bytes(150'000, 3);
  // Of 1 MiB the lease takes 254 KiB in the end, the first message 150,000 bytes, and further ones leave 256 KiB: two
  // of them. When they have come another one is a first one, and leaves 128 KiB.
  for (int i = 0; i < 8; ++i) ASSERT_EQ(LCI_POSTED, post(1, bytes));
  EXPECT_TRUE(until(job, [&] { return lci_queue_length(queue_) == 4; })) << lci_queue_length(queue_);
  job.settle();
  EXPECT_EQ(4u, lci_queue_length(queue_));
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
  for (const uint32_t room : {2u, 3u, 8u, 16u, 64u}) {
    for (const uint32_t size : {8u, 100'000u}) {
      Job job(2, {{"arena_bytes", "8M"}, {"packets", "16"}, {"ring_bytes", "16K"}, {"control_ring_bytes", "4K"}});
      open(job, room);
      HostilePeer peer(job);
      for (uint64_t sent = 0; sent < 4 * room;) {
        sent += peer.send({lci::MessageKind::kRendezvous, 0, kPort, size, 0, 1, sent});
        for (int i = 0; i < 100; ++i) lci_progress(job.device(0));
        if (job.counter(0, "pulls") < sent) break;
      }
      EXPECT_NE(0u, job.counter(0, "pulls"));
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(reaches(0, short_)) << "room " << room << ", size " << size;
      EXPECT_EQ(0u, job.counter(0, "peers_failed"));
    }
  }
}

}  // namespace
}  // namespace lci_test
