// SPDX-License-Identifier: Apache-2.0
#include "protocol/peer_bytes.hpp"

#include <cstring>

#include "protocol/reference.hpp"

namespace lci {

const std::byte* packet_of(const Packets& packets, Link& link, uint64_t handle, uint32_t size) {
  if (handle == 0 || handle > UINT32_MAX || size > packets.max_eager() ||
      !link.peer->contains(handle * kPacketUnit, kPacketPayloadOffset + uint64_t{size})) {
    return nullptr;
  }
  return link.peer->at(handle * kPacketUnit) + kPacketPayloadOffset;
}

const std::byte* payload_of(const Packets& packets, Link& link, const MessageHeader& header, uint32_t most) {
  if (!(header.arg & kInPlace)) return packet_of(packets, link, header.arg, header.size);
  const std::byte* packet = packet_of(packets, link, header.arg & ~kInPlace, sizeof(uint64_t));
  if (!packet || header.size > most) return nullptr;
  const uint64_t offset = read_reference(packet);
  return link.peer->contains(offset, header.size) ? link.peer->at(offset) : nullptr;
}

bool was_revoked(const Packets& packets, Link& link, const MessageHeader& header) {
  if (!(header.arg & kInPlace)) return false;
  const std::byte* packet = packet_of(packets, link, header.arg & ~kInPlace, sizeof(uint64_t));
  return packet && was_revoked(packet);
}

uint64_t word_of(Link& link, const MessageHeader& header) {
  if (header.kind == MessageKind::kSendInline || header.kind == MessageKind::kAmInline) return header.arg;
  uint64_t word;
  link.data_in.read_payload(&word, sizeof word);
  return word;
}

}  // namespace lci
