// SPDX-License-Identifier: Apache-2.0
// Messages above the eager limit: announced, answered when the receiver has a place, then streamed through packets.
// [G4 in the form of DESIGN decision 4; X8]
#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "device/device.hpp"

namespace lci {
namespace {

/// Chunks that one pass streams per link, so that a long message does not hold up short ones. [V8]
constexpr int kChunksPerPass = 32;
constexpr uint32_t kInPlaceChunk = 64 << 10;
/// Slots of the ring that are for chunks while there are any.
constexpr uint32_t kStreamRoom = 8;
/// Withdrawals that wait for room; a peer that is ready for more things unknown than that is not honest.
constexpr size_t kMaxWithdrawals = 1u << 16;

}  // namespace

// --- sender
// -----------------------------------------------------------------------------------------------------------

int Device::post_rendezvous(Link& link, OutKey& key, const lci_descriptor& op, const Outgoing& message,
                            const OpTarget& target) {
  const bool engine = key.target & kEngineTarget;
  const bool uncredited = key.state == OutKey::State::kUncredited;
  const bool credited = !engine && key.state == OutKey::State::kLeased && key.credit.messages != 0;
  const uint32_t limit = uncredited ? kMaxUncreditedRendezvous : key.announce_limit;
  if (!credited && key.announced >= limit) return refuse(&link, &key, LCI_RETRY_NOCREDIT);
  if (!link.data_out.has_room(1)) return refuse(&link, &key, LCI_RETRY_NOMEM);
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
  added.in_place = !message.parts && peers_see(added.data, op.size);
  added.size = op.size;
  added.number = key.target;
  added.port_generation = key.generation;
  added.tag = op.tag;
  added.credited = credited;
  added.id = sends_.add(std::move(context));
  const uint32_t aux = credited ? key.generation : uncredited ? 0 : sender_hash(key.target);
  const auto flags = static_cast<uint8_t>(message.flags | (credited ? kFlagCredited : 0));
  links_.emit_data(link, {MessageKind::kRendezvous, flags, key.target, op.size, aux, op.tag, added.id}, &message.match,
                   flags & kFlagsWithWord ? sizeof message.match : 0);
  if (credited) {
    --key.credit.messages;
  } else {
    ++key.announced;
  }
  counters.add(Metric::rendezvous);
  counters.add(Metric::sent_bytes, op.size);
  counters.set(Metric::sends_pending, sends_live());
  return LCI_POSTED;
}

void Device::handle_ready(Link& link, const MessageHeader& header) {
  SendContext* context = sends_.find(header.arg);
  const bool announced = context && context->link == &link && context->kind == SendContext::Kind::kRendezvous;
  if (!announced) {  // ended meanwhile: its port was closed. The receiver counts what it has withdrawn
    if (link.withdrawals.size() >= kMaxWithdrawals) return protocol_error(link, "ready for nothing", header);
    return withdraw(link, header.tag);
  }
  if (context->streaming) return protocol_error(link, "ready twice", header);
  make_room(&link.streams);  // what finds no memory comes again: nothing may have changed
  make_room(&link.withdrawals);
  if (!context->credited) {
    OutKey& key = out_key(link, context->number);
    if (key.announced != 0) --key.announced;
    if (key.refused) tell_writable(link, key);
  }
  if (context->abandoned) {
    withdraw(link, header.tag);
    return finish_send_context(*context, LCI_ERR_CANCELLED);
  }
  context->streaming = true;
  context->receiver = header.tag;
  link.streams.push_back(context);
  links_.make_busy(link);
}

/// The receiver holds a place for what will not come.
void Device::withdraw(Link& link, uint64_t receiver, int code) {
  link.withdrawals.push_back({receiver, code});
  links_.make_busy(link);
}

/// Drops the rendezvous of a lane that goes. One that was announced stays until the receiver can be told.
void Device::abandon(SendContext& context) {
  if (context.kind == SendContext::Kind::kPut) {
    std::erase(context.link->streams, &context);
    --context.link->remote_operations;
    give_up(*context.link, context.signal);
    sends_.remove(context.id);
  } else if (context.streaming) {
    std::erase(context.link->streams, &context);
    withdraw(*context.link, context.receiver);
    if (context.departure != 0) departures_.drop(context.departure);
    take_send_context(context.id);
  } else {
    release_packet(context);
    let_others_pass(context);
    context.data = nullptr;
    context.abandoned = true;
    ++abandoned_;
  }
}

/// What is posted meanwhile leaves some room: who posts whenever there is any must not hold up what was accepted. [H8]
bool Device::stream(Link& link) {
  link.data_out.reserve(0);  // also when the last stream has ended elsewhere, by an error of its target
  if (link.failed || (link.streams.empty() && link.asks.empty())) return false;
  bool moved = !link.asks.empty() && flush_asks(link);
  moved |= stream_chunks(link);
  const bool rest = !link.streams.empty() || !link.asks.empty();
  link.data_out.reserve(rest ? kStreamRoom : 0);
  return moved;
}

bool Device::stream_chunks(Link& link) {
  bool moved = false;
  for (int i = 0; i < kChunksPerPass && !link.streams.empty(); ++i) {
    SendContext& context = *link.streams.front();
    if (!stream_chunk(link, context)) return moved;
    moved = true;
    if (context.sent == context.size) {
      link.streams.erase(link.streams.begin());
      // A put ends when the target says so.
      if (context.kind != SendContext::Kind::kPut) finish_send_context(context, LCI_DONE);
    } else if (link.streams.size() > 1) {  // in turn
      std::rotate(link.streams.begin(), link.streams.begin() + 1, link.streams.end());
    }
  }
  unfinished_ = unfinished_ || !link.streams.empty();
  return moved;
}

/// In place a chunk need not fit a packet; it is what one pass of the receiver copies by default. [V8]
uint32_t Device::most_of_chunk(bool in_place) const {
  return in_place ? std::max(kInPlaceChunk, parts_.packets.max_eager()) : parts_.packets.max_eager();
}

bool Device::stream_chunk(Link& link, SendContext& context) {
  if (!link.data_out.has_room(1)) {
    link.wants_room = true;
    return false;
  }
  const bool put = context.kind == SendContext::Kind::kPut;
  const uint64_t left = put ? context.ranges.back().size : context.size - context.sent;
  const auto size = static_cast<uint32_t>(std::min<uint64_t>(most_of_chunk(context.in_place), left));
  if (context.packed) {
    stream_packed(link, context);
    return true;
  }
  const uint32_t packet = take_packet(link, context.in_place ? sizeof(uint64_t) : size);
  if (packet == 0) {
    wait_for_packets();
    return false;
  }
  std::byte* place = parts_.packets.payload(packet);
  if (context.kind == SendContext::Kind::kServedGet) {
    if (const int code = read_region(context, place, size); code != LCI_DONE) {
      return_unused(packet);
      ++link.served_gets;  // until the peer has been told
      withdraw(link, context.receiver, code);
      context.sent = context.size;
      return true;
    }
  } else if (put) {
    std::memcpy(place, context.ranges.back().local, size);
  } else if (context.in_place) {
    refer_to(packet, context.data + context.sent);
  } else if (context.parts.empty()) {
    std::memcpy(place, context.data + context.sent, size);
  } else {
    context.parts.read(place, size);
  }
  departures_.await_chunk(context, packet);
  if (put) {
    RemoteRange& range = context.ranges.back();
    links_.emit_data(link, {MessageKind::kPutData, 0, 0, size, 0, context.id, packet}, &range.access,
                     sizeof range.access);
    range.local += size;
    range.access.displacement += size;
    range.size -= size;
    if (range.size == 0) context.ranges.pop_back();
  } else {
    const uint64_t offset = context.sent;
    const uint64_t argument = packet | (context.in_place ? kInPlace : 0);
    links_.emit_data(link, {MessageKind::kRendezvousData, 0, 0, size, 0, context.receiver, argument}, &offset,
                     sizeof offset);
  }
  context.sent += size;
  link.data_out.publish();  // the receiver copies this chunk while we fill the next one
  return true;
}

/// All of it at once, in the packet where it lies: to take another one could wait for ever.
void Device::stream_packed(Link& link, SendContext& context) {
  if (context.network) departures_.open(context);  // may find no memory: nothing has happened
  const auto size = static_cast<uint32_t>(context.size);
  const uint32_t packet = std::exchange(context.packet, 0);
  const uint64_t offset = 0;
  send_packet(link, packet, size);
  departures_.await_chunk(context, packet);
  links_.emit_data(link, {MessageKind::kRendezvousData, 0, 0, size, 0, context.receiver, packet}, &offset,
                   sizeof offset);
  context.sent = size;
}

void Device::finish_send_context(SendContext& context, int code) {
  const auto owned = take_send_context(context.id);
  if (owned->abandoned) {
    --abandoned_;
    return;
  }
  counters.set(Metric::sends_pending, sends_live());
  if (owned->kind == SendContext::Kind::kServedGet) {
    --owned->link->served_gets;
    return;
  }
  if (departures_.take_over(*owned, code)) return;
  if (owned->kind == SendContext::Kind::kPut) code = remote_ended(*owned->link, owned->signal, code);
  complete(owned->target, code, owned->link->rank, owned->tag, owned->buffer(), owned->size);
}

std::unique_ptr<SendContext> Device::take_send_context(uint64_t id) {
  auto context = sends_.remove(id);
  release_packet(*context);
  let_others_pass(*context);
  return context;
}

void Device::release_packet(SendContext& context) {
  if (context.packet == 0) return;
  parts_.packets.put(index_, std::exchange(context.packet, 0));
}

/// Its bytes are in the ring, or will not be sent: others of its key may go now.
void Device::let_others_pass(SendContext& context) {
  if (!std::exchange(context.holds_back, false)) return;
  OutKey& key = out_key(*context.link, context.number);
  --key.held_back;
  if (key.refused && !context.link->failed) tell_writable(*context.link, key);
}

// --- receiver
// ---------------------------------------------------------------------------------------------------------

/// Bytes of memory that a rendezvous of any size takes at least.
constexpr uint64_t uncredited_cost(uint64_t size) {
  return std::max<uint64_t>(size, 4096);
}

bool Device::has_uncredited_room(const Link& link, uint32_t size) const {
  return link.uncredited_bytes == 0 || link.uncredited_bytes + uncredited_cost(size) <= kUncreditedBytes;
}

/// Others may have waited for its room.
void Device::end_uncredited(const ReceiveContext& context) {
  Link& link = *context.link;
  link.uncredited_bytes -= context.uncredited_bytes;
  if (context.uncredited_bytes == 0 || !std::exchange(link.uncredited_wait, false)) return;
  link.in_keys.for_each([this](InKey& key) {
    if (!key.waiting.empty()) work_.request(key);
  });
}

/// False: the system has no memory for it now.
bool Device::admit_rendezvous(InKey& key, const Announcement& announcement, uint32_t charge_messages,
                              uint64_t charge_bytes) {
  std::unique_ptr<ReceiveContext> context;
  if (!unless_no_memory([&] { context = prepare_receive(*key.link); })) return false;
  ArrivalBuffer* buffer =
      ArrivalBuffer::try_create(announcement.size, parts_.allocator.load(std::memory_order_acquire));
  if (!buffer) return false;
  context->link = key.link;
  context->key = &key;
  context->buffer = buffer->bytes();
  context->capacity = announcement.size;
  context->size = announcement.size;
  context->charge_messages = charge_messages;
  context->charge_bytes = charge_bytes;
  context->generation = key.generation;
  context->tag = announcement.tag;
  context->request = announcement.match;
  context->sender = announcement.argument;
  if (!key.target->credited) context->uncredited_bytes = uncredited_cost(announcement.size);
  key.link->uncredited_bytes += context->uncredited_bytes;
  add_receive_context(std::move(context));
  return true;
}

bool Device::start_rendezvous(std::unique_ptr<ReceiveContext> context) {
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    if (ended_) return false;
    handed_.push_back(std::move(context));
    has_handed_.store(true, std::memory_order_seq_cst);
  }
  wake_owner();
  return true;
}

