// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes, over the file bootstrap: traffic, sudden death, strangers, and ranks that never come.
// [A15, L1, L5, L7] A child reports by its exit status: 0, or the line at which it gave up, with a text on stderr.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <random>

#include "base/clock.hpp"
#include "support/job.hpp"
#include "support/job_directory.hpp"
#include "support/lane_driver.hpp"
#include "support/threads.hpp"

namespace lci_test {
namespace {

using lci::test::Deadline;

constexpr uint32_t kPort = 9;
constexpr uint64_t kSeconds = 30;

/// In a child: gives up with the line, as far as an exit status can carry it, and says why.
#define CHILD_EXPECT(condition)                                                                             \
  do {                                                                                                      \
    if (!(condition)) {                                                                                     \
      std::fprintf(stderr, "child, line %d: %s; last error: %s\n", __LINE__, #condition, lci_last_error()); \
      _exit(1 + __LINE__ % 250);                                                                            \
    }                                                                                                       \
  } while (false)

/// As the launcher makes it: with an identity of its own, for other tests may run beside this one.
class JobDirectory : public lci::test::JobDirectory {
 public:
  explicit JobDirectory(uint32_t size) : lci::test::JobDirectory(size) {
    char id[17];
    std::snprintf(id, sizeof id, "%08x%08x", static_cast<unsigned>(getpid()), static_cast<unsigned>(lci::now_ns()));
    write("job", id);
  }
};

/// A process that runs @p body and ends with its value; killed, if need be, and reaped in the end.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(fork()) {
    if (pid_ != 0) return;
    alarm(2 * kSeconds);  // no child outlives a test that failed
    _exit(body());
  }
  ~Child() {
    if (pid_ <= 0) return;
    kill();
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() const { ::kill(pid_, SIGKILL); }
  /// Exit status; -1 when a signal or the deadline ended it.
  int wait() {
    const Deadline end(kSeconds);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (end.passed()) return -1;
      usleep(2000);
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

int create_runtime(const JobDirectory& job, uint32_t rank, uint32_t size, const char* timeout_ms, lci_runtime** out) {
  lci_attrs* attrs = nullptr;
  CHILD_EXPECT(lci_attrs_create(&attrs) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "job_dir", job.path().c_str()) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "job_rank", std::to_string(rank).c_str()) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "job_size", std::to_string(size).c_str()) == LCI_DONE);
  CHILD_EXPECT(lci_attrs_set(attrs, "bootstrap_timeout_ms", timeout_ms) == LCI_DONE);
  const int code = lci_runtime_create(attrs, nullptr, 0, out);
  lci_attrs_free(attrs);
  return code;
}

/// A rank in its own process, driven without a lane.
class Rank {
 public:
  Rank(const JobDirectory& job, uint32_t rank, uint32_t size) {
    CHILD_EXPECT(create_runtime(job, rank, size, "20000", &runtime) == LCI_DONE);
    CHILD_EXPECT(lci_runtime_device(runtime, 0, &device) == LCI_DONE);
    CHILD_EXPECT(lci_queue_create(runtime, 1024, &inbox) == LCI_DONE);
    CHILD_EXPECT(lci_queue_create(runtime, 1024, &ended) == LCI_DONE);
    CHILD_EXPECT(lci_port_open(runtime, kPort, "job", inbox, 0, 0) == LCI_DONE);
  }
  /// Progresses until @p ready.
  template <typename Ready>
  void until(Ready ready) {
    const Deadline end(kSeconds);
    while (!ready()) {
      CHILD_EXPECT(!end.passed());
      if (lci_progress(device) != LCI_DONE) usleep(100);
    }
  }
  lci_status barrier() {
    lci_descriptor op{};
    op.op = LCI_OP_BARRIER;
    lci_status status{};
    const int code = lci_post(device, &op, ended, nullptr);
    if (code != LCI_POSTED) return {code, LCI_ANY_SOURCE, 0, nullptr, 0, 0, 0, 0};
    until([&] { return lci_queue_pop(ended, &status) == LCI_DONE; });
    return status;
  }
  /// @p count numbers to every other rank, and as many from each: sums and counts must be right.
  void exchange(uint32_t rank, uint32_t size, uint64_t count) {
    std::vector<uint64_t> sent(size), received(size);
    uint64_t done = 0;
    until([&] {
      for (uint32_t to = 0; to < size; ++to) {
        if (to == rank || sent[to] == count) continue;
        // Small and large in turn: one travels in the ring, the other in a packet.
        std::vector<uint64_t> values(sent[to] % 2 == 0 ? 1 : 500, rank * 1'000'000 + sent[to]);
        const int code = lci_post_am(device, to, kPort, sent[to], values.data(),
                                     static_cast<uint32_t>(values.size() * 8), nullptr, 0);
        CHILD_EXPECT(code < LCI_ERR_ARGUMENT);
        sent[to] += code == LCI_DONE;
      }
      lci_status status{};
      while (lci_queue_pop(inbox, &status) == LCI_DONE) {
        const auto* values = static_cast<const uint64_t*>(status.buffer);
        const uint64_t length = status.tag % 2 == 0 ? 1 : 500;
        CHILD_EXPECT(status.rank < size && status.rank != rank && status.size == length * 8);
        CHILD_EXPECT(status.tag == received[status.rank]);  // one sender, one port, one device: in order
        CHILD_EXPECT(values[0] == status.rank * 1'000'000 + status.tag && values[length - 1] == values[0]);
        ++received[status.rank];
        ++done;
        lci_buffer_free(status.buffer);
      }
      return done == count * (size - 1) && sent[(rank + 1) % size] == count && sent[(rank + 2) % size] == count;
    });
  }

  lci_runtime* runtime = nullptr;
  lci_device* device = nullptr;
  lci_comp* inbox = nullptr;
  lci_comp* ended = nullptr;
};

/// A byte through a pipe: how a child tells its parent that it has come so far.
class Signal {
 public:
  Signal() { EXPECT_EQ(0, pipe(ends_)); }
  ~Signal() {
    close(ends_[0]);
    close(ends_[1]);
  }
  void give() const { CHILD_EXPECT(write(ends_[1], "x", 1) == 1); }
  bool take() const {
    char byte;
    pollfd entry{ends_[0], POLLIN, 0};
    return poll(&entry, 1, kSeconds * 1000) == 1 && read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2] = {};
};

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
TEST(Job, AParkedLoopLearnsOfADeath) {
  const char* tier = std::getenv("LCI_TIER");
  const int rounds = tier && std::string(tier) == "soak" ? 1000 : 10;
  for (int round = 0; round < rounds; ++round) {
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

// Whoever brings another secret is no rank of the job: a typed error, and for the other side a rank that never came.
TEST(Job, AWrongSecretIsRefused) {
  const JobDirectory job(2);
  Child honest([&] {
    lci_runtime* runtime = nullptr;
    CHILD_EXPECT(create_runtime(job, 0, 2, "2000", &runtime) == LCI_ERR_TIMEOUT);
    CHILD_EXPECT(!runtime);
    CHILD_EXPECT(std::string(lci_last_error()).find("rank 0 waited in vain for ranks 1") != std::string::npos);
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
  const auto seed = static_cast<uint32_t>(::testing::UnitTest::GetInstance()->random_seed());
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
    while (access(claim.c_str(), F_OK) != 0) usleep(100);
    usleep(random() % 4000);
    dying.kill();
    EXPECT_EQ(0, first.wait());
    EXPECT_EQ(0, second.wait());
    dying.wait();
    if (HasFailure()) return;
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
