// SPDX-License-Identifier: Apache-2.0
// Mutation that must make this file fail: hazard_ignored.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/hazard.hpp"

namespace lci {
namespace {

struct Object {
  explicit Object(int& live) : live(live) { ++live; }
  ~Object() { --live; }
  int& live;
  Object* next_retired = nullptr;
};

using Domain = HazardDomain<Object>;

TEST(HazardDomain, WhatNobodyReadsIsDeletedAtOnce) {
  int live = 0;
  Domain domain;
  std::atomic<Object*> source{new Object(live)};
  { const Domain::Guard guard(domain, source); }
  domain.retire(source.exchange(nullptr));
  EXPECT_EQ(live, 0);
}

TEST(HazardDomain, WhatIsReadStaysUntilNobodyReadsIt) {
  int live = 0;
  Domain domain;
  Object* const first = new Object(live);
  std::atomic<Object*> source{first};
  {
    const Domain::Guard one(domain, source);
    const Domain::Guard two(domain, source);
    domain.retire(source.exchange(new Object(live)));
    EXPECT_EQ(live, 2) << "still read";
    EXPECT_EQ(one.get(), first);
    domain.retire(source.exchange(new Object(live)));
    EXPECT_EQ(live, 2) << "the second was not read by anybody";
  }
  domain.retire(source.exchange(nullptr));
  EXPECT_EQ(live, 0);
}

/// More operations at once than a block has records; each protects an object of its own.
TEST(HazardDomain, RecordsGrowWithTheOperationsUnderWay) {
  constexpr int kMany = 100;
  int live = 0;
  Domain domain;
  std::vector<std::unique_ptr<Domain::Guard>> guards;
  for (int i = 0; i < kMany; ++i) {
    std::atomic<Object*> source{new Object(live)};
    guards.push_back(std::make_unique<Domain::Guard>(domain, source));
    domain.retire(source.load());
  }
  EXPECT_EQ(live, kMany);
  guards.resize(kMany / 2);
  std::atomic<Object*> last{new Object(live)};
  domain.retire(last.load());
  EXPECT_EQ(live, kMany / 2);
  guards.clear();
}

/// What is retired when the domain ends goes with it: seen by LeakSanitizer and here.
TEST(HazardDomain, TheEndDeletesWhatIsLeft) {
  int live = 0;
  std::atomic<Object*> source{new Object(live)};
  auto domain = std::make_unique<Domain>();
  {
    const Domain::Guard guard(*domain, source);
    domain->retire(source.load());
    EXPECT_EQ(live, 1);
  }
  domain.reset();
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace lci
