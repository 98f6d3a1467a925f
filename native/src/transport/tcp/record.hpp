// SPDX-License-Identifier: Apache-2.0
// What travels over a TCP link: records, each with what one batch posted to a peer. A record is its header and frames;
// a frame is the header of a message, what lay in the message's slots, and the payload of its packet. All numbers are
// little-endian.
//
// A position counts the bytes of records in one direction of a link, from 0; it is the record's number as well. Slots
// of the mirror's rings are numbered as those of the sender's: each message takes as many in both. So what a receiver
// has room for is told as in a ring, by how far the sender may write.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/lci.h"
#include "transport/memory/returned_packets.hpp"
#include "transport/memory/ring.hpp"
#include "wire/message.hpp"
#include "wire/remote_access.hpp"

namespace lci {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

struct RecordHeader {
  uint32_t length;        ///< Of the frames that follow.
  uint32_t barriers;      ///< Low bits of how many barriers the sender has completed.
  uint64_t position;      ///< Where this record begins.
  uint64_t received;      ///< Every byte before this position of the other direction has come.
  uint32_t control_room;  ///< The receiver may write the slots of control before this one,
  uint32_t data_room;     ///< those of data before this one,
  uint32_t packet_room;   ///< and as many packets since the link was opened.
  uint32_t reserved;
};
static_assert(sizeof(RecordHeader) == 40);

/// Header of a message, or of what links say to each other.
struct [[gnu::packed]] FrameHeader {
  uint8_t kind;
  uint8_t flags;
  uint16_t target;
  uint32_t size;
  uint32_t aux;
  uint64_t tag;
  uint64_t arg;
};
static_assert(sizeof(FrameHeader) == 28);

/// What the ranks of a job agree on.
struct LinkSizes {
  uint32_t control_slots, data_slots;
  uint32_t most_payload;  ///< Bytes, of a packet.
  /// To which this rank's ring of data from a peer may grow; each rank has its own.
  uint32_t most_data_slots;
  /// Payloads in packets that may be on their way to this rank, or not taken; each rank has its own.
  uint32_t window_bytes = 4 << 20;
  /// Bytes of frames in a record: it has room for any one.
  uint32_t most_record() const { return most_payload + 4096 > 65536 ? most_payload + 4096 : 65536; }
};

/// Packets of the window, and the fewest that it has.
inline constexpr uint32_t kFewestPackets = 16;
inline constexpr uint32_t packet_window(const LinkSizes& sizes) {
  const uint32_t packets = sizes.window_bytes / (sizes.most_payload + kPacketPayloadOffset);
  return packets > kFewestPackets ? packets : kFewestPackets;
}

/// Slots of data that a peer can have room for: the most that attribute net_ring_bytes allows.
inline constexpr uint32_t kMostDataSlots = (16 << 20) / kSlotBytes;

/// What links say to each other; numbers that no MessageKind has.
enum class LinkWord : uint8_t {
  kPacketBack = 0xE0,  ///< The receiver has done with announcement `arg`.
  kDevices = 0xE1,     ///< The sender has `arg` devices.
  kNotice = 0xE2,      ///< Rank `aux` is gone: `size` is its RankState, `arg` how many barriers it had completed.
  kEnd = 0xE3,         ///< The same of the sender itself; nothing follows.
  kRest = 0xE4,        ///< The sender has nothing to say: the connection may be closed until one of the two has.
  kSpoken = 0xE5,  ///< Before kEnd: it has spoken to devices 64 * `aux` + i of the receiver, for each bit i of `arg`.
};

/// Bytes that a message has in its slots.
inline constexpr uint32_t bytes_in_slots(const MessageHeader& header) {
  switch (header.kind) {
    case MessageKind::kAmInline:
    case MessageKind::kSendInline:
    case MessageKind::kCollective:
      return header.size;
    case MessageKind::kAmPacket:
    case MessageKind::kSendPacket:
    case MessageKind::kAnnounce:
    case MessageKind::kRendezvous:
      return header.flags & kFlagsWithWord ? sizeof(uint64_t) : 0;
    case MessageKind::kRendezvousData:
      return sizeof(uint64_t);
    case MessageKind::kPutData:
    case MessageKind::kGet:
      return sizeof(RemoteAccess);
    case MessageKind::kAtomic:
      return sizeof(AtomicAccess);
    default:
      return 0;
  }
}

/// Whether the payload of a message lies in a packet.
inline constexpr bool is_in_packet(MessageKind kind) {
  return kind == MessageKind::kAmPacket || kind == MessageKind::kSendPacket || kind == MessageKind::kRendezvousData ||
         kind == MessageKind::kPutData;
}

inline constexpr bool is_data(MessageKind kind) {
  return kind >= MessageKind::kAmInline && kind <= MessageKind::kAtomic;
}
inline constexpr bool is_control(MessageKind kind) {
  return kind >= MessageKind::kReady && kind <= MessageKind::kCollective;
}

inline FrameHeader to_frame(const MessageHeader& header) {
  return {
      static_cast<uint8_t>(header.kind), header.flags, header.target, header.size, header.aux, header.tag, header.arg};
}
inline MessageHeader to_message(const FrameHeader& frame) {
  return {static_cast<MessageKind>(frame.kind), frame.flags, frame.target, frame.size, frame.aux, frame.tag, frame.arg};
}

/// Whether slot or packet @p next lies before @p room, both modulo 2^32.
inline constexpr bool has_room_before(uint32_t room, uint32_t next) {
  return static_cast<int32_t>(room - next) >= 0;
}

}  // namespace lci
