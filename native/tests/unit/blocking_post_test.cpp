// SPDX-License-Identifier: Apache-2.0
// What a post answers and what it signals: every protocol, every combination of allow_done, allow_posted, allow_retry.
// [C8, C10, SS-1, SS-2, SS-6, SS-7, SS-9]
// Mutations that must make this file fail: wait_not, double_signal.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "api/handles.hpp"
#include "support/background.hpp"
#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;
constexpr uint64_t kTag = 21;

/// How an operation of rank 0 is made, and what rank 1 does for it.
struct Protocol {
  const char* name;
  uint8_t op;
  uint8_t payload;  // LCI_FLAG_INLINE, _PACKET, _BUFFER
  uint32_t size;
  bool sent_before;  // receive: the message is there
};

constexpr Protocol kProtocols[] = {
    {"am, inline", LCI_OP_AM, LCI_FLAG_INLINE, 24, false},
    {"am, packet", LCI_OP_AM, LCI_FLAG_PACKET, 4000, false},
    {"am, buffer", LCI_OP_AM, LCI_FLAG_BUFFER, 4000, false},
    {"am, rendezvous", LCI_OP_AM, LCI_FLAG_BUFFER, 100'000, false},
    {"send, inline", LCI_OP_SEND, LCI_FLAG_INLINE, 24, false},
    {"send, packet", LCI_OP_SEND, LCI_FLAG_PACKET, 4000, false},
    {"send, buffer", LCI_OP_SEND, LCI_FLAG_BUFFER, 4000, false},
    {"send, rendezvous", LCI_OP_SEND, LCI_FLAG_BUFFER, 100'000, false},
    {"receive, matched later", LCI_OP_RECV, LCI_FLAG_BUFFER, 4000, false},
    {"receive, rendezvous later", LCI_OP_RECV, LCI_FLAG_BUFFER, 100'000, false},
    {"receive, message there", LCI_OP_RECV, LCI_FLAG_BUFFER, 4000, true},
    {"receive, announced long message there", LCI_OP_RECV, LCI_FLAG_BUFFER, 100'000, true},
};

std::vector<uint8_t> pattern(uint32_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint32_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 13 + 5);
  return bytes;
}

bool is_retry(int code) {
  return code >= LCI_RETRY && code < LCI_ERR_ARGUMENT;
}

/// One operation between rank 0, driven by the test, and rank 1, driven by a thread of its own.
class Exchange {
 public:
  explicit Exchange(const Protocol& protocol) : protocol_(protocol), job_(2), sent_(pattern(protocol.size)) {
    EXPECT_EQ(LCI_DONE, lci_counter_create(job_.runtime(0), &local_));
    EXPECT_EQ(LCI_DONE, lci_counter_create(job_.runtime(1), &remote_));
    received_.resize(protocol.size);
    if (protocol.op == LCI_OP_AM) {
      queue_ = make_queue(job_.runtime(1));
      EXPECT_EQ(LCI_DONE, lci_port_open(job_.runtime(1), kPort, "", queue_, 0, 0));
    }
    if (protocol.op == LCI_OP_SEND) {
      EXPECT_EQ(LCI_POSTED,
                lci_post_recv(job_.device(1), 0, kTag, received_.data(), protocol.size, remote_, 0, nullptr));
    }
    if (protocol.sent_before) {
      send_back();
      for (int i = 0; i < 100'000 && job_.counter(0, "unexpected_stored") == 0; ++i) job_.progress();
      EXPECT_EQ(1u, job_.counter(0, "unexpected_stored"));
    }
  }

  /// Posts until it is not answered with retry; @return the answer.
  int post(uint8_t flags, lci_comp* null_form = nullptr) {
    std::vector<lci_descriptor> entries(4);  // with room for an inline payload
    lci_descriptor& op = entries[0];
    op.op = protocol_.op;
    op.flags = static_cast<uint8_t>(protocol_.payload | flags);
    op.rank = 1;
    op.port = protocol_.op == LCI_OP_AM ? kPort : 0;
    op.size = protocol_.size;
    op.tag = kTag;
    op.user_context = 99;
    if (protocol_.payload == LCI_FLAG_INLINE) {
      std::memcpy(op.u.inline_payload, sent_.data(), protocol_.size);
    } else if (protocol_.payload == LCI_FLAG_BUFFER) {
      op.u.ref.address = reinterpret_cast<uint64_t>(protocol_.op == LCI_OP_RECV ? received_.data() : sent_.data());
    }
    // Packets are taken for each attempt: nobody keeps one over the progress that makes room.
    Background peer([this] {
      lci_progress(job_.device(1));
      answer();
    });
    int code = LCI_RETRY;
    for (int i = 0; i < 1'000'000 && is_retry(code); ++i) {
      if (protocol_.payload == LCI_FLAG_PACKET) op.u.ref.address = take_packet();
      code = lci_post(job_.device(0), &op, null_form ? null_form : local_, &status_);
      if (protocol_.payload == LCI_FLAG_PACKET && code >= LCI_RETRY) put_packet(op.u.ref.address);
      if (!is_retry(code)) break;
      ++retries_;
      lci_progress(job_.device(0));
    }
    if (code >= LCI_ERR_ARGUMENT) return code;
    for (int i = 0; i < 1'000'000 && !ended(code); ++i) {
      lci_progress(job_.device(0));
      std::this_thread::yield();
    }
    return code;
  }

  uint64_t signals() const { return lci_counter_get(local_); }
  const lci_status& status() const { return status_; }
  uint64_t retries() const { return retries_; }
  Job& job() { return job_; }

  /// The payload came once and whole, wherever it was to go.
  void check_arrival() {
    if (protocol_.op == LCI_OP_AM) {
      lci_status arrival{};
      for (int i = 0; i < 100'000 && lci_queue_length(queue_) == 0; ++i) job_.progress();
      ASSERT_EQ(LCI_DONE, lci_queue_pop(queue_, &arrival));
      ASSERT_EQ(protocol_.size, arrival.size);
      EXPECT_EQ(0, std::memcmp(sent_.data(), arrival.buffer, protocol_.size));
      lci_buffer_free(arrival.buffer);
      job_.settle();
      EXPECT_EQ(LCI_RETRY, lci_queue_pop(queue_, &arrival)) << "came twice";
    } else {
      job_.settle();
      EXPECT_EQ(sent_, received_);
      EXPECT_EQ(protocol_.op == LCI_OP_SEND ? 1u : 0u, lci_counter_get(remote_));
    }
    job_.check_ledgers();
  }

 private:
  uint64_t take_packet() {
    uint64_t handle = 0;
    void* payload = nullptr;
    EXPECT_EQ(LCI_DONE, lci_packet_get(job_.device(0), &handle, &payload));
    std::memcpy(payload, sent_.data(), sent_.size());
    return handle;
  }
  void put_packet(uint64_t handle) { EXPECT_EQ(LCI_DONE, lci_packet_put(job_.device(0), handle)); }

  /// Whether the operation of rank 0 is over, on both sides.
  bool ended(int code) const {
    const bool mine = code == LCI_DONE || code == LCI_DONE_BACKLOG || signals() != 0;
    if (protocol_.op == LCI_OP_AM) return mine && lci_queue_length(queue_) != 0;
    return mine && (protocol_.op == LCI_OP_RECV || lci_counter_get(remote_) != 0);
  }
  /// Rank 1 sends what rank 0 receives, when it waits for it.
  void answer() {
    if (protocol_.op != LCI_OP_RECV || protocol_.sent_before || answered_) return;
    if (job_.counter(0, "receives_pending") == 0) return;
    send_back();
  }
  void send_back() {
    answered_ = true;
    int code = LCI_RETRY;
    for (int i = 0; i < 1'000'000 && is_retry(code); ++i) {
      code = lci_post_send(job_.device(1), 0, kTag, sent_.data(), protocol_.size, remote_ignored(), 0);
      if (is_retry(code)) lci_progress(job_.device(1));
    }
    EXPECT_LT(code, LCI_RETRY) << lci_last_error();
  }
  /// Where rank 1's own completions go.
  lci_comp* remote_ignored() {
    if (!ignored_) lci_counter_create(job_.runtime(1), &ignored_);
    return ignored_;
  }

  const Protocol& protocol_;
  Job job_;
  const std::vector<uint8_t> sent_;
  std::vector<uint8_t> received_;
  lci_comp* local_ = nullptr;
  lci_comp* remote_ = nullptr;
  lci_comp* ignored_ = nullptr;
  lci_comp* queue_ = nullptr;
  lci_status status_{};
  uint64_t retries_ = 0;
  bool answered_ = false;
};

class AllowFlags : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Combinations, AllowFlags, testing::Range(0, 8), [](const auto& each) {
  return std::string(each.param & 1 ? "Done" : "NoDone") + (each.param & 2 ? "Posted" : "NoPosted") +
         (each.param & 4 ? "Retry" : "NoRetry");
});

/// [C8, SS-1, SS-9] Exactly one of done and one signal; never an answer that was not allowed.
// Proves: C8 SS-1 SS-2 SS-9
TEST_P(AllowFlags, OneOutcomeForEveryProtocol) {
  const bool allow_done = GetParam() & 1, allow_posted = GetParam() & 2, allow_retry = GetParam() & 4;
  const auto flags = static_cast<uint8_t>((allow_done ? 0 : LCI_FLAG_SIGNAL) | (allow_posted ? 0 : LCI_FLAG_WAIT) |
                                          (allow_retry ? 0 : LCI_FLAG_NO_RETRY));
  for (const Protocol& protocol : kProtocols) {
    SCOPED_TRACE(protocol.name);
    Exchange exchange(protocol);
    const int code = exchange.post(flags);
    if (!allow_done && !allow_posted) {
      EXPECT_EQ(LCI_ERR_ARGUMENT, code);
      exchange.job().settle();
      EXPECT_EQ(0u, exchange.signals());
      EXPECT_EQ(0u, exchange.job().posted(0)) << "nothing was posted";
      EXPECT_EQ(0u, exchange.job().counter(0, "sent_bytes"));
      continue;
    }
    const bool done = code == LCI_DONE || code == LCI_DONE_BACKLOG;
    const bool posted = code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
    EXPECT_TRUE(done || posted) << code << " " << lci_last_error();
    EXPECT_TRUE(allow_done || posted) << code;
    EXPECT_TRUE(allow_posted || done) << code;
    EXPECT_TRUE(allow_retry || exchange.retries() == 0);
    exchange.check_arrival();
    EXPECT_EQ(posted ? 1u : 0u, exchange.signals());
    if (code == LCI_DONE) {
      EXPECT_EQ(protocol.size, exchange.status().size);
      EXPECT_EQ(99u, exchange.status().user_context);
      EXPECT_EQ(kTag, exchange.status().tag);
    }
  }
}

/// [C10] The null objects stand for the flags.
// Proves: C10 SS-7
TEST(BlockingPost, NullObjectsBlock) {
  for (lci_comp* null_form : {LCI_COMP_NULL, LCI_COMP_NULL_RETRY}) {
    for (const Protocol& protocol : kProtocols) {
      SCOPED_TRACE(protocol.name);
      Exchange exchange(protocol);
      const int code = exchange.post(0, null_form);
      EXPECT_TRUE(code == LCI_DONE || code == LCI_DONE_BACKLOG) << code << " " << lci_last_error();
      EXPECT_TRUE(null_form == LCI_COMP_NULL_RETRY || exchange.retries() == 0);
      exchange.check_arrival();
      EXPECT_EQ(0u, exchange.signals());
    }
    Exchange exchange(kProtocols[0]);
    EXPECT_EQ(LCI_ERR_ARGUMENT, exchange.post(LCI_FLAG_SIGNAL, null_form));
    EXPECT_EQ(LCI_ERR_ARGUMENT, exchange.post(LCI_FLAG_COMP, null_form));
    EXPECT_EQ(0u, exchange.job().posted(0));
  }
}

/// [C10] The thin forms take them, too; a barrier blocks as well.
TEST(BlockingPost, ThinFormsAndBarriersBlock) {
  Job job(2);
  std::vector<uint8_t> here(20'000), there = pattern(20'000);
  std::thread other([&] {
    EXPECT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 4, there.data(), 20'000, LCI_COMP_NULL, 0)) << lci_last_error();
    lci_descriptor barrier{};
    barrier.op = LCI_OP_BARRIER;
    EXPECT_EQ(LCI_DONE, lci_post(job.device(1), &barrier, LCI_COMP_NULL, nullptr)) << lci_last_error();
  });
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_post_recv(job.device(0), 1, 4, here.data(), 20'000, LCI_COMP_NULL, 17, &status))
      << lci_last_error();
  EXPECT_EQ(there, here);
  EXPECT_EQ(17u, status.user_context);
  EXPECT_EQ(1u, status.rank);
  lci_descriptor barrier{};
  barrier.op = LCI_OP_BARRIER;
  EXPECT_EQ(LCI_DONE, lci_post(job.device(0), &barrier, LCI_COMP_NULL, nullptr)) << lci_last_error();
  other.join();
  job.check_ledgers();
}

/// [C10] COMP_NULL_RETRY may answer retry, at once and without a trace; COMP_NULL waits for room.
TEST(BlockingPost, OnlyTheFormWithRetryAnswersRetry) {
  Job job(2, {{"backlog_messages", "2"}});
  uint64_t value = 0;
  int code = LCI_DONE;
  // Nobody opened the port: one announcement is taken, then there is no credit.
  for (int i = 0; i < 100 && code == LCI_DONE; ++i) {
    code = lci_post_am(job.device(0), 1, kPort, 0, &value, sizeof value, LCI_COMP_NULL_RETRY, 0);
  }
  EXPECT_EQ(LCI_RETRY_NOCREDIT, code);
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
  std::atomic<uint64_t> done{0};
  std::thread blocked([&] {  // more than slot and backlog hold
    for (int i = 0; i < 10; ++i) {
      const int answer = lci_post_am(job.device(0), 1, kPort, 0, &value, sizeof value, LCI_COMP_NULL, 0);
      EXPECT_TRUE(answer == LCI_DONE || answer == LCI_DONE_BACKLOG) << lci_last_error();
      ++done;
    }
  });
  while (done.load() < 2) std::this_thread::yield();  // the backlog's
  for (int i = 0; i < 1000; ++i) lci_progress(job.device(1));
  EXPECT_EQ(2u, done.load());
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", counter, 0, 0));
  {
    const Background peer([&] { lci_progress(job.device(1)); });
    blocked.join();
  }
  job.settle();
  EXPECT_EQ(11u, lci_counter_get(counter));
  job.check_ledgers();
}

/// What ends an operation ends the wait: its error is the answer.
TEST(BlockingPost, ErrorsEndTheWait) {
  Job job(2);
  std::vector<uint8_t> bytes(64);
  std::thread other([&] {
    EXPECT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 1, bytes.data(), 64, LCI_COMP_NULL, 0)) << lci_last_error();
    while (job.counter(0, "receives_pending") == 0) lci_progress(job.device(1));
    job.close(1, 1000);
  });
  uint8_t small[8];
  lci_status status{};
  EXPECT_EQ(LCI_ERR_TRUNCATED, lci_post_recv(job.device(0), 1, 1, small, sizeof small, LCI_COMP_NULL, 0, &status));
  EXPECT_EQ(64u, status.size);
  EXPECT_EQ(LCI_ERR_PEER_LEFT, lci_post_recv(job.device(0), 1, 2, small, sizeof small, LCI_COMP_NULL, 0, &status));
  other.join();
  EXPECT_EQ(LCI_ERR_PEER_LEFT, lci_post_am(job.device(0), 1, kPort, 0, small, 8, LCI_COMP_NULL, 0));
}

/// A lane's loop never blocks: the flag is an error there, of that descriptor alone.
TEST(BlockingPost, LanesRefuseTheFlag) {
  Job job(1);
  lci_lane* lane = nullptr;
  ASSERT_EQ(LCI_DONE, lci_lane_create(job.runtime(0), 0, 1, &lane));
  uint64_t base = 0, length = 0, layout[LCI_LAYOUT_COUNT];
  ASSERT_EQ(LCI_DONE, lci_lane_memory(lane, &base, &length));
  lci_layout(layout, LCI_LAYOUT_COUNT);
  auto* control = reinterpret_cast<lci_lane_control*>(base + layout[LCI_LAYOUT_CONTROL_OFFSET]);
  auto* ops = reinterpret_cast<lci_descriptor*>(base + layout[LCI_LAYOUT_SUBMISSION_OFFSET]);
  const uint8_t kinds[] = {LCI_OP_AM, LCI_OP_SEND, LCI_OP_RECV, LCI_OP_BARRIER, LCI_OP_CANCEL};
  for (size_t i = 0; i < std::size(kinds); ++i) {
    ops[i] = {};
    ops[i].op = kinds[i];
    ops[i].flags = LCI_FLAG_WAIT;
    ops[i].port = kinds[i] == LCI_OP_AM ? kPort : 0;
  }
  control->submit_count = std::size(kinds);
  control->flags = LCI_ENTER_POST;
  lci_lane_enter(lane);
  for (size_t i = 0; i < std::size(kinds); ++i) EXPECT_EQ(LCI_ERR_ARGUMENT, ops[i].outcome) << i;
  EXPECT_EQ(0u, control->in_flight);
  EXPECT_EQ(LCI_DONE, lci_lane_free(lane));
}

}  // namespace
}  // namespace lci_test
