// SPDX-License-Identifier: Apache-2.0
// Bootstrap pmix with a library that errs. The contract of all bootstraps is in bootstrap_test.cpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/pmi_bootstrap.hpp"
#include "bootstrap/pmix_answer.hpp"
#include "support/environment.hpp"
#include "support/fake_pmix.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::FakePmix;
using test::ScopedVariable;
using testing::IsSubstring;

constexpr uint64_t kShort = 30'000'000;  // ns

void expect_error(int code, const std::string& hint) {
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, code);
  EXPECT_PRED_FORMAT2(IsSubstring, hint, std::string(last_error()));
}

std::shared_ptr<PmiConnection> join(const PmiSettings& settings) {
  std::shared_ptr<PmiConnection> connection;
  EXPECT_EQ(LCI_DONE, PmiConnection::join(settings, &connection)) << last_error();
  return connection;
}

std::unique_ptr<Bootstrap> open(const PmiSettings& settings) {
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(LCI_DONE, PmiBootstrap::open(settings, join(settings), &bootstrap)) << last_error();
  return bootstrap;
}

void expect_refused(const PmiSettings& settings, const std::string& hint) {
  std::shared_ptr<PmiConnection> connection;
  expect_error(PmiConnection::join(settings, &connection), hint);
}

pmix::Value text_value(const char* text) {
  pmix::Value value{};
  value.type = pmix::kString;
  value.string = const_cast<char*>(text);
  return value;
}

pmix::Value number_value(uint16_t type, uint32_t number) {
  pmix::Value value{};
  value.type = type;
  value.number = number;
  return value;
}

std::vector<uint8_t> pattern(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 256);
  return bytes;
}

