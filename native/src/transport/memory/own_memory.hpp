// SPDX-License-Identifier: Apache-2.0
// This rank's memory, from which its rings, packets and regions are cut.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pool/packet_pool.hpp"
#include "transport/memory/peer_memory.hpp"

namespace lci {

class OwnMemory : public PeerMemory, public ChunkSource {
 public:
  using PeerMemory::PeerMemory;

  std::byte* at(uint64_t offset) final { return PeerMemory::at(offset); }
  /// Gives the pages of a part of what was allocated back to the system; false if it does not take them.
  virtual bool punch(uint64_t offset, uint64_t bytes) = 0;
  /// Has pages again where punch() left none; false when memory is refused.
  virtual bool populate(uint64_t offset, uint64_t bytes) = 0;
  /// Has pages for what peers need of one device more; false when memory is refused.
  bool populate_device(uint32_t index) {
    return populate(directory_offset(index), layout_.directory_stride) &&
           populate(summary_offset(index), layout_.summary_stride);
  }
};

}  // namespace lci
