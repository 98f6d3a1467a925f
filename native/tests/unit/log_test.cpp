// SPDX-License-Identifier: Apache-2.0
// The log: levels, lists, the file, and lines that callers take. [M5]
// Mutations that must make this file fail: log_everything.
#include "base/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "base/attributes.hpp"
#include "base/error.hpp"
#include "support/environment.hpp"
#include "support/job.hpp"
#include "support/temporary_directory.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::ScopedVariable;

Attributes quiet() {
  Attributes attributes;
  attributes.log_outfile = "none";
  attributes.log_keep = 64;
  return attributes;
}

std::vector<std::string> lines(Log& log) {
  std::vector<std::string> all;
  LogLevel level;
  for (std::string line; log.take(&level, &line);) all.push_back(line);
  return all;
}

// Proves: M5
TEST(Log, WritesUpToItsLevel) {
  for (int level = 0; level <= static_cast<int>(LogLevel::kTrace); ++level) {
    Attributes attributes = quiet();
    attributes.log_level = static_cast<LogLevel>(level);
    Log log;
    ASSERT_EQ(LCI_DONE, log.open(attributes, 0, getpid()));
    for (int line = 0; line <= static_cast<int>(LogLevel::kTrace); ++line) {
      LCI_LOG(log, static_cast<LogLevel>(line), "any", "line of level %d", line);
    }
    LogLevel taken;
    std::string text;
    for (int line = 0; line <= level; ++line) {
      ASSERT_TRUE(log.take(&taken, &text)) << level;
      EXPECT_EQ(static_cast<LogLevel>(line), taken);
      EXPECT_NE(std::string::npos, text.find(log_level_name(taken))) << text;
    }
    EXPECT_FALSE(log.take(&taken, &text)) << text;
  }
  EXPECT_EQ(LogLevel::kWarn, Attributes().log_level) << "the default";
}

// Proves: M5
TEST(Log, LinesSayWhereTheyComeFrom) {
  Log log;
  ASSERT_EQ(LCI_DONE, log.open(quiet(), 3, getpid()));
  LCI_LOG(log, LogLevel::kError, "tag", "so %s", "it is");
  const auto all = lines(log);
  ASSERT_EQ(1u, all.size());
  const std::regex form("3:[^:]+:" + std::to_string(getpid()) + ":" + std::to_string(gettid()) +
                        R"(:\d+\.\d{6}:log_test\.cpp:TestBody:\d+ error \[tag\] so it is)");
  EXPECT_TRUE(std::regex_match(all[0], form)) << all[0];
}

// Proves: M5
TEST(Log, ListsChooseByPartsOfTheTag) {
  struct Case {
    const char *white, *black;
    std::vector<std::string> written;
  };
  const Case cases[] = {{"", "", {"bootstrap", "peer", "runtime"}},
                        {"peer,boot", "", {"bootstrap", "peer"}},
                        {"", "run", {"bootstrap", "peer"}},
                        {"strap;peer", "pe", {"bootstrap"}}};
  for (const Case& each : cases) {
    Attributes attributes = quiet();
    attributes.log_whitelist = each.white;
    attributes.log_blacklist = each.black;
    Log log;
    ASSERT_EQ(LCI_DONE, log.open(attributes, 0, getpid()));
    for (const char* tag : {"bootstrap", "peer", "runtime"}) LCI_LOG(log, LogLevel::kWarn, tag, "-");
    const auto all = lines(log);
    ASSERT_EQ(each.written.size(), all.size()) << each.white << " / " << each.black;
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_NE(std::string::npos, all[i].find("[" + each.written[i] + "]")) << all[i];
    }
  }
}

// Proves: M5
TEST(Log, AppendsToAFileOfItsRank) {
  const test::TemporaryDirectory directory;
  Attributes attributes;
  attributes.log_outfile = directory.path().string() + "/log.%.txt";
  for (int run = 0; run < 2; ++run) {
    Log log;
    ASSERT_EQ(LCI_DONE, log.open(attributes, 12, getpid())) << last_error();
    LCI_LOG(log, LogLevel::kWarn, "tag", "run %d", run);
  }
  std::ifstream file(directory.path().string() + "/log.12.txt");
  std::string first, second, third;
  std::getline(file, first);
  std::getline(file, second);
  EXPECT_TRUE(first.ends_with("run 0")) << first;
  EXPECT_TRUE(second.ends_with("run 1")) << second;
  EXPECT_FALSE(std::getline(file, third));
  attributes.log_outfile = directory.path().string() + "/nowhere/log";
  Log log;
  EXPECT_EQ(LCI_ERR_ATTRIBUTE, log.open(attributes, 0, getpid()));
}

