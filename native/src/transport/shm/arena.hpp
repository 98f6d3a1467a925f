// SPDX-License-Identifier: Apache-2.0
// The shared memory of one rank: a memfd without a name, sealed against shrinking and further seals, mapped once over a
// reserved range and grown in place. Rings and packets are cut from it; peers map it whole.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/kept_ranges.hpp"
#include "pool/packet_pool.hpp"
#include "transport/shm/returned_packets.hpp"

namespace lci {

inline constexpr uint32_t kMaxDevices = 16;
inline constexpr uint32_t kRegionChunks = 64;
/// Most that an arena reserves: what a 32-bit handle of packets can name.
inline constexpr uint64_t kMaxReserve = (uint64_t{1} << 32) * kPacketUnit;
inline constexpr uint64_t kArenaMagic = 0x314152494c434cull;

/// A lane's parking place. Written by the parker (1) and by whoever wakes it (0); a futex. [V11]
struct alignas(64) ParkLine {
  std::atomic<uint32_t> word;
};

/// What peers need of one device of this rank.
struct alignas(64) DeviceLine {
  std::atomic<uint32_t> park_slot;  ///< Index of the ParkLine of the lane that owns the device.
  alignas(64) ReturnedPackets returned_packets;
  /// Odd while the device copies into or out of a region of any rank: see CopyGuard.
  alignas(64) std::atomic<uint64_t> copying;
};

/// Start of every arena. Sizes that vary with the job follow it; see the offset functions below.
struct ArenaHeader {
  uint64_t magic;
  uint32_t abi;
  uint32_t rank;
  uint32_t size;
  uint32_t devices;
  uint64_t reserve;  ///< Bytes of addresses that the arena may grow to; each rank has its own.
  ParkLine park[kMaxDevices];
  DeviceLine device[kMaxDevices];
  alignas(64) std::atomic<uint64_t> region_chunks[kRegionChunks];  ///< Offsets of the chunks of the region table.
};

/// A mapping of an arena: the owner's own, or a peer's.
class Arena final : public ChunkSource {
 public:
  /// Creates this rank's arena. @p limit bounds its memory; 0 asks the system.
  static int create(uint64_t reserve, uint64_t limit, uint32_t size, uint32_t devices, std::shared_ptr<Arena>* out);
  /// Maps a peer's arena, as far as it may grow, from the descriptor it sent; validates seals and header.
  static int map_peer(int fd, uint32_t rank, uint32_t size, uint32_t devices, std::shared_ptr<Arena>* out);
  ~Arena() override;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Owner only: cuts @p bytes, zeroed, from the arena; 0 when memory is refused. Offsets are multiples of 64.
  uint64_t allocate(size_t bytes) override;
  std::byte* at(uint64_t offset) override { return base_ + offset; }
  /// Owner only: gives the pages of a part of what was allocated back to the system; false if it does not take them.
  bool punch(uint64_t offset, uint64_t bytes);
  /// Owner only: has pages again where punch() left none; false when memory is refused.
  bool populate(uint64_t offset, uint64_t bytes);

  ArenaHeader& header() { return *reinterpret_cast<ArenaHeader*>(base_); }
  /// Where the sender (owner's device) put its channel block for a receiver rank; 0 until it first talks.
  std::atomic<uint64_t>& channel_offset(uint32_t device, uint32_t receiver) {
    return reinterpret_cast<std::atomic<uint64_t>*>(base_ + directory_)[uint64_t{device} * size_ + receiver];
  }
  /// Summary bytes of one of the owner's devices, one per sending rank.
  std::atomic<uint8_t>* summary(uint32_t device) {
    return reinterpret_cast<std::atomic<uint8_t>*>(base_ + summary_ + uint64_t{device} * summary_stride_);
  }
  uint64_t summary_offset(uint32_t device) const { return summary_ + uint64_t{device} * summary_stride_; }
  uint64_t park_offset(uint32_t slot) const;
  /// Set by a rank when it maps this arena: it may copy from and to it, and have sent something.
  std::atomic<uint8_t>& known_to(uint32_t rank) {
    return reinterpret_cast<std::atomic<uint8_t>*>(base_ + known_)[rank];
  }

  /// Whether [offset, offset + bytes) lies in allocated memory of the arena: for offsets that came from a peer.
  bool contains(uint64_t offset, uint64_t bytes);

  /// Whether this is memory of the arena: for addresses of the owner's program.
  bool holds(const void* memory, uint64_t bytes) const {
    const auto offset = reinterpret_cast<uint64_t>(memory) - reinterpret_cast<uint64_t>(base_);
    return offset < reserve_ && bytes <= reserve_ - offset;
  }
  std::byte* base() { return base_; }
  uint64_t reserve() const { return reserve_; }
  uint64_t doorbell_length() const { return fixed_; }
  /// As DeviceLine::copying, in private memory: what ranks of this process wait for, for peers can write that word.
  std::atomic<uint64_t>& copying_here(uint32_t device) { return copying_here_[device].word; }
  int fd() const { return fd_; }
  /// Leave the address range mapped (anonymous) at destruction, for other arenas: something outside the core may still
  /// look at it. [V15]
  void keep_range() { keep_range_.store(true, std::memory_order_relaxed); }

 private:
  struct alignas(64) CopyingHere {
    std::atomic<uint64_t> word{0};
  };

  Arena() = default;
  void lay_out(uint32_t size, uint32_t devices);
  bool map();
  bool reserve_pages(uint64_t offset, uint64_t bytes);
  bool grow_to(uint64_t bytes);
  uint64_t pages_taken() const;

  std::byte* base_ = nullptr;
  KeptRanges::Range range_;  ///< Where it is mapped; longer than it is if another arena had it before.
  uint64_t reserve_ = 0;
  uint64_t limit_ = 0;
  std::atomic<uint64_t> backed_{0};
  uint64_t used_ = 0;
  uint64_t directory_ = 0, summary_ = 0, summary_stride_ = 0, known_ = 0, fixed_ = 0;
  uint32_t size_ = 0;
  int fd_ = -1;
  std::atomic<bool> keep_range_{false};
  CopyingHere copying_here_[kMaxDevices];
  std::mutex grow_;  // growth is rare and may be asked for by any device
};

/// Bytes that may still be taken without endangering the process: min(MemAvailable, cgroup limit - usage).
uint64_t memory_available();

}  // namespace lci
