// SPDX-License-Identifier: Apache-2.0
// Posting: what happens between a descriptor and the ring. Nothing progresses here.
#include <cinttypes>
#include <new>

#include "base/error.hpp"
#include "base/mutation.hpp"
#include "device/device.hpp"
#include "lane/lane.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

constexpr Metric kDoneCounter[] = {Metric::operations_error, Metric::operations_am_done, Metric::operations_send_done,
                                   Metric::operations_recv_done, Metric::operations_barrier_posted};
constexpr Metric kPostedCounter[] = {Metric::operations_error, Metric::operations_am_posted,
                                     Metric::operations_send_posted, Metric::operations_recv_posted,
                                     Metric::operations_barrier_posted};

Metric retry_counter(int code) {
  switch (code) {
    case LCI_RETRY_NOPACKET:
      return Metric::retries_nopacket;
    case LCI_RETRY_NOMEM:
      return Metric::retries_nomem;
    case LCI_RETRY_BACKLOG:
      return Metric::retries_backlog;
    case LCI_RETRY_NOCREDIT:
      return Metric::retries_nocredit;
    case LCI_RETRY_PENDING:
      return Metric::retries_pending;
    case LCI_RETRY_ORDER:
      return Metric::retries_order;
    default:
      return Metric::retries_lock;
  }
}

}  // namespace

int Device::check(const lci_descriptor& op) const {
  const char* name = op.op == LCI_OP_AM ? "am" : op.op == LCI_OP_SEND ? "send" : "receive";
  const uint32_t size = runtime_.size();
  if (op.rank >= size && !(op.op == LCI_OP_RECV && op.rank == LCI_ANY_SOURCE)) {
    return fail(LCI_ERR_RANK, "%s: rank %u is outside 0..%u (device %u)", name, op.rank, size - 1, index_);
  }
  if (op.op == LCI_OP_AM) {
    if (op.port == 0 || op.port > LCI_MAX_PORT) {
      return fail(LCI_ERR_PORT, "am: port %u is outside 1..%u (rank %u, device %u)", op.port, LCI_MAX_PORT, op.rank,
                  index_);
    }
  } else {
    if (op.port >= runtime_.engines()) {
      return fail(LCI_ERR_ARGUMENT, "%s: matching engine %u does not exist (rank %u, device %u)", name, op.port,
                  op.rank, index_);
    }
    if (op.tag > LCI_MAX_TAG && !(op.op == LCI_OP_RECV && op.tag == LCI_ANY_TAG)) {
      return fail(LCI_ERR_TAG, "%s: tag %" PRIu64 " exceeds %llu, the most that matching can carry (rank %u)", name,
                  op.tag, LCI_MAX_TAG, op.rank);
    }
    if (op.policy > LCI_POLICY_NONE) return fail(LCI_ERR_ARGUMENT, "%s: unknown matching policy %u", name, op.policy);
  }
  switch (op.flags & LCI_FLAG_PAYLOAD_MASK) {
    case LCI_FLAG_INLINE:
      if (op.op != LCI_OP_RECV && op.size > LCI_INLINE_MAX) {
        return fail(LCI_ERR_SIZE, "%s: an inline payload has at most %u bytes, not %u; use a packet or a buffer", name,
                    LCI_INLINE_MAX, op.size);
      }
      if (op.op == LCI_OP_RECV && op.size != 0) {
        return fail(LCI_ERR_ARGUMENT, "receive: a buffer is needed for %u bytes (LCI_FLAG_BUFFER)", op.size);
      }
      return LCI_DONE;
    case LCI_FLAG_PACKET: {
      const uint64_t handle = op.u.ref.address;
      if (op.op == LCI_OP_RECV || handle > UINT32_MAX || !runtime_.pool().owns(static_cast<uint32_t>(handle)) ||
          runtime_.packet_state(static_cast<uint32_t>(handle)).device != 0) {
        return fail(LCI_ERR_ARGUMENT, "%s: %" PRIu64 " is not a packet that the caller holds", name, handle);
      }
      if (op.size > runtime_.max_eager()) {
        return fail(LCI_ERR_SIZE, "%s: a packet carries at most %u bytes, not %u", name, runtime_.max_eager(), op.size);
      }
      return LCI_DONE;
    }
    case LCI_FLAG_BUFFER:
      if (op.u.ref.address == 0 && op.size != 0) {
        return fail(LCI_ERR_ARGUMENT, "%s: null buffer of %u bytes (rank %u)", name, op.size, op.rank);
      }
      return LCI_DONE;
    default:
      return fail(LCI_ERR_ARGUMENT, "%s: unknown payload form in flags 0x%x", name, op.flags);
  }
}

