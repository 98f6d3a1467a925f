// SPDX-License-Identifier: Apache-2.0
// What a lane answers to the descriptors of a batch. [V1, V3]
#include <map>
#include <random>
#include <set>

#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kServed = 2, kStuck = 1;

void count(const lci_status*, void* argument) {
  ++*static_cast<uint64_t*>(argument);
}

/// A port of @p rank that needs no credit.
void open_counting(Job& job, uint32_t rank, uint32_t port, uint64_t* arrived) {
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), count, arrived, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), port, "", handler, 0, 0)) << lci_last_error();
}

/// Batches of whatever may be submitted, and books of what became of it.
class Books {
 public:
  Books(LaneDriver& lane, uint64_t seed) : lane_(lane), random_(seed), bytes_(20'000, 7) {}

  /// Fills the submission array by chance, enters, and notes each outcome.
  void submit_batch() {
    std::vector<lci_descriptor*> batch;
    for (uint32_t i = 0, count = 1 + random_() % 40; i < count; ++i) batch.push_back(&add());
    enter();
    for (const lci_descriptor* op : batch) {
      Entry& entry = entries_[op->user_context];
      entry.outcome = op->outcome;
      check(*op, entry);
    }
  }
  void enter() {
    lane_.enter();
    lane_.read([&](const lci_record& record) {
      if (record.kind != LCI_RECORD_OP) return;
      ++entries_[record.context].records;
      EXPECT_EQ(LCI_DONE, record.code);
    });
  }
  /// Matches the receives that were posted.
  void send_what_is_received() {
    for (const uint64_t tag : receives_) {
      int code = LCI_RETRY;
      for (int i = 0; i < 10'000 && is_retry(code); ++i) {
        lci_descriptor send{};
        send.op = LCI_OP_SEND;
        send.rank = 0;
        send.tag = tag;
        send.user_context = entries_.size();
        entries_.emplace_back().kind = LCI_OP_SEND;
        auto& op = lane_.add(send);
        enter();
        entries_.back().outcome = code = op.outcome;
      }
      ASSERT_EQ(LCI_DONE, code);
    }
  }
  bool all_ended() const {
    for (const Entry& entry : entries_) {
      if (entry.outcome == LCI_POSTED && entry.records == 0) return false;
    }
    return true;
  }
  /// Each operation that was answered with posted has one record, any other none.
  void check_signals() const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      ASSERT_EQ(entries_[i].outcome == LCI_POSTED ? 1u : 0u, entries_[i].records)
          << "descriptor " << i << ": " << lci_code_name(entries_[i].outcome);
    }
  }
  uint64_t size() const { return entries_.size(); }
  /// Messages to the served port that were accepted.
  uint64_t served() const { return served_; }
  bool saw(int outcome) const { return seen_.count(outcome) != 0; }

 private:
  enum Kind { kShort, kSignalled, kLong, kRefused, kBadRank, kBadPort, kNotMine, kReceive, kKinds };
  struct Entry {
    int kind = 0, outcome = 0;
    uint32_t records = 0;
  };

  lci_descriptor& add() {
    const int kind = static_cast<int>(random_() % kKinds);
    const uint64_t context = entries_.size();
    entries_.emplace_back().kind = kind;
    lci_descriptor& op = lane_.add_am(1, kServed, context, context, context);
    switch (kind) {
      case kSignalled:
        op.flags |= LCI_FLAG_SIGNAL;
        break;
      case kLong:
        op.flags = LCI_FLAG_BUFFER;
        op.size = static_cast<uint32_t>(bytes_.size());
        op.u.ref.address = reinterpret_cast<uint64_t>(bytes_.data());
        break;
      case kRefused:
        op.port = kStuck;
        break;
      case kBadRank:
        op.rank = 9;
        break;
      case kBadPort:
        op.port = 0;
        break;
      case kNotMine:
        op.flags = LCI_FLAG_PACKET;
        op.u.ref.address = 12345;  // nobody's
        break;
      case kReceive:
        op.op = LCI_OP_RECV;
        op.rank = op.port = 0;
        op.size = 0;
        break;
      default:
        break;
    }
    return op;
  }
  void check(const lci_descriptor& op, const Entry& entry) {
    seen_.insert(entry.outcome);
    switch (entry.kind) {
      case kBadRank:
        EXPECT_EQ(LCI_ERR_RANK, entry.outcome);
        break;
      case kBadPort:
        EXPECT_EQ(LCI_ERR_PORT, entry.outcome);
        break;
      case kNotMine:
        EXPECT_EQ(LCI_ERR_ARGUMENT, entry.outcome);
        break;
      case kReceive:
        EXPECT_EQ(LCI_POSTED, entry.outcome);
        receives_.push_back(op.tag);
        break;
      default: {
        const bool signals = entry.kind == kSignalled || entry.kind == kLong;
        const int accepted = signals ? LCI_POSTED : LCI_DONE;
        EXPECT_TRUE(entry.outcome == accepted || is_retry(entry.outcome)) << lci_code_name(entry.outcome);
        served_ += entry.outcome == accepted && op.port == kServed;
      }
    }
  }

  LaneDriver& lane_;
  std::mt19937_64 random_;
  const std::vector<uint8_t> bytes_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> receives_;
  std::set<int> seen_;
  uint64_t served_ = 0;
};

