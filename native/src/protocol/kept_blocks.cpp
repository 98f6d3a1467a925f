// SPDX-License-Identifier: Apache-2.0
#include "protocol/kept_blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "base/round_up.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

namespace lci {
namespace {

/// Lengths are rounded up to it, so that messages of about the same length use each other's blocks.
constexpr size_t kStep = size_t{64} << 10;

}  // namespace

KeptBlocks& KeptBlocks::shared() {
  static KeptBlocks& blocks = *new KeptBlocks;  // threads may free buffers while the process ends
  return blocks;
}

void* KeptBlocks::take(size_t bytes, size_t* room) {
  if (void* memory = reuse(bytes, room)) return memory;
  *room = round_up(bytes, kStep);
  return std::malloc(*room);
}

void* KeptBlocks::reuse(size_t bytes, size_t* room) {
  const TryLockGuard guard(lock_);
  if (!guard) return nullptr;
  for (size_t i = count_; i-- > 0;) {
    const Block block = blocks_[i];
    if (block.room < bytes || block.room / 2 > bytes) continue;
    remove(i);
    *room = block.room;
    ASAN_UNPOISON_MEMORY_REGION(block.memory, block.room);
    return block.memory;
  }
  return nullptr;
}

void KeptBlocks::put_back(void* memory, size_t room) {
  {
    const TryLockGuard guard(lock_);
    if (guard && users_ != 0 && room <= kMostBytes) {
      while (count_ == kMostBlocks || bytes_ + room > kMostBytes) {
        ASAN_UNPOISON_MEMORY_REGION(blocks_[0].memory, blocks_[0].room);
        std::free(blocks_[0].memory);
        remove(0);
      }
      ASAN_POISON_MEMORY_REGION(memory, room);
      blocks_[count_++] = {memory, room};
      bytes_ += room;
      return;
    }
  }
  std::free(memory);
}

KeptBlocks::User::User(KeptBlocks& blocks) : blocks_(blocks) {
  const std::lock_guard<TryLock> guard(blocks_.lock_);
  ++blocks_.users_;
}

KeptBlocks::User::~User() {
  const std::lock_guard<TryLock> guard(blocks_.lock_);
  if (--blocks_.users_ == 0) blocks_.drop_all();
}

void KeptBlocks::remove(size_t index) {
  bytes_ -= blocks_[index].room;
  std::copy(blocks_ + index + 1, blocks_ + count_, blocks_ + index);
  --count_;
}

void KeptBlocks::drop_all() {
  while (count_ != 0) {
    ASAN_UNPOISON_MEMORY_REGION(blocks_[0].memory, blocks_[0].room);
    std::free(blocks_[0].memory);
    remove(0);
  }
}

}  // namespace lci
