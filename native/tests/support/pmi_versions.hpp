// SPDX-License-Identifier: Apache-2.0
// Tests that run with both versions of PMI.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.hpp"
#include "bootstrap/pmi_bootstrap.hpp"
#include "support/fake_pmi_launcher.hpp"
#include "support/threads.hpp"

namespace lci::test {

class PmiVersions : public testing::TestWithParam<PmiVersion> {
 protected:
  static bool is_first() { return GetParam() == PmiVersion::k1; }
  /// A command, or an answer, of each version.
  static const char* either(const char* of_1, const char* of_2) { return is_first() ? of_1 : of_2; }
  static const char* fence() { return either("barrier_in", "kvs-fence"); }
  static const char* get() { return either("get", "kvs-get"); }
  static std::string framed(const std::string& text) { return is_first() ? text + "\n" : frame_of_pmi2(text); }

  static std::shared_ptr<PmiConnection> join(const PmiSettings& settings) {
    std::shared_ptr<PmiConnection> connection;
    EXPECT_EQ(LCI_DONE, PmiConnection::join(settings, &connection)) << last_error();
    return connection;
  }
  static std::unique_ptr<Bootstrap> open(const PmiSettings& settings) {
    std::unique_ptr<Bootstrap> bootstrap;
    EXPECT_EQ(LCI_DONE, PmiBootstrap::open(settings, join(settings), &bootstrap)) << last_error();
    return bootstrap;
  }
  static void expect_error(int expected, int code, const std::string& hint) {
    EXPECT_EQ(expected, code);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, hint, std::string(last_error()));
  }
  static void expect_barrier(Bootstrap& bootstrap, int expected, const std::string& hint) {
    expect_error(expected, bootstrap.barrier(Deadline(20).ns()), hint);
  }
  static void expect_refused(const PmiSettings& settings, const std::string& hint) {
    std::shared_ptr<PmiConnection> connection;
    expect_error(LCI_ERR_BOOTSTRAP, PmiConnection::join(settings, &connection), hint);
  }
};

inline const auto kPmiVersions = testing::Values(PmiVersion::k1, PmiVersion::k2);
inline std::string name_of_pmi(const testing::TestParamInfo<PmiVersion>& info) {
  return info.param == PmiVersion::k1 ? "pmi1" : "pmi2";
}

}  // namespace lci::test
