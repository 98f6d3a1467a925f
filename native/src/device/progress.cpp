// SPDX-License-Identifier: Apache-2.0
// Progress: control traffic, what waits for room, arrivals. [area H]
#include <algorithm>
#include <cinttypes>
#include <utility>

#include "base/error.hpp"
#include "base/mutation.hpp"
#include "device/device.hpp"
#include "lane/inbox.hpp"
#include "lane/lane.hpp"
#include "runtime/runtime.hpp"

namespace lci {
namespace {

/// Up to this many incoming channels are looked at directly; above, only those whose summary byte is set.
constexpr uint32_t kDirectChannels = 8;
/// Control messages handled per channel and pass.
constexpr uint32_t kControlBudget = 256;

thread_local Device* progressing = nullptr;

}  // namespace

Progressing::Progressing(Device& device) : before_(progressing) {
  progressing = &device;
}
Progressing::~Progressing() {
  progressing = before_;
}
bool Progressing::is(const Device& device) {
  return progressing == &device;
}

bool Device::progress(const Budget& given) {
  counters.add(Metric::progress_calls);
  Budget budget = given;
  unfinished_ = false;
  begin_batch();
  bool moved = false;
  if (runtime_.chaos()) {
    for (auto& channel : channels_) {
      if (channel && channel->chaos) {
        moved |= channel->chaos->tick(*this, *channel);
        channel->chaos->shorten(&budget.messages);
      }
    }
    for (auto& [channel, key] : chaos_refused_) {
      if (key->refused) tell_writable(*channel, *key);
    }
    chaos_refused_.clear();
  }
  moved |= take_returned_packets();
  moved |= process_work();
  scan_summary();
  for (size_t i = 0; i < ready_.size(); ++i) moved |= drain_control(*ready_[i]);
  moved |= look_for_failures();
  moved |= retry_backlog();
  if (!barriers_.empty()) moved |= advance_barriers();
  for (size_t i = 0; i < busy_.size();) {
    Channel& channel = *busy_[i];
    moved |= flush_control(channel);
    moved |= stream(channel);
    if (channel.streams.empty() && !channel.out_queued()) {
      busy_[i] = busy_.back();
      busy_.pop_back();
    } else {
      ++i;
    }
  }
  const size_t count = ready_.size();
  for (size_t i = 0; i < count; ++i) moved |= drain_data(*ready_[(rotate_ + i) % count], budget);
  if (count != 0) rotate_ = (rotate_ + 1) % static_cast<uint32_t>(count);
  for (size_t i = 0; i < ready_.size();) {
    Channel& channel = *ready_[i];
    give_packets_back(channel);
    const bool more = channel.data_in.has_message() || channel.control_in.has_message();
    if (more) unfinished_ = true;
    if (!more && in_open_ > kDirectChannels) {
      channel.ready = false;
      ready_[i] = ready_.back();
      ready_.pop_back();
    } else {
      ++i;
    }
  }
  for (auto& channel : channels_) {
    if (channel && channel->wants_room && channel->data_out.has_room(slots_for(LCI_INLINE_MAX))) {
      channel->wants_room = false;
      ++generation_;
    }
  }
  if (packets_may_be_there() || (packets_wanted_ && runtime_.chaos())) {
    packets_came_.store(false, std::memory_order_relaxed);
    packets_wanted_ = false;
    ++generation_;
  }
  if (!dry_keys_.empty()) end_patience();
  ring_doorbells();
  if (!moved) counters.add(Metric::progress_idle);
  return moved;
}

/// Senders that waited for credit long enough may announce.
void Device::end_patience() {
  const uint64_t pass = counters.get(Metric::progress_calls);
  std::erase_if(dry_keys_, [&](const auto& entry) {
    const auto& [channel, key] = entry;
    if (key->dry && pass - key->dry_since < kPatiencePasses) return false;
    if (key->dry && key->refused) tell_writable(*channel, *key);
    key->dry_listed = false;
    return true;
  });
  if (!dry_keys_.empty()) unfinished_ = true;
}

void Device::make_busy(Channel& channel) {
  if (std::find(busy_.begin(), busy_.end(), &channel) == busy_.end()) busy_.push_back(&channel);
}

void Device::make_ready(Channel& channel) {
  if (channel.ready) return;
  channel.ready = true;
  ready_.push_back(&channel);
}

void Device::scan_summary() {
  std::atomic<uint8_t>* summary = runtime_.arena().summary(index_);
  const uint32_t size = runtime_.size();
  for (uint32_t rank = 0; rank < size; ++rank) {
    if (size > 8 && rank % 8 == 0) {  // eight bytes at a look; a byte that appears meanwhile is seen next time
      while (rank + 8 <= size &&
             reinterpret_cast<std::atomic<uint64_t>*>(summary + rank)->load(std::memory_order_acquire) == 0) {
        rank += 8;
      }
      if (rank >= size) break;
    }
    if (summary[rank].load(std::memory_order_relaxed) == 0) continue;
    // Cleared before the rings are read: what is published later sets it again.
    summary[rank].exchange(0, std::memory_order_acq_rel);
    if (!channels_[rank]) {
      int ignored = LCI_DONE;
      open_channel(rank, &ignored);
    }
    Channel* channel = channels_[rank].get();
    if (channel && (channel->in_open || accept_channel(*channel))) make_ready(*channel);
  }
}

bool Device::accept_channel(Channel& channel) {
  if (channel.failed) return false;
  const uint64_t offset = channel.peer->channel_offset(index_, runtime_.rank()).load(std::memory_order_acquire);
  if (offset == 0) return false;
  const Attributes& attributes = runtime_.attributes();
  const uint32_t data = attributes.ring_bytes / kSlotBytes, control = attributes.control_ring_bytes / kSlotBytes;
  if (offset % 64 != 0 || !channel.peer->contains(offset, ChannelBlock::bytes(control, data))) {
    protocol_error(channel, "ring outside its arena", {});
    return false;
  }
  auto* block = reinterpret_cast<ChannelBlock*>(channel.peer->at(offset));
  channel.control_in = RingConsumer({&block->control_head, block->slots(), control});
  channel.data_in = RingConsumer({&block->data_head, block->slots() + control, data});
  channel.in_open = true;
  ++in_open_;
  return true;
}

bool Device::drain_control(Channel& channel) {
  bool moved = false;
  for (uint32_t i = 0; i < kControlBudget && channel.control_in.has_message(); ++i) {
    const SlotHeader header = channel.control_in.header();
    handle_control(channel, header);
    if (channel.control_in.advance(1)) touch(channel);
    moved = true;
  }
  return moved;
}

void Device::handle_control(Channel& channel, const SlotHeader& header) {
  if (channel.failed || channel.broken) return;
  if (!channel.out_open && header.kind != Message::kBarrier) {
    return protocol_error(channel, "answer to one who never spoke", header);
  }
  switch (header.kind) {
    case Message::kReady:
      return handle_ready(channel, header);
    case Message::kGrant:
      return handle_grant(channel, header);
    case Message::kRecall:
      return handle_recall(channel, header);
    case Message::kReturn:
      return handle_return(channel, header);
    case Message::kRefuse:
      return handle_refusal(channel, header);
    case Message::kBarrier:
      return handle_barrier(channel, header);
    case Message::kWithdraw:
      return handle_withdrawal(channel, header);
    default:
      return protocol_error(channel, "unknown control message", header);
  }
}

bool Device::drain_data(Channel& channel, Budget& budget) {
  bool moved = false;
  while (budget.messages != 0 && channel.data_in.has_message()) {
    const SlotHeader header = channel.data_in.header();
    uint32_t bytes = 0, slots = 1;
    if (channel.failed || channel.broken) {
      slots = header.kind == Message::kAmInline || header.kind == Message::kSendInline
                  ? slots_for(std::min(header.size, LCI_INLINE_MAX))
                  : 1;
    } else if (!handle_data(channel, header, &bytes, &slots)) {
      unfinished_ = true;
      break;
    }
    if (channel.data_in.advance(slots)) touch(channel);
    --budget.messages;
    moved = true;
    if (bytes >= budget.bytes) {
      budget.bytes = 0;
      budget.messages = 0;
    } else {
      budget.bytes -= bytes;
    }
  }
  return moved;
}

/// False: try again later, the message stays in the ring.
bool Device::handle_data(Channel& channel, const SlotHeader& header, uint32_t* payload_bytes, uint32_t* slots) {
  switch (header.kind) {
    case Message::kAmInline:
    case Message::kSendInline: {
      if (header.size > LCI_INLINE_MAX) {
        protocol_error(channel, "inline payload too long", header);
        return true;
      }
      *slots = slots_for(header.size);
      *payload_bytes = header.size;
      handle_message(channel, header, {&channel.data_in, nullptr, header.size});
      return true;
    }
    case Message::kAmPacket:
    case Message::kSendPacket: {
      const std::byte* bytes = packet_of(channel, header.arg, header.size);
      if (!bytes) {
        protocol_error(channel, "packet outside its arena", header);
        return true;
      }
      *payload_bytes = header.size;
      handle_message(channel, header, {nullptr, bytes, header.size});
      channel.packets_back.push_back(static_cast<uint32_t>(header.arg));
      return true;
    }
    case Message::kAnnounce:
    case Message::kRendezvous:
      handle_announcement(channel, header);
      return true;
    case Message::kRendezvousData: {
      *payload_bytes = header.size;
      std::byte offset[8];
      channel.data_in.read_payload(offset, sizeof offset);
      return handle_chunk(channel, header, offset);
    }
    default:
      protocol_error(channel, "unknown data message", header);
      return true;
  }
}

/// Payload of a packet that a peer named: checked, because every bit of the handle is the peer's.
const std::byte* Device::packet_of(Channel& channel, uint64_t handle, uint32_t size) {
  if (handle == 0 || handle > UINT32_MAX || size > runtime_.max_eager() ||
      !channel.peer->contains(handle * kPacketUnit, kPacketPayloadOffset + uint64_t{size})) {
    return nullptr;
  }
  return channel.peer->at(handle * kPacketUnit) + kPacketPayloadOffset;
}

void Device::handle_message(Channel& channel, const SlotHeader& header, const Payload& payload) {
  counters.add(Metric::arrivals);
  counters.add(Metric::arrival_bytes, header.size);
  InKey* key = in_key(channel, header.target);
  const bool am = header.kind == Message::kAmInline || header.kind == Message::kAmPacket;
  if (!key || am == ((header.target & kEngineTarget) != 0)) {
    return protocol_error(channel, "message to nothing", header);
  }
  Target& target = *key->target;
  if (!target.is_open() || target.generation.load(std::memory_order_relaxed) != header.aux) {
    counters.add(Metric::discarded);  // sent before the sender learned that the port closed
    return;
  }
  const bool credited = header.flags & kFlagCredited;
  if (credited ? !spend_lease(*key, header, header.size) : target.credited) {
    return protocol_error(channel, "more messages than were granted", header);
  }
  if (!am) return handle_send(channel, *key, header, payload, credited);
  deliver(static_cast<Port&>(target), *key, channel.rank, header.tag, payload, credited ? 1 : 0,
          credited ? header.size : 0, nullptr);
}

/// Hands an active message to its port. @p owned: the payload lies in an ArrivalBuffer that is passed on.
bool Device::deliver(Port& port, InKey& key, uint32_t rank, uint64_t tag, const Payload& payload,
                     uint32_t charge_messages, uint64_t charge_bytes, std::byte* owned) {
  if (Inbox* inbox = port.inbox.load(std::memory_order_acquire)) {
    inbox->arrive(*this, {&key, key.generation, charge_messages, charge_bytes, rank, tag}, payload, owned);
    return true;
  }
  Completion& completion = *port.completion.load(std::memory_order_acquire);
  lci_status status{LCI_DONE, rank, tag, nullptr, payload.size, 0, port.number, 0};
  if (!port.credited) {
    std::byte copy[LCI_INLINE_MAX];
    if (owned) {
      status.buffer = owned;
    } else if (payload.ring) {
      payload.copy(copy);
      status.buffer = copy;
    } else {
      status.buffer = const_cast<std::byte*>(payload.memory);
    }
    completion.signal(status);
    if (owned) lci_buffer_free(owned);
    if (charge_messages != 0 || charge_bytes != 0) release(key, key.generation, charge_messages, charge_bytes, false);
    return true;
  }
  ArrivalBuffer* buffer = owned ? ArrivalBuffer::of(owned) : ArrivalBuffer::create(payload.size);
  if (!owned) payload.copy(buffer->bytes());
  buffer->key = &key;
  buffer->generation = key.generation;
  buffer->charge_messages = charge_messages;
  buffer->charge_bytes = charge_bytes;
  status.buffer = buffer->bytes();
  if (completion.signal(status) != LCI_DONE) {
    counters.add(Metric::discarded);
    release(key, key.generation, charge_messages, charge_bytes, false);
    lci_buffer_free(status.buffer);
    return false;
  }
  return true;
}

bool Device::take_returned_packets() {
  auto& head = runtime_.arena().header().device[index_].returned_packets;
  if (head.load(std::memory_order_relaxed) == 0) return false;
  uint32_t handle = head.exchange(0, std::memory_order_acquire);
  scratch_.clear();
  PacketPool& pool = runtime_.pool();
  // The chain was written by peers: every link is checked, and a packet that is not out to anybody ends the walk.
  while (handle != 0 && pool.owns(handle)) {
    PacketState& state = runtime_.packet_state(handle);
    if (state.device != index_ + 1) break;
    state.device = 0;
    if (state.announced) {
      OutKey& key = *state.announced;
      state.announced = nullptr;
      --key.announced;
      if (key.refused) tell_writable(*channels_[state.rank], key);
    }
    scratch_.push_back(handle);
    handle = reinterpret_cast<PacketHeader*>(pool.data(handle))->next.load(std::memory_order_relaxed);
  }
  if (handle != 0) counters.add(Metric::protocol_errors);
  counters.set(Metric::packets_out, counters.get(Metric::packets_out) - scratch_.size());
  if (!LCI_MUTATED("leak_packet")) pool.put_many(index_, scratch_.data(), static_cast<uint32_t>(scratch_.size()));
  packets_came_.store(true, std::memory_order_release);
  runtime_.wake_packet_waiters();
  return !scratch_.empty();
}

void Device::wait_for_packets() {
  packets_wanted_ = true;
  runtime_.packet_waiters.fetch_or(1u << index_, std::memory_order_seq_cst);
}

/// Somebody said so, or the pool has packets that came before our wish was known.
bool Device::packets_may_be_there() const {
  if (!packets_wanted_) return false;
  return packets_came_.load(std::memory_order_acquire) ||
         (runtime_.pool().free_count() != 0 && !LCI_MUTATED("miss_packets"));
}

void Device::give_packets_back(Channel& channel) {
  if (LCI_MUTATED("lose_return")) channel.packets_back.clear();
  if (channel.packets_back.empty()) return;
  auto& returned = channel.peer->header().device[index_].returned_packets;
  auto link = [&](uint32_t handle) -> std::atomic<uint32_t>& {
    return reinterpret_cast<PacketHeader*>(channel.peer->at(uint64_t{handle} * kPacketUnit))->next;
  };
  for (size_t i = 0; i + 1 < channel.packets_back.size(); ++i) {
    link(channel.packets_back[i]).store(channel.packets_back[i + 1], std::memory_order_relaxed);
  }
  uint32_t head = returned.load(std::memory_order_relaxed);
  do {
    link(channel.packets_back.back()).store(head, std::memory_order_relaxed);
  } while (!returned.compare_exchange_weak(head, channel.packets_back.front(), std::memory_order_release,
                                           std::memory_order_relaxed));
  channel.packets_back.clear();
  touch(channel);
}

void Device::return_packet_now(Channel& channel, uint32_t handle) {
  auto& returned = channel.peer->header().device[index_].returned_packets;
  auto& next = reinterpret_cast<PacketHeader*>(channel.peer->at(uint64_t{handle} * kPacketUnit))->next;
  uint32_t head = returned.load(std::memory_order_relaxed);
  do {
    next.store(head, std::memory_order_relaxed);
  } while (!returned.compare_exchange_weak(head, handle, std::memory_order_release, std::memory_order_relaxed));
  channel.peer->summary(index_)[runtime_.rank()].store(1, std::memory_order_release);
  runtime_.publication_fence();
  runtime_.wake_device(channel.rank, index_);
}

bool Device::flush_control(Channel& channel) {
  bool moved = false;
  while (InKey* key = channel.queued_control) {
    bool all = true;
    if (key->refuse != 0) {
      const SlotHeader header{Message::kRefuse, 0, key->number, 0, key->refuse, 0, 0};
      if ((all = emit_control(channel, header))) key->refuse = 0;
    }
    if (all && (key->grant_open || key->grant.messages != 0 || key->grant.bytes != 0)) {
      const uint8_t flags = key->target->credited ? 0 : kFlagUncredited;
      const SlotHeader header{Message::kGrant,
                              flags,
                              key->number,
                              key->grant.messages,
                              key->target->name_hash.load(std::memory_order_relaxed),
                              key->generation,
                              key->grant.bytes};
      if ((all = emit_control(channel, header))) {
        key->grant = {};
        key->grant_open = false;
        counters.add(Metric::grants);
      }
    }
    if (all && key->recall) {
      const SlotHeader header{Message::kRecall, 0, key->number, 0, 0, key->generation, 0};
      if ((all = emit_control(channel, header))) {
        key->recall = false;
        counters.add(Metric::recalls);
      }
    }
    if (!all) return moved;
    channel.queued_control = key->next_queued;
    key->queued = false;
    moved = true;
  }
  while (OutKey* key = channel.queued_returns) {
    const SlotHeader header{Message::kReturn,    0, key->target, key->give_back.messages, 0, key->generation,
                            key->give_back.bytes};
    if (!emit_control(channel, header)) return moved;
    key->give_back = {};
    key->queued = false;
    channel.queued_returns = key->next_queued;
    counters.add(Metric::returns);
    moved = true;
  }
  while (!channel.queued_ready.empty()) {
    const uint64_t id = channel.queued_ready.back();
    if (ReceiveContext* context = receives_.find(id)) {
      const SlotHeader header{Message::kReady, 0, 0, 0, 0, id, context->sender};
      if (!emit_control(channel, header)) return moved;
      context->ready_sent = true;
    }
    channel.queued_ready.pop_back();
    moved = true;
  }
  while (!channel.withdrawals.empty()) {
    if (!emit_control(channel, {Message::kWithdraw, 0, 0, 0, 0, channel.withdrawals.back(), 0})) return moved;
    channel.withdrawals.pop_back();
    moved = true;
  }
  return moved;
}

bool Device::has_work() const {
  if (unfinished_ || delayed_pending()) return true;
  if (work_.load(std::memory_order_acquire) || has_handed_.load(std::memory_order_acquire)) return true;
  Arena& arena = runtime_.arena();
  if (arena.header().device[index_].returned_packets.load(std::memory_order_acquire) != 0) return true;
  if (packets_may_be_there()) return true;
  if (seen_epoch_ != runtime_.peer_epoch()) return true;
  const std::atomic<uint8_t>* summary = arena.summary(index_);
  for (uint32_t rank = 0; rank < runtime_.size(); ++rank) {
    if (summary[rank].load(std::memory_order_acquire) != 0) return true;
  }
  for (const Channel* channel : ready_) {
    if (channel->data_in.has_message() || channel->control_in.has_message()) return true;
  }
  return false;
}

bool Device::drained() const {
  if (!backlog_.empty() || sends_live() != 0 || delayed_pending() || !touched_.empty()) return false;
  for (const auto& channel : channels_) {
    if (channel && !channel->failed && channel->out_queued()) return false;
  }
  return true;
}

bool Device::delayed_pending() const {
  if (!runtime_.chaos()) return false;
  for (const auto& channel : channels_) {
    if (channel && channel->chaos && channel->chaos->pending()) return true;
  }
  return false;
}

void Device::wake_owner() {
  if (Lane* owner = lane()) owner->wake();
}

void Device::complete(const OpTarget& target, int code, uint32_t rank, uint64_t tag, void* buffer, uint64_t size) {
  if (target.forgotten) return;
  counters.add(Metric::signals);
  if (target.completion) {
    const lci_status status{code, rank, tag, buffer, size, target.context, 0, 0};
    const bool retrying = std::exchange(retrying_backlog_, false);  // a handler's posts are new ones
    if (target.completion->signal_held(status) != LCI_DONE) runtime_.shared.add(Metric::discarded);
    retrying_backlog_ = retrying;
  } else if (target.lane) {
    target.lane->operation_ended(this, code, rank, tag, size, target.context);
  }
}

void Device::protocol_error(Channel& channel, const char* what, const SlotHeader& header) {
  channel.broken = true;
  counters.add(Metric::protocol_errors);
  fail(LCI_ERR_PROTOCOL,
       "rank %u sent bytes that make no sense: %s (kind %u, target %u, size %u); it is treated as failed", channel.rank,
       what, static_cast<unsigned>(header.kind), header.target, header.size);
  runtime_.peer_gone(channel.rank, RankState::kFailed);
}

ArrivalBuffer* ArrivalBuffer::try_create(uint32_t size) {
  void* memory = std::malloc(sizeof(ArrivalBuffer) + size);
  return memory ? new (memory) ArrivalBuffer{} : nullptr;
}

ArrivalBuffer* ArrivalBuffer::create(uint32_t size) {
  ArrivalBuffer* buffer = try_create(size);
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

}  // namespace lci
