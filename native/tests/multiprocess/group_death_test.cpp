// SPDX-License-Identifier: Apache-2.0
// A member that is killed while all of its group call barriers: every call that was posted ends at the survivors, and
// their own group goes on. [J15, L1]
#include <cstdlib>
#include <memory>
#include <string>

#include "support/groups.hpp"
#include "support/processes.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kRanks = 4, kVictim = 2, kAhead = 8;

/// Barriers of one context at one rank.
class Calls {
 public:
  Calls(Rank& self, const std::vector<uint32_t>& ranks, uint64_t most = UINT64_MAX) : self_(self), most_(most) {
    lci_group* group = nullptr;
    CHILD_EXPECT(lci_group_create(self.runtime, ranks.data(), static_cast<uint32_t>(ranks.size()), 0, &group) ==
                 LCI_DONE);
    CHILD_EXPECT(lci_context_create(group, 0, 0, &context_) == LCI_DONE);
  }
  /// Posts if few are under way, and takes what has ended. False: the context has failed.
  bool step() {
    int code = LCI_DONE;
    if (posted_ != most_ && posted_ - ended_ < kAhead) code = lci_post_group_barrier(context_, self_.ended, 0);
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT || code == LCI_ERR_PEER_FAILED);
    posted_ += code == LCI_POSTED;
    lci_progress(self_.device);
    take();
    return code != LCI_ERR_PEER_FAILED;
  }
  /// All that was posted ends.
  void finish() {
    self_.until([&] {
      take();
      return ended_ == posted_;
    });
  }
  uint64_t well() const { return well_; }

 private:
  void take() {
    lci_status status{};
    while (lci_queue_pop(self_.ended, &status) == LCI_DONE) {
      ++ended_;
      well_ += status.code == LCI_DONE;
      CHILD_EXPECT(status.code == LCI_DONE || (status.code == LCI_ERR_PEER_FAILED && status.rank == kVictim));
    }
  }

  Rank& self_;
  const uint64_t most_;
  lci_context* context_ = nullptr;
  uint64_t posted_ = 0, ended_ = 0, well_ = 0;
};

void survive(const JobDirectory& job, uint32_t rank) {
  Rank self(job, rank, kRanks);
  Calls all(self, first_ranks(kRanks));
  while (all.step()) {
  }
  all.finish();
  Calls living(self, {3, 0, 1}, 50);
  while (living.well() != 50) CHILD_EXPECT(living.step());
  CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
}

void run(uint64_t seed) {
  SCOPED_TRACE("replay with LCI_KILL_SEED=" + std::to_string(seed));
  const JobDirectory job(kRanks);
  const Signal ready;
  std::vector<std::unique_ptr<Child>> survivors;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    survivors.push_back(std::make_unique<Child>([&, rank] {
      survive(job, rank);
      return 0;
    }));
  }
  Child victim([&]() -> int {
    Rank self(job, kVictim, kRanks);
    Calls all(self, first_ranks(kRanks));
    while (all.well() == 0) all.step();
    ready.give();
    for (;;) all.step();
  });
  ASSERT_TRUE(ready.take());
  usleep(static_cast<useconds_t>(seed * 7919 % 60'000));
  victim.kill();
  for (auto& each : survivors) EXPECT_EQ(0, each->wait());
}

// Proves: J15
TEST(GroupDeath, EndsWhatItsMembersCallAndNothingElse) {
  const char* given = std::getenv("LCI_KILL_SEED");
  const char* tier = std::getenv("LCI_TIER");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t count = given ? 1 : tier && std::string(tier) == "soak" ? 50 : 4;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) run(seed);
}

}  // namespace
}  // namespace lci_test
