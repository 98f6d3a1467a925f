// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_TRY_LOCK_HPP_
#define LCI_BASE_TRY_LOCK_HPP_

#include <sched.h>

#include <atomic>

#include "base/fences.hpp"
#include "base/lock_count.hpp"

namespace lci {

/// One step of a bounded spin: pauses 64 times, then gives the processor away, so that a preempted peer can go on.
class SpinWait {
 public:
  void step() {
    if (spins_ < kSpins) {
      ++spins_;
      cpu_relax();
    } else {
      sched_yield();
    }
  }

 private:
  static constexpr int kSpins = 64;
  int spins_ = 0;
};

/**
 * One-byte lock for sections of a few instructions. Any thread; not recursive; not fair.
 *
 * Memory order: a successful try_lock() or lock() acquires what the previous unlock() released. The first look is
 * relaxed, so that waiting reads the line without owning it. Works with std::lock_guard and std::unique_lock.
 */
class TryLock {
 public:
  TryLock() = default;
  TryLock(const TryLock&) = delete;
  TryLock& operator=(const TryLock&) = delete;

  [[nodiscard]] bool try_lock() {
    if (held_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire)) return false;
    LCI_COUNT_LOCK();
    return true;
  }
  void lock() {
    for (SpinWait wait; !try_lock();) wait.step();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

/// Tries once; tells by operator bool whether the lock is held; unlocks at the end of the scope if so.
class [[nodiscard]] TryLockGuard {
 public:
  explicit TryLockGuard(TryLock& lock) : lock_(lock), owns_(lock.try_lock()) {}
  ~TryLockGuard() {
    if (owns_) lock_.unlock();
  }
  TryLockGuard(const TryLockGuard&) = delete;
  TryLockGuard& operator=(const TryLockGuard&) = delete;

  explicit operator bool() const { return owns_; }

 private:
  TryLock& lock_;
  const bool owns_;
};

}  // namespace lci

#endif  // LCI_BASE_TRY_LOCK_HPP_
