// SPDX-License-Identifier: Apache-2.0
// Memory in which arrivals are given to users. [SS-20]
#pragma once

#include <cstddef>
#include <cstdint>

#include "flow/keys.hpp"
#include "lci/lci.h"
#include "protocol/received_memory.hpp"

namespace lci {

/// In place of the messages that an arrival is charged with: it is a reply, and lies in the room for one.
inline constexpr uint32_t kReplyRoom = UINT32_MAX;

/// Payload of an arrival that a user will free; the credit goes back when the status is taken.
struct ArrivalBuffer {
  InKey* key;
  uint64_t charge_bytes;
  uint32_t charge_messages;
  uint32_t generation;
  uint32_t room;                   ///< Of the block, if it is one of KeptBlocks; else 0.
  bool signal;                     ///< The user gets no buffer: it goes when the status is taken.
  uint64_t request;                ///< Where its reply may go; 0: it asks for none.
  ReceivedMemory* received;        ///< Whose it is, if a receive brought it; else null.
  const lci_allocator* allocator;  ///< Who gave the memory, and takes it back; null: malloc. [A10]
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
  static ArrivalBuffer* create(uint32_t size, const lci_allocator* allocator);
  /// Null when there is no memory.
  static ArrivalBuffer* try_create(uint32_t size, const lci_allocator* allocator);
  static void destroy(ArrivalBuffer* buffer);
  static ArrivalBuffer* of(void* buffer) { return reinterpret_cast<ArrivalBuffer*>(buffer) - 1; }
};

}  // namespace lci
