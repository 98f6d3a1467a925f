// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, over the file bootstrap: traffic, sudden death, strangers, and ranks that never come.
// [A15, L1, L5, L7] A child reports by its exit status: 0, or the line at which it gave up, with a text on stderr.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "support/descriptors.hpp"
#include "support/lane_driver.hpp"
#include "support/processes.hpp"

namespace lci_test {
namespace {

TEST(Job, ThreeProcessesExchangeAndLeave) {
  const JobDirectory job(3);
  auto body = [&](uint32_t rank) {
    Rank self(job, rank, 3);
    self.exchange(rank, 3, 500);
    const lci_status status = self.barrier();
    CHILD_EXPECT(status.code == LCI_DONE);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 5000) == LCI_DONE);
    return 0;
  };
  Child zero([&] { return body(0); }), one([&] { return body(1); }), two([&] { return body(2); });
  EXPECT_EQ(0, zero.wait());
  EXPECT_EQ(0, one.wait());
  EXPECT_EQ(0, two.wait());
}

// kill -9 of one rank: the others' barrier fails with its name, and they end. [L1, L5] Mutation: ignore_death.
// Proves: D16 SS-58
TEST(Job, AKilledRankIsNamedToTheOthers) {
  const JobDirectory job(3);
  const Signal ready;
  auto survivor = [&](uint32_t rank) {
    Rank self(job, rank, 3);
    self.exchange(rank, 3, 50);
    CHILD_EXPECT(self.barrier().code == LCI_DONE);
    ready.give();
    const lci_status status = self.barrier();
    CHILD_EXPECT(status.code == LCI_ERR_PEER_FAILED);
    CHILD_EXPECT(status.rank == 1);
    int32_t state = 0;
    CHILD_EXPECT(lci_runtime_peer(self.runtime, 1, &state) == LCI_DONE && state == LCI_PEER_FAILED);
    CHILD_EXPECT(lci_runtime_peer(self.runtime, 2 - rank, &state) == LCI_DONE && state != LCI_PEER_FAILED);
    uint64_t value = 0;
    CHILD_EXPECT(lci_post_am(self.device, 1, kPort, 0, &value, 8, nullptr, 0) == LCI_ERR_PEER_FAILED);
    CHILD_EXPECT(lci_runtime_close(self.runtime, 1000) == LCI_DONE);
    return 0;
  };
  Child zero([&] { return survivor(0); }), two([&] { return survivor(2); });
  Child one([&]() -> int {
    Rank self(job, 1, 3);
    self.exchange(1, 3, 50);
    CHILD_EXPECT(self.barrier().code == LCI_DONE);
    ready.give();
    for (;;) pause();
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ready.take());
  one.kill();
  EXPECT_EQ(0, zero.wait());
  EXPECT_EQ(0, two.wait());
}

// A parked loop learns of a death: peers are looked for at least every 50 ms. [V11]
// Proves: V11
TEST(Job, AParkedLoopLearnsOfADeath) {
  constexpr int kRounds = 50;  // the soak repeats this test 20 times
  for (int round = 0; round < kRounds; ++round) {
    const JobDirectory job(2);
    const Signal ready;
    Child parked([&] {
      Rank self(job, 0, 2);
      {
        LaneDriver lane(self.runtime);
        bool told = false, parks = false;
        const Deadline end(kSeconds);
        while (!told) {
          CHILD_EXPECT(!end.passed());
          const int code = lane.enter();
          lane.read([&](const lci_record& record) {
            if (record.kind != LCI_RECORD_PEER) return;
            CHILD_EXPECT(record.rank == 1 && record.context == LCI_PEER_FAILED && record.code == LCI_ERR_PEER_FAILED);
            told = true;
          });
          if (told || code == LCI_DONE || lane.control().must_enter) continue;
          if (!parks) ready.give();
          parks = true;
          lane.park_word().store(1, std::memory_order_seq_cst);
          CHILD_EXPECT(lci_lane_park(lane.handle(), 1'000'000'000) < LCI_ERR_ARGUMENT);
        }
        CHILD_EXPECT(parks && lane.control().late_wakes == 0);
      }
      return 0;
    });
    Child dying([&]() -> int {
      Rank self(job, 1, 2);
      for (;;) pause();
    });
    ASSERT_TRUE(ready.take());
    dying.kill();
    ASSERT_EQ(0, parked.wait()) << "round " << round;
  }
}

// Whoever brings another secret is no rank of the job: a typed error on both sides, at once.
TEST(Job, AWrongSecretIsRefused) {
  const JobDirectory job(2);
  Child honest([&] {
    lci_runtime* runtime = nullptr;
    CHILD_EXPECT(create_runtime(job, 0, 2, "3600000", &runtime) == LCI_ERR_BOOTSTRAP);
    CHILD_EXPECT(!runtime);
    CHILD_EXPECT(
        std::string(lci_last_error()).find("rank 1 did not answer: it left while joining, or has another secret") !=
        std::string::npos);
    return 0;
  });
  // The honest rank has read its secret when it has made the generation; only then the secret is exchanged.
  const Deadline end(kSeconds);
  while (!std::filesystem::exists(job.path() / "gen.0")) {
    ASSERT_FALSE(end.passed());
    usleep(1000);
  }
  job.write("secret", std::string(32, 'x'));
  Child stranger([&] {
    lci_runtime* runtime = nullptr;
    CHILD_EXPECT(create_runtime(job, 1, 2, "2000", &runtime) == LCI_ERR_BOOTSTRAP);
    CHILD_EXPECT(!runtime);
    CHILD_EXPECT(std::string(lci_last_error()).find("rank 0 did not answer") != std::string::npos);
    return 0;
  });
  EXPECT_EQ(0, honest.wait());
  EXPECT_EQ(0, stranger.wait());
}

// A rank is killed at any moment from its first sign of life on: the others join, and hear of its death, or are told at
// once that it died. Nobody waits for the deadline of joining.
TEST(Job, ADeathWhileJoiningIsNamed) {
  const char* given = std::getenv("LCI_SEED");
  const uint32_t seed = given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
  std::printf("seed %u (LCI_SEED)\n", seed);
  std::fflush(nullptr);  // or each child prints it again
  std::mt19937 random(seed);
  for (int round = 0; round < 30; ++round) {
    const JobDirectory job(3);
    const uint32_t victim = random() % 3;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    auto survivor = [&](uint32_t rank) -> int {
      lci_runtime* runtime = nullptr;
      const int code = create_runtime(job, rank, 3, "3600000", &runtime);
      if (code != LCI_DONE) {
        CHILD_EXPECT(code == LCI_ERR_PEER_FAILED);
        CHILD_EXPECT(lci_last_error_rank() == static_cast<int>(victim));
        return 0;
      }
      lci_device* device = nullptr;
      CHILD_EXPECT(lci_runtime_device(runtime, 0, &device) == LCI_DONE);
      for (int32_t state = LCI_PEER_ALIVE; state != LCI_PEER_FAILED; usleep(1000)) {
        lci_progress(device);
        CHILD_EXPECT(lci_runtime_peer(runtime, victim, &state) == LCI_DONE);
      }
      CHILD_EXPECT(lci_runtime_close(runtime, 1000) == LCI_DONE);
      return 0;
    };
    Child first([&] { return survivor((victim + 1) % 3); }), second([&] { return survivor((victim + 2) % 3); });
    Child dying([&]() -> int {
      lci_runtime* runtime = nullptr;
      create_runtime(job, victim, 3, "3600000", &runtime);
      for (;;) pause();
    });
    const std::string claim = job.path().string() + "/gen.0/claim." + std::to_string(victim);
    const Deadline end(kSeconds);
    while (access(claim.c_str(), F_OK) != 0) {
      ASSERT_FALSE(end.passed()) << "rank " << victim << " gave no sign of life";
      usleep(100);
    }
    usleep(random() % 4000);
    dying.kill();
    EXPECT_EQ(0, first.wait());
    EXPECT_EQ(0, second.wait());
    dying.wait();
    if (HasFailure()) return;
  }
}

// A rank may not open as many files as there are others: it says so, and the others do not wait for it, though its
// process lives on.
TEST(Job, ARankThatCannotJoinEndsTheJoinOfAll) {
  const JobDirectory job(2), own(1);
  Child other([&] {
    lci_runtime* runtime = nullptr;
    CHILD_EXPECT(create_runtime(job, 0, 2, "3600000", &runtime) == LCI_ERR_BOOTSTRAP);
    CHILD_EXPECT(!runtime && lci_last_error_rank() == 1);
    return 0;
  });
  Child cramped([&]() -> int {
    // A sanitizer looks at each class once, for which it opens files.
    lci_runtime* alone = nullptr;
    CHILD_EXPECT(create_runtime(own, 0, 1, "3600000", &alone) == LCI_DONE);
    CHILD_EXPECT(lci_runtime_close(alone, 0) == LCI_DONE);
    // For the arena, the socket and one more: not for what comes through it.
    lci_test::fill_gaps();
    const int next = lci_test::next_descriptor();
    const rlimit limit{static_cast<rlim_t>(next) + 4, static_cast<rlim_t>(next) + 4};
    CHILD_EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    lci_runtime* runtime = nullptr;
    CHILD_EXPECT(create_runtime(job, 1, 2, "3600000", &runtime) == LCI_ERR_NO_MEMORY);
    CHILD_EXPECT(std::string(lci_last_error()).find("ulimit -n") != std::string::npos);
    for (;;) pause();
  });
  EXPECT_EQ(0, other.wait());
  cramped.kill();
  EXPECT_EQ(-1, cramped.wait()) << "it ended by itself";
}

// A rank dies, just after its claim or when it waits for the others already; another one never starts: the living one
// does not wait for the deadline of joining.
TEST(Job, ADeathIsNamedWhileAnotherRankNeverComes) {
  for (const char* sign : {"claim.1", "fence.1.1"}) {
    const JobDirectory job(3);
    Child dying([&]() -> int {
      lci_runtime* runtime = nullptr;
      create_runtime(job, 1, 3, "3600000", &runtime);
      for (;;) pause();
    });
    const Deadline end(kSeconds);
    while (!std::filesystem::exists(job.path() / "gen.0" / sign)) {
      ASSERT_FALSE(end.passed()) << "no " << sign;
      usleep(100);
    }
    Child living([&]() -> int {
      lci_runtime* runtime = nullptr;
      CHILD_EXPECT(create_runtime(job, 0, 3, "3600000", &runtime) == LCI_ERR_PEER_FAILED);
      CHILD_EXPECT(!runtime && lci_last_error_rank() == 1);
      return 0;
    });
    while (!std::filesystem::exists(job.path() / "gen.0" / "fence.1.0")) {
      ASSERT_FALSE(end.passed()) << "the living rank does not wait";
      usleep(100);
    }
    dying.kill();
    EXPECT_EQ(0, living.wait()) << sign;
  }
}

TEST(Job, ARankThatNeverComesIsNamed) {
  const JobDirectory job(3);
  auto body = [&](uint32_t rank) {
    lci_runtime* runtime = nullptr;
    CHILD_EXPECT(create_runtime(job, rank, 3, "500", &runtime) == LCI_ERR_TIMEOUT);
    CHILD_EXPECT(!runtime);
    const std::string text = lci_last_error();
    CHILD_EXPECT(text.find("rank") != std::string::npos && text.find("1") != std::string::npos);
    return 0;
  };
  Child zero([&] { return body(0); }), two([&] { return body(2); });
  EXPECT_EQ(0, zero.wait());
  EXPECT_EQ(0, two.wait());
}

}  // namespace
}  // namespace lci_test
