// SPDX-License-Identifier: Apache-2.0
// Bootstraps pmi1 and pmi2 with a launcher that errs. The contract of all bootstraps is in bootstrap_test.cpp.
#include "bootstrap/pmi_bootstrap.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/pmi_pipe.hpp"
#include "support/pmi_versions.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::FakePmiLauncher;
using testing::IsSubstring;

constexpr uint64_t kShort = 30'000'000;  // ns

using Pmi = test::PmiVersions;

TEST_P(Pmi, LargeValuesTravelInPieces) {
  FakePmiLauncher launcher(GetParam(), 2);
  test::run_threads(2, [&](uint32_t self) {
    const auto bootstrap = open(launcher.settings(self));
    std::vector<uint8_t> value(100'000 + self);
    for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<uint8_t>(i * 7 + i / 256);
    ASSERT_EQ(LCI_DONE, bootstrap->publish("large", value.data(), value.size())) << last_error();
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    std::vector<uint8_t> got;
    ASSERT_EQ(LCI_DONE, bootstrap->get(1 - self, "large", &got)) << last_error();
    value.resize(100'001 - self);
    for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<uint8_t>(i * 7 + i / 256);
    EXPECT_EQ(value, got);
  });
  EXPECT_GT(launcher.values().size(), 200u);
}

TEST_P(Pmi, AListIsReadOnce) {
  FakePmiLauncher launcher(GetParam(), 2);
  test::run_threads(2, [&](uint32_t self) {
    const auto bootstrap = open(launcher.settings(self));
    ASSERT_EQ(LCI_DONE, bootstrap->publish("a", "1", 1));
    ASSERT_EQ(LCI_DONE, bootstrap->publish("b", "2", 1));
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    std::vector<uint8_t> got;
    for (const char* key : {"a", "b", "a"}) EXPECT_EQ(LCI_DONE, bootstrap->get(1 - self, key, &got)) << last_error();
  });
  EXPECT_EQ(3u, launcher.asked(get())) << "each rank the other's list, and rank 1 what rank 0 says of the job";
}

TEST_P(Pmi, RankZeroMakesTheSecret) {
  FakePmiLauncher launcher(GetParam(), 2);
  std::array<uint8_t, 32> secrets[2]{};
  test::run_threads(2, [&](uint32_t self) {
    const auto bootstrap = open(launcher.settings(self));
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    secrets[self] = bootstrap->secret();
  });
  EXPECT_EQ(secrets[0], secrets[1]);
  EXPECT_NE(secrets[0], (std::array<uint8_t, 32>{}));
}

/// Where a file has the secret, the launcher does not learn it; and it is a file of all ranks.
TEST_P(Pmi, ASecretOfAFileStaysThere) {
  FakePmiLauncher launcher(GetParam(), 3);
  test::run_threads(3, [&](uint32_t self) {
    PmiSettings settings = launcher.settings(self);
    settings.secret.fill(7);
    settings.has_secret = self < 2;
    const auto bootstrap = open(settings);
    EXPECT_EQ(self < 2 ? LCI_DONE : LCI_ERR_BOOTSTRAP, bootstrap->barrier(Deadline(30).ns())) << last_error();
    if (self == 2) {
      EXPECT_PRED_FORMAT2(IsSubstring, "rank 0 has a secret file and this rank has none", std::string(last_error()));
    } else {
      EXPECT_EQ(settings.secret, bootstrap->secret());
    }
  });
  EXPECT_EQ("16.", launcher.values().at("lci.1.job.0").substr(0, 3)) << "the id alone";
}

TEST_P(Pmi, ABarrierEndsAtItsDeadline) {
  FakePmiLauncher launcher(GetParam(), 2);
  const PmiSettings settings = launcher.settings(0);
  const auto connection = join(settings);
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(LCI_DONE, PmiBootstrap::open(settings, connection, &bootstrap));
  const uint64_t start = now_ns();
  EXPECT_EQ(LCI_ERR_TIMEOUT, bootstrap->barrier(start + kShort));
  EXPECT_LT(now_ns() - start, uint64_t{20'000'000'000});
  EXPECT_PRED_FORMAT2(IsSubstring, "barrier 1 of job " + bootstrap->job_id(), std::string(last_error()));
  EXPECT_PRED_FORMAT2(IsSubstring, "does not tell which are missing", std::string(last_error()));
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, connection->check()) << "an answer is due that nobody waits for";
  EXPECT_PRED_FORMAT2(IsSubstring, "cannot be asked any more", std::string(last_error()));
}

TEST_P(Pmi, AThreadThatWaitsKeepsAnotherNotBeyondItsDeadline) {
  FakePmiLauncher launcher(GetParam(), 2);
  const PmiSettings settings = launcher.settings(0);
  const auto connection = join(settings);
  std::thread waits([&] {
    uint64_t fence = 0;
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, connection->meet({}, Deadline(3600).ns(), &fence));
  });
  while (launcher.asked(fence()) == 0) std::this_thread::yield();
  uint64_t fence = 0;
  EXPECT_EQ(LCI_ERR_TIMEOUT, connection->meet({}, now_ns() + kShort, &fence));
  EXPECT_PRED_FORMAT2(IsSubstring, "another thread", std::string(last_error()));
  ::shutdown(settings.fd, SHUT_RDWR);
  waits.join();
}

TEST_P(Pmi, ALauncherThatEndsIsAnError) {
  FakePmiLauncher launcher(GetParam(), 2);
  const auto bootstrap = open(launcher.settings(0));
  launcher.answer(fence(), FakePmiLauncher::kEnd);
  expect_barrier(*bootstrap, LCI_ERR_BOOTSTRAP, "has ended");
  expect_barrier(*bootstrap, LCI_ERR_BOOTSTRAP, "cannot be asked any more");
}

TEST_P(Pmi, WhatFailsAtTheLauncherIsAnError) {
  const std::pair<const char*, std::string> failures[] = {
      {either("put", "kvs-put"), framed(either("cmd=put_result rc=-1 msg=full", "cmd=kvs-put-response;rc=14;"))},
      {fence(), framed(either("cmd=barrier_out rc=1", "cmd=kvs-fence-response;rc=3;"))}};
  for (const auto& [command, answer] : failures) {
    FakePmiLauncher launcher(GetParam(), 1);
    const auto bootstrap = open(launcher.settings(0));
    launcher.answer(command, answer);
    expect_barrier(*bootstrap, LCI_ERR_BOOTSTRAP,
                   std::string("asked for ") + command + ", the launcher answers \"cmd=");
  }
}

// Such as the job's secret, in an answer that is out of step.
TEST_P(Pmi, AnErrorTellsNoValue) {
  FakePmiLauncher launcher(GetParam(), 1);
  const auto bootstrap = open(launcher.settings(0));
  launcher.answer(fence(),
                  framed(either("cmd=get_result value=5.secret", "cmd=kvs-get-response;value=5.secret;rc=0;")));
  expect_barrier(*bootstrap, LCI_ERR_BOOTSTRAP,
                 either("cmd=get_result value=...\"", "cmd=kvs-get-response;value=...\""));
  EXPECT_EQ(std::string::npos, std::string(last_error()).find("secret")) << last_error();
}

TEST_P(Pmi, NonsenseIsRefused) {
  using Cases = std::vector<std::pair<std::string, std::string>>;
  const Cases of_1 = {{"hello\n", "answers \"hello\""},
                      {"\n", "answers \"\""},
                      {"cmd=barrier_outer\n", "answers \"cmd="},
                      {"cmd=\x01\x1b[2J\n", "answers \"cmd=??[2J\""},
                      {std::string(3 * PmiPipe::kLongestAnswer, 'x'), "more than 8192 bytes"}};
  const Cases of_2 = {{"  hello", "answers \"  hell\""},
                      {"    -1", "answers \"    -1\""},
                      {"999999", "more than 8192 bytes"},
                      {"     0", "answers \"\""},
                      {"     6cmd=x;", "answers \"cmd=x;\""}};
  for (const auto& [answer, hint] : is_first() ? of_1 : of_2) {
    FakePmiLauncher launcher(GetParam(), 1);
    const auto bootstrap = open(launcher.settings(0));
    launcher.answer(fence(), answer);
    expect_barrier(*bootstrap, LCI_ERR_BOOTSTRAP, hint);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Pmi, test::kPmiVersions, test::name_of_pmi);

}  // namespace
}  // namespace lci
