// SPDX-License-Identifier: Apache-2.0
#include "protocol/replies.hpp"

#include "base/error.hpp"
#include "protocol/peer_bytes.hpp"
#include "wire/reply_address.hpp"

namespace lci {

int Replies::check(const DeviceParts& parts, const lci_descriptor& op) {
  const uint8_t room = op.policy & LCI_MAX_REPLY_ROOM;
  if (room != 0 && !parts.targets.reply_port(room)) {
    return fail(LCI_ERR_ARGUMENT, "am: no port has reply room %u; see lci_port_reply_room() (rank %u)", room, op.rank);
  }
  if (!(op.policy & LCI_AM_REPLY)) return LCI_DONE;
  const Port* port = parts.targets.port(op.port);
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

int Replies::claim_rooms(const lci_descriptor& op, Outgoing* message) {
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

void Replies::drop_rooms(const lci_descriptor& op) {
  if (Port* asks = parts_.targets.reply_port(op.policy & LCI_MAX_REPLY_ROOM)) {
    asks->replies()->cancel(op.rank);
    parts_.targets.tell_reply_room(*asks->replies());
  }
  if (op.policy & LCI_AM_REPLY) parts_.targets.port(op.port)->replies()->take_answer_back(op.rank);
}

bool Replies::read_request(Link& link, const MessageHeader& header, uint64_t* word) const {
  *word = 0;
  if (!(header.flags & kFlagAsks)) return true;
  *word = word_of(link, header);
  const ReplyAddress address = ReplyAddress::of(*word);
  return address.port != 0 && address.port <= LCI_MAX_PORT && address.bytes <= parts_.packets.max_eager() &&
         address.word() == *word;
}

void Replies::decline(Link& link, uint64_t word) {
  if (word != 0) decline(link, ReplyAddress::of(word).port, 1);
}

void Replies::decline(Link& link, uint16_t port, uint32_t count) {
  if (link.failed) return;
  OutKey& key = spending_.out_key(link, port);
  key.declined += count;
  spending_.queue_return(link, key);
}

void Replies::handle_declined(Link& link, const MessageHeader& header) {
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
