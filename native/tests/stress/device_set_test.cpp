// SPDX-License-Identifier: Apache-2.0
#include "base/device_set.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "support/threads.hpp"

namespace lci {
namespace {

/// A device takes room that others give. Without any it says that it waits, looks once more, and then only hears.
struct Waiter {
  std::atomic<uint64_t> room{0};
  std::atomic<bool> rung{false};

  bool take() {
    uint64_t there = room.load(std::memory_order_seq_cst);
    while (there != 0 && !room.compare_exchange_weak(there, there - 1, std::memory_order_seq_cst)) {
    }
    return there != 0;
  }
  bool hear(const test::Deadline& limit) {
    while (!rung.exchange(false, std::memory_order_acquire)) {
      if (limit.passed()) return false;
      std::this_thread::yield();
    }
    return true;
  }
};

// Devices that wait for room and a thread that gives some never miss each other.
TEST(DeviceSetStress, NobodyWaitsUntold) {
  constexpr uint32_t kDevices[] = {0, 63, 64, 127};
  constexpr uint64_t kRounds = 50'000;
  DeviceSet waiting;
  const auto waiters = std::make_unique<Waiter[]>(kMaxDevices);
  const test::Deadline limit(60);
  std::atomic<uint64_t> taken{0};
  test::run_threads(5, [&](uint32_t index) {
    if (index == 4) {
      for (uint64_t round = 0; round < kRounds; ++round) {
        for (const uint32_t device : kDevices) waiters[device].room.fetch_add(1, std::memory_order_seq_cst);
        waiting.take_each([&](uint32_t device) { waiters[device].rung.store(true, std::memory_order_release); });
      }
      return;
    }
    Waiter& self = waiters[kDevices[index]];
    for (uint64_t got = 0; got < kRounds;) {
      if (!self.take()) {
        waiting.add(kDevices[index]);
        if (!self.take()) {
          ASSERT_TRUE(self.hear(limit)) << "device " << kDevices[index] << " was not told after " << got;
          continue;
        }
      }
      ++got;
      taken.fetch_add(1, std::memory_order_relaxed);
    }
  });
  EXPECT_EQ(4 * kRounds, taken.load());
}

}  // namespace
}  // namespace lci
