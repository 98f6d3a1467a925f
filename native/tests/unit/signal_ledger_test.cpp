// SPDX-License-Identifier: Apache-2.0
// The books of posting: every accepted operation ends exactly once, by done or by a signal, whatever carries it and
// whatever it allows. To widen: a row in kRows, a case in Ledger::describe().
#include <array>
#include <deque>
#include <optional>

#include "api/handles.hpp"
#include "support/background.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;
constexpr uint32_t kEach = 4;  // operations per row and set of flags
constexpr uint32_t kLong = 50'000;

bool is_done(int code) {
  return code == LCI_DONE || code == LCI_DONE_BACKLOG;
}
bool is_posted(int code) {
  return code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
}

enum class Carrier { kInline, kPacket, kEagerBuffer, kRendezvous, kAllocated };

struct Row {
  const char* name;
  lci_op_kind op;
  Carrier carrier;
  uint32_t size;
  bool port = false;  // put and get: with signal
};

// A receive is posted for each send, by turns before and after it. The eighth row of the posting table, inbound with a
// port and no region, does not exist.
constexpr Row kRows[] = {
    {"am of no bytes", LCI_OP_AM, Carrier::kInline, 0},
    {"am inline", LCI_OP_AM, Carrier::kInline, 32},
    {"am inline over several slots", LCI_OP_AM, Carrier::kInline, 192},
    {"am in a packet", LCI_OP_AM, Carrier::kPacket, 1000},
    {"am from a short buffer", LCI_OP_AM, Carrier::kEagerBuffer, 100},
    {"am from a buffer", LCI_OP_AM, Carrier::kEagerBuffer, 3000},
    {"am by rendezvous", LCI_OP_AM, Carrier::kRendezvous, kLong},
    {"am read where it lies", LCI_OP_AM, Carrier::kAllocated, kLong},
    {"send of no bytes", LCI_OP_SEND, Carrier::kInline, 0},
    {"send inline", LCI_OP_SEND, Carrier::kInline, 32},
    {"send inline over several slots", LCI_OP_SEND, Carrier::kInline, 192},
    {"send in a packet", LCI_OP_SEND, Carrier::kPacket, 1000},
    {"send from a short buffer", LCI_OP_SEND, Carrier::kEagerBuffer, 100},
    {"send from a buffer", LCI_OP_SEND, Carrier::kEagerBuffer, 3000},
    {"send by rendezvous", LCI_OP_SEND, Carrier::kRendezvous, kLong},
    {"send read where it lies", LCI_OP_SEND, Carrier::kAllocated, kLong},
    {"put of no bytes", LCI_OP_PUT, Carrier::kInline, 0},
    {"put inline", LCI_OP_PUT, Carrier::kInline, 192},
    {"put from a packet", LCI_OP_PUT, Carrier::kPacket, 1000},
    {"put from a buffer", LCI_OP_PUT, Carrier::kEagerBuffer, 3000},
    {"put from a long buffer", LCI_OP_PUT, Carrier::kEagerBuffer, kLong},
    {"put of no bytes with signal", LCI_OP_PUT, Carrier::kInline, 0, true},
    {"put inline with signal", LCI_OP_PUT, Carrier::kInline, 192, true},
    {"put from a packet with signal", LCI_OP_PUT, Carrier::kPacket, 1000, true},
    {"put from a long buffer with signal", LCI_OP_PUT, Carrier::kEagerBuffer, kLong, true},
    {"get of no bytes", LCI_OP_GET, Carrier::kInline, 0},
    {"get", LCI_OP_GET, Carrier::kEagerBuffer, 3000},
    {"get of many bytes", LCI_OP_GET, Carrier::kEagerBuffer, kLong},
    {"get of no bytes with signal", LCI_OP_GET, Carrier::kInline, 0, true},
    {"get of many bytes with signal", LCI_OP_GET, Carrier::kEagerBuffer, kLong, true},
};

/// What a post may answer: done, posted, retry.
struct Allowed {
  bool done, posted, retry;
  uint8_t flags() const {
    return static_cast<uint8_t>((done ? 0 : LCI_FLAG_SIGNAL) | (posted ? 0 : LCI_FLAG_WAIT) |
                                (retry ? 0 : LCI_FLAG_NO_RETRY));
  }
  bool legal() const { return done || posted; }
};
std::vector<Allowed> all_allowed() {
  std::vector<Allowed> all;
  for (int bits = 0; bits < 8; ++bits) all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0});
  return all;
}

