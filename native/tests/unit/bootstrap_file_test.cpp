// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: bootstrap_skip_claim, bootstrap_skip_permissions.
#include "bootstrap/file_bootstrap.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "support/environment.hpp"
#include "support/job_directory.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::JobDirectory;
using test::ScopedVariable;
using testing::IsSubstring;

/// Expects that opening fails with LCI_ERR_BOOTSTRAP and a text that contains @p hint.
void expect_refused(const Attributes& attributes, const std::string& hint) {
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(open_bootstrap(attributes, nullptr, 0, &bootstrap), LCI_ERR_BOOTSTRAP) << hint;
  EXPECT_PRED_FORMAT2(IsSubstring, hint, std::string(last_error()));
  EXPECT_EQ(bootstrap, nullptr);
}

/// Id of a process that has existed and is gone.
pid_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return child;
}

TEST(FileBootstrap, ReadsTheLaunchersEnvironment) {
  const JobDirectory job(3);
  const ScopedVariable directory("LCI_JOB_DIR", job.path().c_str());
  const ScopedVariable rank("LCI_RANK", "2");
  const ScopedVariable size("LCI_SIZE", "3");
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(Attributes(), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_STREQ(bootstrap->name(), "file");
  EXPECT_EQ(bootstrap->rank(), 2u);
  EXPECT_EQ(bootstrap->size(), 3u);
  EXPECT_EQ(bootstrap->job_id(), "0123456789abcdef");
  EXPECT_EQ(bootstrap->secret()[31], 's');
}

TEST(FileBootstrap, AttributesOverrideTheEnvironment) {
  const JobDirectory job(3);
  const ScopedVariable directory("LCI_JOB_DIR", "/nowhere");
  const ScopedVariable rank("LCI_RANK", "2");
  const ScopedVariable size("LCI_SIZE", "9");
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(job.attributes(1), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_EQ(bootstrap->rank(), 1u);
  EXPECT_EQ(bootstrap->size(), 3u);
}

TEST(FileBootstrap, RanksAndSizesAreChecked) {
  const JobDirectory job(2);
  expect_refused(job.attributes(2), "rank 2 does not fit a job of size 2");
  Attributes incomplete = job.attributes(-1);
  expect_refused(incomplete, "LCI_RANK is not");
  for (const char* bad : {"x", "1x", "-1", " 1", "4294967296"}) {
    const ScopedVariable rank("LCI_RANK", bad);
    expect_refused(incomplete, "LCI_RANK is \"" + std::string(bad) + "\"");
  }
  incomplete.job_rank = 0;
  incomplete.job_size = -1;
  expect_refused(incomplete, "LCI_SIZE is not");
  const ScopedVariable size("LCI_SIZE", "0");
  expect_refused(incomplete, "does not fit a job of size 0");
}

TEST(FileBootstrap, DamagedDirectoriesAreNamed) {
  const JobDirectory job(1);
  Attributes attributes = job.attributes(0);
  attributes.job_dir = job.path() / "missing";
  expect_refused(attributes, "missing: No such file");
  attributes.job_dir = job.path() / "job";
  expect_refused(attributes, "Not a directory");
  const auto link = job.path() / "link";
  std::filesystem::create_directory_symlink(job.path(), link);
  attributes.job_dir = link;
  expect_refused(attributes, "open job directory");

  attributes = job.attributes(0);
  job.write("secret", "short");
  expect_refused(attributes, "secret has 5 bytes instead of 32");
  std::filesystem::remove(job.path() / "secret");
  expect_refused(attributes, "secret: No such file");
  std::filesystem::create_symlink(job.path() / "job", job.path() / "secret");
  expect_refused(attributes, "secret");
  std::filesystem::remove(job.path() / "secret");
  job.write("secret", std::string(32, 's'));
  job.write("job", "0123");
  expect_refused(attributes, "job is missing or not 16 hexadecimal digits");
  job.write("job", "0123456789abcdef");
  job.write("owner", "me");
  expect_refused(attributes, "owner is not a process id");
}

/// What another rank leaves there is neither read without end nor taken for something else.
TEST(FileBootstrap, WhatOthersLeaveIsBounded) {
  const JobDirectory job(2);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  job.write("gen.0/value.1.long", std::string(8, '\0'));
  std::filesystem::resize_file(job.path() / "gen.0/value.1.long", kMaxJobFile);
  std::vector<uint8_t> value;
  EXPECT_EQ(bootstrap->get(1, "long", &value), LCI_DONE) << last_error();
  EXPECT_EQ(value.size(), kMaxJobFile - 8);
  std::filesystem::resize_file(job.path() / "gen.0/value.1.long", uint64_t{1} << 40);
  EXPECT_EQ(bootstrap->get(1, "long", &value), LCI_ERR_BOOTSTRAP);
  value.resize(kMaxJobFile - 7);
  EXPECT_EQ(bootstrap->publish("long", value.data(), value.size()), LCI_ERR_SIZE);
  for (const char* process : {"-1", "0", "99999999999", "me"}) {
    job.write("gen.0/claim.1", process);
    EXPECT_EQ(bootstrap->barrier(0), LCI_ERR_TIMEOUT);
    EXPECT_NE(std::string(last_error()).find("rank 1 never joined"), std::string::npos) << last_error();
  }
}

/// Strangers stay out.
TEST(FileBootstrap, OpenPermissionsAreRefused) {
  const JobDirectory job(1);
  chmod(job.path().c_str(), 0750);
  expect_refused(job.attributes(0), "make it 0700");
  chmod(job.path().c_str(), 0700);
  chmod((job.path() / "secret").c_str(), 0644);
  expect_refused(job.attributes(0), "make it 0600");
  chmod((job.path() / "secret").c_str(), 0600);
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
}

TEST(FileBootstrap, OtherOwnersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kStranger = 12345;
  const JobDirectory job(1);
  ASSERT_EQ(chown(job.path().c_str(), kStranger, kStranger), 0);
  expect_refused(job.attributes(0), "belongs to user 12345");
  ASSERT_EQ(chown(job.path().c_str(), 0, 0), 0);
  ASSERT_EQ(chown((job.path() / "secret").c_str(), kStranger, kStranger), 0);
  expect_refused(job.attributes(0), "secret is not a readable plain file");
}

/// [2B-25] A second process with the same rank, while the first lives and after it died without closing.
TEST(FileBootstrap, ADuplicateRankIsRefused) {
  const JobDirectory job(2);
  int ready[2];
  int finish[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(finish), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::unique_ptr<Bootstrap> bootstrap;
    const char answer = open_bootstrap(job.attributes(1), nullptr, 0, &bootstrap) == LCI_DONE ? 'y' : 'n';
    char end = 0;
    if (write(ready[1], &answer, 1) != 1 || read(finish[0], &end, 1) != 1) _exit(1);
    _exit(0);  // without closing
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const std::string taken = "is taken by process " + std::to_string(child);
  expect_refused(job.attributes(1), taken);
  ASSERT_EQ(write(finish[1], "x", 1), 1);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  expect_refused(job.attributes(1), taken);

  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_EQ(bootstrap->barrier(now_ns() + 20'000'000'000), LCI_ERR_PEER_FAILED) << "told at once";
  EXPECT_EQ(last_error_rank(), 1);
  EXPECT_PRED_FORMAT2(IsSubstring, "joined as process " + std::to_string(child) + ", which is gone",
                      std::string(last_error()));
  for (const int descriptor : {ready[0], ready[1], finish[0], finish[1]}) close(descriptor);
}

/// [A3] Runtimes of one process do not meet, whether the first is open or closed.
TEST(FileBootstrap, AProcessMayOpenItsRankAgain) {
  const JobDirectory job(1);
  std::unique_ptr<Bootstrap> first;
  std::unique_ptr<Bootstrap> second;
  ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &first), LCI_DONE) << last_error();
  ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &second), LCI_DONE) << last_error();
  EXPECT_NE(first->job_id(), second->job_id());
}

/// The deadline is far beyond the test's own: only the look at the launcher can end the barrier.
TEST(FileBootstrap, ADeadLauncherEndsTheBarrierAtOnce) {
  const JobDirectory job(2);
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    char end = 0;
    close(hold[1]);
    _exit(read(hold[0], &end, 1) == 0 ? 0 : 1);
  }
  close(hold[0]);
  job.write("owner", std::to_string(launcher) + "\n");
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  EXPECT_EQ(bootstrap->barrier(now_ns() + 20'000'000), LCI_ERR_TIMEOUT) << "it lives still";
  close(hold[1]);
  ASSERT_EQ(waitpid(launcher, nullptr, 0), launcher);
  EXPECT_EQ(bootstrap->barrier(Deadline(3600).ns()), LCI_ERR_BOOTSTRAP);
  EXPECT_PRED_FORMAT2(IsSubstring, "the launcher is gone", last_error());
  expect_refused(job.attributes(1), "is gone: the job is over");
}

