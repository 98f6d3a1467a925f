// SPDX-License-Identifier: Apache-2.0
// Variables of launchers: which bootstrap they mean, and that a process of several is not taken for the only one.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.hpp"
#include "bootstrap/launcher_seen.hpp"
#include "bootstrap/pmi_bootstrap.hpp"
#include "support/environment.hpp"
#include "support/fake_pmi_launcher.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::FakePmiLauncher;
using test::ScopedVariable;
using testing::IsSubstring;

Attributes defaults() {
  return {};
}

Attributes with(const char* bootstraps) {
  Attributes attributes;
  attributes.bootstrap = bootstraps;
  return attributes;
}

void expect_error(const Attributes& attributes, const std::string& hint) {
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, open_bootstrap(attributes, nullptr, 0, &bootstrap));
  EXPECT_PRED_FORMAT2(IsSubstring, hint, std::string(last_error()));
}

TEST(PmiSettings, HydraIsSpokenToInVersion1) {
  EXPECT_FALSE(PmiSettings::available(defaults(), PmiVersion::k1));
  EXPECT_FALSE(PmiSettings::available(with("pmi2"), PmiVersion::k2));
  const ScopedVariable fd("PMI_FD", "7");
  EXPECT_TRUE(PmiSettings::available(with("pmi2;pmi1"), PmiVersion::k1));
  EXPECT_FALSE(PmiSettings::available(with("pmi2;pmi1"), PmiVersion::k2));
  EXPECT_TRUE(PmiSettings::available(with("pmi2;local"), PmiVersion::k2)) << "the user has chosen";
}

TEST(PmiSettings, SlurmIsSpokenToInVersion2) {
  const ScopedVariable fd("PMI_FD", "7");
  const ScopedVariable step("SLURM_STEP_ID", "0");
  const ScopedVariable job("PMI_JOBID", "17.0");
  EXPECT_TRUE(PmiSettings::available(with("pmi2;pmi1"), PmiVersion::k2));
  const ScopedVariable hydra("HYDI_CONTROL_FD", "8");
  EXPECT_FALSE(PmiSettings::available(with("pmi2;pmi1"), PmiVersion::k2)) << "Hydra, whose helpers srun has started";
}

TEST(PmiSettings, WhatMakesNoSenseIsAnError) {
  const ScopedVariable fd("PMI_FD", "7");
  expect_error(defaults(), "PMI_FD is given but PMI_RANK is not");
  const ScopedVariable rank("PMI_RANK", "2");
  const ScopedVariable size("PMI_SIZE", "2");
  expect_error(defaults(), "bootstrap pmi1: rank 2 does not fit a job of size 2");
  for (const char* wrong : {"x", "-1", "7 "}) {
    const ScopedVariable other("PMI_FD", wrong);
    expect_error(defaults(), std::string("PMI_FD is \"") + wrong + "\"");
  }
  const ScopedVariable job("PMI_JOBID", "1;cmd=abort");
  expect_error(with("pmi2"), "no name of a job");
}

/// The only test that joins by the environment: a process does so once.
TEST(PmiSettings, TheChainFindsTheLauncher) {
  static FakePmiLauncher launcher(PmiVersion::k2, 1);  // until the process has left
  const PmiSettings given = launcher.settings(0);
  const ScopedVariable fd("PMI_FD", std::to_string(given.fd).c_str());
  const ScopedVariable rank("PMI_RANK", "0");
  const ScopedVariable size("PMI_SIZE", "1");
  const ScopedVariable job("PMI_JOBID", "17.0");
  const ScopedVariable step("SLURM_STEP_ID", "0");
  for (int generation = 0; generation < 2; ++generation) {
    std::unique_ptr<Bootstrap> bootstrap;
    ASSERT_EQ(LCI_DONE, open_bootstrap(defaults(), nullptr, 0, &bootstrap)) << last_error();
    EXPECT_STREQ("pmi2", bootstrap->name());
    EXPECT_TRUE(bootstrap->spans_hosts());
    EXPECT_EQ(LCI_DONE, bootstrap->barrier(Deadline(30).ns())) << last_error();
  }
  EXPECT_EQ(1u, launcher.asked("init"));
  expect_error(with("pmi1"), "has joined by bootstrap pmi2 already");
  std::unique_ptr<Bootstrap> alone;
  EXPECT_EQ(LCI_DONE, open_bootstrap(with("local"), nullptr, 0, &alone));
}

TEST(LauncherSeen, IsWhatSaysThatThereAreSeveral) {
  EXPECT_EQ("", launcher_seen());
  {
    const ScopedVariable rank("PMIX_RANK", "1");
    EXPECT_EQ("PMIX_RANK is set", launcher_seen());
    const ScopedVariable size("OMPI_COMM_WORLD_SIZE", "1");
    EXPECT_EQ("", launcher_seen());
  }
  const ScopedVariable inner("PMI_SIZE", "1");
  EXPECT_EQ("", launcher_seen());
  const ScopedVariable size("SLURM_STEP_NUM_TASKS", "4");
  EXPECT_EQ("SLURM_STEP_NUM_TASKS is 4", launcher_seen());
}

TEST(LauncherSeen, AProcessOfSeveralIsNotTakenForTheOnlyOne) {
  const ScopedVariable size("SLURM_STEP_NUM_TASKS", "4");
  expect_error(defaults(), "SLURM_STEP_NUM_TASKS is 4");
  expect_error(defaults(), "srun --mpi=pmi2");
  expect_error(defaults(), "LCI_ROOT");
  std::unique_ptr<Bootstrap> bootstrap;
  EXPECT_EQ(LCI_DONE, open_bootstrap(with("local"), nullptr, 0, &bootstrap)) << "the user says so";
  const ScopedVariable one("SLURM_STEP_NUM_TASKS", "1");
  EXPECT_EQ(LCI_DONE, open_bootstrap(defaults(), nullptr, 0, &bootstrap)) << last_error();
}

}  // namespace
}  // namespace lci
