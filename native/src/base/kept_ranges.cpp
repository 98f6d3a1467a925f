// SPDX-License-Identifier: Apache-2.0
#include "base/kept_ranges.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/no_memory.hpp"

namespace lci {
namespace {

constexpr int kEmpty = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

KeptRanges& KeptRanges::shared() {
  static KeptRanges& ranges = *new KeptRanges;  // runtimes may be closed while the process ends
  return ranges;
}

KeptRanges::Range KeptRanges::take(size_t bytes) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto fits = [bytes](const Range& range) { return range.bytes >= bytes && range.bytes / 2 <= bytes; };
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), fits);
  if (found == ranges_.end()) return {};
  const Range taken = *found;
  ranges_.erase(found);
  return taken;
}

KeptRanges::Range KeptRanges::take_or_map(size_t bytes) {
  if (const Range kept = take(bytes); kept.base) return kept;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kEmpty, -1, 0);
  if (mapped == MAP_FAILED) return {};
  return {static_cast<std::byte*>(mapped), bytes};
}

void KeptRanges::put_back(Range range) {
  if (!range.base) return;
  if (mmap(range.base, range.bytes, PROT_READ | PROT_WRITE, kEmpty | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(range.base, range.bytes);
    return;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  // Without memory to note it the range stays mapped, and is not used again.
  static_cast<void>(unless_no_memory([&] { ranges_.push_back(range); }));
}

}  // namespace lci
