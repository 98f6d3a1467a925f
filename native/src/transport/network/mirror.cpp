// SPDX-License-Identifier: Apache-2.0
#include "transport/network/mirror.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/round_up.hpp"
#include "lci/lci.h"
#include "transport/memory/available.hpp"

namespace lci {
int Mirror::create(uint64_t reserve, uint32_t rank, uint32_t ranks, uint32_t devices, std::unique_ptr<Mirror>* out) {
  std::unique_ptr<Mirror> mirror(new Mirror(ranks, devices));
  mirror->reserve_ = reserve;
  if (mirror->layout_.end > reserve) {
    return fail(LCI_ERR_NO_MEMORY, "mirror of rank %u: its bookkeeping for %u ranks exceeds arena_bytes; raise it",
                rank, ranks);
  }
  mirror->range_ = KeptRanges::shared().take_or_map(reserve);
  if (!mirror->range_.base) return fail(LCI_ERR_NO_MEMORY, "mirror of rank %u: no addresses left", rank);
  mirror->base_ = mirror->range_.base;
  mirror->granted_ = mirror->layout_.end;
  mirror->backed_.store(mirror->layout_.end, std::memory_order_release);
  mirror->introduce(rank, ranks, devices);
  *out = std::move(mirror);
  return LCI_DONE;
}

Mirror::~Mirror() {
  if (keep_range_) {
    KeptRanges::shared().put_back(range_);
  } else if (range_.base) {
    munmap(range_.base, range_.bytes);
  }
}

uint64_t Mirror::allocate(size_t bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint64_t size = round_up(bytes, 64), offset = backed_.load(std::memory_order_relaxed);
  if (size > reserve_ - offset) return 0;
  if (offset + size > granted_) {
    const uint64_t grown = std::min(round_up(offset + size, kMemoryGrowth), reserve_);
    if (grown - granted_ > memory_available()) return 0;
    granted_ = grown;
  }
  backed_.store(offset + size, std::memory_order_release);
  return offset;
}

void Mirror::forget(void* memory, size_t bytes) {
  const auto begin = reinterpret_cast<uint64_t>(memory), first = round_up(begin, kPage);
  const uint64_t end = (begin + bytes) / kPage * kPage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace lci
