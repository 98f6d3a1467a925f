// SPDX-License-Identifier: Apache-2.0
// Large memory of arrivals that were freed, kept for the next ones. [A10]
//
// malloc gives large memory back to the system when it is freed, and the system clears every page that it hands out
// again: for messages of a mebibyte, a third of the time.
#pragma once

#include <cstddef>

#include "base/try_lock.hpp"

namespace lci {

/**
 * The last blocks that were freed, of the whole process: buffers outlive the runtime that delivered them.
 *
 * Any thread may call anything. Everything is guarded by a try-lock that nobody waits for, but the last user: who finds
 * it locked goes to malloc.
 */
class KeptBlocks {
 public:
  /// What is smaller is malloc's.
  static constexpr size_t kLeast = size_t{128} << 10;
  static constexpr size_t kMostBytes = size_t{16} << 20;
  static constexpr size_t kMostBlocks = 16;

  /// The process's own.
  static KeptBlocks& shared();

  KeptBlocks() = default;
  ~KeptBlocks() { drop_all(); }
  KeptBlocks(const KeptBlocks&) = delete;
  KeptBlocks& operator=(const KeptBlocks&) = delete;

  /// Of at least @p bytes; null: no memory. @param room how long it is, for put_back()
  void* take(size_t bytes, size_t* room);
  /// Keeps the block, or frees it, or an older one in its place.
  void put_back(void* block, size_t room);

  /// Blocks are kept while there are users: every runtime is one.
  class User {
   public:
    explicit User(KeptBlocks& blocks);
    ~User();
    User(const User&) = delete;
    User& operator=(const User&) = delete;

   private:
    KeptBlocks& blocks_;
  };

  size_t kept_bytes() const { return bytes_; }

 private:
  struct Block {
    void* memory;
    size_t room;
  };
  /// Of what fits and is at most twice as long, the last that came; null: none.
  void* reuse(size_t bytes, size_t* room);
  void remove(size_t index);
  void drop_all();

  TryLock lock_;
  Block blocks_[kMostBlocks];  ///< The oldest first.
  size_t count_ = 0;
  size_t bytes_ = 0;
  size_t users_ = 0;
};

}  // namespace lci
