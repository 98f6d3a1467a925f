// SPDX-License-Identifier: Apache-2.0
// The bytes of an arriving message, before anybody has taken them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "transport/memory/ring.hpp"

namespace lci {

/// Where the payload of an arriving message lies while it is handled.
struct Payload {
  const RingConsumer* ring = nullptr;  ///< In ring slots, else
  const std::byte* memory = nullptr;   ///< in memory,
  uint32_t size = 0;
  bool signal = false;  ///< Of a put or get: the status has no buffer.
  uint32_t packet = 0;  ///< of this packet of the peer.
  void copy(void* to) const { copy(to, size); }
  /// The first @p bytes of it.
  void copy(void* to, uint32_t bytes) const {
    if (bytes == 0) return;
    if (ring) {
      ring->read_payload(to, bytes);
    } else {
      std::memcpy(to, memory, bytes);
    }
  }
};

}  // namespace lci
