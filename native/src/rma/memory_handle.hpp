// SPDX-License-Identifier: Apache-2.0
// The bytes by which a region is named to other ranks: version, checksum, owner, place in its table, key. [B4, B5]
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci {

struct MemoryHandle {
  uint32_t rank = 0;
  uint32_t index = 0;  ///< In the owner's region table.
  uint64_t key = 0;
  uint64_t size = 0;
};

/// Writes LCI_MEMORY_HANDLE_SIZE bytes.
void encode(const MemoryHandle& handle, void* out);
/// LCI_DONE, or LCI_ERR_ARGUMENT with what is wrong.
int decode(const void* bytes, size_t length, MemoryHandle* out);

}  // namespace lci
