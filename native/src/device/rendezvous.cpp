// SPDX-License-Identifier: Apache-2.0
// Messages above the eager limit: announced, answered when the receiver has a place, then streamed through packets.
// [G4 in the form of DESIGN decision 4; X8]
#include <algorithm>

#include "base/error.hpp"
#include "device/device.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

/// Chunks that one pass streams per channel, so that a long message does not hold up short ones. [V8]
constexpr int kChunksPerPass = 32;
/// Withdrawals that wait for room; a peer that is ready for more things unknown than that is not honest.
constexpr size_t kMaxWithdrawals = 1u << 16;

}  // namespace

// --- sender
// -----------------------------------------------------------------------------------------------------------

int Device::post_rendezvous(Channel& channel, OutKey& key, const lci_descriptor& op, const OpTarget& target) {
  const bool engine = key.target & kEngineTarget;
  const bool uncredited = key.state == OutKey::State::kUncredited;
  const bool credited = !engine && key.state == OutKey::State::kLeased && key.credit.messages != 0;
  if (!credited && !uncredited && key.announced >= key.announce_limit)
    return refuse(&channel, &key, LCI_RETRY_NOCREDIT);
  if (!channel.data_out.has_room(1)) return refuse(&channel, &key, LCI_RETRY_NOMEM);
  if (!target.completion && !target.lane) {
    return fail(LCI_ERR_ARGUMENT, "post: %u bytes to rank %u need a completion object: they cannot be sent at once",
                op.size, op.rank);
  }
  auto context = std::make_unique<SendContext>();
  SendContext& added = *context;
  added.target = target;
  added.channel = &channel;
  added.data = reinterpret_cast<const std::byte*>(op.u.ref.address);
  added.size = op.size;
  added.number = key.target;
  added.tag = op.tag;
  added.credited = credited || uncredited;
  added.id = sends_.add(std::move(context));
  uint32_t aux = key.generation;
  if (!credited && !uncredited && !engine) {
    if (Port* port = runtime_.port(key.target)) aux = port->sender_hash.load(std::memory_order_relaxed);
  }
  const auto flags = static_cast<uint8_t>(op.policy | (credited ? kFlagCredited : 0));
  emit_data(channel, {Message::kRendezvous, flags, key.target, op.size, uncredited ? 0 : aux, op.tag, added.id},
            nullptr, 0);
  if (credited) {
    --key.credit.messages;
  } else if (!uncredited) {
    ++key.announced;
  }
  counters.add(Metric::rendezvous);
  counters.add(Metric::sent_bytes, op.size);
  counters.set(Metric::sends_pending, sends_live());
  return LCI_POSTED;
}

void Device::handle_ready(Channel& channel, const SlotHeader& header) {
  SendContext* context = sends_.find(header.arg);
  if (!context || context->channel != &channel) {  // ended meanwhile: its port was closed
    counters.add(Metric::discarded);
    if (channel.withdrawals.size() == kMaxWithdrawals) return protocol_error(channel, "ready for nothing", header);
    return withdraw(channel, header.tag);
  }
  if (context->streaming) return protocol_error(channel, "ready twice", header);
  if (!context->credited) {
    OutKey& key = out_key(channel, context->number);
    if (key.announced != 0) --key.announced;
    if (key.refused) tell_writable(channel, key);
  }
  if (context->abandoned) {
    withdraw(channel, header.tag);
    return finish_send_context(*context, LCI_ERR_CANCELLED);
  }
  context->streaming = true;
  context->receiver = header.tag;
  channel.streams.push_back(context);
  make_busy(channel);
}

/// The receiver holds a place for what will not come.
void Device::withdraw(Channel& channel, uint64_t receiver) {
  channel.withdrawals.push_back(receiver);
  make_busy(channel);
}

/// Drops the rendezvous of a lane that goes. One that was announced stays until the receiver can be told.
void Device::abandon(SendContext& context) {
  if (context.streaming) {
    std::erase(context.channel->streams, &context);
    withdraw(*context.channel, context.receiver);
    sends_.remove(context.id);
  } else {
    context.data = nullptr;
    context.abandoned = true;
    ++abandoned_;
  }
}

bool Device::stream(Channel& channel) {
  if (channel.streams.empty() || channel.failed) return false;
  bool moved = false;
  for (int i = 0; i < kChunksPerPass && !channel.streams.empty(); ++i) {
    SendContext& context = *channel.streams.front();
    if (!stream_chunk(channel, context)) return moved;
    moved = true;
    if (context.sent == context.size) {
      channel.streams.erase(channel.streams.begin());
      finish_send_context(context, LCI_DONE);
    } else if (channel.streams.size() > 1) {  // in turn
      std::rotate(channel.streams.begin(), channel.streams.begin() + 1, channel.streams.end());
    }
  }
  unfinished_ = unfinished_ || !channel.streams.empty();
  return moved;
}

