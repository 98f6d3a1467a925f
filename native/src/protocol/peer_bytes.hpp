// SPDX-License-Identifier: Apache-2.0
// Bytes of a peer that a message of it names: checked, because every bit of the name is the peer's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/link.hpp"
#include "protocol/packets.hpp"
#include "wire/message.hpp"

namespace lci {

/// Payload of a packet; null: there is none of this handle and size.
const std::byte* packet_of(const Packets& packets, Link& link, uint64_t handle, uint32_t size);

/// In the packet that came, or at most @p most bytes where that says; null: outside the peer's memory. To be looked at
/// once, since the packet may say something else the next time.
const std::byte* payload_of(const Packets& packets, Link& link, const MessageHeader& header, uint32_t most);

/// Whether the peer has taken back what a message refers to; asked after it was copied.
bool was_revoked(const Packets& packets, Link& link, const MessageHeader& header);

/// The word that a message carries besides its payload: a user's key, or where its reply goes.
uint64_t word_of(Link& link, const MessageHeader& header);

/// The default engine makes its keys itself: that of a user could mean another rank's message. [SS-13]
inline bool has_key_for_default_engine(const MessageHeader& header) {
  return header.target == kEngineTarget && (header.flags & kFlagKeyed);
}

}  // namespace lci
