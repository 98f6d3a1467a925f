// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: pool_steal_copies, try_lock_always.
#include "pool/packet_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "support/heap_chunks.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::HeapChunks;
using test::run_threads;

constexpr uint32_t kThreads = 8;
constexpr uint32_t kPacketSize = 256;
constexpr uint32_t kMax = 64;

/// Marks a packet as held by one thread, and tells whether somebody else held it.
class Owners {
 public:
  explicit Owners(size_t handles) : owner_(handles) {}
  bool take(uint32_t handle, uint32_t who) { return owner_[handle].exchange(who + 1, std::memory_order_relaxed) == 0; }
  bool give(uint32_t handle, uint32_t who) { return owner_[handle].exchange(0, std::memory_order_relaxed) == who + 1; }

 private:
  std::vector<std::atomic<uint32_t>> owner_;
};

/// Every packet is held by one thread at a time, and its bytes travel with it (plain accesses: the thread sanitizer
/// checks that the locks order them).
// Proves: B10
TEST(PacketPoolStress, PacketsAreHeldByOneThread) {
  constexpr uint32_t kDeques = 3;  // fewer than threads: deques are shared too
  constexpr uint32_t kRounds = 20'000;
  HeapChunks memory(1 << 20, HeapChunks::Order::kFalling);
  PacketPool pool(memory, kPacketSize, 8, kMax, kDeques);
  Owners owners((1 << 20) / 64);
  std::atomic<uint64_t> faults{0};
  std::atomic<uint64_t> held_total{0};
  const Deadline deadline(60);
  run_threads(kThreads, [&](uint32_t self) {
    std::mt19937 random(self);
    std::vector<uint32_t> held;
    const auto put_back = [&](size_t count, uint32_t deque) {
      for (size_t i = held.size() - count; i < held.size(); ++i) {
        uint32_t mark = 0;
        std::memcpy(&mark, pool.data(held[i]), sizeof mark);
        faults += mark != self;
        faults += !owners.give(held[i], self);
      }
      pool.put_many(deque, held.data() + held.size() - count, static_cast<uint32_t>(count));
      held.resize(held.size() - count);
    };
    for (uint32_t round = 0; round < kRounds && !deadline.passed(); ++round) {
      const uint32_t deque = random() % kDeques;
      uint32_t got[4];
      const uint32_t count = pool.get_many(deque, got, 1 + random() % 4);
      for (uint32_t i = 0; i < count; ++i) {
        faults += !owners.take(got[i], self);
        faults += !pool.owns(got[i]);
        faults += pool.owns(got[i] + 1);
        std::memcpy(pool.data(got[i]), &self, sizeof self);
        held.push_back(got[i]);
      }
      held_total += count;
      if (held.size() > 6) put_back(1 + random() % held.size(), random() % kDeques);
    }
    put_back(held.size(), self % kDeques);
  });
  EXPECT_EQ(faults.load(), 0u);
  EXPECT_GT(held_total.load(), uint64_t{kMax});
  EXPECT_EQ(pool.free_count(), pool.capacity());
  EXPECT_LE(pool.capacity(), kMax);
  const PacketPoolCounters counters = pool.counters();
  EXPECT_EQ(counters.gets, held_total.load());
  EXPECT_EQ(counters.puts, held_total.load());
  EXPECT_EQ(counters.rejected, 0u);
}

/// One deque is filled by its owner, all others live by stealing. [B10, SS-23]
// Proves: B10
TEST(PacketPoolStress, StealersLiveOnOneProducer) {
  constexpr uint32_t kTurns = 2'000;
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, kMax, kMax, kThreads);
  std::vector<uint32_t> all(kMax);
  ASSERT_EQ(pool.get_many(0, all.data(), kMax), kMax);
  pool.put_many(0, all.data(), kMax);
  const Deadline deadline(60);
  std::atomic<uint64_t> served{0};
  run_threads(kThreads - 1, [&](uint32_t index) {
    const uint32_t self = index + 1;
    for (uint32_t turn = 0; turn < kTurns && !deadline.passed();) {
      const uint32_t handle = pool.get(self);
      if (handle == 0) {
        std::this_thread::yield();
        continue;
      }
      ++turn;
      ++served;
      pool.put(0, handle);  // always back to the producer
    }
  });
  EXPECT_EQ(served.load(), uint64_t{kTurns} * (kThreads - 1)) << "a stealer starved until the deadline";
  EXPECT_GT(pool.counters().steals, 0u);
  EXPECT_EQ(pool.free_count(), kMax);
  std::set<uint32_t> distinct;
  for (uint32_t deque = 0; deque < kThreads; ++deque) {
    for (uint32_t attempt = 0; attempt < 100'000 && distinct.size() < kMax; ++attempt) {
      const uint32_t handle = pool.get(deque);
      if (handle == 0) break;
      EXPECT_TRUE(distinct.insert(handle).second);
    }
  }
  EXPECT_EQ(distinct.size(), kMax) << "packets left behind by threads that ended were not found";
}

}  // namespace
}  // namespace lci
