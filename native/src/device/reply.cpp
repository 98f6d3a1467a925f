// SPDX-License-Identifier: Apache-2.0
// Requests that reserve room for their reply, and replies that need no credit. A request carries where its reply may
// go; what it reserved is used by the reply, or comes back when the request is discarded. [X10, 2B-55]
#include <new>

#include "base/error.hpp"
#include "device/device.hpp"
#include "wire/reply_address.hpp"

namespace lci {

// --- posting
// ----------------------------------------------------------------------------------------------------------

int Device::check_reply(const lci_descriptor& op) const {
  const uint8_t room = op.policy & LCI_MAX_REPLY_ROOM;
  if (room != 0 && !parts_.targets.reply_port(room)) {
    return fail(LCI_ERR_ARGUMENT, "am: no port has reply room %u; see lci_port_reply_room() (rank %u)", room, op.rank);
  }
  if (!(op.policy & LCI_AM_REPLY)) return LCI_DONE;
  const Port* port = parts_.targets.port(op.port);
  const ReplyRooms* rooms = port ? port->replies() : nullptr;
  if (!rooms || !rooms->owes(op.rank)) {
    return fail(LCI_ERR_ARGUMENT, "am: no request of rank %u is left to be answered at its port %u", op.rank, op.port);
  }
  if (op.size > rooms->bound(op.rank)) {
    return fail(LCI_ERR_SIZE, "am: a reply to port %u of rank %u has at most %u bytes, not %u", op.port, op.rank,
                rooms->bound(op.rank), op.size);
  }
  return LCI_DONE;
}

/// Takes what a request or a reply needs; what is not sent gives it back by drop_reply_rooms().
int Device::claim_reply_rooms(const lci_descriptor& op, Outgoing* message) {
  Port* const asks = parts_.targets.reply_port(op.policy & LCI_MAX_REPLY_ROOM);
  if (asks) {
    if (!asks->replies()->reserve(op.rank, index_)) return LCI_RETRY_PENDING;
    message->flags |= kFlagAsks;
    message->match = ReplyAddress{static_cast<uint16_t>(asks->number), asks->replies()->bytes()}.word();
  }
  if (!(op.policy & LCI_AM_REPLY)) return LCI_DONE;
  message->flags |= kFlagReply;
  if (parts_.targets.port(op.port)->replies()->answer(op.rank)) return LCI_DONE;
  if (asks) {
    asks->replies()->cancel(op.rank);
    parts_.targets.tell_reply_room(*asks->replies());
  }
  return fail(LCI_ERR_ARGUMENT, "am: the request of rank %u was answered already (port %u)", op.rank, op.port);
}

void Device::drop_reply_rooms(const lci_descriptor& op) {
  if (Port* asks = parts_.targets.reply_port(op.policy & LCI_MAX_REPLY_ROOM)) {
    asks->replies()->cancel(op.rank);
    parts_.targets.tell_reply_room(*asks->replies());
  }
  if (op.policy & LCI_AM_REPLY) parts_.targets.port(op.port)->replies()->take_answer_back(op.rank);
}

// --- arrivals
// ---------------------------------------------------------------------------------------------------------

/// What a message carries besides its payload: a user's key, or where its reply goes.
uint64_t Device::word_of(Link& link, const MessageHeader& header) const {
  if (header.kind == MessageKind::kSendInline || header.kind == MessageKind::kAmInline) return header.arg;
  uint64_t word;
  link.data_in.read_payload(&word, sizeof word);
  return word;
}

/// The word of a request, 0 of other messages; false: it makes no sense.
bool Device::read_request(Link& link, const MessageHeader& header, uint64_t* word) const {
  *word = 0;
  if (!(header.flags & kFlagAsks)) return true;
  *word = word_of(link, header);
  const ReplyAddress address = ReplyAddress::of(*word);
  return address.port != 0 && address.port <= LCI_MAX_PORT && address.bytes <= parts_.packets.max_eager() &&
         address.word() == *word;
}

/// Delivers an active message that may be a request.
Device::Delivery Device::deliver_request(Port& port, InKey& key, uint64_t tag, const Payload& payload,
                                         uint32_t charge_messages, uint64_t charge_bytes, std::byte* owned,
                                         uint64_t request) {
  const uint32_t rank = key.link->rank;
  if (request == 0) return deliver(port, key, rank, tag, payload, charge_messages, charge_bytes, owned);
  const ReplyAddress address = ReplyAddress::of(request);
  ReplyRooms& rooms = parts_.targets.port(address.port)->make_replies(parts_.ranks);
  rooms.owe(rank, address.bytes);  // before its user sees it, who may answer at once
  Payload asking = payload;
  asking.request = request;
  Delivery result;
  try {
    result = deliver(port, key, rank, tag, asking, charge_messages, charge_bytes, owned);
  } catch (const std::bad_alloc&) {
    rooms.answer(rank);  // it comes again
    throw;
  }
  if (result == Delivery::kRefused && rooms.answer(rank)) decline_reply(*key.link, request);
  return result;
}

/// The request was discarded: its sender waits in vain, but not for the room.
void Device::decline_reply(Link& link, uint64_t word) {
  if (word == 0 || link.failed) return;
  OutKey& key = out_key(link, ReplyAddress::of(word).port);
  ++key.declined;
  queue_return(link, key);
}

/// Any thread: a request that was stored is discarded, and nobody has answered it.
void Device::decline_stored(Link& link, uint64_t request) {
  const Port* port = parts_.targets.port(ReplyAddress::of(request).port);
  if (!port->replies()->answer(link.rank)) return;
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    if (ended_) return;
    handed_declines_.emplace_back(&link, request);
    has_handed_.store(true, std::memory_order_seq_cst);
  }
  wake_owner();
}

/// True: its packet stays with the user.
bool Device::handle_reply(Link& link, InKey& key, const MessageHeader& header, const Payload& payload,
                          uint64_t request) {
  auto& port = static_cast<Port&>(*key.target);
  ReplyRooms* const rooms = port.replies();
  const bool used = rooms && rooms->use(link.rank);
  if (!used && parts_.peers.state(link.rank) == RankState::kActive) {
    protocol_error(link, "reply without a request", header);
    return false;
  }
  if (!port.is_open() || (used && header.size > rooms->bytes())) {
    if (used) give_reply_room(port);
    counters.add(Metric::discarded);
    decline_reply(link, request);
    return false;
  }
  // The room of a peer that is gone was given back when it went.
  try {
    return deliver_request(port, key, header.tag, payload, used ? kReplyRoom : 0, 0, nullptr, request) ==
           Delivery::kLent;
  } catch (const std::bad_alloc&) {
    if (used) rooms->take_use_back(link.rank);
    throw;
  }
}

/// Any thread: a reply was taken.
void Device::give_reply_room(Port& port) {
  port.replies()->give_back();
  parts_.targets.tell_reply_room(*port.replies());
}

void Device::handle_declined(Link& link, const MessageHeader& header) {
  const Port* port = header.target & kEngineTarget ? nullptr : parts_.targets.port(header.target);
  ReplyRooms* const rooms = port ? port->replies() : nullptr;
  for (uint32_t i = 0; i < header.size; ++i) {
    if (rooms && rooms->cancel(link.rank)) continue;
    if (rooms && parts_.peers.state(link.rank) != RankState::kActive) break;  // another device took it back
    return protocol_error(link, "room back that it had not", header);
  }
  if (rooms) parts_.targets.tell_reply_room(*rooms);
}

}  // namespace lci
