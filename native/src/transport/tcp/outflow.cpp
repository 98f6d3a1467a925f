// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/outflow.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/no_memory.hpp"
#include "pool/packet_pool.hpp"

namespace lci {
namespace {

/// Bytes that are kept for a peer which has not said that it has them: what fills its window, and as much again that
/// has come, for it takes a round trip until this side knows.
uint64_t most_kept(const LinkSizes& sizes) {
  return std::bit_ceil(std::max(uint64_t{2} * sizes.window_bytes, uint64_t{4} * sizes.most_record()));
}

}  // namespace

Outflow::Outflow(OwnMemory& memory, uint32_t device, uint32_t peer, const LinkSizes& sizes, Counters& counters)
    : memory_(memory), device_(device), peer_(peer), sizes_(sizes), bytes_(most_kept(sizes)), counters_(counters) {}

bool Outflow::open_rings() {
  if (open_) return true;
  const uint64_t offset = memory_.ring_pair_offset(device_, peer_).load(std::memory_order_acquire);
  if (offset == 0) return false;
  auto* rings = reinterpret_cast<RingPair*>(memory_.at(offset));
  control_ = RingConsumer(rings->control(sizes_.control_slots));
  data_ = RingConsumer(rings->data(sizes_.control_slots, sizes_.data_slots));
  return open_ = true;
}

bool Outflow::empty() {
  return words_.empty() && (!open_rings() || (!control_.has_message() && !data_.has_message()));
}

bool Outflow::holds_marked() {
  if (marked_end_ == UINT64_MAX) {
    if (open_rings() ? !data_.has_passed(marked_) : marked_ != 0) return true;
    marked_end_ = bytes_.end();
  }
  return bytes_.sent() < marked_end_;
}

/// Whether something is there that may be sent now.
bool Outflow::has_something() {
  if (!words_.empty()) return true;
  if (!open_rings()) return false;
  if (may_send_control()) return true;
  return data_.has_message() && may_send_data(data_.header());
}

bool Outflow::may_send_control() const {
  if (!control_.has_message()) return false;
  return has_room_before(room_.control_room, control_.position() + slots_for(bytes_in_slots(control_.header())));
}

bool Outflow::may_send_data(const MessageHeader& header) const {
  const uint32_t slots = slots_for(bytes_in_slots(header));
  return has_room_before(room_.data_room, data_.position() + slots) &&
         (!is_in_packet(header.kind) || has_room_before(room_.packet_room, packets_sent_ + 1));
}

bool Outflow::take(const Report& report, uint32_t barriers) {
  bool any = false, memory = true;
  while (memory && bytes_.room() >= sizeof record_ + sizes_.most_record() && has_something()) {
    memory = unless_no_memory([&] { begin(report, barriers); });
    if (!memory) break;
    memory = unless_no_memory([&] {
      while (put_next()) {
      }
    });
    end();
    any = true;
  }
  count_stall(memory && !empty(), any);
  if (any && open_) {  // the device sees that there is room
    control_.publish_head();
    data_.publish_head();
  }
  return any;
}

/// One that goes on is counted once; it ends when something goes.
void Outflow::count_stall(bool waits, bool sent) {
  if (waits && (sent || !waits_)) counters_.add(Metric::net_stalls);
  waits_ = waits;
}

void Outflow::tell(const Report& report, uint32_t barriers) {
  begin(report, barriers);
  end();
}

void Outflow::end_with(const std::vector<FrameHeader>& frames, const Report& report, uint32_t barriers) {
  const size_t bytes = frames.size() * sizeof(FrameHeader);
  bytes_.provide(sizeof record_ + bytes);
  begin(report, barriers);
  bytes_.append(frames.data(), bytes);
  end();
}

void Outflow::begin(const Report& report, uint32_t barriers) {
  record_ = {0, barriers, bytes_.end(), report.received, report.control_room, report.data_room, report.packet_room, 0};
  bytes_.append(&record_, sizeof record_);
}

void Outflow::end() {
  record_.length = static_cast<uint32_t>(bytes_.end() - record_.position - sizeof record_);
  if (record_.length != 0) said_ = bytes_.end();
  bytes_.overwrite(record_.position, &record_, sizeof record_);
  counters_.add(Metric::net_records_sent);
  counters_.add(Metric::net_messages_sent, std::exchange(messages_, 0));
}

/// Puts one frame into the record: control goes first. False: there is none that may go, or that fits.
bool Outflow::put_next() {
  const uint64_t length = bytes_.end() - record_.position - sizeof record_;
  const auto fits = [&](uint64_t bytes) { return length + sizeof(FrameHeader) + bytes <= sizes_.most_record(); };
  if (!fits(0)) return false;
  if (!words_.empty()) {
    bytes_.append(&words_.front(), sizeof(FrameHeader));
    words_.erase(words_.begin());
    return true;
  }
  if (!open_rings()) return false;
  if (may_send_control()) {
    const MessageHeader header = control_.header();
    const uint32_t in_slots = bytes_in_slots(header);
    if (!fits(in_slots)) return false;
    put(control_, header, in_slots);
    return true;
  }
  if (!data_.has_message()) return false;
  const MessageHeader header = data_.header();
  const uint32_t in_slots = bytes_in_slots(header);
  const uint64_t size = in_slots + (is_in_packet(header.kind) ? header.size : 0);
  if (!may_send_data(header) || !fits(size)) return false;
  put(data_, header, in_slots);
  return true;
}

/// All that may find no memory comes first.
void Outflow::put(RingConsumer& ring, const MessageHeader& header, uint32_t in_slots) {
  const auto packet = static_cast<uint32_t>(header.arg);
  const bool in_packet = is_in_packet(header.kind);
  bytes_.provide(sizeof(FrameHeader) + in_slots + (in_packet ? header.size : 0));
  if (header.kind == MessageKind::kAnnounce) announced_.insert(packet);
  if (in_packet) out_.push_back({0, packet});
  struct {
    FrameHeader header;
    std::byte payload[LCI_INLINE_MAX];
  } frame;
  frame.header = to_frame(header);
  if (in_packet) frame.header.arg = 0;  // a place in this rank's memory, which tells the peer nothing
  ring.read_payload(frame.payload, in_slots);
  bytes_.append(&frame, sizeof frame.header + in_slots);
  if (in_packet) {
    bytes_.append(memory_.at(uint64_t{packet} * kPacketUnit) + kPacketPayloadOffset, header.size);
    out_.back().end = bytes_.end();
    ++packets_sent_;
  }
  ring.advance(slots_for(in_slots));
  ++messages_;
}

void Outflow::say(LinkWord word, uint32_t size, uint32_t aux, uint64_t arg) {
  words_.push_back({static_cast<uint8_t>(word), 0, 0, size, aux, 0, arg});
}

bool Outflow::acknowledge(uint64_t received) {
  if (!bytes_.acknowledge(received)) return false;
  uint32_t packets[ReturnedPackets::kBundle];
  size_t count = 0;
  for (; !out_.empty() && out_.front().end <= received; out_.pop_front()) {
    packets[count++] = out_.front().packet;
    if (count == ReturnedPackets::kBundle) give_back(packets, std::exchange(count, 0));
  }
  give_back(packets, count);
  return true;
}

/// Room only grows, and is never more than rings may have.
bool Outflow::accept_room(const Report& room) {
  const auto grows = [](uint32_t before, uint32_t now, uint32_t position, uint32_t most) {
    return has_room_before(now, before) && now - position <= most;
  };
  constexpr uint32_t kMostPackets = 1u << 24;
  if (!grows(room_.packet_room, room.packet_room, packets_sent_, kMostPackets)) return false;
  if (!open_rings() && (room.control_room > sizes_.control_slots || room.data_room > kMostDataSlots)) return false;
  if (open_ && (!grows(room_.control_room, room.control_room, control_.position(), sizes_.control_slots) ||
                !grows(room_.data_room, room.data_room, data_.position(), kMostDataSlots))) {
    return false;
  }
  room_ = room;
  return true;
}

bool Outflow::end_announcement(uint64_t packet) {
  const auto handle = static_cast<uint32_t>(packet);
  if (packet != handle || announced_.erase(handle) == 0) return false;
  give_back(&handle, 1);
  return true;
}

void Outflow::give_back(const uint32_t* packets, size_t count) {
  memory_.header().device[device_].returned_packets.give(packets, count, [&](uint32_t handle) -> PacketHeader& {
    return *reinterpret_cast<PacketHeader*>(memory_.at(uint64_t{handle} * kPacketUnit));
  });
}

}  // namespace lci
