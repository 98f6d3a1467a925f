// SPDX-License-Identifier: Apache-2.0
// What a port or a matching engine may store: messages and bytes, of which leases take all but a reserve. The reserve
// is for announced messages, so that idle lease holders can never lock a newcomer out. [X2, X3]
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

class Capacity {
 public:
  void reset(uint32_t messages, uint64_t bytes, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    generation_ = generation;
    total_ = {messages, bytes};
    free_ = total_;
    reserve_ = {std::max(1u, messages / 8), std::max<uint64_t>(1, bytes / 2)};
  }
  Credit total() const {
    std::lock_guard<TryLock> guard(lock_);
    return total_;
  }
  /// What all leases together may take: without the reserve, or one sender's idle lease locks out its own announcement.
  Credit leasable() const {
    std::lock_guard<TryLock> guard(lock_);
    return {total_.messages - std::min(reserve_.messages, total_.messages),
            total_.bytes - std::min(reserve_.bytes, total_.bytes)};
  }

  /// Takes up to @p want for a lease, leaving the reserve.
  Credit lease(Credit want, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return {};
    const uint32_t messages =
        free_.messages > reserve_.messages ? std::min(want.messages, free_.messages - reserve_.messages) : 0;
    const uint64_t bytes = free_.bytes > reserve_.bytes ? std::min(want.bytes, free_.bytes - reserve_.bytes) : 0;
    free_.messages -= messages;
    free_.bytes -= bytes;
    return {messages, bytes};
  }
  /// Takes room for @p messages (0 or 1) announced messages of @p bytes; one above the
  /// reserve is granted when nothing else announced is stored. [X8]
  /// @return false, or true and what was taken in @p taken.
  bool admit(uint32_t messages, uint64_t bytes, uint32_t generation, Credit* taken) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return false;
    if (free_.messages < messages) return false;
    if (free_.bytes < std::min(bytes, reserve_.bytes)) return false;
    const uint64_t take = std::min(bytes, free_.bytes);
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

  mutable TryLock lock_;
  uint32_t generation_ = 0;
  Credit total_, free_, reserve_;
};

}  // namespace lci
