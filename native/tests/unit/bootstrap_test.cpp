// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: bootstrap_skip_fence, bootstrap_skip_claim.
#include "bootstrap/bootstrap.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/identity.hpp"
#include "bootstrap/inproc.hpp"
#include "bootstrap/pmi_bootstrap.hpp"
#include "support/environment.hpp"
#include "support/fake_pmi_launcher.hpp"
#include "support/fake_pmix.hpp"
#include "support/job_directory.hpp"
#include "support/tcp_job.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::JobDirectory;
using test::ScopedVariable;
using testing::IsSubstring;

struct InprocRelease {
  void operator()(lci_inproc* job) const { release_inproc(job); }
};
using InprocJob = std::unique_ptr<lci_inproc, InprocRelease>;

InprocJob inproc_job(uint32_t size) {
  lci_inproc* job = nullptr;
  EXPECT_EQ(create_inproc(size, &job), LCI_DONE) << last_error();
  return InprocJob(job);
}

/// A job of each kind, to run the contract over all of them.
class Job {
 public:
  virtual ~Job() = default;
  virtual int open(uint32_t rank, std::unique_ptr<Bootstrap>* out) = 0;
};

class InprocJobUnderTest final : public Job {
 public:
  explicit InprocJobUnderTest(uint32_t size) : job_(inproc_job(size)) {}
  int open(uint32_t rank, std::unique_ptr<Bootstrap>* out) override {
    return open_bootstrap(Attributes(), job_.get(), rank, out);
  }

 private:
  InprocJob job_;
};

class FileJobUnderTest final : public Job {
 public:
  explicit FileJobUnderTest(uint32_t size) : directory_(size) {}
  int open(uint32_t rank, std::unique_ptr<Bootstrap>* out) override {
    return open_bootstrap(directory_.attributes(static_cast<int32_t>(rank)), nullptr, 0, out);
  }

 private:
  JobDirectory directory_;
};

class TcpJobUnderTest final : public Job {
 public:
  explicit TcpJobUnderTest(uint32_t size) : job_(size) {}
  int open(uint32_t rank, std::unique_ptr<Bootstrap>* out) override {
    return open_bootstrap(job_.attributes(rank), nullptr, 0, out);
  }

 private:
  test::TcpJob job_;
};

class PmiJobUnderTest final : public Job {
 public:
  PmiJobUnderTest(PmiVersion version, uint32_t size) : launcher_(version, size), connections_(size) {}
  int open(uint32_t rank, std::unique_ptr<Bootstrap>* out) override {
    const PmiSettings settings = launcher_.settings(rank);
    std::shared_ptr<PmiConnection> none;  // of a rank that the launcher has not started
    auto& connection = rank < connections_.size() ? connections_[rank] : none;
    if (!connection && rank < connections_.size()) {
      if (const int code = PmiConnection::join(settings, &connection); code != LCI_DONE) return code;
    }
    return PmiBootstrap::open(settings, connection, out);
  }

 private:
  test::FakePmiLauncher launcher_;
  std::vector<std::shared_ptr<PmiConnection>> connections_;  // one of a process, whatever it opens
};

class PmixJobUnderTest final : public Job {
 public:
  explicit PmixJobUnderTest(uint32_t size) : launcher_(size), connections_(size) {}
  int open(uint32_t rank, std::unique_ptr<Bootstrap>* out) override {
    std::shared_ptr<PmiConnection> none;  // of a rank that the launcher has not started
    const bool is_there = rank < connections_.size();
    auto& connection = is_there ? connections_[rank] : none;
    if (is_there && !connection) {
      if (const int code = PmiConnection::join(launcher_.settings(rank), &connection); code != LCI_DONE) return code;
    }
    return PmiBootstrap::open(launcher_.settings(rank), connection, out);
  }

 private:
  test::FakePmix launcher_;
  std::vector<std::shared_ptr<PmiConnection>> connections_;
};

class BootstrapContract : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Job> make_job(uint32_t size) {
    if (GetParam() == "inproc") return std::make_unique<InprocJobUnderTest>(size);
    if (GetParam() == "pmi1") return std::make_unique<PmiJobUnderTest>(PmiVersion::k1, size);
    if (GetParam() == "pmi2") return std::make_unique<PmiJobUnderTest>(PmiVersion::k2, size);
    if (GetParam() == "pmix") return std::make_unique<PmixJobUnderTest>(size);
    if (GetParam() == "tcp") return std::make_unique<TcpJobUnderTest>(size);
    return std::make_unique<FileJobUnderTest>(size);
  }
};

