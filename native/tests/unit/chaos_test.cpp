// SPDX-License-Identifier: Apache-2.0
// Everything that can be delayed, reordered or refused, under a seed that is printed and can be replayed: set LCI_SEED.
// [Z1, Z2]
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "support/job.hpp"
#include "support/seeds.hpp"

namespace lci_test {
namespace {

bool is_retry(int code) {
  return code >= LCI_RETRY && code < LCI_ERR_ARGUMENT;
}

std::vector<uint64_t> chaos_seeds() {
  return seeds(3, 200);
}

std::string plan(uint64_t seed) {
  return "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,refuse=0.15,short=0.2,stall=1@40x200";
}

/// Drives a job of 3 ranks in one thread, in seed order; returns a trace of everything that was received.
std::vector<uint64_t> run(uint64_t seed, uint32_t per_rank, uint64_t* delayed, uint64_t* refused) {
  Job job(3, {{"chaos", plan(seed)}, {"packets", "32"}, {"packets_max", "64"}, {"inbox_messages", "32"}});
  std::mt19937_64 random(seed);
  const uint32_t sizes[] = {0, 8, 40, 180, 500, 8000, 20000, 70000};
  std::vector<uint8_t> bytes(70000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 13 + 5);
  std::vector<lci_comp*> inbox, local;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    inbox.push_back(make_queue(job.runtime(rank), 64));
    local.push_back(make_queue(job.runtime(rank), 65536));
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 3, "chaos", inbox[rank], 32, 1 << 20));
  }
  std::vector<uint64_t> trace;
  uint64_t sent[3] = {}, received = 0, posted[3] = {}, signals[3] = {}, receives = 0;
  std::vector<std::vector<uint8_t>> buffers;
  const uint64_t all = 3 * per_rank;
  for (int pass = 0; pass < 3'000'000; ++pass) {
    const uint32_t rank = static_cast<uint32_t>(random() % 3);
    if (sent[rank] < per_rank) {
      const uint32_t to = static_cast<uint32_t>((rank + 1 + sent[rank] % 2) % 3);
      const uint32_t size = sizes[random() % std::size(sizes)];
      int code;
      if (sent[rank] % 3 == 2) {
        code = lci_post_send(job.device(rank), to, sent[rank], bytes.data(), size, local[rank], 1);
        if (!is_retry(code)) {
          buffers.emplace_back(70000);
          lci_status status{};
          const int got =
              lci_post_recv(job.device(to), rank, sent[rank], buffers.back().data(), 70000, local[to], 2, &status);
          if (got == LCI_POSTED) {
            ++posted[to];
          } else {
            EXPECT_EQ(LCI_DONE, got) << lci_last_error();
          }
          ++receives;
        }
      } else {
        code = lci_post_am(job.device(rank), to, 3, size, bytes.data(), size, local[rank], 1);
      }
      if (!is_retry(code)) {
        EXPECT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
        ++sent[rank];
        if (code == LCI_POSTED) ++posted[rank];
      }
    }
    lci_progress(job.device(rank));
    lci_status status{};
    for (uint32_t reader = 0; reader < 3; ++reader) {
      if (random() % 4 == 0 && lci_queue_pop(inbox[reader], &status) == LCI_DONE) {
        EXPECT_EQ(status.tag, status.size);
        EXPECT_EQ(0, compare(status.buffer, bytes.data(), status.size));
        lci_buffer_free(status.buffer);
        trace.push_back(uint64_t{reader} << 56 | uint64_t{status.rank} << 48 | status.size);
        ++received;
      }
      while (lci_queue_pop(local[reader], &status) == LCI_DONE) {
        EXPECT_EQ(LCI_DONE, status.code);
        ++signals[reader];
        trace.push_back(uint64_t{reader} << 56 | 1ull << 40 | status.user_context << 32 | status.size);
      }
    }
    const bool posted_all = sent[0] == per_rank && sent[1] == per_rank && sent[2] == per_rank;
    const bool signalled = signals[0] == posted[0] && signals[1] == posted[1] && signals[2] == posted[2];
    if (posted_all && signalled && received + receives == all) break;
  }
  EXPECT_EQ(all, received + receives);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(posted[rank], signals[rank]) << "rank " << rank;
  job.check_ledgers();
  *delayed = *refused = 0;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    *delayed += job.counter(rank, "chaos_delayed");
    *refused += job.counter(rank, "chaos_refused");
  }
  return trace;
}

// Proves: M4
// Proves: SS-11
TEST(Chaos, NothingIsLostAndEverySignalComesOnce) {
  for (const uint64_t seed : chaos_seeds()) {
    SCOPED_TRACE(how_to_replay(seed));
    uint64_t delayed = 0, refused = 0;
    run(seed, 1500, &delayed, &refused);
    EXPECT_GT(delayed, 100u);
    EXPECT_GT(refused, 100u);
    if (::testing::Test::HasFailure()) {
      std::printf("failed with seed %llu\n", static_cast<unsigned long long>(seed));
      return;
    }
  }
}

// Stepped by one thread, the same seed is the same run. [Z1, 2B-59]
TEST(Chaos, TheSameSeedIsTheSameRun) {
  const uint64_t seed = chaos_seeds().front();
  uint64_t delayed[3], refused[3];
  const auto first = run(seed, 300, &delayed[0], &refused[0]);
  const auto again = run(seed, 300, &delayed[1], &refused[1]);
  const auto other = run(seed + 1, 300, &delayed[2], &refused[2]);
  EXPECT_EQ(first, again) << "seed " << seed;
  EXPECT_EQ(delayed[0], delayed[1]);
  EXPECT_EQ(refused[0], refused[1]);
  EXPECT_NE(first, other);
}

TEST(Chaos, BarriersHoldUnderIt) {
  for (const uint64_t seed : chaos_seeds()) {
    SCOPED_TRACE(how_to_replay(seed));
    Job job(5, {{"chaos", plan(seed)}});
    std::vector<lci_comp*> queues;
    for (uint32_t rank = 0; rank < 5; ++rank) queues.push_back(make_queue(job.runtime(rank)));
    constexpr uint64_t kBarriers = 50;
    lci_descriptor op{};
    op.op = LCI_OP_BARRIER;
    uint64_t entered[5] = {}, left[5] = {};
    std::mt19937 random(static_cast<unsigned>(seed));
    uint64_t done = 0;
    for (int pass = 0; pass < 2'000'000 && done < 5 * kBarriers; ++pass) {
      const uint32_t rank = random() % 5;
      if (entered[rank] < kBarriers && entered[rank] - left[rank] < 4) {  // several under way
        ASSERT_EQ(LCI_POSTED, lci_post(job.device(rank), &op, queues[rank], nullptr));
        ++entered[rank];
      }
      lci_progress(job.device(rank));
      lci_status status{};
      while (lci_queue_pop(queues[rank], &status) == LCI_DONE) {
        ASSERT_EQ(LCI_DONE, status.code);
        ++left[rank];
        ++done;
        for (uint32_t other = 0; other < 5; ++other) ASSERT_GT(entered[other], status.tag) << "left too early";
      }
    }
    EXPECT_EQ(5 * kBarriers, done);
  }
}

}  // namespace
}  // namespace lci_test