// Good descriptors, refused and invalid ones: each has its own outcome after one attempt, and exactly what was answered
// with posted is signalled.
// Proves: V1
TEST(LaneOutcomes, MatchTheSignals) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Job job(2);
    uint64_t arrived = 0;
    open_counting(job, 1, kServed, &arrived);
    lci_comp* const stuck = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kStuck, "", stuck, 4, 1 << 20));
    {
      LaneDriver lane(job, 0);
      Books books(lane, seed);
      for (int batch = 0; batch < 100; ++batch) {
        books.submit_batch();
        for (int i = 0; i < 4; ++i) lci_progress(job.device(1));
        if (HasFailure()) return;
      }
      books.send_what_is_received();
      for (int i = 0; i < 10'000 && (!books.all_ended() || arrived < books.served()); ++i) {
        lci_progress(job.device(1));
        books.enter();
      }
      ASSERT_NO_FATAL_FAILURE(books.check_signals());
      EXPECT_EQ(books.served(), arrived);
      EXPECT_TRUE(books.saw(LCI_DONE) && books.saw(LCI_POSTED) && books.saw(LCI_RETRY_NOCREDIT));
      EXPECT_TRUE(books.saw(LCI_RETRY_ORDER)) << "nothing was left unattempted";
      uint64_t answered = job.counter(0, "operations_error");
      for (const char* name : {"operations_am_done", "operations_am_posted", "operations_send_done",
                               "operations_recv_posted", "retries_lock", "retries_nopacket", "retries_nomem",
                               "retries_backlog", "retries_nocredit", "retries_pending", "retries_order"}) {
        answered += job.counter(0, name);
      }
      EXPECT_EQ(books.size(), answered) << "one answer for each";
    }
  }
}

/// A message of @p size to port @p port of rank @p rank, over the lane's device @p device.
lci_descriptor& add(LaneDriver& lane, uint8_t device, uint32_t rank, uint16_t port, uint32_t size) {
  static const std::vector<uint8_t> bytes(4096, 1);
  lci_descriptor op = operation(LCI_OP_AM, rank, port, 0, bytes.data(), size);
  op.device = device;
  return lane.add(op);
}

// Two devices on a lane, and no packet left: what needs none goes out until one is wanted. That ends the pass of its
// device, whatever comes behind; the other device's goes on.
// Proves: V3
TEST(LaneOutcomes, NoPacketEndsThePassOfItsDeviceOnly) {
  constexpr uint16_t kFirstUnopened = 100;
  Job job(2, {{"devices", "2"}, {"packets", "32"}, {"packets_max", "32"}});
  uint64_t arrived = 0;
  open_counting(job, 1, kServed, &arrived);
  open_counting(job, 1, kStuck, &arrived);
  {
    LaneDriver lane(job.runtime(0), 0, 2);
    const auto serve = [&] {
      for (int i = 0; i < 20; ++i) {
        for (uint32_t device = 0; device < 2; ++device) lci_progress(job.device(1, device));
        lane.enter();
        lane.read([](const lci_record&) {});
      }
    };
    uint64_t expected = 0;
    for (const uint8_t device : {0, 1}) {
      for (const uint16_t port : {kServed, kStuck}) {
        auto& op = add(lane, device, 1, port, 8);
        lane.enter();
        ASSERT_EQ(LCI_DONE, op.outcome);
        ++expected;
        serve();  // now it is known that they need no credit
      }
    }
    // Ports that nobody opens keep a packet each.
    int code = LCI_DONE;
    for (uint16_t port = kFirstUnopened; code == LCI_DONE; ++port) {
      ASSERT_LT(port, kFirstUnopened + 100);
      auto& op = add(lane, 0, 1, port, 1000);
      lane.enter();
      code = op.outcome;
    }
    ASSERT_EQ(LCI_RETRY_NOPACKET, code);

    auto& before = add(lane, 0, 1, kServed, 8);
    auto& wants = add(lane, 0, 1, kStuck, 1000);
    auto& behind = add(lane, 0, 1, kServed, 8);
    auto& other = add(lane, 1, 1, kServed, 8);
    auto& invalid = add(lane, 0, 9, kServed, 8);
    auto& still_behind = add(lane, 0, 0, kServed, 8);
    auto& other_again = add(lane, 1, 1, kStuck, 8);
    auto& other_wants = add(lane, 1, 1, kServed, 1000);
    auto& other_behind = add(lane, 1, 1, kStuck, 8);
    lane.enter();
    EXPECT_EQ(LCI_DONE, before.outcome);
    EXPECT_EQ(LCI_RETRY_NOPACKET, wants.outcome);
    EXPECT_EQ(LCI_RETRY_NOPACKET, behind.outcome) << "unattempted";
    EXPECT_EQ(LCI_DONE, other.outcome);
    EXPECT_EQ(LCI_ERR_RANK, invalid.outcome) << "an invalid one fails alone";
    EXPECT_EQ(LCI_RETRY_NOPACKET, still_behind.outcome) << "to another rank";
    EXPECT_EQ(LCI_DONE, other_again.outcome);
    EXPECT_EQ(LCI_RETRY_NOPACKET, other_wants.outcome);
    EXPECT_EQ(LCI_RETRY_NOPACKET, other_behind.outcome);
    serve();
    EXPECT_EQ(expected + 3, arrived) << "what was accepted";
  }
}

