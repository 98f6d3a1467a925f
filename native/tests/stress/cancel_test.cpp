// SPDX-License-Identifier: Apache-2.0
// Receives of one device, cancelled while another device, in another thread, matches them. [2B-10]
#include <atomic>
#include <thread>
#include <vector>

#include "support/posting.hpp"

namespace lci_test {
namespace {

// Each receive ends once, matched or cancelled; what a cancelled one would have taken stays for another.
TEST(CancelStress, AReceiveIsMatchedOrCancelledAndNeverBoth) {
  constexpr uint64_t kReceives = 20'000;
  Job job(2, {{"devices", "2"}, {"engine_messages", "100000"}});
  lci_comp* ended = make_queue(job.runtime(1), 1 << 16);
  lci_device* const sending = job.device(0, 1);
  lci_device* const matching = job.device(1, 1);
  lci_device* const posting = job.device(1, 0);
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    for (uint64_t i = 0; i < kReceives;) {
      const int code = lci_post_send(sending, 1, i, &i, sizeof i, nullptr, 0);
      if (is_retry(code)) {
        lci_progress(sending);
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(LCI_DONE, code) << lci_last_error();
      ++i;
    }
    while (!stop.load()) {
      if (lci_progress(sending) != LCI_DONE) std::this_thread::yield();
    }
  });
  std::thread matcher([&] {
    while (!stop.load()) {
      if (lci_progress(matching) != LCI_DONE) std::this_thread::yield();
    }
  });

  std::vector<uint64_t> buffers(kReceives);
  std::vector<int> signals(kReceives);
  uint64_t cancelled = 0, matched = 0;
  lci_status status{};
  const auto take = [&] {
    while (lci_queue_pop(ended, &status) == LCI_DONE) {
      ASSERT_LT(status.user_context, kReceives);
      ASSERT_EQ(1, ++signals[status.user_context]) << status.user_context;
      if (status.code == LCI_DONE) {
        ++matched;
        ASSERT_EQ(status.user_context, buffers[status.user_context]);
      } else {
        ASSERT_EQ(LCI_ERR_CANCELLED, status.code);
      }
    }
  };
  for (uint64_t i = 0; i < kReceives; ++i) {
    const int code = lci_post_recv(posting, 0, i, &buffers[i], sizeof i, ended, i, &status);
    if (code == LCI_DONE) {
      ++matched;
      ++signals[i];
      continue;
    }
    ASSERT_EQ(LCI_POSTED, code) << lci_last_error();
    if (i % 3 == 0) std::this_thread::yield();
    if (i >= 4 && lci_post_cancel(posting, i - i % 4) == LCI_DONE) ++cancelled;
    if (i % 64 == 0) take();
  }
  for (const lci::test::Deadline deadline(60); matched + cancelled < kReceives && !deadline.passed();) {
    for (uint64_t i = 0; i < kReceives; ++i) {
      if (signals[i] == 0 && lci_post_cancel(posting, i) == LCI_DONE) ++cancelled;
    }
    take();
    lci_progress(posting);
  }
  take();
  for (uint64_t i = 0; i < kReceives; ++i) ASSERT_EQ(1, signals[i]) << i;
  EXPECT_EQ(kReceives, matched + cancelled);
  // Every message that found no receive waits.
  for (const lci::test::Deadline deadline(60); !deadline.passed();) {
    if (job.counter(1, "unexpected_stored") == cancelled) break;
    std::this_thread::yield();
  }
  EXPECT_EQ(cancelled, job.counter(1, "unexpected_stored"));
  stop = true;
  sender.join();
  matcher.join();
  EXPECT_EQ(0u, job.counter(1, "receives_pending"));
}

}  // namespace
}  // namespace lci_test
