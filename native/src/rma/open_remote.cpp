// SPDX-License-Identifier: Apache-2.0
#include "rma/open_remote.hpp"

#include "base/error.hpp"

namespace lci {
namespace {

int gone(const MemoryHandle& handle) {
  return fail(LCI_ERR_MEMORY_CLOSED, "open remote memory: rank %u has ended this region", handle.rank);
}

int nonsense(uint32_t rank) {
  return fail(LCI_ERR_PROTOCOL, "open remote memory: what rank %u shares of the region makes no sense", rank);
}

}  // namespace

int open_remote(const Copiers& copiers, uint32_t rank, const MemoryHandle& handle, Remote* out) {
  if (rank >= copiers.ranks) {
    return fail(LCI_ERR_RANK, "open remote memory: rank %u is outside 0..%u", rank, copiers.ranks - 1);
  }
  if (handle.rank != rank) {
    return fail(LCI_ERR_ARGUMENT, "open remote memory: the handle is of rank %u, not %u", handle.rank, rank);
  }
  if (const int code = copiers.peers.check(rank, "open remote memory"); code != LCI_DONE) return code;
  if (handle.index >= kMaxRegions || handle.key == 0) return gone(handle);
  if (!copiers.copies_with(rank)) {  // the target checks each access
    *out = {rank, handle.index, handle.key, handle.size, nullptr, nullptr};
    return LCI_DONE;
  }
  PeerMemory* mapped = nullptr;
  if (const int code = copiers.peers.memory(rank, "open remote memory", &mapped); code != LCI_DONE) return code;
  PeerMemory& memory = *mapped;
  const uint64_t chunk = memory.header().region_chunks[handle.index / kRegionsPerChunk].load(std::memory_order_acquire);
  if (chunk == 0) return gone(handle);
  if (chunk % 64 != 0 || !memory.contains(chunk, kRegionsPerChunk * sizeof(RegionEntry))) return nonsense(rank);
  const auto& entry = reinterpret_cast<const RegionEntry*>(memory.at(chunk))[handle.index % kRegionsPerChunk];
  if (entry.key.load(std::memory_order_acquire) != handle.key) return gone(handle);
  const uint64_t place = entry.place.load(std::memory_order_acquire), size = entry.size.load(std::memory_order_acquire);
  const uint32_t kind = entry.kind.load(std::memory_order_acquire);
  if (entry.key.load(std::memory_order_relaxed) != handle.key) return gone(handle);  // ended, and used again, meanwhile
  if (size != handle.size) return nonsense(rank);
  *out = {rank, handle.index, handle.key, size, nullptr, &entry.key};
  switch (static_cast<RegionKind>(kind)) {
    case RegionKind::kShared:
      if (size != 0 && !memory.contains(place, size)) return nonsense(rank);
      out->memory = memory.at(size != 0 ? place : 0);
      return LCI_DONE;
    case RegionKind::kPrivate:
      if (copiers.transport.shares_addresses_with(rank)) out->memory = reinterpret_cast<std::byte*>(place);
      return LCI_DONE;
  }
  return nonsense(rank);
}

}  // namespace lci
