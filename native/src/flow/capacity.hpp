// SPDX-License-Identifier: Apache-2.0
// What a port or a matching engine may store, in messages and bytes. Room is lent to senders as credit, or taken by
// announced messages: while these are still to come, and then while they are stored. What is stored the port's own user
// frees; what is lent or to come waits for senders, who may stand still. So leases leave a reserve, and what is to come
// leaves a packet of it: idle lease holders lock no newcomer out, nor does one whose messages never come. [X2, X3, X8]
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
constexpr Credit operator+(const Credit& a, const Credit& b) {
  return {a.messages + b.messages, a.bytes + b.bytes};
}
constexpr Credit least(const Credit& a, const Credit& b) {
  return {std::min(a.messages, b.messages), std::min(a.bytes, b.bytes)};
}
/// The part of @p all above @p bound.
constexpr Credit beyond(const Credit& all, const Credit& bound) {
  return {all.messages - std::min(all.messages, bound.messages), all.bytes - std::min(all.bytes, bound.bytes)};
}
constexpr bool is_none(const Credit& credit) {
  return credit.messages == 0 && credit.bytes == 0;
}

class Capacity {
 public:
  /// Where the bytes of an announced message are.
  enum class Coming {
    kHere,
    kShort,    ///< To come, a packet at most: the only such one of a sender who shares no memory.
    kLong,     ///< To come.
    kFurther,  ///< To come, of a sender of whom another one is to come.
  };

  void reset(uint32_t messages, uint64_t bytes, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    generation_ = generation;
    total_ = {messages, bytes};
    free_ = total_;
    reserve_ = {std::max(std::min(3u, messages), messages / 8), std::max<uint64_t>(1, bytes / 2)};
    lent_ = to_come_ = {};
    cut_ = 0;
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
    free_ = beyond(free_, taken);
    lent_ = lent_ + taken;
    return taken;
  }
  /// Takes room for an announced message; if it came by credit, for its bytes alone. If it is longer than what it
  /// finds, it may take what there is, from the reserve on, unless another such one or one of its sender is to come.
  /// [X8]
  /// @param packet what a short message has at most
  /// @return false, or true and what was taken in @p taken.
  bool admit(Coming coming, Credit wanted, uint64_t packet, uint32_t generation, Credit* taken) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation) || free_.messages < wanted.messages) return false;
    Credit most = free_;
    uint64_t needed = std::min(wanted.bytes, reserve_.bytes);
    if (coming == Coming::kLong || coming == Coming::kFurther) {
      const Credit kept = kept_for_short(packet);
      most = least(free_, may_come(coming, kept));
      const bool may_be_cut = coming == Coming::kLong && cut_ == 0;
      needed = may_be_cut ? std::min(wanted.bytes, reserve_.bytes - kept.bytes) : wanted.bytes;
    }
    if (most.messages < wanted.messages || most.bytes < needed) return false;
    *taken = {wanted.messages, std::min(wanted.bytes, most.bytes)};
    free_ = beyond(free_, *taken);
    if (coming != Coming::kHere) {
      to_come_ = to_come_ + *taken;
      cut_ += taken->bytes < wanted.bytes;
    }
    return true;
  }
  /// A message of @p size that was to come has come, or never will.
  void came(Credit taken, uint64_t size, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return;
    to_come_ = beyond(to_come_, taken);
    cut_ -= taken.bytes < size;
  }
  /// @param lent what of it was lent
  void give(Credit credit, Credit lent, uint32_t generation) {
    std::lock_guard<TryLock> guard(lock_);
    if (is_past(generation)) return;
    free_ = free_ + credit;
    lent_ = beyond(lent_, lent);
  }
  Credit free() const {
    std::lock_guard<TryLock> guard(lock_);
    return free_;
  }

 private:
  bool is_past(uint32_t generation) const { return generation != generation_; }
  /// Of a port of one message nothing can be kept.
  Credit kept_for_short(uint64_t packet) const {
    return {std::min(1u, reserve_.messages - 1), std::min(packet, reserve_.bytes / 2)};
  }
  /// How much more may be to come. Further ones of a sender leave a part of the reserve to others.
  Credit may_come(Coming coming, const Credit& kept) const {
    Credit left = kept;
    if (coming == Coming::kFurther) left = left + Credit{std::max(1u, reserve_.messages / 8), reserve_.bytes / 8};
    return beyond(total_, lent_ + to_come_ + left);
  }

  mutable TryLock lock_;
  uint32_t generation_ = 0;
  Credit total_, free_, reserve_;
  Credit lent_;       ///< Of `total_`, to senders: what they have, and what is stored of that.
  Credit to_come_;    ///< Of `total_`.
  uint32_t cut_ = 0;  ///< Messages to come that took less than their length.
};

}  // namespace lci