/// What ranks hear of those that are not there: PMI does not tell (pmi_bootstrap_test.cpp has what becomes of them).
using BootstrapNames = BootstrapContract;

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

/// [A13, 2B-44] Values of any size and any bytes, over several fences.
// Proves: A13
TEST_P(BootstrapContract, ValuesCrossAtFences) {
  constexpr uint32_t kRanks = 4;
  const auto job = make_job(kRanks);
  std::vector<std::string> ids(kRanks);
  const Deadline deadline(30);
  test::run_threads(kRanks, [&](uint32_t self) {
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(job->open(self, &bootstrap), LCI_DONE) << last_error();
    EXPECT_EQ(bootstrap->rank(), self);
    EXPECT_EQ(bootstrap->size(), kRanks);
    EXPECT_STREQ(bootstrap->name(), GetParam().c_str());
    for (uint32_t round = 0; round < 5; ++round) {
      const std::string key = "odd key/../" + std::to_string(round);
      const std::vector<uint8_t> value(round * 3000 + self, static_cast<uint8_t>(self * 16 + round));
      ASSERT_EQ(bootstrap->publish(key, value.data(), value.size()), LCI_DONE) << last_error();
      ASSERT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << last_error();
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        std::vector<uint8_t> got;
        ASSERT_EQ(bootstrap->get(peer, key, &got), LCI_DONE) << last_error();
        EXPECT_EQ(got, std::vector<uint8_t>(round * 3000 + peer, static_cast<uint8_t>(peer * 16 + round)));
      }
    }
    ids[self] = bootstrap->job_id();
    ASSERT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << "nobody leaves while others still read";
  });
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
  EXPECT_TRUE(parse_id(ids[0]).has_value());
}

// Proves: A13
// The others come when each has done its part for them: in a barrier that waits without it nobody would.
TEST_P(BootstrapContract, WhoeverWaitsDoesMeanwhileWhatItIsTold) {
  constexpr uint32_t kRanks = 3;
  const auto job = make_job(kRanks);
  const Deadline deadline(20);
  std::array<std::atomic<int>, kRanks> worked{};
  test::run_threads(kRanks, [&](uint32_t self) {
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(job->open(self, &bootstrap), LCI_DONE) << last_error();
    ASSERT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << last_error();
    bootstrap->do_meanwhile(Meanwhile([&] { ++worked[self]; }));
    for (uint32_t earlier = 0; earlier < self; ++earlier) {
      while (worked[earlier] < 3 && !deadline.passed()) std::this_thread::yield();
      EXPECT_GE(worked[earlier], 3) << "rank " << earlier << " waits, and does nothing for rank " << self;
    }
    EXPECT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << last_error();
    bootstrap->do_meanwhile({});
    const int before = worked[self];
    EXPECT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << last_error();
    EXPECT_EQ(worked[self], before);
  });
}

TEST_P(BootstrapContract, GetBeforeTheFenceIsAnError) {
  const auto job = make_job(1);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(job->open(0, &bootstrap), LCI_DONE) << last_error();
  std::vector<uint8_t> out{1, 2, 3};
  EXPECT_EQ(bootstrap->get(0, "k", &out), LCI_ERR_BOOTSTRAP);
  EXPECT_PRED_FORMAT2(IsSubstring, "has not published", last_error());
  ASSERT_EQ(bootstrap->publish("k", "abc", 3), LCI_DONE);
  EXPECT_EQ(bootstrap->get(0, "k", &out), LCI_ERR_BOOTSTRAP);
  EXPECT_PRED_FORMAT2(IsSubstring, "only after the next barrier", last_error());
  EXPECT_EQ(out.size(), 3u);
  ASSERT_EQ(bootstrap->barrier(Deadline(10).ns()), LCI_DONE);
  ASSERT_EQ(bootstrap->get(0, "k", &out), LCI_DONE);
  EXPECT_EQ(text_of(out), "abc");
}

