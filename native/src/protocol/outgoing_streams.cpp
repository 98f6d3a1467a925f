// SPDX-License-Identifier: Apache-2.0
#include "protocol/outgoing_streams.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/no_memory.hpp"

namespace lci {
namespace {

/// Chunks that one pass streams per link, so that a long message does not hold up short ones. [V8]
constexpr int kChunksPerPass = 32;
/// What start() streams is read by its receiver where it lies if that is so many bytes; less leaves at once.
constexpr uint64_t kLeastInPlace = 16 << 10;
/// Withdrawals that wait for room; a peer that is ready for more things unknown than that is not honest.
constexpr size_t kMaxWithdrawals = 1u << 16;

}  // namespace

SendContext& OutgoingStreams::add(std::unique_ptr<SendContext> context) {
  SendContext& added = *context;
  added.id = contexts_.add(std::move(context));
  counters_.set(Metric::sends_pending, live());
  return added;
}

int OutgoingStreams::post_rendezvous(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message,
                                     const OpTarget& target) {
  const bool engine = key.target & kEngineTarget;
  const bool uncredited = key.state == OutKey::State::kUncredited;
  const bool credited = !engine && key.state == OutKey::State::kLeased && key.credit.messages != 0;
  const uint32_t limit = uncredited ? kMaxUncreditedRendezvous : key.announce_limit;
  if (!credited && key.announced >= limit) return admission_.refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!link.data_out.has_room(1)) return admission_.refuse(&link, &key, LCI_RETRY_NOMEM);
  auto context = std::make_unique<SendContext>();
  SendContext& added = *context;
  added.target = target;
  added.link = &link;
  if (message.parts) {
    added.parts = Parts(message.parts, message.count);
  } else {
    added.data = reinterpret_cast<const std::byte*>(op.u.ref.address);
  }
  added.network = message.network;
  if (!message.parts && packets_.peer_sees(link, added.data, op.size)) added.in_place = op.size;
  added.size = op.size;
  added.number = key.target;
  added.port_generation = key.generation;
  added.tag = op.tag;
  added.credited = credited;
  add(std::move(context));
  const uint32_t aux = credited ? key.generation : uncredited ? 0 : spending_.sender_hash(key.target);
  const auto flags = static_cast<uint8_t>(message.flags | (credited ? kFlagCredited : 0));
  links_.emit_data(link, {MessageKind::kRendezvous, flags, key.target, op.size, aux, op.tag, added.id}, &message.match,
                   flags & kFlagsWithWord ? sizeof message.match : 0);
  if (credited) {
    --key.credit.messages;
  } else {
    ++key.announced;
  }
  counters_.add(Metric::rendezvous);
  counters_.add(Metric::sent_bytes, op.size);
  return LCI_POSTED;
}

int OutgoingStreams::announce_by_rendezvous(Link& link, OutKey& key, const Outgoing& message) {
  const uint32_t hash = spending_.sender_hash(key.target);
  contexts_.make_room();
  auto context = std::make_unique<SendContext>();
  SendContext& added = *context;
  added.packet = keep_in_packet(message);
  if (added.packet == 0) return admission_.refuse(&link, &key, LCI_RETRY_NOPACKET);
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
  add(std::move(context));
  links_.emit_data(link,
                   {MessageKind::kRendezvous, message.flags, key.target, message.size, hash, message.tag, added.id},
                   &message.match, message.flags & kFlagsWithWord ? sizeof message.match : 0);
  ++key.announced;
  if (added.holds_back) ++key.held_back;
  counters_.add(Metric::announcements);
  counters_.add(Metric::sent_bytes, message.size);
  return message.network ? LCI_POSTED : LCI_DONE;
}