/// Posts from rank 0 to the last rank, and keeps the books of both.
class Ledger {
 public:
  explicit Ledger(Job& job)
      : job_(job),
        to_(job.size() - 1),
        bytes_(kLong),
        target_(job.runtime(to_), 2 * kLong),
        source_(job.runtime(0), kLong) {
    remote_ = open_remote(job.runtime(0), to_, handle_of(target_.memory));
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<uint8_t>(i * 7 + 3);
    for (uint32_t rank : {0u, to_}) {
      EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(rank), on_signal, this, &signalled_[rank == to_]));
    }
    std::copy(bytes_.begin(), bytes_.end(), target_.bytes_at + kLong);  // what is got
    std::copy(bytes_.begin(), bytes_.end(), source_.bytes_at);
    EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(to_), on_arrival, this, &arrived_));
  }
  void open_port() { ASSERT_EQ(LCI_DONE, lci_port_open(job_.runtime(to_), kPort, "", arrived_, 0, 0)); }
  lci_device* sender() { return job_.device(0); }

  /// One attempt: its answer. The entry stays in the books only if it was accepted.
  int post(const Row& row, uint8_t flags) {
    std::array<lci_descriptor, 5> space{};  // continuation entries of inline payloads
    lci_descriptor& op = space[0];
    describe(row, flags, &op);
    const int code = enter(row.name, job_.device(0), op, signalled_[to_ == 0]);
    if (row.op == LCI_OP_GET) {
      if (is_done(code) || is_posted(code)) {
        received_.push_back(&places_.back());
      } else {
        places_.pop_back();
      }
    }
    return code;
  }
  int receive(const Row& row, uint8_t flags, uint64_t tag) {
    lci_descriptor op{};
    op.op = LCI_OP_RECV;
    op.flags = static_cast<uint8_t>(LCI_FLAG_BUFFER | flags);
    op.size = row.size;
    op.tag = tag;
    op.user_context = entries_.size();
    places_.emplace_back(row.size + 1);
    op.u.ref.address = reinterpret_cast<uint64_t>(places_.back().data());
    const int code = enter("receive", job_.device(to_), op, signalled_[1]);
    received_.push_back(&places_.back());
    return code;
  }
  uint64_t next_tag() const { return entries_.size(); }
  void settle() { job_.settle(); }
  bool quiet() const {
    for (const Entry& entry : entries_) {
      if (is_posted(entry.answer) && entry.signals == 0) return false;
    }
    return arrivals_ == messages_;
  }
  void drive() {
    for (int i = 0; i < 1'000'000 && !quiet(); ++i) job_.progress();
  }

  /// Exactly one of done and one signal; every byte of every message arrived, once.
  void check() {
    uint64_t posted = 0, signals = 0;
    for (const Entry& entry : entries_) {
      SCOPED_TRACE(std::string(entry.name) + ", flags " + std::to_string(entry.flags) + ": " +
                   lci_code_name(entry.answer));
      ASSERT_TRUE(is_done(entry.answer) || is_posted(entry.answer));
      ASSERT_EQ(is_posted(entry.answer) ? 1 : 0, entry.signals);
      ASSERT_TRUE(is_posted(entry.answer) || !(entry.flags & LCI_FLAG_SIGNAL))
          << "done although a signal was asked for";
      ASSERT_EQ(LCI_DONE, entry.status.code);
      ASSERT_EQ(entry.tag, entry.status.tag);
      ASSERT_EQ(entry.size, entry.status.size);
      ASSERT_EQ(entry.rank, entry.status.rank);
      ASSERT_EQ(entry.context, entry.status.user_context);
      posted += is_posted(entry.answer);
      signals += static_cast<uint64_t>(entry.signals);
    }
    if (kept_ != 0) {
      EXPECT_EQ(LCI_DONE, lci_packet_put(job_.device(0), kept_));
    }
    kept_ = 0;
    EXPECT_EQ(posted, signals);
    EXPECT_EQ(messages_, arrivals_);
    EXPECT_EQ(0u, damaged_);
    EXPECT_EQ(0, compare(target_.bytes_at, bytes_.data(), kLong)) << "what was put";
    for (const auto* place : received_) {
      ASSERT_EQ(0, compare(place->data(), bytes_.data(), place->size() - 1));
    }
  }
  uint64_t count(int code) const {
    uint64_t sum = 0;
    for (const Entry& entry : entries_) sum += entry.answer == code;
    return sum;
  }

 private:
  struct Entry {
    const char* name;
    uint8_t flags;
    uint64_t context, tag;
    uint32_t size, rank;
    int answer = LCI_RETRY;
    int signals = 0;
    lci_status status{};  ///< Of done, or of the signal.
  };

  void describe(const Row& row, uint8_t flags, lci_descriptor* op) {
    op->op = static_cast<uint8_t>(row.op);
    op->flags = flags;
    op->rank = to_;
    op->port = row.op == LCI_OP_AM || row.port ? kPort : 0;
    op->size = row.size;
    op->tag = next_tag();
    op->user_context = entries_.size();
    const bool get = row.op == LCI_OP_GET, put = row.op == LCI_OP_PUT;
    if (get) places_.emplace_back(row.size + 1);
    if (put || get) {
      op->u.ref.remote = remote_;
      op->u.ref.displacement = get ? kLong : 0;
    }
    switch (row.carrier) {
      case Carrier::kInline:
        op->flags |= LCI_FLAG_INLINE;
        // That of a put begins in the next entry.
        if (row.size != 0)
          std::memcpy(put ? static_cast<void*>(op + 1) : op->u.inline_payload, bytes_.data(), row.size);
        break;
      case Carrier::kPacket:
        op->flags |= LCI_FLAG_PACKET;
        op->u.ref.address = packet(row.size);
        break;
      case Carrier::kEagerBuffer:
      case Carrier::kRendezvous:
        op->flags |= LCI_FLAG_BUFFER;
        op->u.ref.address = reinterpret_cast<uint64_t>(get ? places_.back().data() : bytes_.data());
        break;
      case Carrier::kAllocated:
        op->flags |= LCI_FLAG_BUFFER;
        op->u.ref.address = reinterpret_cast<uint64_t>(source_.bytes_at);
        break;
    }
  }
  /// One that was refused before, or a fresh one.
  uint64_t packet(uint32_t size) {
    for (int i = 0; kept_ == 0 && i < 100000; ++i) {
      if (lci_packet_get(job_.device(0), &kept_, &payload_) != LCI_DONE) job_.progress();
    }
    EXPECT_NE(0u, kept_) << "no packet";
    std::memcpy(payload_, bytes_.data(), size);
    return kept_;
  }
  int enter(const char* name, lci_device* device, lci_descriptor& op, lci_comp* comp) {
    const uint8_t flags = op.flags & ~LCI_FLAG_PAYLOAD_MASK;
    const uint64_t at = entries_.size();
    entries_.push_back({name, flags, op.user_context, op.tag, op.size, op.rank});
    lci_status done = LCI_STATUS_INIT;
    const int code = attempt(device, &op, comp, &done);
    if (is_retry(code) || code >= LCI_ERR_ARGUMENT) {
      EXPECT_EQ(0, entries_[at].signals) << "a signal for what was refused";
      entries_.pop_back();
      return code;
    }
    if ((op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_PACKET) kept_ = 0;  // taken over
    entries_[at].answer = code;
    if (is_done(code)) entries_[at].status = done;
    if (op.op == LCI_OP_AM || (op.op != LCI_OP_RECV && op.port != 0)) ++messages_;
    return code;
  }
  /// One that waits for its end needs a peer that is alive: it is the only thread at the books meanwhile.
  int attempt(lci_device* device, lci_descriptor* op, lci_comp* comp, lci_status* done) {
    std::optional<Background> peer;
    const bool waits = (op->flags & LCI_FLAG_WAIT) && !(op->flags & LCI_FLAG_SIGNAL);
    if (waits && to_ != 0) {
      lci_device* other = job_.device(device == job_.device(0) ? to_ : 0);
      peer.emplace([other] { lci_progress(other); });
    }
    return lci_post(device, op, comp, done);
  }
  static void on_signal(const lci_status* status, void* argument) {
    auto& self = *static_cast<Ledger*>(argument);
    if (status->user_context >= self.entries_.size()) {
      ADD_FAILURE() << "a signal for nothing: " << status->user_context;
      return;
    }
    Entry& entry = self.entries_[status->user_context];
    ++entry.signals;
    entry.status = *status;
  }
  static void on_arrival(const lci_status* status, void* argument) {
    auto& self = *static_cast<Ledger*>(argument);
    ++self.arrivals_;
    self.damaged_ += compare(status->buffer, self.bytes_.data(), status->size) != 0;
  }

  Job& job_;
  const uint32_t to_;
  std::vector<uint8_t> bytes_;
  const Allocated target_;  ///< Its first half is put to, its second got.
  const Allocated source_;  ///< The bytes once more, where peers see them.
  uint64_t remote_ = 0;
  lci_comp* signalled_[2] = {};  ///< Of the sending and of the receiving rank.
  lci_comp* arrived_ = nullptr;
  std::vector<Entry> entries_;
  std::deque<std::vector<uint8_t>> places_;
  std::vector<const std::vector<uint8_t>*> received_;
  uint64_t messages_ = 0, arrivals_ = 0, damaged_ = 0;
  uint64_t kept_ = 0;
  void* payload_ = nullptr;
};

