// SPDX-License-Identifier: Apache-2.0
// Mutations that must make this file fail: pool_skip_put_check, pool_steal_copies.
#include "pool/packet_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "support/heap_chunks.hpp"

namespace lci {
namespace {

using test::HeapChunks;

constexpr uint32_t kPacketSize = 256;
constexpr uint32_t kStride = kPacketSize / 64;

std::vector<uint32_t> drain(PacketPool& pool, uint32_t deque) {
  std::vector<uint32_t> taken;
  for (uint32_t handle; (handle = pool.get(deque)) != 0;) taken.push_back(handle);
  return taken;
}

// Proves: B10
TEST(PacketPool, HandsOutDistinctPacketsUpToItsBound) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 8, 20, 1);
  EXPECT_EQ(pool.capacity(), 0u) << "memory is taken when it is needed";
  const auto taken = drain(pool, 0);
  EXPECT_EQ(taken.size(), 20u);
  EXPECT_EQ(std::set<uint32_t>(taken.begin(), taken.end()).size(), 20u);
  EXPECT_EQ(memory.calls(), 3u) << "two chunks of 8 and one of 4";
  EXPECT_EQ(pool.capacity(), 20u);
  EXPECT_EQ(pool.free_count(), 0u);
  for (size_t i = 0; i < taken.size(); ++i) std::memset(pool.data(taken[i]), static_cast<int>(i), kPacketSize);
  for (size_t i = 0; i < taken.size(); ++i) {
    const auto* bytes = pool.data(taken[i]);
    EXPECT_TRUE(std::all_of(bytes, bytes + kPacketSize, [&](std::byte b) { return b == std::byte(i); })) << "overlap";
  }
  for (const uint32_t handle : taken) pool.put(0, handle);
}

// Proves: B10
TEST(PacketPool, ExhaustionYieldsNoneAndThenRecovers) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 2, 2, 1);
  const auto taken = drain(pool, 0);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(pool.get(0), 0u);
  pool.put(0, taken[0]);
  EXPECT_EQ(pool.get(0), taken[0]);
  EXPECT_EQ(pool.get(0), 0u);
  pool.put_many(0, taken.data(), 2);
  EXPECT_EQ(pool.free_count(), 2u);
}

TEST(PacketPool, OwnDequeIsLastInFirstOut) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 4, 4, 1);
  const auto taken = drain(pool, 0);
  pool.put(0, taken[2]);
  pool.put(0, taken[0]);
  EXPECT_EQ(pool.get(0), taken[0]);
  EXPECT_EQ(pool.get(0), taken[2]);
  pool.put_many(0, taken.data(), 4);
}

// Proves: B10
TEST(PacketPool, StealsHalfRoundedUpFromTheHead) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 5, 5, 2);
  const auto taken = drain(pool, 0);
  ASSERT_EQ(taken.size(), 5u);
  pool.put_many(0, taken.data(), 5);  // head: taken[0], tail: taken[4]
  const uint32_t stolen = pool.get(1);
  EXPECT_EQ(stolen, taken[2]) << "the last of the three that moved";
  EXPECT_EQ(pool.counters().steals, 1u);
  EXPECT_EQ(pool.get(0), taken[4]);
  EXPECT_EQ(pool.get(0), taken[3]) << "two stayed with the victim";
  std::set<uint32_t> rest{pool.get(1), pool.get(1)};
  EXPECT_EQ(rest, (std::set<uint32_t>{taken[0], taken[1]}));
  EXPECT_EQ(pool.get(0), 0u);
  EXPECT_EQ(pool.get(1), 0u);
  pool.put_many(0, taken.data(), 5);
}

// Proves: B10
// Proves: SS-23
TEST(PacketPool, APacketPutByAnotherDeviceIsFound) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 1, 1, 2);
  const uint32_t handle = pool.get(0);
  ASSERT_NE(handle, 0u);
  pool.put(1, handle);
  EXPECT_EQ(pool.get(0), handle);
  pool.put(0, handle);
}

TEST(PacketPool, GetManyTakesWhatThereIs) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 4, 10, 1);
  std::array<uint32_t, 16> out{};
  EXPECT_EQ(pool.get_many(0, out.data(), 6), 6u) << "more than a chunk";
  EXPECT_EQ(pool.get_many(0, out.data() + 6, 10), 4u) << "what is left";
  EXPECT_EQ(std::set<uint32_t>(out.begin(), out.begin() + 10).size(), 10u);
  EXPECT_EQ(pool.get_many(0, out.data() + 10, 6), 0u);
  pool.put_many(0, out.data(), 10);
  EXPECT_EQ(pool.free_count(), 10u);
  const PacketPoolCounters counters = pool.counters();
  EXPECT_EQ(counters.gets, 10u);
  EXPECT_EQ(counters.puts, 10u);
  EXPECT_EQ(counters.misses, 2u);
  EXPECT_EQ(counters.rejected, 0u);
}

TEST(PacketPool, ARefusedChunkIsAskedForAgainLater) {
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 4, 8, 1);
  memory.refuse(true);
  EXPECT_EQ(pool.get(0), 0u);
  memory.refuse(false);
  uint32_t handle = 0;
  for (int attempt = 0; attempt < 1000 && handle == 0; ++attempt) handle = pool.get(0);
  ASSERT_NE(handle, 0u);
  EXPECT_LT(memory.calls(), 4u) << "the source is asked now and then only";
  pool.put(0, handle);
}

class PacketPoolOwns : public testing::TestWithParam<HeapChunks::Order> {};

TEST_P(PacketPoolOwns, AcceptsExactPacketStartsAlone) {
  HeapChunks memory(1 << 18, GetParam());
  PacketPool pool(memory, kPacketSize, 4, 30, 1);
  EXPECT_FALSE(pool.owns(0));
  EXPECT_FALSE(pool.owns(1));
  const auto taken = drain(pool, 0);
  ASSERT_EQ(taken.size(), 30u);
  const std::set<uint32_t> starts(taken.begin(), taken.end());
  for (uint32_t handle = 0; handle < (1 << 18) / 64 + 1000; ++handle) {
    EXPECT_EQ(pool.owns(handle), starts.count(handle) == 1) << handle;
  }
  EXPECT_FALSE(pool.owns(0xFFFFFFFFu));
  EXPECT_FALSE(pool.owns(taken[0] + kStride / 2));
  pool.put_many(0, taken.data(), 30);
  EXPECT_TRUE(pool.owns(taken[0])) << "in or out";
}
INSTANTIATE_TEST_SUITE_P(Orders, PacketPoolOwns,
                         testing::Values(HeapChunks::Order::kRising, HeapChunks::Order::kFalling));

#if (defined(LCI_TEST_CHECKS) && LCI_TEST_CHECKS) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
/// [M7]
// Proves: M7
TEST(PacketPoolDeathTest, CatchesMisuse) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  HeapChunks memory(1 << 20);
  PacketPool pool(memory, kPacketSize, 4, 4, 2);
  const uint32_t handle = pool.get(0);
  pool.put(0, handle);
  EXPECT_DEATH(pool.put(1, handle), "was put twice");
  EXPECT_DEATH(pool.put(0, handle + 1), "no packet of this pool");
}
#endif

}  // namespace
}  // namespace lci
