// SPDX-License-Identifier: Apache-2.0
// What a cancel of a receive costs, in entries looked at: the same however many are pending. [2B-10]
#include <random>
#include <vector>

#include "api/handles.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

/// Entries of the default engine and receives of device 0 that were looked at so far.
uint64_t looked_at(lci_runtime* handle) {
  lci::Runtime& runtime = *handle->runtime;
  return runtime.targets().engine(0)->matcher()->entries->walked() + runtime.device(0).receives_looked_at();
}

/// Whether the receives have one key, which all wait in one place, or each its own.
class CancelCost : public testing::TestWithParam<bool> {};

TEST_P(CancelCost, DoesNotGrowWithWhatIsPending) {
  constexpr uint64_t kPending = 20'000, kMost = 32;
  Job job(1);
  lci_comp* ended = make_queue(job.runtime(0), 2 * kPending);
  char buffer[8];
  for (uint64_t i = 0; i < kPending; ++i) {
    const uint64_t tag = GetParam() ? 1 : i;
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 0, tag, buffer, sizeof buffer, ended, i, nullptr));
  }
  std::vector<uint64_t> order(kPending);
  for (uint64_t i = 0; i < kPending; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
  for (const uint64_t context : order) {
    const uint64_t before = looked_at(job.runtime(0));
    ASSERT_EQ(LCI_DONE, lci_post_cancel(job.device(0), context)) << context;
    ASSERT_LE(looked_at(job.runtime(0)) - before, kMost) << "receive " << context << " of " << kPending;
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_queue_pop(ended, &status));
    EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
    EXPECT_EQ(context, status.user_context);
  }
  EXPECT_EQ(0u, job.counter(0, "receives_pending"));
  job.check_ledgers();
}

INSTANTIATE_TEST_SUITE_P(Keys, CancelCost, testing::Bool(),
                         [](const auto& info) { return info.param ? "OneForAll" : "EachItsOwn"; });

}  // namespace
}  // namespace lci_test