/// Posts until it is taken, if it may be refused.
int post_until_taken(Job& job, Ledger& ledger, const Row& row, const Allowed& allowed) {
  int code = LCI_RETRY;
  for (int tries = 0; tries < 100000 && is_retry(code); ++tries) {
    code = ledger.post(row, allowed.flags());
    if (!is_retry(code)) break;
    EXPECT_TRUE(allowed.retry) << "retry although it was disallowed: " << lci_code_name(code);
    job.progress();
  }
  return code;
}

/// Every row with every combination of what is allowed, receives by turns before and after their sends.
void post_everything(Job& job, Ledger& ledger) {
  for (const Row& row : kRows) {
    for (const Allowed& allowed : all_allowed()) {
      SCOPED_TRACE(std::string(row.name) + (allowed.done ? ", done" : "") + (allowed.posted ? ", posted" : "") +
                   (allowed.retry ? ", retry" : ""));
      if (!allowed.legal()) {
        ASSERT_EQ(LCI_ERR_ARGUMENT, ledger.post(row, allowed.flags()));
        continue;
      }
      for (uint32_t i = 0; i < kEach; ++i) {
        const bool matched = row.op == LCI_OP_SEND, receive_first = matched && i % 2 == 0;
        // Who waits for the end comes second: the other side is there.
        const Allowed first{allowed.done, true, allowed.retry};
        const Allowed mine = matched && !receive_first ? first : allowed;
        // The send's tag is its place in the books; the receive takes the one before it, or after.
        const uint64_t tag = ledger.next_tag() + (receive_first ? 1 : 0);
        if (receive_first) {
          ASSERT_FALSE(is_retry(ledger.receive(row, first.flags(), tag))) << lci_last_error();
        }
        const int code = post_until_taken(job, ledger, row, mine);
        ASSERT_TRUE(is_done(code) || is_posted(code)) << lci_code_name(code) << ": " << lci_last_error();
        ASSERT_TRUE(mine.done || is_posted(code)) << lci_code_name(code);
        ASSERT_TRUE(mine.posted || is_done(code)) << lci_code_name(code);
        if (matched && !receive_first) {
          if (i % 4 == 1) job.settle();  // it is there already; else perhaps
          ASSERT_FALSE(is_retry(ledger.receive(row, allowed.flags(), tag))) << lci_last_error();
        }
      }
    }
  }
}

