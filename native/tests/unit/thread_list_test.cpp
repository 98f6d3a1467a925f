// SPDX-License-Identifier: Apache-2.0
// The thread sanitizer runs the unit tests that with_threads.txt names, for it finds nothing in one thread, and takes
// up to fifty times as long. Here, without a sanitizer, a test that starts a thread and is not named fails.
// Static core only: of the tests over the shared library others start threads.
#include <dlfcn.h>
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>

#include "support/job.hpp"

namespace {

std::atomic<bool> started{false};  // by the test that runs

bool is_listed(const std::string& name) {
  std::istringstream patterns(LCI_WITH_THREADS);
  for (std::string pattern; std::getline(patterns, pattern, ':');) {
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  }
  return false;
}

class ThreadList : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { started = false; }
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    if (!started || is_listed(name)) return;
    ADD_FAILURE() << name << " starts threads: name it in native/tests/unit/with_threads.txt";
  }
};

const bool is_added = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new ThreadList);
  return true;
}();

TEST(ThreadListTest, SeesAThread) {
  EXPECT_TRUE(is_added);
  std::thread([] {}).join();
  EXPECT_TRUE(started);
}

TEST(ThreadListTest, LeavesOutRanksThatJoin) {
  lci_test::Job job(2);
  EXPECT_FALSE(started);
}

}  // namespace

/// In front of that of the system.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!lci_test::opens_ranks) started = true;
  return create(thread, attributes, run, argument);
}
