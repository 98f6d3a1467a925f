// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/device_set.hpp"

namespace lci {

/**
 * One entry for each device of a runtime, by number. It grows while others read it, and nothing is taken out.
 *
 * One thread at a time calls add(); any thread may call anything else. Memory order: an entry is stored before the
 * count that shows it. The count is sequentially consistent: a thread that has taken something away and then visits all
 * devices has seen each device that could still have it, because a device which it does not see looks later.
 */
template <typename T>
class DeviceTable {
 public:
  class Iterator {
   public:
    Iterator(const DeviceTable& table, uint32_t index) : table_(table), index_(index) {}
    T& operator*() const { return table_[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const DeviceTable& table_;
    uint32_t index_;
  };

  uint32_t size() const { return count_.load(std::memory_order_seq_cst); }
  /// @param index less than a size() that the caller has seen
  T& operator[](uint32_t index) const { return *entries_[index]; }
  /// A device that is added meanwhile is not visited.
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  /// There must be room: size() < kMaxDevices.
  void add(T& entry) {
    const uint32_t index = count_.load(std::memory_order_relaxed);
    entries_[index] = &entry;
    count_.store(index + 1, std::memory_order_seq_cst);
  }

 private:
  std::array<T*, kMaxDevices> entries_{};
  std::atomic<uint32_t> count_{0};
};

}  // namespace lci
