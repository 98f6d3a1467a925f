// SPDX-License-Identifier: Apache-2.0
// The memory of a rank as its peers see it, the same for every transport: parking words, returned packets, summary
// bytes, rings, regions. Of a rank of this host it is mapped; of any other rank a link plays it, see ADR 0010.
//
// Offsets that are found in it are a peer's word: contains() is asked before they are used.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/device_set.hpp"
#include "transport/memory/returned_packets.hpp"

namespace lci {

inline constexpr uint32_t kRegionChunks = 64;
/// By so much memory grows that peers see.
inline constexpr uint64_t kMemoryGrowth = 1u << 20;
inline constexpr uint64_t kMemoryMagic = 0x314152494c434cull;

/// A lane's parking place. Written by the parker (1) and by whoever wakes it (0). [V11]
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

/// Start of every rank's memory. What varies in size with the job follows it: see MemoryLayout.
struct MemoryHeader {
  uint64_t magic;
  uint32_t abi;
  uint32_t rank;
  uint32_t size;
  uint32_t devices;                   ///< That each rank was created with.
  uint64_t reserve;                   ///< Bytes of addresses that the memory may grow to; each rank has its own.
  std::atomic<uint32_t> devices_now;  ///< It has added some since, perhaps.
  std::atomic<uint64_t> boards;       ///< Offset of the BoardDirectory; 0: there is none.
  uint64_t bells;                     ///< Names the sockets of lanes that sleep on descriptors, see LaneBells.
  ParkLine park[kMaxDevices];
  DeviceLine device[kMaxDevices];
  alignas(64) std::atomic<uint64_t> region_chunks[kRegionChunks];  ///< Offsets of the chunks of the region table.
};

/// Where in a rank's memory the parts are whose sizes vary with the job: offsets, in bytes. There are addresses for all
/// devices that a rank may ever have. Pages are there for those that it has.
struct MemoryLayout {
  explicit MemoryLayout(uint32_t size);

  uint64_t directory = 0;         ///< Of rings: a word for each device and receiver.
  uint64_t directory_stride = 0;  ///< From one device's to the next one's.
  uint64_t summary = 0;           ///< Bytes by which ranks say that they have sent something.
  uint64_t summary_stride = 0;    ///< From one device's to the next one's.
  uint64_t known = 0;             ///< A byte for each rank that has mapped the memory.
  uint64_t end = 0;               ///< What is cut from the memory lies behind this.
};

class PeerMemory {
 public:
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  std::byte* base() const { return base_; }
  /// Bytes of addresses that it may grow to.
  uint64_t reserve() const { return reserve_; }
  std::byte* at(uint64_t offset) const { return base_ + offset; }
  MemoryHeader& header() const { return *reinterpret_cast<MemoryHeader*>(base_); }

  /// How many devices the owner has. Its memory is believed where it can be true: more than before, and no
  /// more than a rank may have. Sequentially consistent, so that of two ranks that add a device each sees the other's,
  /// or is seen.
  uint32_t devices();
  /// The owner: it has more of them now, and pages for them.
  void show_devices(uint32_t count) { header().devices_now.store(count, std::memory_order_seq_cst); }

  /// Where the owner's device put its ring pair for a receiver; 0 until it first talks.
  std::atomic<uint64_t>& ring_pair_offset(uint32_t device, uint32_t receiver) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(base_ + directory_offset(device))[receiver];
  }
  /// Summary bytes of one of the owner's devices, one per sending rank.
  std::atomic<uint8_t>* summary(uint32_t device) const {
    return reinterpret_cast<std::atomic<uint8_t>*>(base_ + summary_offset(device));
  }
  uint64_t summary_offset(uint32_t device) const { return layout_.summary + uint64_t{device} * layout_.summary_stride; }
  static uint64_t park_offset(uint32_t slot) { return offsetof(MemoryHeader, park) + slot * sizeof(ParkLine); }
  /// How far from the start park words and summary bytes lie.
  uint64_t doorbell_length() const { return layout_.end; }
  /// Set by a rank when it maps this memory: it may copy from and to it, and have sent something.
  std::atomic<uint8_t>& known_to(uint32_t rank) const {
    return reinterpret_cast<std::atomic<uint8_t>*>(base_ + layout_.known)[rank];
  }
  /// As DeviceLine::copying, in private memory: what ranks of this process wait for, for peers can write that word.
  std::atomic<uint64_t>& copying_here(uint32_t device) { return copying_here_[device].word; }

  /// Whether [offset, offset + bytes) lies in allocated memory: for offsets that came from a peer.
  bool contains(uint64_t offset, uint64_t bytes) {
    if (offset < layout_.end || offset > reserve_ || bytes > reserve_ - offset) return false;
    return offset + bytes <= backed_.load(std::memory_order_acquire) || offset + bytes <= look_how_far_backed();
  }
  /// Whether this is such memory: for addresses of the owner's program.
  bool holds(const void* memory, uint64_t bytes) const {
    const auto offset = reinterpret_cast<uint64_t>(memory) - reinterpret_cast<uint64_t>(base_);
    return offset < reserve_ && bytes <= reserve_ - offset;
  }

  /// Leave the address range mapped at destruction: something outside the core may still look at it. [V15]
  virtual void keep_range() = 0;

 protected:
  /// Fills what does not change of the header of a memory that is new.
  void introduce(uint32_t rank, uint32_t ranks, uint32_t devices);
  /// @param ranks of the job
  /// @param devices that each rank was created with
  PeerMemory(uint32_t ranks, uint32_t devices) : layout_(ranks), devices_(devices) {}
  virtual ~PeerMemory() = default;
  /// The owner may have made more of it usable since: bytes from the start on. Any thread.
  virtual uint64_t look_how_far_backed() = 0;

  std::byte* base_ = nullptr;
  uint64_t reserve_ = 0;
  uint64_t directory_offset(uint32_t device) const {
    return layout_.directory + uint64_t{device} * layout_.directory_stride;
  }

  const MemoryLayout layout_;
  std::atomic<uint64_t> backed_{0};

 private:
  struct alignas(64) CopyingHere {
    std::atomic<uint64_t> word{0};
  };
  CopyingHere copying_here_[kMaxDevices];
  std::atomic<uint32_t> devices_;  ///< The most that the owner was found to have.
};

}  // namespace lci