/// A packet with the payload that stays with this device: the caller's, or one of the pool. 0: there is none.
uint32_t OutgoingStreams::keep_in_packet(const Outgoing& message) {
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

void OutgoingStreams::start_put(std::unique_ptr<SendContext> context) {
  Link& link = *context->link;
  make_room(&link.streams);
  SendContext& put = add(std::move(context));
  bool all_sent = false;
  if (link.streams.empty()) {  // what finds no memory here goes on in the next pass
    unless_no_memory([&] { all_sent = stream_chunk(link, put) && put.sent == put.size; });
  }
  if (all_sent) return;
  link.streams.push_back(&put);
  links_.make_busy(link);
  call_again();
}

void OutgoingStreams::serve_get(std::unique_ptr<SendContext> context) {
  Link& link = *context->link;
  make_room(&link.streams);
  SendContext& served = add(std::move(context));
  ++link.served_gets;
  link.streams.push_back(&served);
  links_.make_busy(link);
  call_again();
}

uint64_t OutgoingStreams::start(std::unique_ptr<SendContext> context) {
  Link& link = *context->link;
  make_room(&link.streams);
  SendContext& ready = add(std::move(context));
  ready.streaming = true;
  if (ready.in_place < kLeastInPlace || !packets_.peer_sees(link, ready.data, ready.size)) ready.in_place = 0;
  if (ready.in_place != 0) ready.in_place += (ready.size - ready.in_place) % parts_.packets.max_eager();  // no rest
  link.streams.push_back(&ready);
  links_.make_busy(link);
  call_again();
  counters_.add(Metric::sent_bytes, ready.size);
  // What goes beyond a chunk begins at once; it cannot end here. What finds no memory goes on in the next pass.
  const bool begins = link.streams.size() == 1 && chunk_of(ready) < ready.size;
  if (begins) unless_no_memory([&] { stream_chunk(link, ready); });
  return ready.id;
}

/// What has all left, and is read where it lies, is a departure.
void OutgoingStreams::give_up(uint64_t id, const OpTarget& target) {
  SendContext* const context = contexts_.find(id);
  const uint64_t departure = context ? context->departure : departures_.find(target);
  if (departure != 0) packets_.revoke(departure);
  if (!context) {
    departures_.give_up(departure);
    return;
  }
  std::erase(context->link->streams, context);
  if (departure != 0) departures_.drop(departure);
  take(id)->target.release();
  counters_.set(Metric::sends_pending, live());
}

void OutgoingStreams::handle_ready(Link& link, const MessageHeader& header) {
  SendContext* context = contexts_.find(header.arg);
  const bool announced = context && context->link == &link && context->kind == SendContext::Kind::kRendezvous;
  if (!announced) {  // ended meanwhile: its port was closed. The receiver counts what it has withdrawn
    if (link.withdrawals.size() >= kMaxWithdrawals) return protocol_error(link, "ready for nothing", header);
    return withdraw(link, header.tag);
  }
  if (context->streaming) return protocol_error(link, "ready twice", header);
  make_room(&link.streams);  // what finds no memory comes again: nothing may have changed
  make_room(&link.withdrawals);
  if (!context->credited) {
    OutKey& key = spending_.out_key(link, context->number);
    if (key.announced != 0) --key.announced;
    if (key.refused) spending_.tell_writable(link, key);
  }
  if (context->abandoned) {
    withdraw(link, header.tag);
    return finish(*context, LCI_ERR_CANCELLED);
  }
  context->streaming = true;
  context->receiver = header.tag;
  link.streams.push_back(context);
  links_.make_busy(link);
}

void OutgoingStreams::handle_refusal(Link& link, const MessageHeader& header) {
  Spending::Refusal refusal;
  if (!spending_.take_refusal(link, header, &refusal)) return;
  OutKey& key = spending_.out_key(link, refusal.target);
  contexts_.for_each([&](uint64_t, SendContext& context) {
    if (context.link != &link || context.number != refusal.target || context.streaming) return;
    const bool later = static_cast<int32_t>(context.port_generation - refusal.generation) > 0;
    if (later) return;
    if (!context.credited && key.announced != 0) --key.announced;
    finish(context, refusal.code);
  });
  if (LaneView* owner = lane(); owner && refusal.news) {
    owner->port_changed(&host_.device, link.rank, refusal.target, refusal.code);
  }
}

void OutgoingStreams::handle_put_ack(Link& link, const MessageHeader& header) {
  SendContext* put = contexts_.find(header.tag);
  if (!put || put->link != &link || put->kind != SendContext::Kind::kPut) {
    counters_.add(Metric::discarded);  // ended meanwhile: an error came first, or its lane went
    return;
  }
  const auto code = static_cast<int>(header.aux);
  if (header.arg > put->sent - put->acknowledged || (code != LCI_DONE && !is_error(code))) {
    return protocol_error(link, "answer to a put that was not sent", header);
  }
  put->acknowledged += header.arg;
  if (code == LCI_DONE && put->acknowledged != put->size) return;
  std::erase(link.streams, put);
  finish(*put, code);
}

void OutgoingStreams::withdraw(Link& link, uint64_t receiver, int code) {
  link.withdrawals.push_back({receiver, code});
  links_.make_busy(link);
}

/// Drops the rendezvous of a lane that goes. One that was announced stays until the receiver can be told.
void OutgoingStreams::abandon(SendContext& context) {
  if (context.kind == SendContext::Kind::kPut) {
    std::erase(context.link->streams, &context);
    --context.link->remote_operations;
    signals_.give_up(*context.link, context.signal);
    contexts_.remove(context.id);
  } else if (context.streaming) {
    std::erase(context.link->streams, &context);
    withdraw(*context.link, context.receiver);
    if (context.departure != 0) departures_.drop(context.departure);
    take(context.id);
  } else {
    release_packet(context);
    let_others_pass(context);
    context.data = nullptr;
    context.abandoned = true;
    ++abandoned_;
  }
}

bool OutgoingStreams::progress(Link& link) {
  bool moved = false;
  bool rung = false;
  for (int i = 0; i < kChunksPerPass && !link.streams.empty(); ++i) {
    if (link.touched && !rung) {  // a receiver that does not poll copies what is there while we go on
      links_.ring_early();
      rung = true;
    }
    SendContext& context = *link.streams.front();
    if (!stream_chunk(link, context)) return moved;
    moved = true;
    if (context.sent == context.size) {
      link.streams.erase(link.streams.begin());
      // A put ends when the target says so.
      if (context.kind != SendContext::Kind::kPut) finish(context, LCI_DONE);
    } else if (link.streams.size() > 1) {  // in turn
      std::rotate(link.streams.begin(), link.streams.begin() + 1, link.streams.end());
    }
  }
  if (!link.streams.empty()) call_again();
  return moved;
}

/// Bytes of the next chunk.
uint32_t OutgoingStreams::chunk_of(const SendContext& context) const {
  const bool in_place = context.next_in_place();
  const uint64_t left = context.kind == SendContext::Kind::kPut ? context.ranges.back().size
                        : in_place                              ? context.in_place - context.sent
                                                                : context.size - context.sent;
  return static_cast<uint32_t>(std::min<uint64_t>(most_of_chunk(parts_.packets, in_place), left));
}

bool OutgoingStreams::stream_chunk(Link& link, SendContext& context) {
  if (!links_.open_out(link)) {  // for a get: its rank may be about to be found gone, or memory is short
    call_again();
    return false;
  }
  if (!link.data_out.has_room(1)) {
    link.wants_room = true;
    return false;
  }
  if (context.packed) {
    stream_packed(link, context);
    return true;
  }
  if (context.network || context.next_in_place()) departures_.open(context);  // as in stream_packed()
  const uint32_t size = chunk_of(context);
  const uint32_t packet = packets_.take_packet(link, context.next_in_place() ? sizeof(uint64_t) : size);
  if (packet == 0) {
    wanted_.want();
    return false;
  }
  if (const int code = fill_chunk(context, packet, size); code != LCI_DONE) {
    packets_.return_unused(packet);
    ++link.served_gets;  // until the peer has been told
    withdraw(link, context.receiver, code);
    context.sent = context.size;
    return true;
  }
  if (context.network || context.next_in_place()) departures_.await_chunk(context, packet);
  emit_chunk(link, context, packet, size);
  context.sent += size;
  link.data_out.publish();  // the receiver copies this chunk while we fill the next one
  return true;
}

/// Only what a peer gets may fail: the region may have ended.
int OutgoingStreams::fill_chunk(SendContext& context, uint32_t packet, uint32_t size) {
  std::byte* place = parts_.packets.payload(packet);
  if (context.kind == SendContext::Kind::kServedGet) {
    RemoteAccess access = context.access;
    access.displacement += context.sent;
    return regions_.read(access, place, size);
  }
  if (context.kind == SendContext::Kind::kPut) {
    std::memcpy(place, context.ranges.back().local, size);
  } else if (context.next_in_place()) {
    packets_.refer_to(packet, context.data + context.sent);
  } else if (context.parts.empty()) {
    std::memcpy(place, context.data + context.sent, size);
  } else {
    context.parts.read(place, size);
  }
  return LCI_DONE;
}

void OutgoingStreams::emit_chunk(Link& link, SendContext& context, uint32_t packet, uint32_t size) {
  if (context.kind == SendContext::Kind::kPut) {
    RemoteRange& range = context.ranges.back();
    links_.emit_data(link, {MessageKind::kPutData, 0, 0, size, 0, context.id, packet}, &range.access,
                     sizeof range.access);
    range.local += size;
    range.access.displacement += size;
    range.size -= size;
    if (range.size == 0) context.ranges.pop_back();
    return;
  }
  const uint64_t offset = context.sent;
  const uint64_t argument = packet | (context.next_in_place() ? kInPlace : 0);
  links_.emit_data(link, {MessageKind::kRendezvousData, 0, 0, size, 0, context.receiver, argument}, &offset,
                   sizeof offset);
}

/// All of it at once, in the packet where it lies: to take another one could wait for ever.
void OutgoingStreams::stream_packed(Link& link, SendContext& context) {
  if (context.network) departures_.open(context);  // may find no memory: nothing has happened
  const auto size = static_cast<uint32_t>(context.size);
  const uint32_t packet = std::exchange(context.packet, 0);
  const uint64_t offset = 0;
  packets_.send_packet(link, packet, size);
  if (context.network) departures_.await_chunk(context, packet);
  links_.emit_data(link, {MessageKind::kRendezvousData, 0, 0, size, 0, context.receiver, packet}, &offset,
                   sizeof offset);
  context.sent = size;
}

void OutgoingStreams::finish(SendContext& context, int code) {
  const auto owned = take(context.id);
  if (owned->abandoned) {
    --abandoned_;
    return;
  }
  counters_.set(Metric::sends_pending, live());
  if (owned->kind == SendContext::Kind::kServedGet) {
    --owned->link->served_gets;
    return;
  }
  if (departures_.take_over(*owned, code)) return;
  if (owned->kind == SendContext::Kind::kPut) code = signals_.operation_ended(*owned->link, owned->signal, code);
  complete(owned->target, code, owned->link->rank, owned->tag, owned->buffer(), owned->size);
}

std::unique_ptr<SendContext> OutgoingStreams::take(uint64_t id) {
  auto context = contexts_.remove(id);
  release_packet(*context);
  let_others_pass(*context);
  return context;
}

void OutgoingStreams::release_packet(SendContext& context) {
  if (context.packet == 0) return;
  parts_.packets.put(index_, std::exchange(context.packet, 0));
}

/// Its bytes are in the ring, or will not be sent: others of its key may go now.
void OutgoingStreams::let_others_pass(SendContext& context) {
  if (!std::exchange(context.holds_back, false)) return;
  OutKey& key = spending_.out_key(*context.link, context.number);
  if (--key.held_back == 0) key.recalled = 0;
  if (key.refused && !context.link->failed) spending_.tell_writable(*context.link, key);
}

bool OutgoingStreams::flush_withdrawals(Link& link, bool* moved) {
  while (!link.withdrawals.empty()) {
    const auto [receiver, code] = link.withdrawals.back();
    if (!links_.emit_control(link, {MessageKind::kWithdraw, 0, 0, 0, static_cast<uint32_t>(code), receiver, 0})) {
      return false;
    }
    if (code != 0) --link.served_gets;
    link.withdrawals.pop_back();
    *moved = true;
  }
  return true;
}

void OutgoingStreams::peer_gone(Link& link, int code) {
  contexts_.for_each([&](uint64_t, SendContext& context) {
    if (context.link == &link) finish(context, code);
  });
}

void OutgoingStreams::cancel_all(int code) {
  contexts_.for_each([&](uint64_t, SendContext& context) { finish(context, code); });
}

}  // namespace lci
