// SPDX-License-Identifier: Apache-2.0
#include "rma/memory_handle.hpp"

#include <cstring>

#include "base/error.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

constexpr uint32_t kMagic = 0x484d434c;  // "LCMH"
constexpr uint32_t kVersion = 1;

/// As it travels. What is reserved is zero.
struct Wire {
  uint32_t magic;
  uint32_t version;
  uint64_t checksum;  ///< Of everything else.
  uint32_t rank;
  uint32_t index;
  uint64_t key;
  uint64_t size;
  uint8_t reserved[24];
};
static_assert(sizeof(Wire) == LCI_MEMORY_HANDLE_SIZE);

/// FNV-1a with 64 bits.
uint64_t checksum(Wire wire) {
  wire.checksum = 0;
  unsigned char bytes[sizeof wire];
  std::memcpy(bytes, &wire, sizeof wire);
  uint64_t hash = 14695981039346656037u;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

}  // namespace

void encode(const MemoryHandle& handle, void* out) {
  Wire wire{kMagic, kVersion, 0, handle.rank, handle.index, handle.key, handle.size, {}};
  wire.checksum = checksum(wire);
  std::memcpy(out, &wire, sizeof wire);
}

int decode(const void* bytes, size_t length, MemoryHandle* out) {
  if (length != sizeof(Wire)) {
    return fail(LCI_ERR_ARGUMENT, "open remote memory: a handle has %zu bytes, not %zu", sizeof(Wire), length);
  }
  Wire wire;
  std::memcpy(&wire, bytes, sizeof wire);
  if (wire.magic != kMagic || wire.checksum != checksum(wire)) {
    return fail(LCI_ERR_ARGUMENT, "open remote memory: the bytes are no handle, or were changed on their way");
  }
  if (wire.version != kVersion) {
    return fail(LCI_ERR_ARGUMENT,
                "open remote memory: the handle has version %u, not %u: give all ranks the same library", wire.version,
                kVersion);
  }
  *out = {wire.rank, wire.index, wire.key, wire.size};
  return LCI_DONE;
}

}  // namespace lci