bool Device::stream_chunk(Channel& channel, SendContext& context) {
  if (!channel.data_out.has_room(1)) {
    channel.wants_room = true;
    return false;
  }
  const uint32_t packet = take_packet(channel);
  if (packet == 0) {
    wait_for_packets();
    return false;
  }
  const uint32_t size = std::min(runtime_.max_eager(), context.size - context.sent);
  std::memcpy(runtime_.pool().data(packet) + kPacketPayloadOffset, context.data + context.sent, size);
  const uint64_t offset = context.sent;
  emit_data(channel, {Message::kRendezvousData, 0, 0, size, 0, context.receiver, packet}, &offset, sizeof offset);
  context.sent += size;
  return true;
}

void Device::finish_send_context(SendContext& context, int code) {
  auto owned = sends_.remove(context.id);
  if (owned->abandoned) {
    --abandoned_;
    return;
  }
  counters.set(Metric::sends_pending, sends_live());
  complete(owned->target, code, owned->channel->rank, owned->tag, const_cast<std::byte*>(owned->data), owned->size);
}

// --- receiver
// ---------------------------------------------------------------------------------------------------------

/// False: the system has no memory for it now.
bool Device::admit_rendezvous(InKey& key, const Announcement& announcement, uint32_t charge_messages,
                              uint64_t charge_bytes) {
  ArrivalBuffer* buffer = ArrivalBuffer::try_create(announcement.size);
  if (!buffer) return false;
  auto context = std::make_unique<ReceiveContext>();
  context->channel = key.channel;
  context->key = &key;
  context->buffer = buffer->bytes();
  context->capacity = announcement.size;
  context->size = announcement.size;
  context->charge_messages = charge_messages;
  context->charge_bytes = charge_bytes;
  context->generation = key.generation;
  context->tag = announcement.tag;
  context->sender = announcement.argument;
  add_receive_context(std::move(context));
  return true;
}

void Device::start_rendezvous(std::unique_ptr<ReceiveContext> context) {
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    handed_.push_back(std::move(context));
    has_handed_.store(true, std::memory_order_seq_cst);
  }
  wake_owner();
}

bool Device::take_handed() {
  if (!has_handed_.load(std::memory_order_acquire)) return false;
  std::vector<std::unique_ptr<ReceiveContext>> handed;
  std::vector<Queued> posts;
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    handed.swap(handed_);
    posts.swap(handed_posts_);
    has_handed_.store(false, std::memory_order_relaxed);
  }
  for (auto& context : handed) add_receive_context(std::move(context));
  take_handed_posts(std::move(posts));
  return true;
}

void Device::add_receive_context(std::unique_ptr<ReceiveContext> context) {
  Channel& channel = *context->channel;
  if (channel.failed) {
    const bool left = runtime_.peer_state(channel.rank) == RankState::kLeft;
    complete(context->target, left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, channel.rank, context->tag,
             context->buffer, 0);
    return;
  }
  ReceiveContext& added = *context;
  added.id = receives_.add(std::move(context));
  channel.queued_ready.push_back(added.id);
  make_busy(channel);
}

bool Device::handle_chunk(Channel& channel, const SlotHeader& header, const std::byte* offset_bytes) {
  uint64_t offset;
  std::memcpy(&offset, offset_bytes, sizeof offset);
  const std::byte* bytes = packet_of(channel, header.arg, header.size);
  if (!bytes) {
    protocol_error(channel, "chunk outside its arena", header);
    return true;
  }
  channel.packets_back.push_back(static_cast<uint32_t>(header.arg));
  ReceiveContext* context = receives_.find(header.tag);
  if (!context || context->channel != &channel) {
    counters.add(Metric::discarded);  // ended meanwhile: its port was closed
    return true;
  }
  if (offset > context->size || header.size > context->size - offset ||
      header.size > context->size - context->received) {
    protocol_error(channel, "chunk outside its message", header);
    return true;
  }
  if (offset < context->capacity) {
    fill(context->target, context->buffer + offset, bytes,
         static_cast<uint32_t>(std::min<uint64_t>(header.size, context->capacity - offset)));
  }
  context->received += header.size;
  if (context->received == context->size) finish_receive_context(header.tag, LCI_DONE);
  return true;
}

void Device::handle_withdrawal(Channel& channel, const SlotHeader& header) {
  ReceiveContext* context = receives_.find(header.tag);
  if (context && context->channel == &channel) finish_receive_context(header.tag, LCI_ERR_CANCELLED);
}

void Device::finish_receive_context(uint64_t id, int code) {
  auto context = receives_.remove(id);
  const uint32_t rank = context->channel->rank;
  if (!context->key) {
    if (code == LCI_DONE && context->size > context->capacity) code = LCI_ERR_TRUNCATED;
    complete(context->target, code, rank, context->tag, context->buffer, context->size);
    return;
  }
  InKey& key = *context->key;
  auto& port = static_cast<Port&>(*key.target);
  const bool current = key.generation == context->generation && port.generation.load() == context->generation;
  if (code == LCI_DONE && current && port.is_open()) {
    counters.add(Metric::arrivals);
    counters.add(Metric::arrival_bytes, context->size);
    deliver(port, key, rank, context->tag, {nullptr, context->buffer, context->size}, context->charge_messages,
            context->charge_bytes, context->buffer);
    return;
  }
  counters.add(Metric::discarded);
  if (current) release(key, context->generation, context->charge_messages, context->charge_bytes, false);
  lci_buffer_free(context->buffer);
}

}  // namespace lci
