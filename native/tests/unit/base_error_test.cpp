// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <thread>

namespace lci {
namespace {

struct Code {
  int code;
  const char* name;
  char category;  // done, posted, retry, error
};

/// [D13] Written out by hand from lci.h.
const Code kCodes[] = {
    {0, "done", 'd'},
    {1, "done_backlog", 'd'},
    {2, "posted", 'p'},
    {3, "posted_backlog", 'p'},
    {16, "retry", 'r'},
    {17, "retry_lock", 'r'},
    {18, "retry_nopacket", 'r'},
    {19, "retry_nomem", 'r'},
    {20, "retry_backlog", 'r'},
    {21, "retry_nocredit", 'r'},
    {22, "retry_pending", 'r'},
    {23, "retry_order", 'r'},
    {32, "error_argument", 'e'},
    {33, "error_rank", 'e'},
    {34, "error_tag", 'e'},
    {35, "error_size", 'e'},
    {36, "error_port", 'e'},
    {37, "error_device", 'e'},
    {40, "error_port_closed", 'e'},
    {41, "error_port_mismatch", 'e'},
    {42, "error_peer_failed", 'e'},
    {43, "error_peer_left", 'e'},
    {44, "error_truncated", 'e'},
    {45, "error_cancelled", 'e'},
    {46, "error_closed", 'e'},
    {47, "error_exhausted", 'e'},
    {48, "error_no_memory", 'e'},
    {49, "error_timeout", 'e'},
    {50, "error_busy", 'e'},
    {51, "error_signal_context", 'e'},
    {52, "error_bootstrap", 'e'},
    {53, "error_unsupported", 'e'},
    {54, "error_protocol", 'e'},
    {55, "error_overrun", 'e'},
    {56, "error_attribute", 'e'},
    {57, "error_memory_closed", 'e'},
    {58, "error_not_pending", 'e'},
    {59, "error_run_number", 'e'},
    {60, "error_fenced", 'e'},
    {61, "error_mismatch", 'e'},
    {62, "error_collective", 'e'},
};

// Proves: D13
TEST(CodeName, MatchesTheTableAndIsUnknownForTheRest) {
  std::map<int, std::string> expected;
  for (const Code& each : kCodes) expected[each.code] = each.name;
  for (int code = -5; code < 100; ++code) {
    const auto found = expected.find(code);
    EXPECT_EQ(code_name(code), found == expected.end() ? std::string("unknown") : found->second) << code;
  }
}

TEST(CodeName, CategoriesPartitionTheCodes) {
  for (const Code& each : kCodes) {
    EXPECT_EQ(is_done(each.code), each.category == 'd') << each.name;
    EXPECT_EQ(is_posted(each.code), each.category == 'p') << each.name;
    EXPECT_EQ(is_retry(each.code), each.category == 'r') << each.name;
    EXPECT_EQ(is_error(each.code), each.category == 'e') << each.name;
  }
}

TEST(Fail, StoresTheTextAndReturnsTheCode) {
  EXPECT_EQ(fail(LCI_ERR_RANK, "rank %u of %s", 7u, "job"), LCI_ERR_RANK);
  EXPECT_STREQ(last_error(), "rank 7 of job");
}

TEST(Fail, MayQuoteThePreviousError) {
  fail(LCI_ERR_SIZE, "inner");
  fail(LCI_ERR_BOOTSTRAP, "outer: %s", last_error());
  EXPECT_STREQ(last_error(), "outer: inner");
}

TEST(Fail, CutsLongTexts) {
  const std::string text(10'000, 'x');
  fail(LCI_ERR_SIZE, "%s", text.c_str());
  const std::string kept = last_error();
  EXPECT_GE(kept.size(), 500u);
  EXPECT_EQ(kept, text.substr(0, kept.size()));
}

TEST(Fail, IsPerThread) {
  fail(LCI_ERR_TAG, "mine");
  std::string seen = "not run";
  std::thread([&] {
    seen = last_error();
    fail(LCI_ERR_PORT, "theirs");
  }).join();
  EXPECT_EQ(seen, "");
  EXPECT_STREQ(last_error(), "mine");
}

}  // namespace
}  // namespace lci
