// SPDX-License-Identifier: Apache-2.0
// Static core only: ranks that find each other over TCP and, on one host, talk in shared memory.
#include <memory>
#include <string>
#include <vector>

#include "support/processes.hpp"
#include "support/tcp_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kRanks = 4;

Attributes attributes_of(const lci::test::TcpJob& job) {
  return {{"bootstrap", "tcp"}, {"job_root", job.root()}, {"job_secret_file", job.secret_file()}};
}

TEST(TcpJob, RanksExchangeMessagesAndMeetAgain) {
  const JobDirectory none(kRanks);  // bootstrap file is not asked for
  const lci::test::TcpJob job(kRanks);
  std::vector<std::unique_ptr<Child>> children;
  for (uint32_t self = 0; self < kRanks; ++self) {
    children.push_back(std::make_unique<Child>([&, self] {
      for (int generation = 0; generation < 3; ++generation) {
        Rank rank(none, self, kRanks, attributes_of(job));
        char used[16];
        CHILD_EXPECT(lci_runtime_attr(rank.runtime, "bootstrap_used", used, sizeof used) == LCI_DONE);
        CHILD_EXPECT(std::string(used) == "tcp");
        rank.exchange(self, kRanks, 200);
        CHILD_EXPECT(rank.barrier().code == LCI_DONE);
        CHILD_EXPECT(lci_runtime_close(rank.runtime, 10'000) == LCI_DONE);
      }
      return 0;
    }));
  }
  for (const auto& child : children) EXPECT_EQ(0, child->wait());
}

// All others hear which one it was.
TEST(TcpJob, ARankThatDoesNotComeIsNamedByAll) {
  const JobDirectory none(kRanks);
  const lci::test::TcpJob job(kRanks);
  std::vector<std::unique_ptr<Child>> children;
  for (const uint32_t self : {0u, 1u, 3u}) {
    children.push_back(std::make_unique<Child>([&, self] {
      lci_runtime* runtime = nullptr;
      CHILD_EXPECT(create_runtime(none, self, kRanks, "3000", &runtime, attributes_of(job)) == LCI_ERR_TIMEOUT);
      CHILD_EXPECT(lci_last_error_rank() == 2);
      return 0;
    }));
  }
  for (const auto& child : children) EXPECT_EQ(0, child->wait());
}

}  // namespace
}  // namespace lci_test
