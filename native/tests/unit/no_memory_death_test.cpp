// SPDX-License-Identifier: Apache-2.0
// Static core only: it refuses what malloc is asked for.
// A rank hears of a death, and has no memory for a moment: each operation that was pending ends, once.
// Mutations that must make this file fail: see protocol.tsv.
#include <map>
#include <vector>

#include "support/rma_job.hpp"
#include "support/shortage.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kLong = 200'000;

/// Operations of rank 1 with rank 0, of every kind, that wait.
class Pending {
 public:
  explicit Pending(Job& job)
      : job_(job), ended_(make_queue(job.runtime(1))), region_(job.runtime(0), kLong), bytes_(kLong), word_(8) {
    remote_ = open_remote(job.runtime(1), 0, handle_of(region_.memory));
    // One key has more receives than one node of its queue, the others are keys of their own; some wait for rank 2.
    for (uint64_t i = 0; i < 20; ++i) receive(0, 1);
    for (uint64_t tag = 10; tag < 60; ++tag) receive(0, tag);
    for (uint64_t tag = 10; tag < 14; ++tag) receive(2, tag);
    for (uint64_t i = 0; i < 3; ++i) {
      post(operation(LCI_OP_SEND, 0, 0, 100 + i, bytes_.data(), kLong));
      post(remote_op(LCI_OP_PUT, 0, bytes_.data(), kLong, remote_, 0));
      post(remote_op(LCI_OP_GET, 0, bytes_.data(), kLong, remote_, 0));
      post(atomic_op(LCI_ATOMIC_ADD, 0, 1, 0, remote_, 0));
    }
    lci_descriptor barrier{};
    barrier.op = LCI_OP_BARRIER;
    for (int i = 0; i < 2; ++i) post(barrier);
  }
  /// What has come since.
  void take() {
    lci_status status{};
    while (lci_queue_pop(ended_, &status) == LCI_DONE) {
      EXPECT_TRUE(status.code == LCI_ERR_PEER_FAILED || status.code == LCI_DONE) << status.code;
      ++ends_[status.user_context];
    }
  }
  bool over() const { return ends_.size() == posted_; }
  bool over_with_all() {
    take();
    return ends_.size() == posted_ + others_;
  }
  void expect_each_once() const {
    for (const auto& [context, count] : ends_) EXPECT_EQ(1u, count) << "operation " << context;
  }

 private:
  void receive(uint32_t from, uint64_t tag) {
    const int code = lci_post_recv(job_.device(1), from, tag, word_.data(), 8, ended_, ++contexts_, nullptr);
    ASSERT_EQ(LCI_POSTED, code) << lci_last_error();
    ++(from == 0 ? posted_ : others_);
  }
  void post(lci_descriptor op) {
    op.user_context = ++contexts_;
    const int code = lci_post(job_.device(1), &op, ended_, nullptr);
    ASSERT_TRUE(code == LCI_POSTED || is_retry(code)) << code << " " << lci_last_error();
    if (code == LCI_POSTED) ++posted_;
  }

  Job& job_;
  lci_comp* const ended_;
  const Allocated region_;
  std::vector<uint8_t> bytes_, word_;
  uint64_t remote_ = 0, contexts_ = 0;
  size_t posted_ = 0, others_ = 0;     // with rank 0, and with another one
  std::map<uint64_t, uint32_t> ends_;  // by the operation
};

class NoMemoryAtADeath : public testing::TestWithParam<const char*> {};

TEST_P(NoMemoryAtADeath, EachOperationEndsOnce) {
  at_every_allocation([](Shortage& shortage) {
    Job job(3, {{"rma", "messages"},
                {"matching_engine_type", GetParam()},
                {"matching_buckets", "4"},
                {"net_reconnect_ms", "200"}});
    Pending pending(job);
    lci_progress(job.device(1));
    job.close(0, 0);
    for (const lci::test::Deadline limit(30); !limit.passed() && !pending.over(); pending.take()) {
      shortage.during([&] { lci_progress(job.device(1)); });
      lci_progress(job.device(2));
    }
    for (int i = 0; i < 20; ++i) shortage.during([&] { lci_progress(job.device(1)); });
    pending.take();
    EXPECT_TRUE(pending.over());
    pending.expect_each_once();
    EXPECT_EQ(4u, job.counter(1, "receives_pending")) << "those that wait for another rank";
    EXPECT_EQ(0u, job.counter(1, "packets_out"));
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    // What is left is where it was: its engine answers as before.
    for (uint64_t tag = 10; tag < 14; ++tag)
      EXPECT_EQ(LCI_DONE, lci_post_send(job.device(2), 1, tag, "x", 1, nullptr, 0));
    EXPECT_TRUE(until(job, [&] { return pending.over_with_all(); }));
    pending.expect_each_once();
  });
}

INSTANTIATE_TEST_SUITE_P(Engines, NoMemoryAtADeath, testing::Values("map", "queue"));

}  // namespace
}  // namespace lci_test