/// A rank that dies before it claims its place leaves no sign of itself: its launcher or another rank tells of it.
TEST(FileBootstrap, ADeathThatWasToldEndsTheBarrier) {
  for (const char* place : {"dead", "gen.0/dead"}) {
    const JobDirectory job(3);
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
    for (const char* nonsense : {"", "x", "-1", "3", "99999999999"}) {
      job.write(place, nonsense);
      EXPECT_EQ(bootstrap->barrier(0), LCI_ERR_TIMEOUT) << nonsense;
    }
    job.write(place, "2");
    EXPECT_EQ(bootstrap->barrier(Deadline(3600).ns()), LCI_ERR_PEER_FAILED);
    EXPECT_EQ(last_error_rank(), 2);
    EXPECT_PRED_FORMAT2(IsSubstring, "it died; rank 2 never joined", last_error());
    job.write("gen.0/left.2", "");  // it had given up before it ended
    EXPECT_EQ(bootstrap->barrier(Deadline(3600).ns()), LCI_ERR_BOOTSTRAP);
    EXPECT_PRED_FORMAT2(IsSubstring, "a rank has closed", last_error());
  }
}

TEST(FileBootstrap, ADeadOwnerIsNoticedWhenJoining) {
  const JobDirectory job(1);
  job.write("owner", std::to_string(dead_process()));
  expect_refused(job.attributes(0), "is gone: the job is over");
}

TEST(FileBootstrap, LeavesNoTemporaryFiles) {
  const JobDirectory job(1);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(open_bootstrap(job.attributes(0), nullptr, 0, &bootstrap), LCI_DONE) << last_error();
  ASSERT_EQ(bootstrap->publish("k", "v", 1), LCI_DONE);
  ASSERT_EQ(bootstrap->barrier(Deadline(10).ns()), LCI_DONE);
  bootstrap.reset();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(job.path())) {
    EXPECT_EQ(entry.path().filename().string().rfind("tmp.", 0), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace lci