TEST(Log, KeepsTheNewestLines) {
  Attributes attributes = quiet();
  attributes.log_keep = 3;
  Log log;
  ASSERT_EQ(LCI_DONE, log.open(attributes, 0, getpid()));
  for (int i = 0; i < 5; ++i) LCI_LOG(log, LogLevel::kWarn, "tag", "line %d", i);
  const auto all = lines(log);
  ASSERT_EQ(4u, all.size());
  EXPECT_NE(std::string::npos, all[0].find("warn [log] 2 lines were lost")) << all[0];
  EXPECT_TRUE(all[1].ends_with("line 2")) << all[1];
}

// Each of the log's variables is read at the creation of a runtime; LCI_ATTR_ goes before.
// Proves: M5
TEST(Log, IsSetByEnvironment) {
  const ScopedVariable level("LCI_LOG_LEVEL", "info"), file("LCI_LOG_OUTFILE", "none"),
      white("LCI_LOG_WHITELIST", "runtime"), black("LCI_LOG_BLACKLIST", "peer"), keep("LCI_LOG_KEEP", "100");
  Attributes resolved;
  ASSERT_EQ(LCI_DONE, resolve_attributes(nullptr, &resolved)) << last_error();
  EXPECT_EQ(LogLevel::kInfo, resolved.log_level);
  EXPECT_EQ("none", resolved.log_outfile);
  EXPECT_EQ("runtime", resolved.log_whitelist);
  EXPECT_EQ("peer", resolved.log_blacklist);
  const ScopedVariable before("LCI_ATTR_LOG_LEVEL", "debug");
  ASSERT_EQ(LCI_DONE, resolve_attributes(nullptr, &resolved));
  EXPECT_EQ(LogLevel::kDebug, resolved.log_level);
  const ScopedVariable wrong("LCI_ATTR_LOG_LEVEL", "loud");
  EXPECT_EQ(LCI_ERR_ATTRIBUTE, resolve_attributes(nullptr, &resolved));
}

// The core calls nobody: callers take the lines of a runtime, each rank its own.
// Proves: M5
TEST(Log, CallersTakeTheLinesOfTheirRuntime) {
  lci_test::Job job(2, {{"log_outfile", "none"}, {"log_keep", "64"}, {"log_level", "status"}});
  lci_log* logs[2] = {};
  for (uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(LCI_DONE, lci_runtime_log(job.runtime(rank), &logs[rank]));
    char line[1024];
    int32_t level = -1;
    ASSERT_EQ(LCI_DONE, lci_log_take(logs[rank], &level, line, sizeof line));
    EXPECT_EQ(LCI_LOG_STATUS, level);
    EXPECT_NE(std::string::npos, std::string(line).find("rank " + std::to_string(rank) + " of 2 has joined")) << line;
    EXPECT_EQ(LCI_RETRY, lci_log_take(logs[rank], &level, line, sizeof line)) << line;
  }
  job.close(1, 0);
  job.settle();
  char line[60];
  int32_t level = -1;
  for (const test::Deadline deadline(30); !deadline.passed() && level == -1; job.settle()) {
    lci_log_take(logs[0], &level, line, sizeof line);
  }
  EXPECT_EQ(LCI_LOG_STATUS, level) << "a peer failed; the line is cut";
  EXPECT_EQ(sizeof line - 1, std::string(line).size());
  for (lci_log* log : logs) lci_log_free(log);
}

// A log outlives its runtime: what closing wrote is there.
// Mutation: log_ends_with_runtime.
// Proves: M5
TEST(Log, TellsWhatClosingWrote) {
  lci_test::Job job(1, {{"log_outfile", "none"}, {"log_keep", "64"}});
  lci_log* log = nullptr;
  ASSERT_EQ(LCI_DONE, lci_runtime_log(job.runtime(0), &log));
  uint64_t packet = 0;
  void* payload = nullptr;
  ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &packet, &payload));
  job.close(0, 1000);
  char line[1024];
  int32_t level = -1;
  ASSERT_EQ(LCI_DONE, lci_log_take(log, &level, line, sizeof line));
  EXPECT_EQ(LCI_LOG_WARN, level);
  EXPECT_NE(std::string::npos, std::string(line).find("1 packets were not given back")) << line;
  EXPECT_EQ(LCI_RETRY, lci_log_take(log, &level, line, sizeof line)) << line;
  lci_log_free(log);
}

}  // namespace
}  // namespace lci
