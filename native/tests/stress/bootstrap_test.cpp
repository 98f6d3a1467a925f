// SPDX-License-Identifier: Apache-2.0
// Mutation that must make this file fail: bootstrap_skip_fence (a value is seen before its fence).
#include "bootstrap/bootstrap.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "bootstrap/inproc.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

/// Eight ranks as threads: many fences, a value of each rank at each, none seen early.
TEST(InprocBootstrapStress, ManyFencesManyValues) {
  constexpr uint32_t kRanks = 8;
  constexpr uint32_t kFences = 200;
  lci_inproc* job = nullptr;
  ASSERT_EQ(create_inproc(kRanks, &job), LCI_DONE);
  std::atomic<uint64_t> faults{0};
  std::atomic<uint64_t> early{0};
  const test::Deadline deadline(60);
  test::run_threads(kRanks, [&](uint32_t self) {
    std::unique_ptr<Bootstrap> bootstrap;
    faults += open_bootstrap(Attributes(), job, self, &bootstrap) != LCI_DONE;
    if (bootstrap == nullptr) return;
    std::vector<uint8_t> got;
    for (uint32_t fence = 0; fence < kFences && !deadline.passed(); ++fence) {
      const std::string key = std::to_string(fence);
      const std::string value = std::to_string(self * 1000 + fence);
      faults += bootstrap->publish(key, value.data(), value.size()) != LCI_DONE;
      early += bootstrap->get((self + 1) % kRanks, key, &got) != LCI_ERR_BOOTSTRAP;
      faults += bootstrap->barrier(deadline.ns()) != LCI_DONE;
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        const std::string expected = std::to_string(peer * 1000 + fence);
        faults += bootstrap->get(peer, key, &got) != LCI_DONE || std::string(got.begin(), got.end()) != expected;
      }
    }
    faults += bootstrap->barrier(deadline.ns()) != LCI_DONE;
  });
  release_inproc(job);
  EXPECT_EQ(faults.load(), 0u);
  EXPECT_EQ(early.load(), 0u);
  EXPECT_FALSE(deadline.passed());
}

}  // namespace
}  // namespace lci
