// SPDX-License-Identifier: Apache-2.0
// Packets that peers give back to a device of ours, in bundles. [B12]
//
// A bundle is up to kBundle handles, written in the first cache line of one of its packets: so most packets come home
// without that either side touches their first line, and the owner follows one link for a bundle, not for a packet.
//
// Memory orders and callers: a stack in the owner's arena. Any thread of any peer pushes with one release
// compare-and-swap; the owner of the device takes all with one acquire exchange, so there is no ABA problem. What the
// lines hold is the peers' word: each is copied once, and each handle is for the owner to check.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lci {

/// First cache line of every packet; the payload follows.
struct alignas(64) PacketHeader {
  static constexpr uint32_t kOthers = 14;
  std::atomic<uint32_t> next;             ///< First packet of the next bundle; 0: this is the last.
  std::atomic<uint32_t> count;            ///< Of `others`.
  std::atomic<uint32_t> others[kOthers];  ///< Handles that come back with this packet.
};
inline constexpr uint32_t kPacketPayloadOffset = 64;
static_assert(sizeof(PacketHeader) == kPacketPayloadOffset);

class ReturnedPackets {
 public:
  static constexpr size_t kBundle = 1 + PacketHeader::kOthers;

  bool empty() const { return head_.load(std::memory_order_relaxed) == 0; }
  /// As empty(), for who is about to park: what was pushed before a wake-up is seen.
  bool empty_for_parking() const { return head_.load(std::memory_order_acquire) == 0; }

  /// Gives @p count packets back. @param header_of finds the header of a packet by its handle
  template <typename HeaderOf>
  void give(const uint32_t* handles, size_t count, HeaderOf header_of) {
    if (count == 0) return;
    for (size_t start = 0; start < count; start += kBundle) {
      const size_t others = std::min(kBundle, count - start) - 1;
      PacketHeader& header = header_of(handles[start]);
      header.count.store(static_cast<uint32_t>(others), std::memory_order_relaxed);
      for (size_t i = 0; i < others; ++i) {
        header.others[i].store(handles[start + 1 + i], std::memory_order_relaxed);
      }
      const size_t following = start + kBundle;
      if (following < count) header.next.store(handles[following], std::memory_order_relaxed);
    }
    PacketHeader& last = header_of(handles[(count - 1) / kBundle * kBundle]);
    uint32_t head = head_.load(std::memory_order_relaxed);
    do {
      last.next.store(head, std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, handles[0], std::memory_order_release, std::memory_order_relaxed));
  }

  enum class Answer {
    kTaken,
    kNotOut,    ///< A packet, but nobody has it: passed over, for what others gave back is behind it.
    kNoPacket,  ///< Ends the walk.
  };

  /// Takes all: @p accept is called with each handle, before its header is read. @param most handles that there can be:
  /// who goes round in a circle is stopped. @return whether all made sense
  template <typename HeaderOf, typename Accept>
  bool take_all(uint32_t most, HeaderOf header_of, Accept accept) {
    bool honest = true;
    const auto goes_on = [&](uint32_t handle) {
      const Answer answer = most-- != 0 ? accept(handle) : Answer::kNoPacket;
      honest = honest && answer == Answer::kTaken;
      return answer == Answer::kTaken || answer == Answer::kNotOut;
    };
    uint32_t handle = head_.exchange(0, std::memory_order_acquire);
    while (handle != 0) {
      if (!goes_on(handle)) return false;
      const PacketHeader& header = header_of(handle);
      handle = header.next.load(std::memory_order_relaxed);
      const uint32_t others = header.count.load(std::memory_order_relaxed);
      if (others > PacketHeader::kOthers) return false;
      for (uint32_t i = 0; i < others; ++i) {
        if (!goes_on(header.others[i].load(std::memory_order_relaxed))) return false;
      }
    }
    return honest;
  }

  /// Tests only: what a hostile peer may write.
  void overwrite(uint32_t head) { head_.store(head); }

 private:
  std::atomic<uint32_t> head_;
};

}  // namespace lci
