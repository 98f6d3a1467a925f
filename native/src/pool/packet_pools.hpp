// SPDX-License-Identifier: Apache-2.0
// The packet pools of a runtime: one that is always there, and those that users add for devices of their choice. [B15]
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "pool/packet_pool.hpp"

namespace lci {

/**
 * Each device takes from the pool that it is bound to; a packet goes back to the pool that it came from, whoever gives
 * it back, into the deque of the device by which it comes. Devices of one pool steal from each other, pools do not.
 *
 * Any thread may call anything. Memory order: a pool is stored before the count that shows it, release, and a binding
 * likewise; both are loaded acquire. Pools stay until the runtime goes.
 */
class PacketPools {
 public:
  static constexpr uint32_t kMost = 16;

  PacketPools(ChunkSource& source, uint32_t packet_size, uint32_t chunk, uint32_t max, uint32_t deques);
  PacketPools(const PacketPools&) = delete;
  PacketPools& operator=(const PacketPools&) = delete;

  /// Each pool has at least @p deques. The new ones are bound to pool 0.
  void provide(uint32_t deques);
  /// The number of a new pool, or 0 when there are as many as can be.
  uint32_t add(uint32_t chunk, uint32_t max);
  /// False if there is no such pool.
  bool bind(uint32_t deque, uint32_t number);

  // As PacketPool, see there.
  uint32_t get(uint32_t deque) { return of(deque).get(deque); }
  uint32_t get_many(uint32_t deque, uint32_t* out, uint32_t n) { return of(deque).get_many(deque, out, n); }
  void put(uint32_t deque, uint32_t handle) { owner(handle).put(deque, handle); }
  void put_many(uint32_t deque, const uint32_t* handles, uint32_t n, End end = End::kTail);
  bool owns(uint32_t handle) const;
  std::byte* data(uint32_t handle) const { return pools_[0]->data(handle); }
  uint32_t packet_size() const { return pools_[0]->packet_size(); }
  uint32_t capacity() const;
  uint32_t free_count() const;
  /// Of one deque, in all pools.
  uint32_t free_in(uint32_t deque) const;
  PacketPoolCounters counters_of(uint32_t deque) const;
  /// Whether two devices take from one pool.
  bool share(uint32_t deque, uint32_t other) const { return &of(deque) == &of(other); }
  /// Packets that a device could take.
  uint32_t free_for(uint32_t deque) const { return of(deque).free_count(); }

 private:
  uint32_t count() const { return count_.load(std::memory_order_acquire); }
  PacketPool& of(uint32_t deque) const { return *bound_[deque].load(std::memory_order_acquire); }
  PacketPool& owner(uint32_t handle) const;

  ChunkSource& source_;
  std::mutex adding_;
  uint32_t deques_ = 0;
  std::array<std::unique_ptr<PacketPool>, kMost> pools_;
  std::atomic<uint32_t> count_{0};
  std::array<std::atomic<PacketPool*>, kMaxDevices> bound_{};  // by deque
};

}  // namespace lci
