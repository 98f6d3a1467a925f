// SPDX-License-Identifier: Apache-2.0
// Copies into and out of regions against the end of regions, without a lock and without waiting for other processes.
//
// Each device has a word in the memory of its rank, for other processes, and one in private memory, for this process.
// Its owner makes both odd before it looks at a region's key and even when the copy is over; there is one writer. The
// thread that ends a region clears the key and then reads the words of all devices: those that are odd may have seen
// the old key. When each of them has changed once (or its rank is gone) nobody can touch the memory any more.
//
// Peers can write the first of those. So this process waits only for private ones; memory whose end depends on the
// word of another process is kept until that word changes, and nobody waits.
//
// Memory orders: making the shared word odd and reading the key, clearing the key and reading the word are seq_cst, so
// that at least one side sees the other. The private word is made odd by a relaxed store before that, ordered by
// owner_fence() against OwnerBarrier::pass() in the thread that ends a region. Making words even is a release
// store, read with acquire: the copy is over for the reader.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/fences.hpp"
#include "rma/copiers.hpp"

namespace lci {

/// The two words of a device.
struct CopyWords {
  std::atomic<uint64_t>& shared;
  std::atomic<uint64_t>& here;
  bool owner_pays;  ///< The thread that ends a region cannot stop this one for a moment.
};

class CopyGuard {
 public:
  explicit CopyGuard(const CopyWords& words) : shared_(words.shared), here_(words.here) {
    const uint64_t odd = here_.load(std::memory_order_relaxed) + 1;
    here_.store(odd, std::memory_order_relaxed);
    owner_fence(words.owner_pays);
    shared_.exchange(odd, std::memory_order_seq_cst);
  }
  ~CopyGuard() {
    const uint64_t even = here_.load(std::memory_order_relaxed) + 1;
    here_.store(even, std::memory_order_release);
    shared_.store(even, std::memory_order_release);
  }
  CopyGuard(const CopyGuard&) = delete;
  CopyGuard& operator=(const CopyGuard&) = delete;

 private:
  std::atomic<uint64_t>& shared_;
  std::atomic<uint64_t>& here_;
};

/// The copies that were under way when the keys of regions were cleared. Not thread-safe. Without memory to note them
/// it is never over too early: passed() notes them then, and those that have begun since are waited for as well.
class GracePeriod {
 public:
  /// Call after the keys were cleared.
  explicit GracePeriod(const Copiers& copiers);
  /// Whether all of them are over.
  bool passed();
  /// Waits for those of this process; they last as long as one copy. Needs no memory.
  void wait_for_this_process() const;

 private:
  /// Of a rank whose words cannot be read: its copies are over when it has ended.
  static constexpr uint64_t kUnseen = 0;
  struct Copy {
    uint32_t rank;
    uint32_t device;
    uint64_t sequence;
  };
  void note();
  template <typename Visit>
  void for_each_copy_of(uint32_t rank, PeerMemory& memory, Visit visit) const;
  bool copies(uint32_t rank) const;
  const std::atomic<uint64_t>& word(uint32_t rank, uint32_t device) const;
  bool is_over(const Copy& copy) const;

  const Copiers* copiers_;
  bool noted_ = false;
  std::vector<Copy> copies_;
};

}  // namespace lci
