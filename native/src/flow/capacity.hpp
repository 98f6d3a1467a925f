// SPDX-License-Identifier: Apache-2.0
// What a port or a matching engine may store: messages and bytes, of which leases take all but a reserve. The reserve
// is for announced messages, so that idle lease holders can never lock a newcomer out, nor can one peer that announces
// what never comes: long messages, and several of one sender, leave a part of the reserve. [X2, X3, X8]
// Any thread may call; a short try-lock, taken per lease, not per message. Each opening is a generation: who has not
// heard of it yet gets nothing of the new one, and what he gives back of the old one is void.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "base/try_lock.hpp"

namespace lci {

struct Credit {
  uint32_t messages = 0;
  uint64_t bytes = 0;
};
constexpr Credit least(const Credit& a, const Credit& b) {
  return {std::min(a.messages, b.messages), std::min(a.bytes, b.bytes)};
}
/// What of @p all is above @p bound.
constexpr Credit beyond(const Credit& all, const Credit& bound) {
  return {all.messages - std::min(all.messages, bound.messages), all.bytes - std::min(all.bytes, bound.bytes)};
}
constexpr bool is_none(const Credit& credit) {
  return credit.messages == 0 && credit.bytes == 0;
}

class Capacity {
 public:
  /// What an announced message leaves of the reserve.
  enum class Leaves { kNothing, kAQuarter, kAHalf };

  void reset(uint32_t messages, uint64_t bytes, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    generation_ = generation;
    total_ = {messages, bytes};
    free_ = total_;
    reserve_ = {std::max(std::min(2u, messages), messages / 8), std::max<uint64_t>(1, bytes / 2)};
  }
  Credit total() const {
    std::lock_guard<TryLock> guard(lock_);
    return total_;
  }
  /// What all leases together may take: without the reserve, or one sender's idle lease locks out its own announcement.
  Credit leasable() const {
    std::lock_guard<TryLock> guard(lock_);
    return beyond(total_, reserve_);
  }

  /// Takes up to @p want for a lease, leaving the reserve.
  Credit lease(Credit want, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return {};
    const Credit taken = least(want, beyond(free_, reserve_));
    free_.messages -= taken.messages;
    free_.bytes -= taken.bytes;
    return taken;
  }
  /// Takes room for @p messages (0 or 1) announced messages of @p bytes; one above the reserve is granted when nothing
  /// else announced is stored, unless it leaves a half. [X8]
  /// @return false, or true and what was taken in @p taken.
  bool admit(Leaves leaves, uint32_t messages, uint64_t bytes, uint32_t generation, Credit* taken) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return false;
    const Credit left = left_by(leaves);
    if (messages != 0 && free_.messages < messages + left.messages) return false;
    const uint64_t needed = leaves == Leaves::kAHalf ? bytes : std::min(bytes, reserve_.bytes - left.bytes);
    if (free_.bytes < left.bytes + needed) return false;
    const uint64_t take = std::min(bytes, free_.bytes - left.bytes);
    free_.messages -= messages;
    free_.bytes -= take;
    *taken = {messages, take};
    return true;
  }
  void give(Credit credit, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return;
    free_.messages += credit.messages;
    free_.bytes += credit.bytes;
  }
  Credit free() const {
    std::lock_guard<TryLock> guard(lock_);
    return free_;
  }

 private:
  bool is_past(uint32_t generation) const { return generation != generation_; }
  /// Of a port of one message nothing can be left.
  Credit left_by(Leaves leaves) const {
    if (leaves == Leaves::kNothing) return {};
    const uint32_t part = leaves == Leaves::kAQuarter ? 4 : 2;
    return {std::min(reserve_.messages - 1, std::max(1u, reserve_.messages / part)), reserve_.bytes / part};
  }

  mutable TryLock lock_;
  uint32_t generation_ = 0;
  Credit total_, free_, reserve_;
};

}  // namespace lci