TEST_P(BootstrapContract, BadArgumentsAreErrors) {
  const auto job = make_job(2);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(job->open(1, &bootstrap), LCI_DONE) << last_error();
  std::vector<uint8_t> out;
  EXPECT_EQ(bootstrap->publish("", "x", 1), LCI_ERR_ARGUMENT);
  EXPECT_EQ(bootstrap->publish("k", nullptr, 1), LCI_ERR_ARGUMENT);
  EXPECT_EQ(bootstrap->publish("k", nullptr, 0), LCI_DONE);
  EXPECT_EQ(bootstrap->publish("k", "x", 1), LCI_ERR_BOOTSTRAP) << "a key is published once";
  EXPECT_EQ(bootstrap->get(2, "k", &out), LCI_ERR_RANK);
  std::unique_ptr<Bootstrap> outside;
  EXPECT_EQ(job->open(2, &outside), LCI_ERR_BOOTSTRAP);
  EXPECT_EQ(outside, nullptr);
}

/// [L7]
TEST_P(BootstrapNames, TimeoutNamesTheMissingRanks) {
  const auto job = make_job(4);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(job->open(0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_EQ(bootstrap->barrier(now_ns() + 30'000'000), LCI_ERR_TIMEOUT);
  EXPECT_EQ(last_error_rank(), 1);
  EXPECT_PRED_FORMAT2(IsSubstring, "missing ranks 1, 2, 3:", last_error());
  EXPECT_PRED_FORMAT2(IsSubstring, bootstrap->job_id().c_str(), last_error());
}

/// The deadline here is far beyond the test's own: only the notice of the departure can end the barrier.
TEST_P(BootstrapNames, ARankThatClosesEndsTheBarrier) {
  const auto job = make_job(3);
  test::run_threads(3, [&](uint32_t self) {
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(job->open(self, &bootstrap), LCI_DONE) << last_error();
    ASSERT_EQ(bootstrap->barrier(Deadline(30).ns()), LCI_DONE) << last_error();
    if (self == 1) return;
    EXPECT_EQ(bootstrap->barrier(Deadline(3600).ns()), LCI_ERR_BOOTSTRAP);
    EXPECT_PRED_FORMAT2(IsSubstring, "rank", last_error());
    EXPECT_PRED_FORMAT2(IsSubstring, "closed", last_error());
  });
}

/// [A2] All ranks close and open again: fresh values, fresh barriers, another identity.
TEST_P(BootstrapContract, GenerationsFollowEachOther) {
  constexpr uint32_t kRanks = 2;
  const auto job = make_job(kRanks);
  std::set<std::string> ids;
  for (uint32_t generation = 0; generation < 10; ++generation) {
    std::string id[kRanks];
    const Deadline deadline(30);
    test::run_threads(kRanks, [&](uint32_t self) {
      std::unique_ptr<Bootstrap> bootstrap;
      ASSERT_EQ(job->open(self, &bootstrap), LCI_DONE) << last_error();
      std::vector<uint8_t> got;
      EXPECT_EQ(bootstrap->get(1 - self, "k", &got), LCI_ERR_BOOTSTRAP) << "a value of the generation before";
      const std::string value = std::to_string(generation);
      ASSERT_EQ(bootstrap->publish("k", value.data(), value.size()), LCI_DONE) << last_error();
      ASSERT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << last_error();
      ASSERT_EQ(bootstrap->get(1 - self, "k", &got), LCI_DONE) << last_error();
      EXPECT_EQ(text_of(got), value);
      id[self] = bootstrap->job_id();
      ASSERT_EQ(bootstrap->barrier(deadline.ns()), LCI_DONE) << last_error();
    });
    EXPECT_EQ(id[0], id[1]);
    ids.insert(id[0]);
  }
  EXPECT_EQ(ids.size(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BootstrapContract, testing::Values("inproc", "file", "tcp", "pmi1", "pmi2", "pmix"),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Kinds, BootstrapNames, testing::Values("inproc", "file", "tcp"),
                         [](const auto& info) { return info.param; });

// Proves: A16
TEST(BootstrapChain, LocalIsRankZeroOfOne) {
  std::unique_ptr<Bootstrap> first;
  std::unique_ptr<Bootstrap> second;
  ASSERT_EQ(open_bootstrap(Attributes(), nullptr, 5, &first), LCI_DONE) << last_error();
  ASSERT_EQ(open_bootstrap(Attributes(), nullptr, 5, &second), LCI_DONE) << last_error();
  EXPECT_STREQ(first->name(), "local");
  EXPECT_EQ(first->rank(), 0u);
  EXPECT_EQ(first->size(), 1u);
  EXPECT_NE(first->job_id(), second->job_id());
  EXPECT_NE(first->secret(), second->secret());
  std::vector<uint8_t> got;
  EXPECT_EQ(first->publish("k", "v", 1), LCI_DONE);
  EXPECT_EQ(first->get(0, "k", &got), LCI_ERR_BOOTSTRAP);
  EXPECT_EQ(first->barrier(0), LCI_DONE);
  EXPECT_EQ(first->get(0, "k", &got), LCI_DONE);
  EXPECT_EQ(first->get(1, "k", &got), LCI_ERR_RANK);
}

/// [A12] Rank and size alone do not make a job.
// Proves: A12
TEST(BootstrapChain, RankAndSizeAloneFallThroughToLocal) {
  const ScopedVariable rank("LCI_RANK", "1");
  const ScopedVariable size("LCI_SIZE", "2");
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(Attributes(), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_STREQ(bootstrap->name(), "local");
}

// Proves: A11
TEST(BootstrapChain, OrderAndAvailabilityDecide) {
  const JobDirectory directory(1);
  Attributes attributes = directory.attributes(0);
  std::unique_ptr<Bootstrap> bootstrap;
  attributes.bootstrap = "local file";
  ASSERT_EQ(open_bootstrap(attributes, nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_STREQ(bootstrap->name(), "local");
  attributes.bootstrap = "inproc,file,local";
  ASSERT_EQ(open_bootstrap(attributes, nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_STREQ(bootstrap->name(), "file");
  bootstrap.reset();
  attributes.job_dir = "";
  attributes.bootstrap = "inproc;file";
  EXPECT_EQ(open_bootstrap(attributes, nullptr, 0, &bootstrap), LCI_ERR_BOOTSTRAP);
  EXPECT_PRED_FORMAT2(IsSubstring, "inproc;file", last_error());
  attributes.bootstrap = "carrier local";
  EXPECT_EQ(open_bootstrap(attributes, nullptr, 0, &bootstrap), LCI_ERR_ATTRIBUTE);
  EXPECT_PRED_FORMAT2(IsSubstring, "carrier", last_error());
}

TEST(InprocJobs, SizeIsChecked) {
  lci_inproc* job = nullptr;
  EXPECT_EQ(create_inproc(0, &job), LCI_ERR_ARGUMENT);
  EXPECT_EQ(create_inproc(1, nullptr), LCI_ERR_ARGUMENT);
  EXPECT_EQ(job, nullptr);
  release_inproc(nullptr);
}

TEST(InprocJobs, ADuplicateRankIsRefusedUntilItCloses) {
  const InprocJob job = inproc_job(2);
  std::unique_ptr<Bootstrap> first;
  std::unique_ptr<Bootstrap> second;
  ASSERT_EQ(open_bootstrap(Attributes(), job.get(), 1, &first), LCI_DONE);
  EXPECT_EQ(open_bootstrap(Attributes(), job.get(), 1, &second), LCI_ERR_BOOTSTRAP);
  EXPECT_PRED_FORMAT2(IsSubstring, "rank 1 is taken", last_error());
  first.reset();
  EXPECT_EQ(open_bootstrap(Attributes(), job.get(), 1, &second), LCI_DONE);
}

TEST(InprocJobs, OpenRanksKeepTheJobAlive) {
  InprocJob job = inproc_job(1);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(Attributes(), job.get(), 0, &bootstrap), LCI_DONE);
  const auto shared = std::make_shared<int>(5);
  job->meetings.give(bootstrap->job_id(), 0, shared);
  job.reset();
  EXPECT_EQ(shared.use_count(), 2);
  EXPECT_EQ(bootstrap->barrier(0), LCI_DONE);
  bootstrap.reset();
  EXPECT_EQ(shared.use_count(), 1);
}

TEST(Identity, IdsAreSixteenDigits) {
  EXPECT_EQ(id_text(0), "0000000000000000");
  EXPECT_EQ(id_text(0x0123456789abcdef), "0123456789abcdef");
  EXPECT_EQ(parse_id("0123456789abcdef"), 0x0123456789abcdefu);
  for (const char* bad : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg", "0x23456789abcdef"}) {
    EXPECT_EQ(parse_id(bad), std::nullopt) << bad;
  }
  EXPECT_NE(random_id(), random_id());
  EXPECT_EQ(generation_id(7, 0), 7u);
}

}  // namespace
}  // namespace lci
