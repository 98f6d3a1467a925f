// SPDX-License-Identifier: Apache-2.0
#include "base/try_lock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace lci {
namespace {

TEST(TryLock, IsHeldByOne) {
  TryLock lock;
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  bool taken_elsewhere = true;
  std::thread([&] { taken_elsewhere = lock.try_lock(); }).join();
  EXPECT_FALSE(taken_elsewhere);
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

TEST(TryLockGuard, UnlocksOnlyWhatItTook) {
  TryLock lock;
  {
    const TryLockGuard first(lock);
    ASSERT_TRUE(first);
    {
      const TryLockGuard second(lock);
      EXPECT_FALSE(second);
    }
    EXPECT_FALSE(lock.try_lock()) << "a guard that failed has released the lock";
  }
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

}  // namespace
}  // namespace lci