bool Device::take_handed() {
  if (!has_handed_.load(std::memory_order_acquire)) return false;
  std::vector<std::unique_ptr<ReceiveContext>> handed;
  std::vector<Queued> posts;
  std::vector<std::pair<Link*, uint64_t>> declines;
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    handed.swap(handed_);
    posts.swap(handed_posts_);
    declines.swap(handed_declines_);
    has_handed_.store(false, std::memory_order_relaxed);
  }
  for (auto& context : handed) add_receive_context(std::move(context));
  take_handed_posts(std::move(posts));
  for (const auto& [link, request] : declines) decline_reply(*link, request);
  return true;
}

/// Who adds the result next needs no memory for it. By who holds this device.
std::unique_ptr<ReceiveContext> Device::prepare_receive(Link& link) {
  receives_.make_room();
  make_room(&link.queued_ready);
  return std::make_unique<ReceiveContext>();
}

void Device::add_receive_context(std::unique_ptr<ReceiveContext> context) {
  Link& link = *context->link;
  if (link.failed) {
    const bool left = parts_.peers.state(link.rank) == RankState::kLeft;
    complete(context->target, left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, link.rank, context->tag, context->buffer,
             0);
    return;
  }
  ReceiveContext& added = *context;
  make_room(&link.queued_ready);
  added.id = receives_.add(std::move(context));
  link.queued_ready.push_back(added.id);
  links_.make_busy(link);
  unfinished_ = true;  // control goes out in a pass, and this one's may be over
}