int Device::post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  if (ended_) return fail(LCI_ERR_CLOSED, "post: the runtime closes (rank %u, device %u)", runtime_.rank(), index_);
  // Held before: the signal may come within the post, and from another thread.
  Completion* held = may_be_posted(op) ? target.completion : nullptr;
  if (held) held->hold();
  const int code = attempt(op, inline_payload, target, done);
  if (held && !is_posted(code)) held->forget_held();
  return code;
}

/// Whether a signal may follow.
bool Device::may_be_posted(const lci_descriptor& op) const {
  return op.op == LCI_OP_RECV || op.op == LCI_OP_BARRIER || (op.flags & LCI_FLAG_SIGNAL) ||
         op.size > runtime_.max_eager();
}

int Device::attempt(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  int code;
  switch (op.op) {
    case LCI_OP_AM:
    case LCI_OP_SEND: {
      code = check(op);
      if (code == LCI_DONE) {
        int error = LCI_DONE;
        Channel* channel = open_channel(op.rank, &error);
        code = channel ? post_message(*channel, op, inline_payload, target) : error;
      }
      break;
    }
    case LCI_OP_RECV:
      code = check(op);
      if (code == LCI_DONE) code = post_receive(op, target, done);
      break;
    case LCI_OP_BARRIER:
      code = post_barrier(target);
      break;
    case LCI_OP_CANCEL:
      return cancel_receive(op);
    default:
      return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  }
  count_answer(op, code);
  if (code == LCI_DONE) {
    if (done && op.op != LCI_OP_RECV) {
      void* buffer =
          (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_BUFFER ? reinterpret_cast<void*>(op.u.ref.address) : nullptr;
      *done = {LCI_DONE, op.rank, op.tag, buffer, op.size, target.context, 0, 0};
    }
    if (op.flags & LCI_FLAG_SIGNAL) {
      // Decided once, here: no protocol signals what it answered with done. [SS-9]
      if (op.op != LCI_OP_RECV) {
        complete(target, LCI_DONE, op.rank, op.tag, nullptr, op.size);
      } else {
        complete(target, done->code, done->rank, done->tag, done->buffer, done->size);
      }
      return LCI_POSTED;
    }
  }
  return code;
}

/// What is signalled counts as posted. What comes out of the backlog was counted when it went in.
void Device::count_answer(const lci_descriptor& op, int code) {
  if (is_retry(code)) {
    counters.add(retry_counter(code));
  } else if (retrying_backlog_) {
    return;
  } else if (is_posted(code) || (code == LCI_DONE && (op.flags & LCI_FLAG_SIGNAL))) {
    counters.add(kPostedCounter[op.op]);
  } else if (is_done(code)) {
    counters.add(kDoneCounter[op.op]);
  } else {
    counters.add(Metric::operations_error);
  }
}

/// The common case without detours; whatever is special is left to post(). Half the instructions of the long way.
bool Device::post_short_am(const lci_descriptor& op) {
  if (op.rank >= channels_.size() || op.size > LCI_INLINE_MAX || (op.port & kEngineTarget)) return false;
  Channel* channel = channels_[op.rank].get();
  if (!channel || !channel->out_open || channel->failed || channel->chaos || !backlog_.empty()) return false;
  if (batch_refusal_ != 0 || channel->full_batch == batch_) return false;
  OutKey* key = channel->out_keys.find(op.port);
  if (!key || key->refused_batch == batch_) return false;
  uint8_t flags = 0;
  if (key->state == OutKey::State::kLeased) {
    if (key->credit.messages == 0 || key->credit.bytes < op.size) return false;
    flags = kFlagCredited;
  } else if (key->state != OutKey::State::kUncredited) {
    return false;
  }
  if (!channel->data_out.has_room(slots_for(op.size))) return false;
  if (flags == kFlagCredited) {
    --key->credit.messages;
    key->credit.bytes -= op.size;
  }
  channel->data_out.write({Message::kAmInline, flags, key->target, op.size, key->generation, op.tag, 0},
                          op.u.inline_payload, op.size);
  touch(*channel);
  counters.add(Metric::operations_am_done);
  counters.add(Metric::sent_bytes, op.size);
  return true;
}

OutKey& Device::out_key(Channel& channel, uint16_t target) {
  if (OutKey* key = channel.out_keys.find(target)) return *key;
  OutKey& key = channel.out_keys.add(target);
  key.target = target;
  if (target & kEngineTarget) {
    // What the receiver is ready to remember, split evenly: both sides know it without a message.
    key.announce_limit = std::max(1u, runtime_.attributes().announcements / runtime_.size());
  }
  return key;
}

int Device::refuse(Channel* channel, OutKey* key, int code) {
  if (key) {
    key->refused_batch = batch_;
    if (code == LCI_RETRY_NOCREDIT) key->refused = true;
    if (LCI_MUTATED("refusal_blocks_all")) batch_refusal_ = code;
  }
  if (code == LCI_RETRY_NOMEM) {
    channel->full_batch = batch_;
    channel->wants_room = true;
    counters.add(Metric::ring_full);
  } else if (code == LCI_RETRY_NOPACKET) {
    batch_refusal_ = code;
    wait_for_packets();
  }
  return code;
}

/// Refusals of this batch that a descriptor inherits without being attempted. [V1-V3]
int Device::refused_earlier(Channel& channel, OutKey& key) {
  if (key.refused_batch == batch_) return LCI_RETRY_ORDER;
  if (batch_refusal_ != 0) return batch_refusal_;
  if (channel.full_batch == batch_) return LCI_RETRY_NOMEM;
  return LCI_DONE;
}

int Device::post_message(Channel& channel, const lci_descriptor& op, const void* inline_payload,
                         const OpTarget& target) {
  const bool am = op.op == LCI_OP_AM;
  const auto number = static_cast<uint16_t>(am ? op.port : kEngineTarget | op.port);
  OutKey& key = out_key(channel, number);
  if (key.state == OutKey::State::kClosed || key.state == OutKey::State::kMismatch) {
    const bool closed = key.state == OutKey::State::kClosed;
    return fail(closed ? LCI_ERR_PORT_CLOSED : LCI_ERR_PORT_MISMATCH, "am: port %u of rank %u %s", op.port, op.rank,
                closed ? "is closed; it may open again" : "has another name there; give both sides the same");
  }
  int code = refused_earlier(channel, key);
  if (code == LCI_DONE && channel.chaos) {
    code = channel.chaos->refuse();
    if (code != LCI_DONE) {
      counters.add(Metric::chaos_refused);
      code = refuse(&channel, &key, code);
      if (code == LCI_RETRY_NOCREDIT) chaos_refused_.emplace_back(&channel, &key);
      unfinished_ = true;
    }
  }
  if (code == LCI_DONE && !backlog_.empty() && !retrying_backlog_ && backlog_.count(op.rank)) {
    code = LCI_RETRY_BACKLOG;
    key.refused = true;
    key.refused_batch = batch_;
  }
  if (code == LCI_DONE) {
    if (op.size > runtime_.max_eager()) {
      code = post_rendezvous(channel, key, op, target);
    } else {
      Outgoing message{inline_payload, 0, op.size, op.tag, op.policy};
      const int form = op.flags & LCI_FLAG_PAYLOAD_MASK;
      if (form == LCI_FLAG_BUFFER) message.bytes = reinterpret_cast<const void*>(op.u.ref.address);
      if (form == LCI_FLAG_PACKET) {
        message.packet = static_cast<uint32_t>(op.u.ref.address);
        message.bytes = nullptr;
      }
      const bool credited = key.state == OutKey::State::kUncredited ||
                            (key.credit.messages != 0 && key.credit.bytes >= op.size) || LCI_MUTATED("ignore_credit");
      code = credited ? send_with_credit(channel, key, am ? Message::kAmInline : Message::kSendInline, message)
                      : announce(channel, key, message);
    }
  }
  if (is_retry(code) && (op.flags & LCI_FLAG_NO_RETRY) && !retrying_backlog_) {
    return to_backlog(op, inline_payload, target);
  }
  return code;
}

int Device::send_with_credit(Channel& channel, OutKey& key, Message inline_kind, const Outgoing& message) {
  SlotHeader header{inline_kind, message.policy, key.target, message.size, key.generation, message.tag, 0};
  const bool spends = key.state == OutKey::State::kLeased;
  if (spends) header.flags |= kFlagCredited;
  if (message.size <= LCI_INLINE_MAX) {
    const void* bytes = message.packet ? runtime_.pool().data(message.packet) + kPacketPayloadOffset : message.bytes;
    if (!emit_data(channel, header, bytes, message.size)) return refuse(&channel, &key, LCI_RETRY_NOMEM);
    if (message.packet) {
      runtime_.pool().put(index_, message.packet);
      runtime_.wake_packet_waiters();
    }
  } else {
    if (!channel.data_out.has_room(1)) return refuse(&channel, &key, LCI_RETRY_NOMEM);
    const uint32_t packet = fill_packet(channel, message);
    if (packet == 0) return refuse(&channel, &key, LCI_RETRY_NOPACKET);
    header.kind = inline_kind == Message::kAmInline ? Message::kAmPacket : Message::kSendPacket;
    header.arg = packet;
    emit_data(channel, header, nullptr, 0);
  }
  if (spends) {
    --key.credit.messages;
    key.credit.bytes -= message.size;
  }
  counters.add(Metric::sent_bytes, message.size);
  return LCI_DONE;
}

/// Credit that went out comes back as sends are matched; an announcement costs a packet and a way there and back. So a
/// key that ran dry waits for some passes before it announces: what is never matched gives no credit back. [X7]
bool Device::awaits_credit(Channel& channel, OutKey& key) {
  if (!(key.target & kEngineTarget) || key.state != OutKey::State::kLeased) return false;
  const uint64_t pass = counters.get(Metric::progress_calls);
  if (!key.dry) {
    key.dry = true;
    key.dry_since = pass;
    if (!key.dry_listed) dry_keys_.emplace_back(&channel, &key);
    key.dry_listed = true;
    unfinished_ = true;
  }
  return pass - key.dry_since < kPatiencePasses;
}

int Device::announce(Channel& channel, OutKey& key, const Outgoing& message) {
  if (awaits_credit(channel, key)) return refuse(&channel, &key, LCI_RETRY_NOCREDIT);
  if (key.announced >= key.announce_limit) return refuse(&channel, &key, LCI_RETRY_NOCREDIT);
  if (!channel.data_out.has_room(1)) return refuse(&channel, &key, LCI_RETRY_NOMEM);
  const uint32_t packet = fill_packet(channel, message);
  if (packet == 0) return refuse(&channel, &key, LCI_RETRY_NOPACKET);
  runtime_.packet_state(packet).announced = &key;
  ++key.announced;
  uint32_t name_hash = 0;
  if (!(key.target & kEngineTarget)) {
    if (Port* port = runtime_.port(key.target)) name_hash = port->sender_hash.load(std::memory_order_relaxed);
  }
  const SlotHeader header{Message::kAnnounce, message.policy, key.target, message.size, name_hash, message.tag, packet};
  emit_data(channel, header, nullptr, 0);
  counters.add(Metric::announcements);
  counters.add(Metric::sent_bytes, message.size);
  return LCI_DONE;
}

/// A packet that is out to the channel's peer: taken from the pool, or (handle given) the caller's own.
uint32_t Device::fill_packet(Channel& channel, const Outgoing& message) {
  uint32_t packet = message.packet;
  if (packet == 0) {
    packet = take_packet(channel);
    if (packet == 0) return 0;
    if (message.size != 0)
      std::memcpy(runtime_.pool().data(packet) + kPacketPayloadOffset, message.bytes, message.size);
  } else {
    runtime_.packet_state(packet) = {channel.rank, static_cast<uint16_t>(index_ + 1), nullptr};
    counters.add(Metric::packets_out);
  }
  return packet;
}

uint32_t Device::take_packet(Channel& channel) {
  const uint32_t packet = runtime_.pool().get(index_);
  if (packet == 0) return 0;
  runtime_.packet_state(packet) = {channel.rank, static_cast<uint16_t>(index_ + 1), nullptr};
  counters.add(Metric::packets_out);
  return packet;
}

bool Device::emit_data(Channel& channel, const SlotHeader& header, const void* payload, uint32_t payload_size) {
  if (!channel.data_out.has_room(slots_for(payload_size))) return false;
  if (channel.chaos && channel.chaos->delay(false, header, payload, payload_size, *this)) return true;
  channel.data_out.write(header, payload, payload_size);
  touch(channel);
  return true;
}

bool Device::emit_control(Channel& channel, const SlotHeader& header) {
  int ignored = LCI_DONE;
  if (!channel.out_open && !open_channel(channel.rank, &ignored)) return false;
  if (!channel.control_out.has_room(1)) return false;
  if (channel.chaos && channel.chaos->delay(true, header, nullptr, 0, *this)) return true;
  channel.control_out.write(header, nullptr, 0);
  touch(channel);
  return true;
}

void Device::touch(Channel& channel) {
  if (channel.touched) return;
  channel.touched = true;
  touched_.push_back(&channel);
}

void Device::publish_rings() {
  for (Channel* channel : touched_) {
    channel->control_out.publish();
    channel->data_out.publish();
  }
}

void Device::ring_doorbells() {
  if (touched_.empty()) return;
  publish_rings();
  runtime_.publication_fence();
  for (Channel* channel : touched_) {
    channel->touched = false;
    channel->peer->summary(index_)[runtime_.rank()].store(1, std::memory_order_release);
  }
  runtime_.publication_fence();
  for (Channel* channel : touched_) {
    runtime_.wake_device(channel->rank, index_);
  }
  touched_.clear();
}

Channel* Device::open_channel(uint32_t rank, int* error) {
  if (!channels_[rank]) {
    channels_[rank] = std::make_unique<Channel>();
    Channel& fresh = *channels_[rank];
    fresh.device = this;
    fresh.rank = rank;
    fresh.peer = &runtime_.peer_arena(rank);
  }
  Channel& channel = *channels_[rank];
  if (channel.failed) {
    const bool left = runtime_.peer_state(rank) == RankState::kLeft;
    *error = fail(left ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, "post: rank %u %s (device %u)", rank,
                  left ? "has left the job" : "has failed", index_);
    return nullptr;
  }
  if (!channel.out_open) {
    const Attributes& attributes = runtime_.attributes();
    const uint32_t data = attributes.ring_bytes / kSlotBytes, control = attributes.control_ring_bytes / kSlotBytes;
    Arena& arena = runtime_.arena();
    const uint64_t offset = arena.allocate(ChannelBlock::bytes(control, data));
    if (offset == 0) {
      *error = fail(LCI_ERR_NO_MEMORY,
                    "post: no memory for the ring to rank %u (device %u); raise the container's limit or "
                    "arena_bytes",
                    rank, index_);
      return nullptr;
    }
    auto* block = new (arena.at(offset)) ChannelBlock;
    channel.control_out = RingProducer({&block->control_head, block->slots(), control});
    channel.data_out = RingProducer({&block->data_head, block->slots() + control, data});
    if (runtime_.chaos())
      channel.chaos = std::make_unique<ChannelChaos>(*runtime_.chaos(), runtime_.rank(), index_, rank);
    channel.out_open = true;
    arena.channel_offset(index_, rank).store(offset, std::memory_order_release);
    touch(channel);
  }
  return &channel;
}

}  // namespace lci
