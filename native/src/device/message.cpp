// SPDX-License-Identifier: Apache-2.0
// Active messages and sends: inline, by packet, announced, or (rendezvous.cpp) streamed.
#include <algorithm>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

int Device::post_message(Link& link, const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  if (const int code = check_length(op, target); code != LCI_DONE) return code;
  const uint32_t engine = op.port;
  const auto number = static_cast<uint16_t>(op.op == LCI_OP_AM ? op.port : kEngineTarget | engine);
  OutKey& key = out_key(link, number);
  int code = admit(link, key, op);
  if (code == LCI_DONE) {
    Outgoing message{inline_payload, 0, op.size, op.tag, 0, 0};
    if (op.flags & LCI_FLAG_NETWORK) message.network = &target;
    std::byte gathered[LCI_INLINE_MAX];
    describe_payload(op, gathered, &message);
    if (op.op == LCI_OP_SEND) {
      message.flags = op.policy;
      if (match_key(op, parts_.rank, op.policy, &message.match)) message.flags |= kFlagKeyed;
      code = send_message(link, key, op, message, target);
    } else if (op.policy == 0) {
      code = send_message(link, key, op, message, target);
    } else if ((code = claim_reply_rooms(op, &message)) == LCI_DONE) {
      code = send_message(link, key, op, message, target);
      if (is_retry(code) || is_error(code)) drop_reply_rooms(op);
    }
  }
  if (is_retry(code) && (op.flags & LCI_FLAG_NO_RETRY) && !backlog_.retrying()) {
    return backlog_.add(op, inline_payload, target);
  }
  return code;
}

/// What cannot be sent at once will be signalled: also where it would wait in the backlog first.
int Device::check_length(const lci_descriptor& op, const OpTarget& target) const {
  if (op.size <= parts_.packets.max_eager() || target.completion || target.lane) {
    return LCI_DONE;
  }
  return fail(LCI_ERR_ARGUMENT, "post: %u bytes to rank %u need a completion object: they cannot be sent at once",
              op.size, op.rank);
}

/// Where the bytes are. Of a short list they are gathered in @p gathered.
void Device::describe_payload(const lci_descriptor& op, std::byte* gathered, Outgoing* message) {
  const int form = op.flags & LCI_FLAG_PAYLOAD_MASK;
  if (op.flags & LCI_FLAG_LIST) {
    message->parts = reinterpret_cast<const lci_buffer*>(op.u.ref.address);
    message->count = op.u.ref.count;
    message->bytes = nullptr;
    if (op.size <= LCI_INLINE_MAX) {
      gather(message->parts, message->count, gathered);
      message->bytes = gathered;
      message->parts = nullptr;
    }
  } else if (form == LCI_FLAG_BUFFER) {
    message->bytes = reinterpret_cast<const void*>(op.u.ref.address);
    message->in_place = message->network && peers_see(message->bytes, message->size);
  } else if (form == LCI_FLAG_PACKET) {
    message->packet = static_cast<uint32_t>(op.u.ref.address);
    message->bytes = nullptr;
  }
}

int Device::send_message(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message,
                         const OpTarget& target) {
  if (op.size > parts_.packets.max_eager()) return post_rendezvous(link, key, op, message, target);
  const bool reply = message.flags & kFlagReply;
  const bool credited =
      key.state == OutKey::State::kUncredited || reply || (key.credit.messages != 0 && key.credit.bytes >= op.size);
  if (key.held_back != 0 && !reply) return refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!credited) return announce(link, key, message);
  const bool am = op.op == LCI_OP_AM;
  return send_with_credit(link, key, am ? MessageKind::kAmInline : MessageKind::kSendInline, message);
}

int Device::send_with_credit(Link& link, OutKey& key, MessageKind inline_kind, const Outgoing& message) {
  MessageHeader header{inline_kind,    message.flags, key.target,   message.size,
                       key.generation, message.tag,   message.match};
  const bool spends = key.state == OutKey::State::kLeased && !(message.flags & kFlagReply);
  if (spends) header.flags |= kFlagCredited;
  if (message.size <= LCI_INLINE_MAX && !message.network) {
    const void* bytes = message.packet ? parts_.packets.payload(message.packet) : message.bytes;
    if (!links_.emit_data(link, header, bytes, message.size)) return refuse(&link, &key, LCI_RETRY_NOMEM);
    if (message.packet && parts_.packets.unhold(message.packet)) {
      parts_.packets.put(index_, message.packet);
    }
  } else {
    if (!link.data_out.has_room(1)) return refuse(&link, &key, LCI_RETRY_NOMEM);
    const uint32_t packet = fill_packet(link, message, message.in_place);
    if (packet == 0) return refuse(&link, &key, LCI_RETRY_NOPACKET);
    header.kind = inline_kind == MessageKind::kAmInline ? MessageKind::kAmPacket : MessageKind::kSendPacket;
    header.arg = packet | (message.in_place ? kInPlace : 0);
    links_.emit_data(link, header, &message.match, header.flags & kFlagsWithWord ? sizeof message.match : 0);
    if (message.network) departures_.await_return(link, packet, *message.network, message.tag, message.size);
  }
  if (spends) {
    --key.credit.messages;
    key.credit.bytes -= message.size;
  }
  counters.add(Metric::sent_bytes, message.size);
  return message.network ? LCI_POSTED : LCI_DONE;
}

