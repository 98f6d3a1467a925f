// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/inflow.hpp"

#include <algorithm>
#include <utility>

namespace lci {
namespace {

/// So many times as large as the last one is the next ring.
constexpr uint32_t kWider = 4;

}  // namespace

Inflow::Inflow(Mirror& mirror, uint32_t device, uint32_t own_rank, const LinkSizes& sizes, LinkEvents& events)
    : mirror_(mirror),
      device_(device),
      own_rank_(own_rank),
      sizes_(sizes),
      packet_window_(lci::packet_window(sizes)),
      events_(events),
      data_slots_(sizes.data_slots) {}

bool Inflow::open() {
  if (rings_) return true;
  const uint64_t offset = mirror_.allocate(RingPair::bytes(sizes_.control_slots, sizes_.data_slots));
  if (offset == 0) return false;
  rings_ = new (mirror_.at(offset)) RingPair;
  control_ = RingProducer(rings_->control(sizes_.control_slots));
  read_ = rings_->data(sizes_.control_slots, sizes_.data_slots);
  data_ = RingProducer(read_);
  data_head_ = read_.head;
  offset_ = offset;
  return true;
}

/// A device that is slow leaves the ring full: more room would only hold more.
bool Inflow::would_gain(uint32_t told) {
  used_up_ |= !has_room_before(told, data_.position() + slots_for(LCI_INLINE_MAX));
  const bool keeps_up = data_.position() - data_head_->load(std::memory_order_acquire) <= data_slots_ / 4;
  return used_up_ && keeps_up && wider_.capacity == 0;
}

void Inflow::widen(uint32_t told) {
  const uint32_t slots = std::min(sizes_.most_data_slots, kWider * data_slots_);
  if (slots <= data_slots_ || !would_gain(told) || !may_start_at(data_.position(), slots)) return;
  used_up_ = false;
  const uint64_t offset = mirror_.allocate(DataRing::bytes(slots));
  if (offset == 0) return;  // until it is used up again
  auto* ring = new (mirror_.at(offset)) DataRing;
  ring->head.store(data_.position(), std::memory_order_relaxed);
  data_.publish();
  wider_ = ring->memory(slots, data_.position());
  data_ = RingProducer(wider_);
  data_head_ = &ring->head;
  data_slots_ = slots;
}

bool Inflow::take_wider(RingMemory* out) {
  if (wider_.capacity == 0) return false;
  mirror_.forget(read_.slots, read_.capacity * kSlotBytes);
  read_ = *out = std::exchange(wider_, {});
  return true;
}

Report Inflow::report() const {
  return {received_, rings_->control_head.load(std::memory_order_acquire) + sizes_.control_slots,
          data_head_->load(std::memory_order_acquire) + data_slots_, packets_returned_ + packet_window_};
}

Inflow::Answer Inflow::take(const std::byte* bytes, size_t size, size_t* taken) {
  *taken = 0;
  Answer answer = Answer::kTaken;
  while (answer == Answer::kTaken) {
    const std::byte* const next = bytes + *taken;
    const size_t rest = size - *taken;
    size_t now = 0;
    if (left_ == 0) {
      now = sizeof(RecordHeader);
      if (rest < now) break;
      answer = take_header(next);
    } else {
      answer = take_frame(next, std::min<size_t>(rest, left_), &now);
      if (answer == Answer::kTaken && now == 0) {
        if (rest >= left_) answer = nonsense("frame longer than its record");
        break;
      }
      if (answer == Answer::kTaken) left_ -= static_cast<uint32_t>(now);
    }
    if (answer != Answer::kTaken) break;
    *taken += now;
    position_ += now;
    if (left_ == 0) received_ = position_;
  }
  if (delivered_) show();
  return answer;
}

/// The peer has spoken to this device when a message has come.
void Inflow::show() {
  control_.publish();
  data_.publish();
  if (offset_ == 0) return;
  mirror_.ring_pair_offset(device_, own_rank_).store(offset_, std::memory_order_release);
  offset_ = 0;
}

Inflow::Answer Inflow::take_header(const std::byte* bytes) {
  RecordHeader header;
  std::memcpy(&header, bytes, sizeof header);
  if (header.length > sizes_.most_record() || header.position != position_) return nonsense("record out of place");
  if (!events_.record_came(header)) return nonsense("record that reports what cannot be");
  left_ = header.length;
  return Answer::kTaken;
}

/// *taken stays 0 if the frame has not come whole.
Inflow::Answer Inflow::take_frame(const std::byte* bytes, size_t size, size_t* taken) {
  if (size < sizeof(FrameHeader)) return Answer::kTaken;
  FrameHeader frame;
  std::memcpy(&frame, bytes, sizeof frame);
  const MessageHeader message = to_message(frame);
  Answer answer = Answer::kTaken;
  size_t length = sizeof frame;
  if (is_control(message.kind) || is_data(message.kind)) {
    const uint32_t in_slots = bytes_in_slots(message);
    const uint32_t in_packet = is_in_packet(message.kind) ? message.size : 0;
    if (in_slots > LCI_INLINE_MAX || in_packet > sizes_.most_payload) return nonsense("payload too long");
    length += in_slots + in_packet;
    if (size < length) return Answer::kTaken;
    const std::byte* const payload = bytes + sizeof frame;
    answer = is_data(message.kind) ? take_data(message, payload, in_slots, in_packet)
                                   : take_control(message, payload, in_slots);
  } else if (!events_.word_came(static_cast<LinkWord>(frame.kind), frame)) {
    return nonsense("frame of no kind, or out of place");
  }
  if (answer == Answer::kTaken) *taken = length;
  return answer;
}

Inflow::Answer Inflow::take_control(const MessageHeader& message, const std::byte* payload, uint32_t in_slots) {
  if (!control_.has_room(slots_for(in_slots))) return nonsense("more control than there is room for");
  control_.write(message, payload, in_slots);
  delivered_ = true;
  return Answer::kTaken;
}

Inflow::Answer Inflow::take_data(const MessageHeader& message, const std::byte* payload, uint32_t in_slots,
                                 uint32_t in_packet) {
  if (!data_.has_room(slots_for(in_slots))) return nonsense("more messages than there is room for");
  MessageHeader placed = message;
  if (is_in_packet(message.kind) || message.kind == MessageKind::kAnnounce) {
    if (message.kind == MessageKind::kAnnounce && message.size != 0) return nonsense("announcement without its bytes");
    if (is_in_packet(message.kind) && packets_received_ - packets_returned_ == packet_window_) {
      return nonsense("more packets than there is room for");
    }
    const uint32_t packet = packet_for(message, payload + in_slots, in_packet);
    if (packet == 0) return Answer::kNoMemory;
    placed.arg = packet;
  }
  data_.write(placed, payload, in_slots);
  delivered_ = true;
  return Answer::kTaken;
}

/// A packet of the mirror with the payload; 0: there is no memory. An announcement has none, and takes a token.
uint32_t Inflow::packet_for(const MessageHeader& message, const std::byte* payload, uint32_t size) {
  const bool token = message.kind == MessageKind::kAnnounce;
  std::vector<uint32_t>& free = token ? free_tokens_ : free_packets_;
  uint32_t& packets = token ? tokens_ : packets_;
  if (free.empty()) {
    free.reserve(packets + 1);  // whatever comes back finds room
    if (token) back_.reserve(packets + 1);
    const uint32_t bytes = kPacketPayloadOffset + (token ? 0 : sizes_.most_payload);
    const uint64_t offset = mirror_.allocate(bytes);
    if (offset == 0) return 0;
    free.push_back(static_cast<uint32_t>(offset / kPacketUnit));
    ++packets;
  }
  const uint32_t packet = free.back();
  if (token) announced_.emplace(packet, static_cast<uint32_t>(message.arg));
  free.pop_back();
  if (token) return packet;
  if (size != 0) std::memcpy(mirror_.at(uint64_t{packet} * kPacketUnit) + kPacketPayloadOffset, payload, size);
  ++packets_received_;
  return packet;
}

void Inflow::take_returned(uint32_t handle) {
  const auto announced = announced_.find(handle);
  if (announced == announced_.end()) {
    free_packets_.push_back(handle);
    ++packets_returned_;
    return;
  }
  back_.push_back(announced->second);
  announced_.erase(announced);
  free_tokens_.push_back(handle);
}

}  // namespace lci
