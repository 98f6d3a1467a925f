// SPDX-License-Identifier: Apache-2.0
// The shared memory of one rank: a memfd without a name, sealed against shrinking and further seals, mapped once over a
// reserved range and grown in place. Rings and packets are cut from it; peers map it whole.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/kept_ranges.hpp"
#include "transport/memory/own_memory.hpp"

namespace lci {

/// A mapping of an arena: the owner's own, or a peer's.
class Arena final : public OwnMemory {
 public:
  /// Creates this rank's arena, with pages for @p devices. @p limit bounds its memory; 0 asks the system.
  /// LCI_ERR_NO_MEMORY.
  static int create(uint64_t reserve, uint64_t limit, uint32_t rank, uint32_t size, uint32_t devices,
                    std::shared_ptr<Arena>* out);
  /// Maps a peer's arena, as far as it may grow, from the descriptor it sent; validates seals and header.
  static int map_peer(int fd, uint32_t rank, uint32_t size, uint32_t devices, std::shared_ptr<Arena>* out);
  ~Arena() override;

  /// Owner only: cuts @p bytes, zeroed, from the arena; 0 when memory is refused. Offsets are multiples of 64.
  uint64_t allocate(size_t bytes) override;
  bool punch(uint64_t offset, uint64_t bytes) override;
  bool populate(uint64_t offset, uint64_t bytes) override;
  void keep_range() override { keep_range_.store(true, std::memory_order_relaxed); }
  int fd() const { return fd_; }

 private:
  Arena(uint32_t size, uint32_t devices) : OwnMemory(size, devices) {}
  bool map();
  bool back_layout(uint32_t devices);
  bool reserve_pages(uint64_t offset, uint64_t bytes);
  bool grow_to(uint64_t bytes);
  uint64_t pages_taken() const;
  uint64_t look_how_far_backed() override;

  KeptRanges::Range range_;  ///< Where it is mapped; longer than it is if another arena had it before.
  uint64_t limit_ = 0;
  uint64_t used_ = 0;
  int fd_ = -1;
  std::atomic<bool> keep_range_{false};
  std::mutex grow_;  // growth is rare and may be asked for by any device
};

}  // namespace lci