int Device::announce(Link& link, OutKey& key, const Outgoing& message) {
  if (awaits_credit(link, key)) return refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (key.announced >= key.announce_limit) return refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!link.data_out.has_room(1)) return refuse(&link, &key, LCI_RETRY_NOMEM);
  if (message.size != 0 && !parts_.share_memory) return announce_by_rendezvous(link, key, message);
  const uint32_t hash = sender_hash(key.target);              // may need memory: before a packet is taken
  const uint32_t packet = fill_packet(link, message, false);  // the receiver looks at it twice
  if (packet == 0) return refuse(&link, &key, LCI_RETRY_NOPACKET);
  parts_.packets.state(packet).announced = &key;
  ++key.announced;
  const MessageHeader header{
      MessageKind::kAnnounce, message.flags, key.target, message.size, hash, message.tag, packet};
  links_.emit_data(link, header, &message.match, header.flags & kFlagsWithWord ? sizeof message.match : 0);
  if (message.network) departures_.await_return(link, packet, *message.network, message.tag, message.size);
  counters.add(Metric::announcements);
  counters.add(Metric::sent_bytes, message.size);
  return message.network ? LCI_POSTED : LCI_DONE;
}

/// The same where the receiver does not read what it has not been sent: the packet is the source of a rendezvous. What
/// this key sends next stays behind it.
int Device::announce_by_rendezvous(Link& link, OutKey& key, const Outgoing& message) {
  const uint32_t hash = sender_hash(key.target);
  sends_.make_room();
  auto context = std::make_unique<SendContext>();
  SendContext& added = *context;
  added.packet = keep_in_packet(message);
  if (added.packet == 0) return refuse(&link, &key, LCI_RETRY_NOPACKET);
  added.packed = true;
  added.holds_back = !(key.target & kEngineTarget);
  added.link = &link;
  added.data = parts_.packets.payload(added.packet);
  if (message.network) {
    added.target = *message.network;
    added.network = true;
  } else {
    added.target.forgotten = true;
  }
  added.size = message.size;
  added.number = key.target;
  added.port_generation = key.generation;
  added.tag = message.tag;
  added.id = sends_.add(std::move(context));
  links_.emit_data(link,
                   {MessageKind::kRendezvous, message.flags, key.target, message.size, hash, message.tag, added.id},
                   &message.match, message.flags & kFlagsWithWord ? sizeof message.match : 0);
  ++key.announced;
  if (added.holds_back) ++key.held_back;
  counters.add(Metric::announcements);
  counters.add(Metric::sent_bytes, message.size);
  counters.set(Metric::sends_pending, sends_live());
  return message.network ? LCI_POSTED : LCI_DONE;
}

/// A packet with the payload that stays with this device: the caller's, or one of the pool. 0: there is none.
uint32_t Device::keep_in_packet(const Outgoing& message) {
  if (message.packet != 0) {
    parts_.packets.unhold(message.packet);
    return message.packet;
  }
  const uint32_t packet = parts_.packets.pool().get(index_);
  if (packet == 0) return 0;
  std::byte* payload = parts_.packets.payload(packet);
  if (message.parts) {
    gather(message.parts, message.count, payload);
  } else {
    std::memcpy(payload, message.bytes, message.size);
  }
  return packet;
}

/// Whether the receiver can read these bytes where they lie.
bool Device::peers_see(const void* bytes, uint64_t size) const {
  return size != 0 && parts_.share_memory && parts_.memory().holds(bytes, size);
}

/// In place of a payload: where in our memory it lies.
void Device::refer_to(uint32_t packet, const void* bytes) {
  const auto offset = static_cast<uint64_t>(static_cast<const std::byte*>(bytes) - parts_.memory().base());
  std::memcpy(parts_.packets.payload(packet), &offset, sizeof offset);
}

/// A packet that is out to the link's peer: taken from the pool, or (handle given) the caller's own.
uint32_t Device::fill_packet(Link& link, const Outgoing& message, bool in_place) {
  uint32_t packet = message.packet;
  if (packet == 0) {
    packet = take_packet(link, in_place ? sizeof(uint64_t) : message.size);
    if (packet == 0) return 0;
    std::byte* payload = parts_.packets.payload(packet);
    if (message.parts) {
      gather(message.parts, message.count, payload);
    } else if (in_place) {
      refer_to(packet, message.bytes);
    } else if (message.size != 0) {
      std::memcpy(payload, message.bytes, message.size);
    }
  } else {
    parts_.packets.unhold(packet);
    send_packet(link, packet, message.size);
  }
  return packet;
}

/// A packet of the pool for @p size bytes.
uint32_t Device::take_packet(Link& link, uint32_t size) {
  const uint32_t packet = parts_.packets.pool().get(index_);
  if (packet != 0) send_packet(link, packet, size);
  return packet;
}

void Device::send_packet(Link& link, uint32_t packet, uint32_t size) {
  PacketState& state = parts_.packets.state(packet);
  state = {link.rank, static_cast<uint16_t>(index_ + 1), nullptr};
  state.bytes = size;
  counters.add(Metric::packets_out);
}

/// Undoes take_packet().
void Device::return_unused(uint32_t packet) {
  parts_.packets.state(packet).device = 0;
  counters.set(Metric::packets_out, counters.get(Metric::packets_out) - 1);
  parts_.packets.put(index_, packet);
}

}  // namespace lci