/// The caller gives the packet back. What finds no memory throws, and has changed nothing that counts twice.
void Device::handle_chunk(Link& link, const MessageHeader& header, const std::byte* offset_bytes) {
  uint64_t offset;
  std::memcpy(&offset, offset_bytes, sizeof offset);
  const std::byte* bytes = payload_of(link, header, most_of_chunk(true));
  if (!bytes) return protocol_error(link, "chunk outside its memory", header);
  ReceiveContext* context = receives_.find(header.tag);
  if (!context || context->link != &link) {
    counters.add(Metric::discarded);  // ended meanwhile: its port was closed
    return;
  }
  const uint64_t left = context->size - context->received;
  if (offset > context->size || header.size > context->size - offset || header.size > left) {
    return protocol_error(link, "chunk outside its message", header);
  }
  if (offset < context->capacity) {
    Parts* const parts = context->parts.empty() ? nullptr : &context->parts;
    fill(context->target, context->buffer, parts, offset, {nullptr, bytes, header.size},
         static_cast<uint32_t>(std::min<uint64_t>(header.size, context->capacity - offset)));
  }
  if (header.size != left) {
    context->received += header.size;
  } else if (!context->is_get || !begin_next_part(*context)) {
    finish_receive_context(header.tag, LCI_DONE);
  }
}

