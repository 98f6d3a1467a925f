// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_POOL_PACKET_POOL_HPP_
#define LCI_POOL_PACKET_POOL_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/device_set.hpp"
#include "base/try_lock.hpp"

namespace lci {

/// Handles of packets count in these units, in bytes from the start of the memory that the packets are cut from.
inline constexpr uint32_t kPacketUnit = 64;
/// Most bytes that this memory may have: what a 32-bit handle can name.
inline constexpr uint64_t kMaxReserve = (uint64_t{1} << 32) * kPacketUnit;

/// Where a pool gets memory: a growing range addressed by offsets. Called by one thread at a time per pool.
class ChunkSource {
 public:
  virtual ~ChunkSource() = default;
  /// Offset of @p bytes fresh bytes, a multiple of 64 below 2^38, or 0 when refused.
  virtual uint64_t allocate(size_t bytes) = 0;
  /// Address of @p offset; stays the same for ever.
  virtual std::byte* at(uint64_t offset) = 0;
};

/// Of one deque, or sums over several; each number is exact when the pool is quiet.
struct PacketPoolCounters {
  uint64_t gets = 0;      ///< packets handed out
  uint64_t puts = 0;      ///< packets taken back
  uint64_t steals = 0;    ///< successful steal attempts
  uint64_t misses = 0;    ///< calls that handed out less than was asked for
  uint64_t rejected = 0;  ///< puts dropped because the deque was full: a packet was put twice; must stay 0

  PacketPoolCounters& operator+=(const PacketPoolCounters& other) {
    gets += other.gets;
    puts += other.puts;
    steals += other.steals;
    misses += other.misses;
    rejected += other.rejected;
    return *this;
  }
};

/// Of a deque: its owner takes from the tail first, a thief from the head.
enum class End : uint8_t { kHead, kTail };

/**
 * Fixed-size buffers, named by handle = offset / 64; 0 is no packet. [B10]
 *
 * One deque per device, so that packets are never lost with a thread that ended [SS-23]. Each deque has a try-lock:
 * any thread may call anything with any deque. The owner takes at the tail; a thief takes from the head.
 *
 * Memory order: a deque's content is guarded by its lock (acquire, release), which therefore also hands the bytes of a
 * packet from the thread that put it to the thread that gets it. Sizes and counters are written under the lock and read
 * relaxed by anyone. owns() reads the sorted table of chunks under a sequence word, without a lock: entries are stored
 * release and loaded acquire, and the sequence is compared before and after.
 *
 * get() never waits. put() waits for a lock that is held for at most one transfer between two deques.
 */
class PacketPool {
 public:
  /// @param packet_size a multiple of 64
  /// @param chunk packets added by one growth step (the last step may be smaller)
  /// @param max bound on packets
  /// @param deques number of deques, at least 1, at most kMaxDevices
  PacketPool(ChunkSource& source, uint32_t packet_size, uint32_t chunk, uint32_t max, uint32_t deques);
  ~PacketPool();
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  /// One packet, or 0: own tail, else a growth step, else one attempt to steal half of a random other deque. Also 0
  /// when the own deque is locked at this moment, so 0 does not prove exhaustion. [SS-24]
  uint32_t get(uint32_t deque);
  /// As get(), up to @p n packets under one lock; returns how many.
  uint32_t get_many(uint32_t deque, uint32_t* out, uint32_t n);
  /// Gives a packet back. Test builds abort when it is not a packet that is out. [M7]
  void put(uint32_t deque, uint32_t handle) { put_many(deque, &handle, 1); }
  void put_many(uint32_t deque, const uint32_t* handles, uint32_t n, End end = End::kTail);

  /// Whether @p handle is exactly the start of a packet of this pool, in or out: the check of handles that peers or
  /// users name. O(log chunks), no lock.
  bool owns(uint32_t handle) const;
  /// First byte of a packet.
  std::byte* data(uint32_t handle) const { return source_.at(uint64_t{handle} * 64); }

  /// One deque more. One thread at a time; any thread may use the others meanwhile, and this one when it is back.
  void add_deque();
  uint32_t deques() const { return deque_count_.load(std::memory_order_acquire); }

  uint32_t packet_size() const { return packet_size_; }
  /// Packets that exist so far.
  uint32_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  /// Packets in the deques; approximate while others work.
  uint32_t free_count() const;
  uint32_t free_in(uint32_t deque) const;
  PacketPoolCounters counters() const;
  PacketPoolCounters counters_of(uint32_t deque) const;

 private:
  class Deque;
  class ChunkTable;
  class PutCheck;

  void ask_for(uint32_t handle) const;
  bool refill(uint32_t deque);
  bool grow(Deque& own);
  bool steal(uint32_t thief);

  ChunkSource& source_;
  const uint32_t packet_size_;
  const uint32_t chunk_;
  const uint32_t max_;
  std::atomic<uint32_t> capacity_{0};
  TryLock growing_;
  uint32_t growth_pause_ = 0;  // guarded by growing_: attempts to skip after a refusal
  std::array<std::unique_ptr<Deque>, kMaxDevices> deques_;
  std::atomic<uint32_t> deque_count_{0};  // those of a lower number are there, and stay
  const std::unique_ptr<ChunkTable> chunks_;
  const std::unique_ptr<PutCheck> check_;
};

}  // namespace lci

#endif  // LCI_POOL_PACKET_POOL_HPP_
