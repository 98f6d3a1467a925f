// SPDX-License-Identifier: Apache-2.0
// How a process joins a launcher that speaks PMI and leaves it, and what it takes from that launcher's store.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/pmi_text.hpp"
#include "support/pmi_versions.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::FakePmiLauncher;

using PmiStore = test::PmiVersions;

TEST_P(PmiStore, ALauncherThatDoesNotWelcomeIsRefused) {
  const char* no = "cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1\n";
  const std::pair<const char*, std::string> answers[] = {
      {"init", no},
      {either("get_my_kvsname", "init"), either("cmd=my_kvsname kvsname=\n", no)},
      {either("get_maxes", "fullinit"),
       framed(either("cmd=maxes keylen_max=8 vallen_max=1024", "cmd=fullinit-response;"))},
      {either("get_maxes", "fullinit"), framed(either("cmd=maxes keylen_max=64", "cmd=fullinit-response;rc=2;"))}};
  for (const auto& [command, answer] : answers) {
    FakePmiLauncher launcher(GetParam(), 1);
    launcher.answer(command, answer);
    expect_refused(launcher.settings(0), std::string("asked for ") + command + ", the launcher answers \"");
  }
}

TEST_P(PmiStore, ADescriptorThatIsNoneIsAnError) {
  FakePmiLauncher launcher(GetParam(), 1);
  PmiSettings settings = launcher.settings(0);
  settings.fd = 1 << 20;
  expect_refused(settings, "PMI_FD=1048576, has ended (Bad file descriptor)");
}

/// Slurm 22.05: blanks behind the length, and the words in another order.
TEST(PmiStoreOfSlurm, IsUnderstood) {
  FakePmiLauncher launcher(PmiVersion::k2, 1);
  launcher.answer("fullinit", "45    cmd=fullinit-response;rc=0;pmi-version=2;r=0;");
  launcher.answer("kvs-get", "49    cmd=kvs-get-response;rc=0;found=TRUE;value=3.abc;");
  std::shared_ptr<PmiConnection> connection;
  ASSERT_EQ(LCI_DONE, PmiConnection::join(launcher.settings(0), &connection)) << last_error();
  std::string text;
  EXPECT_EQ(LCI_DONE, connection->read(1, 0, "x", 100, Deadline(30).ns(), &text)) << last_error();
  EXPECT_EQ("abc", text);
}

/// The launcher has to hear it once, and of the process that has joined.
TEST_P(PmiStore, AProcessLeaves) {
  FakePmiLauncher launcher(GetParam(), 1);
  const auto connection = join(launcher.settings(0));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = connection->check() == LCI_ERR_BOOTSTRAP;
    connection->leave();
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  EXPECT_EQ(0u, launcher.asked("finalize"));
  connection->leave();
  connection->leave();
  EXPECT_EQ(1u, launcher.asked("finalize"));
  expect_error(LCI_ERR_BOOTSTRAP, connection->check(), "has told the launcher that it ends");
}

TEST_P(PmiStore, ARankThatPutNothingIsBlamed) {
  FakePmiLauncher launcher(GetParam(), 2);
  test::run_threads(2, [&](uint32_t self) {
    uint64_t fence = 0;
    if (self == 1) {  // of another library
      EXPECT_EQ(LCI_DONE, join(launcher.settings(1))->meet({}, Deadline(30).ns(), &fence)) << last_error();
      return;
    }
    const auto bootstrap = open(launcher.settings(0));
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    std::vector<uint8_t> got;
    expect_error(LCI_ERR_BOOTSTRAP, bootstrap->get(1, "k", &got), "has no value \"lci.1.1.0\"");
    EXPECT_EQ(1, last_error_rank());
  });
}

/// Rank 1 puts what it likes.
TEST_P(PmiStore, WhatARankPutsIsNotBelieved) {
  const std::string empty_list = to_text(ValueList(1).bytes());
  ValueList stolen(1);
  stolen.add(0, "k", "v", 1);
  ValueList twice(1);
  for (int i = 0; i < 2; ++i) twice.add(1, "k", "v", 1);
  for (const std::string& text : {std::string(), std::string("A"), std::string("!!!!"), empty_list.substr(4),
                                  to_text(ValueList(2).bytes()), to_text(stolen.bytes()), to_text(twice.bytes())}) {
    FakePmiLauncher launcher(GetParam(), 2);
    test::run_threads(2, [&](uint32_t self) {
      uint64_t fence = 0;
      if (self == 1) {
        EXPECT_EQ(LCI_DONE, join(launcher.settings(1))->meet({{"1", text}}, Deadline(30).ns(), &fence)) << last_error();
        return;
      }
      const auto bootstrap = open(launcher.settings(0));
      ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
      std::vector<uint8_t> got;
      expect_error(LCI_ERR_BOOTSTRAP, bootstrap->get(1, "k", &got), "what rank 1 has put for barrier 1 makes no sense");
    });
  }
}

TEST_P(PmiStore, LengthsAreChecked) {
  for (const std::string value : {"7", "x.abc", "2.abc", "-1.a", "999999999.a", "5."}) {
    FakePmiLauncher launcher(GetParam(), 1);
    const auto connection = join(launcher.settings(0));
    uint64_t fence = 0;
    ASSERT_EQ(LCI_DONE, connection->meet({}, Deadline(30).ns(), &fence));
    launcher.answer(get(), framed(std::string(either("cmd=get_result rc=0 msg=success value=",
                                                     "cmd=kvs-get-response;rc=0;found=TRUE;value=")) +
                                  value + either("", ";")));
    std::string text;
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, connection->read(fence, 0, "x", 100, Deadline(30).ns(), &text)) << value;
    EXPECT_LE(text.size(), 100u);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, PmiStore, test::kPmiVersions, test::name_of_pmi);

TEST(PmiText, IsReadAsItWasWritten) {
  std::vector<uint8_t> bytes;
  for (int i = 0; i < 300; ++i) {
    const std::string text = to_text(bytes);
    EXPECT_EQ(std::string::npos, text.find_first_of("=; \n"));
    std::vector<uint8_t> got;
    EXPECT_TRUE(from_text(text, &got));
    EXPECT_EQ(bytes, got);
    bytes.push_back(static_cast<uint8_t>(255 - i));
  }
  for (const char* wrong : {"A", "AAAAA", "AB", "A=", "AAA ", "AA\n"}) {
    std::vector<uint8_t> got;
    EXPECT_FALSE(from_text(wrong, &got)) << wrong;
  }
}

}  // namespace
}  // namespace lci
