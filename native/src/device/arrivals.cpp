// SPDX-License-Identifier: Apache-2.0
// What the rings of a peer hold: taken in order, checked, and handed to the protocol that it belongs to. [area H]

#include <algorithm>
#include <new>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "device/device.hpp"

namespace lci {
namespace {

/// Control messages handled per link and pass.
constexpr uint32_t kControlBudget = 256;

}  // namespace

bool Device::drain_control(Link& link) {
  bool moved = false;
  for (uint32_t i = 0; i < kControlBudget && link.control_in.has_message(); ++i) {
    const MessageHeader header = link.control_in.header();
    if (!unless_no_memory([&] { handle_control(link, header); })) {
      unfinished_ = true;
      break;
    }
    if (link.control_in.advance(1)) links_.touch(link);
    moved = true;
  }
  return moved;
}

void Device::handle_control(Link& link, const MessageHeader& header) {
  if (link.failed || link.broken) return;
  if (!link.out_open && header.kind != MessageKind::kBarrier) {
    return protocol_error(link, "answer to one who never spoke", header);
  }
  switch (header.kind) {
    case MessageKind::kReady:
      return handle_ready(link, header);
    case MessageKind::kGrant:
      return handle_grant(link, header);
    case MessageKind::kRecall:
      return handle_recall(link, header);
    case MessageKind::kReturn:
      return handle_return(link, header);
    case MessageKind::kRefuse:
      return handle_refusal(link, header);
    case MessageKind::kBarrier:
      return index_ == 0 ? barriers_.handle(link, header) : protocol_error(link, "barrier on another device", header);
    case MessageKind::kWithdraw:
      return handle_withdrawal(link, header);
    case MessageKind::kPutAck:
      return handle_put_ack(link, header);
    default:
      return protocol_error(link, "unknown control message", header);
  }
}

bool Device::drain_data(Link& link, Budget& budget) {
  bool moved = false;
  while (budget.messages != 0 && link.data_in.has_message()) {
    const MessageHeader header = link.data_in.header();
    uint32_t bytes = 0, slots = 1;
    if (link.failed || link.broken) {
      slots = header.kind == MessageKind::kAmInline || header.kind == MessageKind::kSendInline
                  ? slots_for(std::min(header.size, LCI_INLINE_MAX))
                  : 1;
    } else if (!unless_no_memory([&] { handle_data(link, header, &bytes, &slots); })) {
      unfinished_ = true;
      break;
    }
    if (link.data_in.advance(slots)) links_.touch(link);
    moved = true;
    --budget.messages;
    if (bytes >= budget.bytes) {
      budget.bytes = 0;
      budget.messages = 0;
    } else {
      budget.bytes -= bytes;
    }
  }
  return moved;
}

void Device::handle_data(Link& link, const MessageHeader& header, uint32_t* payload_bytes, uint32_t* slots) {
  switch (header.kind) {
    case MessageKind::kAmInline:
    case MessageKind::kSendInline: {
      if (header.size > LCI_INLINE_MAX) {
        return protocol_error(link, "inline payload too long", header);
      }
      *slots = slots_for(header.size);
      *payload_bytes = header.size;
      handle_message(link, header, {&link.data_in, nullptr, header.size, (header.flags & kFlagSignal) != 0});
      return;
    }
    case MessageKind::kAmPacket:
    case MessageKind::kSendPacket: {
      const std::byte* bytes = payload_of(link, header, parts_.packets.max_eager());
      if (!bytes) {
        return protocol_error(link, "packet outside its memory", header);
      }
      *payload_bytes = header.size;
      const auto packet = static_cast<uint32_t>(header.arg);
      make_room(&link.packets_back);
      const uint32_t to_lend = header.arg & kInPlace ? 0 : packet;  // what is the sender's own is copied
      if (!handle_message(link, header, {nullptr, bytes, header.size, false, to_lend})) {
        link.packets_back.push_back(packet);
      }
      return;
    }
    case MessageKind::kAnnounce:
    case MessageKind::kRendezvous:
      handle_announcement(link, header);
      return;
    case MessageKind::kRendezvousData: {
      *payload_bytes = header.size;
      std::byte offset[8];
      link.data_in.read_payload(offset, sizeof offset);
      make_room(&link.packets_back);
      handle_chunk(link, header, offset);
      if (!link.broken) {
        link.packets_back.push_back(static_cast<uint32_t>(header.arg));
      }
      return;
    }
    case MessageKind::kPutData:
    case MessageKind::kGet: {
      RemoteAccess access;
      link.data_in.read_payload(&access, sizeof access);
      if (header.kind == MessageKind::kGet) {
        handle_get(link, header, access);
      } else {
        *payload_bytes = header.size;
        make_room(&link.packets_back);
        handle_put_data(link, header, access);
        if (!link.broken) link.packets_back.push_back(static_cast<uint32_t>(header.arg));
      }
      return;
    }
    default:
      protocol_error(link, "unknown data message", header);
      return;
  }
}

/// Payload of a packet that a peer named: checked, because every bit of the handle is the peer's.
const std::byte* Device::packet_of(Link& link, uint64_t handle, uint32_t size) {
  if (handle == 0 || handle > UINT32_MAX || size > parts_.packets.max_eager() ||
      !link.peer->contains(handle * kPacketUnit, kPacketPayloadOffset + uint64_t{size})) {
    return nullptr;
  }
  return link.peer->at(handle * kPacketUnit) + kPacketPayloadOffset;
}

/// In the packet that came, or at most @p most bytes where that says: checked, because every bit of either is the
/// peer's. To be looked at once, since the packet may say something else the next time.
const std::byte* Device::payload_of(Link& link, const MessageHeader& header, uint32_t most) {
  if (!(header.arg & kInPlace)) return packet_of(link, header.arg, header.size);
  const std::byte* packet = packet_of(link, header.arg & ~kInPlace, sizeof(uint64_t));
  if (!packet || header.size > most) return nullptr;
  uint64_t offset;
  std::memcpy(&offset, packet, sizeof offset);
  return link.peer->contains(offset, header.size) ? link.peer->at(offset) : nullptr;
}

/// True: its packet stays with the user.
bool Device::handle_message(Link& link, const MessageHeader& header, const Payload& payload) {
  counters.add(Metric::arrivals);
  counters.add(Metric::arrival_bytes, header.size);
  InKey* key = in_key(link, header.target);
  const bool am = header.kind == MessageKind::kAmInline || header.kind == MessageKind::kAmPacket;
  uint64_t request = 0;
  if (!key || am == ((header.target & kEngineTarget) != 0) || (payload.signal && (!am || payload.size != 0)) ||
      (am && !read_request(link, header, &request))) {
    protocol_error(link, "message to nothing", header);
    return false;
  }
  Target& target = *key->target;
  if (am && (header.flags & kFlagReply)) return handle_reply(link, *key, header, payload, request);
  const auto has_closed = [&] {
    return !target.is_open() || target.generation.load(std::memory_order_relaxed) != header.aux;
  };
  const auto discard = [&] {
    counters.add(Metric::discarded);  // sent before the sender learned that the port closed
    decline_reply(link, request);
    return false;
  };
  if (has_closed()) {
    return discard();
  }
  const bool credited = header.flags & kFlagCredited;
  if (credited ? !spend_lease(*key, header, header.size) : target.credited.load(std::memory_order_acquire)) {
    // What takes credit now may be the next opening, on an object of another kind.
    if (!credited && has_closed()) return discard();
    protocol_error(link, "more messages than were granted", header);
    return false;
  }
  try {
    if (!am) return handle_send(link, *key, header, payload, credited), false;
    return deliver_request(static_cast<Port&>(target), *key, header.tag, payload, credited ? 1 : 0,
                           credited ? header.size : 0, nullptr, request) == Delivery::kLent;
  } catch (const std::bad_alloc&) {
    // It stays in the ring, and is handled anew when there is memory: nothing of it has happened.
    counters.set(Metric::arrivals, counters.get(Metric::arrivals) - 1);
    counters.set(Metric::arrival_bytes, counters.get(Metric::arrival_bytes) - header.size);
    if (credited) {
      ++key->leased.messages;
      key->leased.bytes += header.size;
    }
    throw;
  }
}

void Device::protocol_error(Link& link, const char* what, const MessageHeader& header) {
  link.broken = true;
  counters.add(Metric::protocol_errors);
  fail(LCI_ERR_PROTOCOL,
       "rank %u sent bytes that make no sense: %s (kind %u, target %u, size %u); it is treated as failed", link.rank,
       what, static_cast<unsigned>(header.kind), header.target, header.size);
  LCI_LOG(parts_.log, LogLevel::kError, "protocol", "%s", last_error());
  parts_.peers.treat_as_gone(link.rank, RankState::kFailed);
}

}  // namespace lci
