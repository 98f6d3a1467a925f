// SPDX-License-Identifier: Apache-2.0
// Binding the calling thread to one of the CPUs that it may use. Mutation that must make this file fail: pin_keeps_all.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <thread>
#include <vector>

#include "lci/lci.h"

namespace {

std::vector<int> allowed() {
  cpu_set_t set;
  EXPECT_EQ(0, sched_getaffinity(0, sizeof set, &set));
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

template <typename F>
void in_a_thread(F body) {
  std::thread(body).join();
}

TEST(ThreadPin, AnOffsetCountsTheCpusThatMayBeUsed) {
  const std::vector<int> all = allowed();
  for (uint32_t offset = 0; offset < all.size(); ++offset) {
    in_a_thread([&] {
      EXPECT_EQ(LCI_DONE, lci_thread_pin(offset)) << lci_last_error();
      EXPECT_EQ(std::vector<int>{all[offset]}, allowed());
    });
  }
  EXPECT_EQ(all, allowed()) << "no other thread is bound";
}

// As in a container, or under taskset: the set does not begin with CPU 0.
TEST(ThreadPin, OffsetsAreNoNumbersOfCpus) {
  const std::vector<int> all = allowed();
  in_a_thread([&] {
    cpu_set_t last;
    CPU_ZERO(&last);
    CPU_SET(all.back(), &last);
    ASSERT_EQ(0, sched_setaffinity(0, sizeof last, &last));
    EXPECT_EQ(LCI_DONE, lci_thread_pin(0)) << lci_last_error();
    EXPECT_EQ(std::vector<int>{all.back()}, allowed());
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_thread_pin(1));
  });
}

TEST(ThreadPin, OutOfRangeIsAnErrorThatSaysTheRange) {
  const std::vector<int> all = allowed();
  in_a_thread([&] {
    EXPECT_EQ(LCI_ERR_ARGUMENT, lci_thread_pin(static_cast<uint32_t>(all.size())));
    EXPECT_NE(std::string::npos, std::string(lci_last_error()).find(std::to_string(all.size()) + " CPUs"));
    EXPECT_EQ(all, allowed()) << "nothing changed";
  });
}

}  // namespace
