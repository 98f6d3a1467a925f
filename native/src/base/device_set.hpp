// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lci {

/// Most devices of a runtime.
inline constexpr uint32_t kMaxDevices = 128;

/// Devices of a runtime, a bit for each.
using DeviceBits = std::array<uint64_t, kMaxDevices / 64>;

inline void set_bit(DeviceBits& bits, uint32_t device) {
  bits[device / 64] |= uint64_t{1} << device % 64;
}

/**
 * Devices of which something is so, as that they wait for something. Any thread may call anything.
 *
 * Memory orders: what a thread says of one device is one word, read and written sequentially consistent, so that a
 * device that has added itself and then looks for what it waits for, and a thread that has left that and then looks who
 * waits, do not miss each other. Nothing is said of two devices at a time, so a set needs no order between its words.
 */
class DeviceSet {
 public:
  void add(uint32_t device) { words_[device / 64].fetch_or(uint64_t{1} << device % 64, std::memory_order_seq_cst); }
  /// May be out of date.
  bool contains(uint32_t device) const {
    return words_[device / 64].load(std::memory_order_relaxed) >> device % 64 & 1;
  }
  bool empty() const {
    for (const auto& word : words_) {
      if (word.load(std::memory_order_seq_cst) != 0) return false;
    }
    return true;
  }
  void fill() {
    for (auto& word : words_) word.store(UINT64_MAX, std::memory_order_seq_cst);
  }
  /// Takes all out but @p others.
  void keep_only(const DeviceBits& others) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i].fetch_and(others[i], std::memory_order_seq_cst);
  }
  /// Takes all out, and calls @p visit with the number of each.
  template <typename F>
  void take_each(F visit) {
    for (uint32_t i = 0; i < words_.size(); ++i) {
      if (words_[i].load(std::memory_order_seq_cst) == 0) continue;
      for (uint64_t left = words_[i].exchange(0, std::memory_order_seq_cst); left != 0; left &= left - 1) {
        visit(64 * i + static_cast<uint32_t>(std::countr_zero(left)));
      }
    }
  }

 private:
  std::array<std::atomic<uint64_t>, kMaxDevices / 64> words_{};
};

}  // namespace lci
