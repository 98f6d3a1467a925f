// SPDX-License-Identifier: Apache-2.0
// The global runtime in a job of processes.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/processes.hpp"

namespace lci_test {
namespace {

// Rank and size are what the launcher says by environment, from the first init on; -1 before and after.
// Proves: A5
TEST(GlobalRuntimeJob, HasTheLaunchersRankAndSize) {
  constexpr int32_t kRanks = 3;
  const JobDirectory job(kRanks);
  std::vector<std::unique_ptr<Child>> children;
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    children.push_back(std::make_unique<Child>([&job, rank] {
      setenv("LCI_JOB_DIR", job.path().c_str(), 1);
      setenv("LCI_RANK", std::to_string(rank).c_str(), 1);
      setenv("LCI_SIZE", std::to_string(kRanks).c_str(), 1);
      CHILD_EXPECT(lci_global_rank() == -1 && lci_global_size() == -1);
      for (int round = 0; round < 2; ++round) {
        CHILD_EXPECT(lci_global_init(nullptr, nullptr) == LCI_DONE);
        CHILD_EXPECT(lci_global_rank() == rank && lci_global_size() == kRanks);
      }
      lci_comp* ended = nullptr;
      lci_device* device = nullptr;
      CHILD_EXPECT(lci_queue_create(nullptr, 4, &ended) == LCI_DONE);
      CHILD_EXPECT(lci_runtime_device(nullptr, 0, &device) == LCI_DONE);
      CHILD_EXPECT(lci_post_barrier(nullptr, ended, 0) == LCI_POSTED);
      lci_status status{};
      CHILD_EXPECT(lci_queue_wait(ended, &device, 1, 1000 * kSeconds, &status) == LCI_DONE);
      CHILD_EXPECT(lci_global_fini(1000) == LCI_DONE);
      CHILD_EXPECT(lci_global_rank() == rank && lci_global_size() == kRanks);
      CHILD_EXPECT(lci_global_fini(1000) == LCI_DONE);
      CHILD_EXPECT(lci_global_rank() == -1 && lci_global_size() == -1);
      return 0;
    }));
  }
  for (const auto& child : children) EXPECT_EQ(0, child->wait());
}

}  // namespace
}  // namespace lci_test
