// SPDX-License-Identifier: Apache-2.0
#include "flow/work_list.hpp"

#include <gtest/gtest.h>

#include <new>
#include <vector>

namespace lci {
namespace {

struct Bell final : DeviceBell {
  void wake_owner() override { ++wakes; }
  void packets_came() override {}
  void room_came_elsewhere() override {}
  int wakes = 0;
};

TEST(WorkList, HasEachKeyOnceAndWakesItsOwner) {
  Bell bell;
  WorkList work(bell);
  InKey one, two;
  EXPECT_TRUE(work.empty());
  for (int i = 0; i < 3; ++i) {
    work.request(one);
    work.request(two);
  }
  EXPECT_EQ(2, bell.wakes);
  EXPECT_FALSE(work.empty());
  std::vector<InKey*> looked;
  EXPECT_TRUE(work.drain([&](InKey& key) { looked.push_back(&key); }));
  EXPECT_EQ((std::vector<InKey*>{&two, &one}), looked);
  EXPECT_FALSE(work.drain([](InKey&) { FAIL() << "there is none"; }));
}

TEST(WorkList, WhatIsRequestedMeanwhileWaits) {
  Bell bell;
  WorkList work(bell);
  InKey key;
  work.request(key);
  int looks = 0;
  EXPECT_TRUE(work.drain([&](InKey& found) {
    ++looks;
    work.request(found);
  }));
  EXPECT_EQ(1, looks);
  EXPECT_FALSE(work.empty());
}

TEST(WorkList, AFailedLookLosesNothing) {
  Bell bell;
  WorkList work(bell);
  InKey keys[3];
  for (InKey& key : keys) work.request(key);
  EXPECT_THROW(work.drain([&](InKey& key) {
    if (&key == &keys[1]) throw std::bad_alloc();
  }),
               std::bad_alloc);
  std::vector<InKey*> looked;
  EXPECT_TRUE(work.drain([&](InKey& key) { looked.push_back(&key); }));
  EXPECT_EQ((std::vector<InKey*>{&keys[1], &keys[0]}), looked);
}

}  // namespace
}  // namespace lci
