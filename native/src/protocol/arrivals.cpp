// SPDX-License-Identifier: Apache-2.0
#include "protocol/arrivals.hpp"

#include <algorithm>
#include <new>

#include "base/no_memory.hpp"
#include "protocol/peer_bytes.hpp"

namespace lci {
namespace {

/// Control messages handled per link and pass.
constexpr uint32_t kControlBudget = 256;

}  // namespace

bool Arrivals::read_control(Link& link) {
  bool moved = false;
  for (uint32_t i = 0; i < kControlBudget && link.control_in.has_message(); ++i) {
    const MessageHeader header = link.control_in.header();
    if (!unless_no_memory([&] { handle_control(link, header); })) {
      call_again();
      break;
    }
    const bool long_one = header.kind == MessageKind::kCollective;
    const uint32_t slots = long_one ? slots_for(std::min(header.size, LCI_INLINE_MAX)) : 1;
    if (link.control_in.advance(slots)) links_.touch(link);
    moved = true;
  }
  return moved;
}

void Arrivals::handle_control(Link& link, const MessageHeader& header) {
  if (link.failed || link.broken) return;
  if (!link.out_open && header.kind != MessageKind::kBarrier && header.kind != MessageKind::kCollective) {
    return protocol_error(link, "answer to one who never spoke", header);
  }
  switch (header.kind) {
    case MessageKind::kReady:
      return outgoing_.handle_ready(link, header);
    case MessageKind::kGrant:
      return spending_.handle_grant(link, header);
    case MessageKind::kRecall:
      return spending_.handle_recall(link, header);
    case MessageKind::kReturn:
      return handle_return(link, header);
    case MessageKind::kRefuse:
      return outgoing_.handle_refusal(link, header);
    case MessageKind::kBarrier:
      return index_ == 0 ? calls_.barriers.handle(link, header)
                         : protocol_error(link, "barrier on another device", header);
    case MessageKind::kCollective:
      return calls_.collectives.handle(link, header);
    case MessageKind::kWithdraw:
      return incoming_.handle_withdrawal(link, header);
    case MessageKind::kPutAck:
      return outgoing_.handle_put_ack(link, header);
    case MessageKind::kAtomicAnswer:
      return remote_.atomics.handle_answer(link, header);
    default:
      return protocol_error(link, "unknown control message", header);
  }
}

void Arrivals::handle_return(Link& link, const MessageHeader& header) {
  InKey* key = grants_.in_key(link, header.target);
  if (!key) return protocol_error(link, "credit of nothing", header);
  if (header.flags & kFlagReply) return replies_.handle_declined(link, header);
  grants_.handle_return(link, *key, header);
}

bool Arrivals::read_data(Link& link, Budget& budget) {
  bool moved = false;
  while (budget.messages != 0 && link.data_in.has_message()) {
    const MessageHeader header = link.data_in.header();
    uint32_t bytes = 0, slots = 1;
    if (link.failed || link.broken) {
      slots = header.kind == MessageKind::kAmInline || header.kind == MessageKind::kSendInline
                  ? slots_for(std::min(header.size, LCI_INLINE_MAX))
                  : 1;
    } else if (!unless_no_memory([&] { handle_data(link, header, &bytes, &slots); })) {
      call_again();
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

void Arrivals::handle_data(Link& link, const MessageHeader& header, uint32_t* payload_bytes, uint32_t* slots) {
  switch (header.kind) {
    case MessageKind::kAmInline:
    case MessageKind::kSendInline:
      if (header.size > LCI_INLINE_MAX) return protocol_error(link, "inline payload too long", header);
      *slots = slots_for(header.size);
      *payload_bytes = header.size;
      handle_message(link, header, {&link.data_in, nullptr, header.size, (header.flags & kFlagSignal) != 0});
      return;
    case MessageKind::kAmPacket:
    case MessageKind::kSendPacket:
      return handle_packet(link, header, payload_bytes);
    case MessageKind::kAnnounce:
    case MessageKind::kRendezvous:
      return announcements_.handle(link, header);
    case MessageKind::kRendezvousData: {
      *payload_bytes = header.size;
      std::byte offset[8];
      link.data_in.read_payload(offset, sizeof offset);
      make_room(&link.packets_back);
      incoming_.handle_chunk(link, header, offset);
      if (link.broken) return;
      link.packets_back.push_back(static_cast<uint32_t>(header.arg));
      if (header.arg & kInPlace) packets_.give_packets_back(link);  // its sender waits for that one
      return;
    }
    case MessageKind::kPutData:
    case MessageKind::kGet: {
      RemoteAccess access;
      link.data_in.read_payload(&access, sizeof access);
      if (header.kind == MessageKind::kGet) return remote_.put_get.handle_get(link, header, access);
      *payload_bytes = header.size;
      make_room(&link.packets_back);
      remote_.put_get.handle_put(link, header, access);
      if (!link.broken) link.packets_back.push_back(static_cast<uint32_t>(header.arg));
      return;
    }
    case MessageKind::kAtomic: {
      AtomicAccess access;
      link.data_in.read_payload(&access, sizeof access);
      return remote_.atomics.serve(link, header, access);
    }
    default:
      return protocol_error(link, "unknown data message", header);
  }
}

void Arrivals::handle_packet(Link& link, const MessageHeader& header, uint32_t* payload_bytes) {
  const std::byte* bytes = payload_of(parts_.packets, link, header, parts_.packets.max_eager());
  if (!bytes) return protocol_error(link, "packet outside its memory", header);
  *payload_bytes = header.size;
  const auto packet = static_cast<uint32_t>(header.arg);
  make_room(&link.packets_back);
  const uint32_t to_lend = header.arg & kInPlace ? 0 : packet;  // what is the sender's own is copied
  if (!handle_message(link, header, {nullptr, bytes, header.size, false, to_lend})) {
    link.packets_back.push_back(packet);
  }
}

/// True: its packet stays with the user.
bool Arrivals::handle_message(Link& link, const MessageHeader& header, const Payload& payload) {
  counters_.add(Metric::arrivals);
  counters_.add(Metric::arrival_bytes, header.size);
  InKey* key = grants_.in_key(link, header.target);
  const bool am = header.kind == MessageKind::kAmInline || header.kind == MessageKind::kAmPacket;
  uint64_t request = 0;
  if (!key || am == ((header.target & kEngineTarget) != 0) || (payload.signal && (!am || payload.size != 0)) ||
      (am && !replies_.read_request(link, header, &request))) {
    protocol_error(link, "message to nothing", header);
    return false;
  }
  Target& target = *key->target;
  if (am && (header.flags & kFlagReply)) return delivery_.handle_reply(link, *key, header, payload, request);
  const auto has_closed = [&] {
    return !target.is_open() || target.generation.load(std::memory_order_relaxed) != header.aux;
  };
  const auto discard = [&] {
    counters_.add(Metric::discarded);  // sent before the sender learned that the port closed
    replies_.decline(link, request);
    return false;
  };
  if (has_closed()) {
    return discard();
  }
  const bool takes_credit = header.flags & kFlagCredited;
  if (takes_credit ? !grants_.spend_lease(*key, header, header.size)
                   : target.credited.load(std::memory_order_acquire)) {
    // What takes credit now may be the next opening, on an object of another kind.
    if (!takes_credit && has_closed()) return discard();
    protocol_error(link, "more messages than were granted", header);
    return false;
  }
  return hand_on(link, *key, header, payload, request);
}

/// A message whose credit was taken.
bool Arrivals::hand_on(Link& link, InKey& key, const MessageHeader& header, const Payload& payload, uint64_t request) {
  const bool credited = header.flags & kFlagCredited;
  try {
    if (header.target & kEngineTarget) return receives_.handle_send(link, key, header, payload, credited), false;
    return delivery_.deliver({static_cast<Port&>(*key.target), key, header.tag, payload, request, credited ? 1u : 0,
                              credited ? header.size : 0}) == Delivery::Result::kLent;
  } catch (const std::bad_alloc&) {
    // It stays in the ring, and is handled anew when there is memory: nothing of it has happened.
    counters_.set(Metric::arrivals, counters_.get(Metric::arrivals) - 1);
    counters_.set(Metric::arrival_bytes, counters_.get(Metric::arrival_bytes) - header.size);
    if (credited) {
      ++key.leased.messages;
      key.leased.bytes += header.size;
    }
    throw;
  }
}

}  // namespace lci
