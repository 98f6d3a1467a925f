// SPDX-License-Identifier: Apache-2.0
#include "protocol/incoming_streams.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "protocol/arrival_buffer.hpp"
#include "protocol/peer_bytes.hpp"
#include "protocol/user_buffer.hpp"

namespace lci {
namespace {

/// Bytes of memory that a rendezvous of any size takes at least.
constexpr uint64_t uncredited_cost(uint64_t size) {
  return std::max<uint64_t>(size, 4096);
}

}  // namespace

std::unique_ptr<ReceiveContext> IncomingStreams::prepare(Link& link) {
  contexts_.make_room();
  make_room(&link.queued_ready);
  return std::make_unique<ReceiveContext>();
}

void IncomingStreams::add(std::unique_ptr<ReceiveContext>&& context) {
  Link& link = *context->link;
  if (link.failed) {
    const int code = error_of(parts_.peers.state(link.rank));
    complete(context->target, code, link.rank, context->tag, context->buffer_as_posted(), 0);
    return;
  }
  ReceiveContext& added = *context;
  make_room(&link.queued_ready);
  contexts_.make_room();
  added.id = contexts_.add(std::move(context));
  link.queued_ready.push_back(added.id);
  links_.make_busy(link);
  call_again();  // control goes out in a pass, and this one's may be over
}

uint64_t IncomingStreams::expect(std::unique_ptr<ReceiveContext> context) {
  ReceiveContext& added = *context;
  added.id = contexts_.add(std::move(context));
  return added.id;
}

bool IncomingStreams::has_uncredited_room(const Link& link, uint32_t size) {
  return link.uncredited_bytes == 0 || link.uncredited_bytes + uncredited_cost(size) <= kUncreditedBytes;
}

bool IncomingStreams::admit(InKey& key, const Announcement& announcement, uint32_t charge_messages,
                            const Credit& taken) {
  if (key.link->failed) return false;  // what it has announced is about to be dropped
  std::unique_ptr<ReceiveContext> context;
  if (!unless_no_memory([&] { context = prepare(*key.link); })) return false;
  ArrivalBuffer* buffer =
      ArrivalBuffer::try_create(announcement.size, parts_.allocator.load(std::memory_order_acquire));
  if (!buffer) return false;
  context->link = key.link;
  context->key = &key;
  context->buffer = buffer->bytes();
  context->capacity = announcement.size;
  context->size = announcement.size;
  context->charge_messages = charge_messages;
  context->charge_bytes = taken.bytes;
  context->taken = taken;
  context->generation = key.generation;
  context->tag = announcement.tag;
  context->request = announcement.match;
  context->sender = announcement.argument;
  if (!key.target->credited) context->uncredited_bytes = uncredited_cost(announcement.size);
  key.link->uncredited_bytes += context->uncredited_bytes;
  ++key.to_come;
  key.short_to_come += announcement.size <= parts_.packets.max_eager();
  key.to_come_room = key.to_come_room + taken;
  add(std::move(context));
  return true;
}

/// Others may have waited for its end or its room.
void IncomingStreams::end_admitted(const ReceiveContext& context) {
  Link& link = *context.link;
  InKey& key = *context.key;
  if (key.generation == context.generation) {
    --key.to_come;
    key.short_to_come -= context.size <= parts_.packets.max_eager();
    key.to_come_room = beyond(key.to_come_room, context.taken);
    Grants::set_thresholds(key);
    key.target->came(context.taken, context.size, context.generation);
  }
  link.uncredited_bytes -= context.uncredited_bytes;
  if (context.uncredited_bytes == 0 || !std::exchange(link.uncredited_wait, false)) return;
  link.in_keys.for_each([this](InKey& other) {
    if (!other.waiting.empty()) grants_.work().request(other);
  });
}

bool IncomingStreams::flush_ready(Link& link, bool* moved) {
  while (!link.queued_ready.empty()) {
    const uint64_t id = link.queued_ready.back();
    if (ReceiveContext* context = contexts_.find(id)) {
      const MessageHeader header{MessageKind::kReady, 0, 0, 0, 0, id, context->sender};
      if (!links_.emit_control(link, header)) return false;
      context->ready_sent = true;
    }
    link.queued_ready.pop_back();
    *moved = true;
  }
  return true;
}

void IncomingStreams::handle_chunk(Link& link, const MessageHeader& header, const std::byte* offset_bytes) {
  uint64_t offset;
  std::memcpy(&offset, offset_bytes, sizeof offset);
  const std::byte* bytes = payload_of(parts_.packets, link, header, most_of_chunk(parts_.packets, true));
  if (!bytes && was_revoked(parts_.packets, link, header)) return counters_.add(Metric::discarded);
  if (!bytes) return protocol_error(link, "chunk outside its memory", header);
  ReceiveContext* context = contexts_.find(header.tag);
  if (!context || context->link != &link) {
    counters_.add(Metric::discarded);  // ended meanwhile: its port was closed
    return;
  }
  const uint64_t left = context->size - context->received;
  if (offset > context->size || header.size > context->size - offset || header.size > left) {
    return protocol_error(link, "chunk outside its message", header);
  }
  if (context->is_get && !context->ranges.empty()) make_room(&link.asks);  // before anything has changed
  if (offset < context->capacity) {
    Parts* const parts = context->parts.empty() ? nullptr : &context->parts;
    fill(lane(), context->target, context->buffer, parts, offset, {nullptr, bytes, header.size},
         static_cast<uint32_t>(std::min<uint64_t>(header.size, context->capacity - offset)));
    if (was_revoked(parts_.packets, link, header)) return counters_.add(Metric::discarded);
  }
  if (header.size != left) {
    context->received += header.size;
  } else if (!context->is_get || !begin_next_part(*context)) {
    finish(header.tag, LCI_DONE);
  }
}

void IncomingStreams::handle_withdrawal(Link& link, const MessageHeader& header) {
  const auto code = static_cast<int>(header.aux);
  if (code != 0 && !is_error(code)) return protocol_error(link, "withdrawal without a reason", header);
  ReceiveContext* context = contexts_.find(header.tag);
  if (context && context->link == &link) finish(header.tag, code != 0 ? code : LCI_ERR_CANCELLED);
}

void IncomingStreams::start_get(std::unique_ptr<ReceiveContext> context) {
  make_room(&context->link->asks);
  ReceiveContext& get = *context;
  get.id = contexts_.add(std::move(context));
  begin_next_part(get);
}

/// False: there is none. The peer is asked for one range after the other, so a list is one get under way at it.
bool IncomingStreams::begin_next_part(ReceiveContext& get) {
  if (get.ranges.empty()) return false;
  const RemoteRange range = get.ranges.back();
  get.ranges.pop_back();
  get.buffer = range.local;
  get.capacity = get.size = range.size;
  get.access = range.access;
  get.received = 0;
  if (ask(*get.link, get)) return true;
  get.link->asks.push_back(get.id);
  links_.make_busy(*get.link);
  return true;
}

bool IncomingStreams::ask(Link& link, const ReceiveContext& get) {
  return links_.emit_data(link, {MessageKind::kGet, 0, 0, 0, 0, get.size, get.id}, &get.access, sizeof get.access);
}

bool IncomingStreams::flush_asks(Link& link) {
  bool moved = false;
  while (!link.asks.empty()) {
    const ReceiveContext* get = contexts_.find(link.asks.back());
    if (get && !ask(link, *get)) {
      link.wants_room = true;
      return moved;
    }
    link.asks.pop_back();
    moved = true;
  }
  return moved;
}

void IncomingStreams::finish(uint64_t id, int code) {
  if (ReceiveContext& arrival = *contexts_.find(id); arrival.key) {
    end_arrival(arrival, code);  // if there is no memory for it, its last chunk comes again
    return end_admitted(*contexts_.remove(id));
  }
  const auto context = contexts_.remove(id);
  const uint32_t rank = context->link->rank;
  if (context->is_get) {
    code = signals_.operation_ended(*context->link, context->signal, code);
    complete(context->target, code, rank, context->tag, context->posted_buffer, context->posted_size);
    return;
  }
  if (code == LCI_DONE && context->size > context->capacity) {
    code = context->no_memory ? LCI_ERR_NO_MEMORY : LCI_ERR_TRUNCATED;
  }
  const bool received = context->memory && code == LCI_DONE;
  void* const buffer = received ? context->buffer : context->buffer_as_posted();
  const bool heard = complete(context->target, code, rank, context->tag, buffer, context->size, received);
  if (received && heard) std::ignore = context->memory.release();
}

void IncomingStreams::peer_gone(Link& link, int code) {
  contexts_.for_each([&](uint64_t id, ReceiveContext& context) {
    if (context.link == &link) finish(id, code);
  });
}

void IncomingStreams::cancel_all(int code) {
  contexts_.for_each([&](uint64_t id, ReceiveContext&) { finish(id, code); });
}

/// An active message goes to its port if that is still there.
void IncomingStreams::end_arrival(const ReceiveContext& context, int code) {
  InKey& key = *context.key;
  auto& port = static_cast<Port&>(*key.target);
  const bool current = key.generation == context.generation && port.generation.load() == context.generation;
  if (code == LCI_DONE && current && port.is_open()) {
    counters_.add(Metric::arrivals);
    counters_.add(Metric::arrival_bytes, context.size);
    try {
      const Payload payload{nullptr, context.buffer, static_cast<uint32_t>(context.size)};
      delivery_.deliver({port, key, context.tag, payload, context.request, context.charge_messages,
                         context.charge_bytes, context.buffer});
    } catch (const std::bad_alloc&) {
      counters_.set(Metric::arrivals, counters_.get(Metric::arrivals) - 1);
      counters_.set(Metric::arrival_bytes, counters_.get(Metric::arrival_bytes) - context.size);
      throw;
    }
    return;
  }
  counters_.add(Metric::discarded);
  replies_.decline(*context.link, context.request);
  if (current) grants_.release(key, context.generation, context.charge_messages, context.charge_bytes, false);
  lci_buffer_free(context.buffer);
}

}  // namespace lci
