// SPDX-License-Identifier: Apache-2.0
// Memory of this process that is laid out as a peer's, for a peer whose memory is out of reach. Links write what the
// peer would have written. [ADR 0010]
//
// Any thread may allocate; a short lock guards it. What is allocated is written by the link that asked for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/kept_ranges.hpp"
#include "transport/memory/peer_memory.hpp"

namespace lci {

class Mirror final : public PeerMemory {
 public:
  /// @param reserve bytes of addresses; what is touched has memory. LCI_ERR_NO_MEMORY.
  static int create(uint64_t reserve, uint32_t rank, uint32_t ranks, uint32_t devices, std::unique_ptr<Mirror>* out);
  ~Mirror() override;

  /// Cuts @p bytes, zeroed, from it; 0 when memory is refused. Offsets are multiples of 64.
  uint64_t allocate(size_t bytes);
  /// Nobody looks at these bytes of it any more: whole pages of them are given back to the system.
  void forget(void* memory, size_t bytes);
  void keep_range() override { keep_range_.store(true, std::memory_order_relaxed); }

 private:
  Mirror(uint32_t ranks, uint32_t devices) : PeerMemory(ranks, devices) {}
  uint64_t look_how_far_backed() override { return backed_.load(std::memory_order_acquire); }

  KeptRanges::Range range_;
  std::mutex mutex_;
  uint64_t granted_ = 0;  // so far there was memory
  std::atomic<bool> keep_range_{false};
};

}  // namespace lci