// A full ring is that of one rank: it ends the pass towards it, over this device.
// Proves: V3
TEST(LaneOutcomes, AFullRingEndsThePassToItsRankOnly) {
  Job job(3, {{"ring_bytes", "4096"}});
  uint64_t arrived = 0;
  for (uint32_t rank = 1; rank < 3; ++rank) {
    open_counting(job, rank, kServed, &arrived);
    open_counting(job, rank, kStuck, &arrived);
  }
  {
    LaneDriver lane(job, 0);
    uint64_t expected = 0;
    for (uint32_t rank = 1; rank < 3; ++rank) {
      for (const uint16_t port : {kServed, kStuck}) {
        add(lane, 0, rank, port, 8);
        lane.enter();
        ++expected;
        for (int i = 0; i < 20; ++i) {
          lci_progress(job.device(rank));
          lane.enter();
        }
      }
    }
    std::vector<lci_descriptor*> flood;
    for (int i = 0; i < 100; ++i) flood.push_back(&add(lane, 0, 1, kServed, 8));
    auto& same_rank = add(lane, 0, 1, kStuck, 8);
    auto& other_rank = add(lane, 0, 2, kServed, 8);
    lane.control().flags = LCI_ENTER_POST;
    lane.enter();
    std::map<int, uint64_t> outcomes;
    for (const lci_descriptor* op : flood) ++outcomes[op->outcome];
    EXPECT_GT(outcomes[LCI_DONE], 0u);
    EXPECT_EQ(1u, outcomes[LCI_RETRY_NOMEM]) << "attempted once";
    EXPECT_EQ(100u, outcomes[LCI_DONE] + outcomes[LCI_RETRY_NOMEM] + outcomes[LCI_RETRY_ORDER]);
    EXPECT_EQ(LCI_RETRY_NOMEM, same_rank.outcome);
    EXPECT_EQ(LCI_DONE, other_rank.outcome);
    lane.control().flags = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
    for (int i = 0; i < 50; ++i) {
      for (uint32_t rank = 1; rank < 3; ++rank) lci_progress(job.device(rank));
      lane.enter();
    }
    EXPECT_EQ(expected + outcomes[LCI_DONE] + 1, arrived);
  }
}

// The first of a batch goes into the backlog, the second behind it: that one is told when it may go.
// Mutation: forget_behind_backlog.
TEST(LaneOutcomes, WhoIsBehindTheBacklogOfItsBatchIsTold) {
  Job job(2, {{"ring_bytes", "4096"}});
  uint64_t arrived = 0, expected = 0;
  open_counting(job, 1, kServed, &arrived);
  {
    LaneDriver lane(job, 0);
    bool told = false;
    const auto serve = [&] {
      lci_progress(job.device(1));
      lane.enter();
      lane.read([&](const lci_record& record) {
        told = told || (record.kind == LCI_RECORD_WRITABLE && record.rank == 1 && record.port == kServed);
      });
    };
    const auto post = [&] {
      const auto& op = add(lane, 0, 1, kServed, 8);
      lane.enter();
      expected += op.outcome == LCI_DONE;
      return op.outcome;
    };
    ASSERT_EQ(LCI_DONE, post());
    for (int i = 0; i < 20; ++i) serve();  // now it is known that it needs no credit
    lane.control().flags = LCI_ENTER_POST;
    while (post() == LCI_DONE) {  // until the ring is full
    }
    auto& first = add(lane, 0, 1, kServed, 8);
    first.flags |= LCI_FLAG_NO_RETRY;
    const auto& second = add(lane, 0, 1, kServed, 8);
    lane.enter();
    EXPECT_EQ(LCI_DONE_BACKLOG, first.outcome);
    EXPECT_EQ(LCI_RETRY_BACKLOG, second.outcome);
    lane.control().flags = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
    for (int i = 0; i < 10'000 && !told; ++i) serve();
    EXPECT_TRUE(told);
    EXPECT_EQ(LCI_DONE, post());
    for (int i = 0; i < 50; ++i) serve();
    EXPECT_EQ(expected + 1, arrived);
  }
}

}  // namespace
}  // namespace lci_test