TEST(Pmix, LargeValuesTravelInPieces) {
  FakePmix launcher(2);
  test::run_threads(2, [&](uint32_t self) {
    const auto bootstrap = open(launcher.settings(self));
    const auto value = pattern(100'000 + self);
    ASSERT_EQ(LCI_DONE, bootstrap->publish("large", value.data(), value.size())) << last_error();
    ASSERT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
    std::vector<uint8_t> got;
    ASSERT_EQ(LCI_DONE, bootstrap->get(1 - self, "large", &got)) << last_error();
    EXPECT_EQ(pattern(100'001 - self), got);
  });
  EXPECT_GT(launcher.asked("PMIx_Put"), 8u);
}

TEST(Pmix, ALibraryThatIsNoneIsRefused) {
  FakePmix launcher(1);
  PmiSettings settings = launcher.settings(0);
  settings.library = "/there/is/no/libpmix.so.2";
  expect_refused(settings, "the library of PMIx cannot be loaded: /there/is/no/libpmix.so.2");
  expect_refused(settings, "LCI_PMIX_LIBRARY names its file");
  settings.library = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "libfake_pmix_old.so";
  expect_refused(settings, "libfake_pmix_old.so has no function PMIx_Fence_nb");
}

TEST(Pmix, ALauncherThatDoesNotWelcomeIsRefused) {
  FakePmix launcher(1);
  launcher.refuse("PMIx_Init", -25);
  expect_refused(launcher.settings(0), "asked for PMIx_Init, the library of PMIx answers an error (-25)");
  launcher.refuse("PMIx_Init", pmix::kSuccess);
  launcher.refuse("PMIx_Get_nb pmix.job.size");
  expect_refused(launcher.settings(0), "asked for pmix.job.size, the library of PMIx answers REFUSED (-1)");
  EXPECT_EQ(1u, launcher.asked("PMIx_Finalize")) << "what has been joined is left";
}

TEST(Pmix, ASizeThatIsNoNumberIsRefused) {
  FakePmix launcher(1);
  launcher.answer("pmix.job.size", text_value("4"));
  expect_refused(launcher.settings(0), "says of the job's size is no number");
  launcher.answer("pmix.job.size", number_value(6, 4));
  expect_refused(launcher.settings(0), "says of the job's size is no number");
}

TEST(Pmix, WhatFailsAtTheLauncherIsAnError) {
  for (const char* call : {"PMIx_Put", "PMIx_Commit", "PMIx_Fence_nb"}) {
    FakePmix launcher(1);
    const auto bootstrap = open(launcher.settings(0));
    launcher.refuse(call);
    expect_error(bootstrap->barrier(Deadline(30).ns()),
                 std::string("asked for ") + call + ", the library of PMIx answers REFUSED (-1)");
    expect_error(bootstrap->barrier(Deadline(30).ns()), "cannot be asked any more");
  }
  FakePmix launcher(1);
  const auto bootstrap = open(launcher.settings(0));
  launcher.refuse_later("PMIx_Fence_nb");
  expect_error(bootstrap->barrier(Deadline(30).ns()), "asked for PMIx_Fence_nb, the library of PMIx answers REFUSED");
}

TEST(Pmix, AFenceMayBeDoneAtOnce) {
  FakePmix launcher(1);
  const auto bootstrap = open(launcher.settings(0));
  launcher.refuse("PMIx_Fence_nb", pmix::kDoneAtOnce);
  EXPECT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
}

TEST(Pmix, ABarrierEndsAtItsDeadline) {
  FakePmix launcher(2);
  const auto connection = join(launcher.settings(0));
  std::unique_ptr<Bootstrap> bootstrap;
  ASSERT_EQ(LCI_DONE, PmiBootstrap::open(launcher.settings(0), connection, &bootstrap));
  EXPECT_EQ(LCI_ERR_TIMEOUT, bootstrap->barrier(now_ns() + kShort));
  EXPECT_PRED_FORMAT2(IsSubstring, "does not tell which are missing", std::string(last_error()));
  EXPECT_TRUE(launcher.is_waiting());
  expect_error(connection->check(), "cannot be asked any more");
  uint64_t fence = 0;
  EXPECT_EQ(LCI_DONE, join(launcher.settings(1))->meet({}, Deadline(30).ns(), &fence)) << "the answer comes to nobody";
}

/// Neither is what it would write to gone.
TEST(Pmix, AnAnswerMayComeTooLate) {
  FakePmix launcher(1);
  const auto connection = join(launcher.settings(0));
  uint64_t fence = 0;
  ASSERT_EQ(LCI_DONE, connection->meet({{"x", "text"}}, Deadline(30).ns(), &fence)) << last_error();
  launcher.keep_silent();
  std::string text;
  EXPECT_EQ(LCI_ERR_TIMEOUT, connection->read(fence, 0, "x", 100, now_ns() + kShort, &text));
  EXPECT_PRED_FORMAT2(IsSubstring, "has not answered in time", std::string(last_error()));
  launcher.answer_late();
}

TEST(Pmix, WhatIsGotIsNotBelieved) {
  const std::string too_long(PmixAnswer::kLongestText + 1, '7');
  const std::pair<pmix::Value, const char*> cases[] = {
      {number_value(pmix::kUint32, 7), "is no text, or is longer than 65536 bytes"},
      {text_value(nullptr), "is no text"},
      {text_value(too_long.c_str()), "is longer than 65536 bytes"},
      {text_value("2.abc"), "is not what a rank of this library has put"},
      {text_value("999999999.a"), "is not what a rank of this library has put"}};
  for (const auto& [value, hint] : cases) {
    FakePmix launcher(1);
    launcher.answer("lci.1.x.0", value);
    std::string text;
    expect_error(join(launcher.settings(0))->read(1, 0, "x", 100, Deadline(30).ns(), &text), hint);
  }
}

TEST(Pmix, AValueThatIsMissingIsToldFromOneThatFails) {
  FakePmix launcher(1);
  std::string text;
  expect_error(join(launcher.settings(0))->read(1, 0, "x", 100, Deadline(30).ns(), &text),
               "the launcher has no value \"lci.1.x.0\"");
  launcher.refuse_later("PMIx_Get_nb lci.1.x.0");
  expect_error(join(launcher.settings(0))->read(1, 0, "x", 100, Deadline(30).ns(), &text),
               "asked for PMIx_Get_nb, the library of PMIx answers REFUSED (-1)");
}

TEST(Pmix, AProcessLeaves) {
  FakePmix launcher(1);
  const auto connection = join(launcher.settings(0));
  connection->leave();
  connection->leave();
  EXPECT_EQ(1u, launcher.asked("PMIx_Finalize"));
}

Attributes with(const char* bootstraps) {
  Attributes attributes;
  attributes.bootstrap = bootstraps;
  return attributes;
}

/// A process joins once: these are tests in processes of their own.
class PmixChain : public testing::Test {
 protected:
  PmixChain() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  /// Says what became of it, and exits with its code.
  [[noreturn]] static void open_and_exit(const Attributes& attributes) {
    std::unique_ptr<Bootstrap> bootstrap;
    const int code = open_bootstrap(attributes, nullptr, 0, &bootstrap);
    if (code == LCI_DONE) {
      std::fprintf(stderr, "%s: rank %u of %u,", bootstrap->name(), bootstrap->rank(), bootstrap->size());
    } else {
      std::fprintf(stderr, "%s,", last_error());
    }
    std::exit(code == LCI_DONE ? 0 : 1);
  }
  static void expect(const Attributes& attributes, int code, const char* said) {
    EXPECT_EXIT(open_and_exit(attributes), testing::ExitedWithCode(code), said);
  }
};

TEST_F(PmixChain, ALauncherThatIsOutOfReachIsAnError) {
  const ScopedVariable rank("PMIX_RANK", "1");
  const ScopedVariable library("LCI_PMIX_LIBRARY", "/there/is/no/libpmix.so.2");
  expect(Attributes(), 1, "several processes \\(PMIX_RANK is set\\).*bootstrap pmix: the library of PMIx cannot");
  expect(with("pmix"), 1, "none of .pmix. is available.*bootstrap pmix: the library of PMIx cannot");
  const ScopedVariable size("OMPI_COMM_WORLD_SIZE", "1");
  expect(Attributes(), 0, "local: rank 0 of 1");
}

TEST(Pmix, APlaceThatMakesNoSenseIsAnError) {
  FakePmix launcher(2);
  launcher.place(2);
  PmiSettings settings = launcher.settings(1);
  const auto connection = join(settings);
  connection->tell_place(&settings);
  std::unique_ptr<Bootstrap> bootstrap;
  expect_error(PmiBootstrap::open(settings, connection, &bootstrap),
               "bootstrap pmix: rank 2 does not fit a job of size 2");
}

/// It says goodbye when it exits.
TEST_F(PmixChain, RankAndSizeAreTheLaunchers) {
  FakePmix launcher(2);
  launcher.say_calls();
  const ScopedVariable rank("PMIX_RANK", "0");
  const ScopedVariable library("LCI_PMIX_LIBRARY", launcher.library(1).c_str());
  expect(Attributes(), 0, "PMIx_Init,.*pmix: rank 1 of 2,PMIx_Finalize,");
}

}  // namespace
}  // namespace lci
