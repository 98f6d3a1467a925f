// SPDX-License-Identifier: Apache-2.0
// A member that is killed while all of its group make calls: every call that was posted ends at the survivors, well or
// for that reason, and their own group goes on. [J15, J16, L1]
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>

#include "support/collectives.hpp"
#include "support/processes.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kVictim = 1, kAhead = 8;

enum class What { kBarriers, kData };

/// What all members make as their call with this number.
CollectiveCase case_of(What what, uint64_t number, uint32_t size) {
  if (what == What::kBarriers) return {};
  std::mt19937_64 random(number);
  return any_case(random, size, {1, 20, 21, 3000, 40'000});
}

/// Calls of one context at one rank.
class Calls {
 public:
  Calls(Rank& self, uint32_t own, const std::vector<uint32_t>& ranks, What what, uint64_t most = UINT64_MAX)
      : self_(self), own_(own), size_(static_cast<uint32_t>(ranks.size())), what_(what), most_(most) {
    lci_group* group = nullptr;
    CHILD_EXPECT(lci_group_create(self.runtime, ranks.data(), size_, 0, &group) == LCI_DONE);
    CHILD_EXPECT(lci_context_create(group, 0, 0, &context_) == LCI_DONE);
  }
  /// Posts if few are under way, and takes what has ended. False: the context has failed.
  bool step() {
    int code = LCI_DONE;
    if (calls_.size() != most_ && calls_.size() - ended_ < kAhead) {
      auto call = std::make_unique<MemberCall>(case_of(what_, calls_.size(), size_), own_, size_, calls_.size());
      const lci_collective posted = call->call();
      code = lci_post_collective(context_, &posted, self_.ended, calls_.size());
      if (code == LCI_POSTED) calls_.push_back(std::move(call));
    }
    CHILD_EXPECT(code < LCI_ERR_ARGUMENT || code == LCI_ERR_PEER_FAILED);
    if (lci_progress(self_.device) != LCI_DONE) sched_yield();  // the others share its processor
    take();
    return code != LCI_ERR_PEER_FAILED;
  }
  /// All that was posted ends.
  void finish() {
    self_.until([&] {
      take();
      return ended_ == calls_.size();
    });
  }
  uint64_t well() const { return well_; }

 private:
  void take() {
    lci_status status{};
    while (lci_queue_pop(self_.ended, &status) == LCI_DONE) {
      ++ended_;
      well_ += status.code == LCI_DONE;
      std::unique_ptr<MemberCall>& call = calls_[status.user_context];
      CHILD_EXPECT(status.code != LCI_DONE || call->is_right());
      CHILD_EXPECT(status.code == LCI_DONE || (status.code == LCI_ERR_PEER_FAILED && status.rank == kVictim));
      call.reset();  // nothing is written there any more
    }
  }

  Rank& self_;
  const uint32_t own_, size_;
  const What what_;
  const uint64_t most_;
  lci_context* context_ = nullptr;
  std::vector<std::unique_ptr<MemberCall>> calls_;
  uint64_t ended_ = 0, well_ = 0;
};

/// A job, whose processes are what a kill costs: mostly small ones.
uint32_t ranks_of(uint64_t seed) {
  return seed % 4 == 0 ? 4 : 3;
}

/// Those that live, in another order.
std::vector<uint32_t> living_of(uint32_t ranks) {
  std::vector<uint32_t> living;
  for (uint32_t rank = ranks; rank-- != 0;) {
    if (rank != kVictim) living.push_back(rank);
  }
  return living;
}

void survive(const JobDirectory& job, uint32_t rank, uint32_t ranks, What what) {
  Rank self(job, rank, ranks);
  Calls all(self, rank, first_ranks(ranks), what);
  while (all.step()) {
  }
  all.finish();
  const std::vector<uint32_t> others = living_of(ranks);
  const auto own = std::find(others.begin(), others.end(), rank) - others.begin();
  Calls living(self, static_cast<uint32_t>(own), others, what, 50);
  while (living.well() != 50) CHILD_EXPECT(living.step());
  CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
}

void run(uint64_t seed, What what) {
  SCOPED_TRACE("replay with LCI_KILL_SEED=" + std::to_string(seed));
  const uint32_t ranks = ranks_of(seed);
  const JobDirectory job(ranks);
  const Signal ready;
  std::vector<std::unique_ptr<Child>> survivors;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (rank == kVictim) continue;
    survivors.push_back(std::make_unique<Child>([&, rank] {
      survive(job, rank, ranks, what);
      return 0;
    }));
  }
  Child victim([&]() -> int {
    Rank self(job, kVictim, ranks);
    Calls all(self, kVictim, first_ranks(ranks), what);
    while (all.well() == 0) all.step();
    ready.give();
    for (;;) all.step();
  });
  ASSERT_TRUE(ready.take());
  usleep(static_cast<useconds_t>(seed * 7919 % 10'000));  // some hundred calls
  victim.kill();
  for (auto& each : survivors) EXPECT_EQ(0, each->wait());
}

/// Where a job takes long to begin, or a death to be sure of.
bool is_slow() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return std::getenv("LCI_ATTR_TRANSPORT") || std::getenv("LCI_ATTR_RANKS_PER_HOST");
#endif
}

/// @p kills, or @p soak of them there.
void run_all(What what, uint64_t kills, uint64_t soak) {
  const char* given = std::getenv("LCI_KILL_SEED");
  const char* tier = std::getenv("LCI_TIER");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1;
  const uint64_t count = given ? 1 : tier && std::string(tier) == "soak" ? soak : kills;
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) run(seed, what);
}

// Proves: J15
TEST(GroupDeath, EndsWhatItsMembersCallAndNothingElse) {
  run_all(What::kBarriers, 4, 40);
}

// Proves: J15 J16
TEST(GroupDeath, EndsCallsWithDataAtAnyStep) {
  is_slow() ? run_all(What::kData, 20, 100) : run_all(What::kData, 200, 400);
}

}  // namespace
}  // namespace lci_test
