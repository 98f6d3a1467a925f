// SPDX-License-Identifier: Apache-2.0
// A million additions to one word by all ranks at once: the sum is exact, and no value before is seen twice.
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/rma_job.hpp"
#include "support/sanitized.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;
using lci::test::run_threads;

constexpr uint32_t kRanks = 3, kOwner = 2;

/// One rank adds 1 until it has done so @p count times, as fast as it may post.
class Adder {
 public:
  Adder(Job& job, uint32_t rank, uint64_t remote, uint64_t count, std::vector<std::atomic<uint8_t>>& seen)
      : job_(job), rank_(rank), remote_(remote), count_(count), seen_(seen), ended_(make_queue(job.runtime(rank))) {}

  /// False: it took too long.
  bool run(const Deadline& end) {
    for (uint64_t posted = 0; done_ < count_;) {
      if (end.passed()) return false;
      bool refused = posted == count_;
      while (posted < count_ && !refused) {
        lci_descriptor op = atomic_op(LCI_ATOMIC_ADD, kOwner, 1, 0, remote_, 0);
        // Some wait in the backlog while others overtake them.
        if (posted % 7 == 0) op.flags |= LCI_FLAG_NO_RETRY;
        lci_status status = LCI_STATUS_INIT;
        const int code = lci_post(job_.device(rank_), &op, ended_, &status);
        refused = is_retry(code) || code == LCI_ERR_EXHAUSTED;
        if (!refused) ++posted;
        if (code == LCI_DONE) see(status);
        if (posted % 64 == 0) break;
      }
      if (lci_progress(job_.device(rank_)) != LCI_DONE && refused) std::this_thread::yield();
      take();
    }
    return true;
  }
  /// The others want answers.
  void serve() {
    lci_progress(job_.device(rank_));
    std::this_thread::yield();
  }

 private:
  void take() {
    lci_status status[64];
    const uint32_t count = lci_queue_pop_many(ended_, status, 64);
    for (uint32_t i = 0; i < count; ++i) see(status[i]);
  }
  void see(const lci_status& status) {
    ++done_;
    ASSERT_EQ(LCI_DONE, status.code) << lci_code_name(status.code);
    ASSERT_LT(status.tag, seen_.size());
    ASSERT_EQ(0, seen_[status.tag].fetch_add(1)) << "two saw the value " << status.tag;
  }

  Job& job_;
  const uint32_t rank_;
  const uint64_t remote_, count_;
  std::vector<std::atomic<uint8_t>>& seen_;
  lci_comp* const ended_;
  uint64_t done_ = 0;
};

void add_from_everywhere(Job& job, uint64_t count) {
  const Allocated region(job.runtime(kOwner), 64);
  std::memset(region.bytes_at, 0, 64);
  const uint64_t each = count / kRanks;
  std::vector<std::atomic<uint8_t>> seen(each * kRanks);
  std::atomic<uint32_t> running{kRanks};
  const Deadline end(120);
  run_threads(kRanks, [&](uint32_t rank) {
    const uint64_t remote = open_remote(job.runtime(rank), kOwner, handle_of(region.memory));
    Adder adder(job, rank, remote, each, seen);
    EXPECT_TRUE(adder.run(end)) << "rank " << rank << " did not come to its end";
    --running;
    while (running != 0 && !end.passed()) adder.serve();
  });
  uint64_t sum = 0;
  std::memcpy(&sum, region.bytes_at, sizeof sum);
  EXPECT_EQ(each * kRanks, sum);
  job.check_ledgers();
}

constexpr uint64_t kAdditions = kSanitized ? 100'000 : 1'000'000;

// Proves: C23
// Mutation: atomic_not_in_one_step.
TEST(AtomicsStress, AMillionByInstructions) {
  Job job(kRanks);
  add_from_everywhere(job, kAdditions);
}

// Proves: C23
TEST(AtomicsStress, AMillionThroughRings) {
  Job job(kRanks, {{"peer_memory", "rings"}});
  add_from_everywhere(job, kAdditions);
}

// Rank 0 asks by messages, the others use instructions: all meet on the same word.
// Proves: C23
TEST(AtomicsStress, SomeByInstructionsAndSomeByMessages) {
  std::vector<Attributes> attributes(kRanks);
  attributes[0] = {{"rma", "messages"}};
  Job job(attributes);
  add_from_everywhere(job, kAdditions);
  EXPECT_NE(0u, job.counter(0, "rma_streamed"));
  EXPECT_NE(0u, job.counter(1, "rma_copied"));
}

// Replay one seed with LCI_SEED.
// Proves: C23
TEST(AtomicsStress, UnderChaos) {
  const char* given = std::getenv("LCI_SEED");
  const uint64_t first = given ? std::strtoull(given, nullptr, 10) : 1, count = given ? 1 : 3;
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("replay with LCI_SEED=" + std::to_string(seed));
    const std::string chaos = "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,refuse=0.15,short=0.2";
    Job job(kRanks, {{"peer_memory", "rings"}, {"chaos", chaos}});
    add_from_everywhere(job, kAdditions);
  }
}

}  // namespace
}  // namespace lci_test