struct Place {
  uint32_t ranks;
  const char* chaos;
  const char* rma;  // messages: put and get are posted, too
};
constexpr const char* kChaos = "seed=5,delay=0.3,ticks=12,refuse=0.15,short=0.2";

// Proves: C8 C14 D1 SS-1 SS-2 SS-9 M4
TEST(SignalLedger, EveryOperationEndsOnce) {
  for (const Place place : {Place{1, "", "auto"}, Place{2, "", "auto"}, Place{2, "", "messages"},
                            Place{2, kChaos, "auto"}, Place{2, kChaos, "messages"}}) {
    SCOPED_TRACE("ranks " + std::to_string(place.ranks) + ", chaos \"" + place.chaos + "\", rma " + place.rma);
    Job job(place.ranks, {{"chaos", place.chaos}, {"rma", place.rma}});
    Ledger ledger(job);
    ledger.open_port();
    post_everything(job, ledger);
    ledger.drive();
    ASSERT_NO_FATAL_FAILURE(ledger.check());
    job.check_ledgers();
    if (HasFailure()) return;
  }
}

// The receiver does not progress: the ring fills, and then the backlog. A post that may be refused is, behind it; what
// waited there ends once, too.
// Proves: D3 D5 D11 H3 SS-6
TEST(SignalLedger, WhatWaitedInTheBacklogEndsOnce) {
  Job job(2, {{"ring_bytes", "4096"}, {"rma", "messages"}});
  Ledger ledger(job);
  ledger.open_port();
  // The port is known to need no credit: only the ring is in the way.
  while (ledger.post(kRows[0], 0) != LCI_DONE) job.progress();
  job.settle();
  uint64_t puts = 0;
  while (ledger.count(LCI_DONE_BACKLOG) < 100 || ledger.count(LCI_POSTED_BACKLOG) < 100) {
    for (const Row& row : kRows) {
      if (row.op == LCI_OP_SEND) continue;
      for (const bool done : {true, false}) {
        const int code = ledger.post(row, Allowed{done, true, false}.flags());
        ASSERT_TRUE(is_done(code) || is_posted(code)) << row.name << ": " << lci_code_name(code);
        puts += row.op == LCI_OP_PUT && row.size == kLong && code == LCI_POSTED_BACKLOG;
      }
    }
  }
  EXPECT_GT(puts, 0u) << "a long put waits in its place: its buffer stays in use";
  EXPECT_GT(job.counter(0, "backlog_push"), 0u);
  for (const Row& row : kRows) {
    if (row.op != LCI_OP_AM) continue;
    EXPECT_EQ(LCI_RETRY_BACKLOG, ledger.post(row, 0)) << row.name;
  }
  ledger.drive();
  ASSERT_NO_FATAL_FAILURE(ledger.check());
  job.check_ledgers();
}

}  // namespace
}  // namespace lci_test
