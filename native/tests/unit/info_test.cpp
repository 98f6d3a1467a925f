// SPDX-License-Identifier: Apache-2.0
// What the library says of itself and of the machine.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "lci/lci.h"

namespace lci_test {
namespace {

std::map<std::string, std::string> info() {
  std::string text(lci_info(nullptr, 0), 0);
  EXPECT_EQ(text.size(), lci_info(text.data(), text.size()));
  text.pop_back();
  std::map<std::string, std::string> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    EXPECT_NE(std::string::npos, tab) << line;
    values[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return values;
}

// Version, commit, time, what it can go over; and how it was built. The tool lci_info prints these lines.
// Proves: A22
TEST(Info, SaysWhatWasBuilt) {
  const auto values = info();
  const auto matches = [&](const char* key, const char* form) {
    ASSERT_TRUE(values.count(key)) << key;
    EXPECT_TRUE(std::regex_match(values.at(key), std::regex(form))) << key << ": " << values.at(key);
  };
  matches("version", R"(\d+\.\d+\.\d+ \(ABI \d+\))");
  EXPECT_EQ(0u, values.at("version").find(lci_version()));
  matches("commit", "([0-9a-f]{40}(-dirty)?)|unknown");
  matches("built", R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)");
  matches("transport shm", "available.*|unavailable: .+");
  matches("transport ofi", ".+");
  matches("transport ibv", ".+");
  matches("bootstrap", ".*inproc.*file.*local.*");
  matches("build type", ".+");
  matches("build compiler", R"(.+ \d+.*)");
  matches("build sanitizers", ".+");
  matches("build mutations", "ON|OFF");
}

TEST(Info, IsCutWhereThereIsNoRoom) {
  char small[8] = "-------";
  EXPECT_LT(sizeof small, lci_info(small, sizeof small));
  EXPECT_EQ(std::string("version"), small);
}

}  // namespace
}  // namespace lci_test
