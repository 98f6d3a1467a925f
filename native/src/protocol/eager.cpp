// SPDX-License-Identifier: Apache-2.0
#include "protocol/eager.hpp"

#include <cstring>

#include "protocol/checks.hpp"

namespace lci {

int Eager::post(Link& link, const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  if (const int code = check_length(parts_, op, target); code != LCI_DONE) return code;
  const uint32_t engine = op.port;
  const auto number = static_cast<uint16_t>(op.op == LCI_OP_AM ? op.port : kEngineTarget | engine);
  OutKey& key = spending_.out_key(link, number);
  int code = admission_.admit(link, key, op);
  if (code == LCI_DONE) {
    Outgoing message{inline_payload, 0, op.size, op.tag, 0, 0};
    if (op.flags & LCI_FLAG_NETWORK) message.network = &target;
    std::byte gathered[LCI_INLINE_MAX];
    describe_payload(link, op, gathered, &message);
    if (op.op == LCI_OP_SEND) {
      message.flags = op.policy;
      if (receives_.match_key(op, parts_.rank, op.policy, &message.match)) message.flags |= kFlagKeyed;
      code = send(link, key, op, message, target);
    } else if (op.policy == 0) {
      code = send(link, key, op, message, target);
    } else if ((code = replies_.claim_rooms(op, &message)) == LCI_DONE) {
      code = send(link, key, op, message, target);
      if (is_retry(code) || is_error(code)) replies_.drop_rooms(op);
    }
  }
  if (is_retry(code) && (op.flags & LCI_FLAG_NO_RETRY) && !backlog_.retrying()) {
    return backlog_.add(op, inline_payload, target);
  }
  return code;
}

/// Where the bytes are. Of a short list they are gathered in @p gathered.
void Eager::describe_payload(const Link& link, const lci_descriptor& op, std::byte* gathered, Outgoing* message) {
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
    message->in_place = message->network && packets_.peer_sees(link, message->bytes, message->size);
  } else if (form == LCI_FLAG_PACKET) {
    message->packet = static_cast<uint32_t>(op.u.ref.address);
    message->bytes = nullptr;
  }
}

int Eager::send(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message, const OpTarget& target) {
  if (op.size > parts_.packets.max_eager()) return streams_.post_rendezvous(link, key, op, message, target);
  const bool reply = message.flags & kFlagReply;
  const bool credited =
      key.state == OutKey::State::kUncredited || reply || (key.credit.messages != 0 && key.credit.bytes >= op.size);
  if (key.held_back != 0 && !reply) return admission_.refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!credited) return announce(link, key, message);
  const bool am = op.op == LCI_OP_AM;
  return send_with_credit(link, key, am ? MessageKind::kAmInline : MessageKind::kSendInline, message);
}

int Eager::send_with_credit(Link& link, OutKey& key, MessageKind inline_kind, const Outgoing& message) {
  MessageHeader header{inline_kind,    message.flags, key.target,   message.size,
                       key.generation, message.tag,   message.match};
  const bool spends = key.state == OutKey::State::kLeased && !(message.flags & kFlagReply);
  if (spends) header.flags |= kFlagCredited;
  if (message.size <= LCI_INLINE_MAX && !message.network) {
    const void* bytes = message.packet ? parts_.packets.payload(message.packet) : message.bytes;
    if (!links_.emit_data(link, header, bytes, message.size)) return admission_.refuse(&link, &key, LCI_RETRY_NOMEM);
    if (message.packet && parts_.packets.unhold(message.packet)) {
      parts_.packets.put(index_, message.packet);
    }
  } else {
    if (!link.data_out.has_room(1)) return admission_.refuse(&link, &key, LCI_RETRY_NOMEM);
    const uint32_t packet = fill_packet(link, message, message.in_place);
    if (packet == 0) return admission_.refuse(&link, &key, LCI_RETRY_NOPACKET);
    header.kind = inline_kind == MessageKind::kAmInline ? MessageKind::kAmPacket : MessageKind::kSendPacket;
    header.arg = packet | (message.in_place ? kInPlace : 0);
    links_.emit_data(link, header, &message.match, header.flags & kFlagsWithWord ? sizeof message.match : 0);
    if (message.network) departures_.await_return(link, packet, *message.network, message.tag, message.size);
  }
  if (spends) {
    --key.credit.messages;
    key.credit.bytes -= message.size;
  }
  counters_.add(Metric::sent_bytes, message.size);
  return message.network ? LCI_POSTED : LCI_DONE;
}