void Device::handle_withdrawal(Link& link, const MessageHeader& header) {
  const auto code = static_cast<int>(header.aux);
  if (code != 0 && !is_error(code)) return protocol_error(link, "withdrawal without a reason", header);
  ReceiveContext* context = receives_.find(header.tag);
  if (context && context->link == &link) finish_receive_context(header.tag, code != 0 ? code : LCI_ERR_CANCELLED);
}

void Device::finish_receive_context(uint64_t id, int code) {
  if (ReceiveContext& arrival = *receives_.find(id); arrival.key) {
    end_arrival(arrival, code);  // if there is no memory for it, its last chunk comes again
    return end_uncredited(*receives_.remove(id));
  }
  const auto context = receives_.remove(id);
  const uint32_t rank = context->link->rank;
  if (context->is_get) {
    code = remote_ended(*context->link, context->signal, code);
    return complete(context->target, code, rank, context->tag, context->posted_buffer, context->posted_size);
  }
  if (code == LCI_DONE && context->size > context->capacity) {
    code = LCI_ERR_TRUNCATED;
  }
  complete(context->target, code, rank, context->tag, context->buffer, context->size);
}

/// Of an active message: it goes to its port if that is still there.
void Device::end_arrival(const ReceiveContext& context, int code) {
  InKey& key = *context.key;
  auto& port = static_cast<Port&>(*key.target);
  const bool current = key.generation == context.generation && port.generation.load() == context.generation;
  if (code == LCI_DONE && current && port.is_open()) {
    counters.add(Metric::arrivals);
    counters.add(Metric::arrival_bytes, context.size);
    try {
      deliver_request(port, key, context.tag, {nullptr, context.buffer, static_cast<uint32_t>(context.size)},
                      context.charge_messages, context.charge_bytes, context.buffer, context.request);
    } catch (const std::bad_alloc&) {
      counters.set(Metric::arrivals, counters.get(Metric::arrivals) - 1);
      counters.set(Metric::arrival_bytes, counters.get(Metric::arrival_bytes) - context.size);
      throw;
    }
    return;
  }
  counters.add(Metric::discarded);
  decline_reply(*context.link, context.request);
  if (current) release(key, context.generation, context.charge_messages, context.charge_bytes, false);
  lci_buffer_free(context.buffer);
}

}  // namespace lci
