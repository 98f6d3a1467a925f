// SPDX-License-Identifier: Apache-2.0
// Copies into and out of regions against the end of regions, without a lock and without waiting for other processes.
//
// Each device has a word in the arena of its rank. Its owner makes it odd before it looks at a region's key and even
// when the copy is over; there is one writer. Who ends a region clears the key and then reads the words of all devices:
// those that are odd may have seen the old key. When each of them has changed once (or its rank is gone) nobody can
// touch the memory any more.
//
// Memory orders: making the word odd and reading the key, clearing the key and reading the word are seq_cst, so that at
// least one side sees the other. Making it even is a release store, read with acquire: the copy is over for the reader.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace lci {

class Runtime;

class CopyGuard {
 public:
  /// @p sequence: the owner's own count; peers can write the word.
  CopyGuard(std::atomic<uint64_t>& word, uint64_t& sequence) : word_(word), sequence_(sequence) {
    word_.exchange(++sequence_, std::memory_order_seq_cst);
  }
  ~CopyGuard() { word_.store(++sequence_, std::memory_order_release); }
  CopyGuard(const CopyGuard&) = delete;
  CopyGuard& operator=(const CopyGuard&) = delete;

 private:
  std::atomic<uint64_t>& word_;
  uint64_t& sequence_;
};

/// The copies that were under way when a region's key was cleared. Not thread-safe.
class GracePeriod {
 public:
  /// Call after the key was cleared.
  explicit GracePeriod(Runtime& runtime);
  /// Whether all of them are over.
  bool passed();
  /// Waits for those of this process; they last as long as one copy.
  void wait_for_this_process();

 private:
  struct Copy {
    uint32_t rank;
    uint32_t device;
    uint64_t sequence;
  };
  bool is_over(const Copy& copy) const;

  Runtime* runtime_;
  std::vector<Copy> copies_;
};

}  // namespace lci