int Eager::announce(Link& link, OutKey& key, const Outgoing& message) {
  if (admission_.awaits_credit(link, key)) return admission_.refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (key.announced >= key.announce_limit) return admission_.refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!link.data_out.has_room(1)) return admission_.refuse(&link, &key, LCI_RETRY_NOMEM);
  if (message.size != 0 && !link.shares_memory) return streams_.announce_by_rendezvous(link, key, message);
  const uint32_t hash = spending_.sender_hash(key.target);    // may need memory: before a packet is taken
  const uint32_t packet = fill_packet(link, message, false);  // the receiver looks at it twice
  if (packet == 0) return admission_.refuse(&link, &key, LCI_RETRY_NOPACKET);
  packets_.announce(link, packet, key);
  ++key.announced;
  const MessageHeader header{
      MessageKind::kAnnounce, message.flags, key.target, message.size, hash, message.tag, packet};
  links_.emit_data(link, header, &message.match, header.flags & kFlagsWithWord ? sizeof message.match : 0);
  if (message.network) departures_.await_return(link, packet, *message.network, message.tag, message.size);
  counters_.add(Metric::announcements);
  counters_.add(Metric::sent_bytes, message.size);
  return message.network ? LCI_POSTED : LCI_DONE;
}

/// A packet that is out to the link's peer: taken from the pool, or (handle given) the caller's own.
uint32_t Eager::fill_packet(Link& link, const Outgoing& message, bool in_place) {
  uint32_t packet = message.packet;
  if (packet == 0) {
    packet = packets_.take_packet(link, in_place ? sizeof(uint64_t) : message.size);
    if (packet == 0) return 0;
    std::byte* payload = parts_.packets.payload(packet);
    if (message.parts) {
      gather(message.parts, message.count, payload);
    } else if (in_place) {
      packets_.refer_to(packet, message.bytes);
    } else if (message.size != 0) {
      std::memcpy(payload, message.bytes, message.size);
    }
  } else {
    parts_.packets.unhold(packet);
    packets_.send_packet(link, packet, message.size);
  }
  return packet;
}

/// The common case without detours: a short payload, credit, room, nothing refused before. Whatever is special is left
/// to post(). Half the instructions of the long way.
inline bool Eager::write_short(const lci_descriptor& op, uint16_t target, uint8_t flags) {
  if (op.rank >= parts_.ranks || op.size > LCI_INLINE_MAX) return false;
  Link* link = links_.find(op.rank);
  if (!link || !link->out_open || link->failed || link->chaos || !backlog_.empty()) return false;
  OutKey* key = link->out_keys.find(target);
  if (!key || !admission_.is_free(*link, *key)) return false;
  const bool credited = key->state == OutKey::State::kLeased;
  if (credited) {
    if (key->credit.messages == 0 || key->credit.bytes < op.size) return false;
    flags |= kFlagCredited;
  } else if (key->state != OutKey::State::kUncredited) {
    return false;
  }
  if (!link->data_out.has_room(slots_for(op.size))) return false;
  if (credited) {
    --key->credit.messages;
    key->credit.bytes -= op.size;
  }
  const MessageKind kind = target == kEngineTarget ? MessageKind::kSendInline : MessageKind::kAmInline;
  link->data_out.write({kind, flags, target, op.size, key->generation, op.tag, 0}, op.u.inline_payload, op.size);
  links_.touch(*link);
  counters_.add(op.op == LCI_OP_AM ? Metric::operations_am_done : Metric::operations_send_done);
  counters_.add(Metric::sent_bytes, op.size);
  return true;
}

bool Eager::post_short(const lci_descriptor& op) {
  if (op.op == LCI_OP_AM) return !((op.port & kEngineTarget) | op.policy) && write_short(op, op.port, 0);
  // Of sends, those of the default engine: it is always open, and makes its keys of rank, tag and policy.
  return op.op == LCI_OP_SEND && op.port == 0 && op.policy <= LCI_POLICY_NONE && op.tag <= LCI_MAX_TAG &&
         parts_.has_packets() && write_short(op, kEngineTarget, static_cast<uint8_t>(op.policy));
}

}  // namespace lci
