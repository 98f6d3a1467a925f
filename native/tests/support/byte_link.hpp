// SPDX-License-Identifier: Apache-2.0
// A peer that is not in reach of memory: its mirror, and the link that plays it over a queue of bytes.
//
// Two jobs of two ranks each. In each of them one rank is real; the other one is a mirror: memory laid out as that
// rank's, whose device nobody progresses. The link plays it. What a real device writes for the mirror becomes bytes;
// bytes that come become messages in the mirror's rings, with their payloads in the mirror's packets. So the two real
// ranks talk to each other, and neither reads a word that the other one wrote.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "api/handles.hpp"
#include "protocol/link.hpp"
#include "rma/region_table.hpp"
#include "support/posting.hpp"

namespace lci_test {

/// What travels one way.
class ByteQueue {
 public:
  void put(const void* bytes, size_t size) {
    const auto* from = static_cast<const uint8_t*>(bytes);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  template <typename T>
  void put(const T& value) {
    put(&value, sizeof value);
  }
  /// Copies @p size bytes from @p offset on, and leaves them; false if they have not all come.
  bool peek(size_t offset, void* to, size_t size) const {
    if (bytes_.size() < offset + size) return false;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size, static_cast<uint8_t*>(to));
    return true;
  }
  void drop(size_t size) { bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(size)); }
  size_t size() const { return bytes_.size(); }

 private:
  std::deque<uint8_t> bytes_;
};

/// One end of the link, beside a real rank: plays the other one towards it.
class LinkEnd {
 public:
  LinkEnd(Job& job, uint32_t real, uint32_t mirror)
      : real_(*job.runtime(real)->runtime), mirror_(*job.runtime(mirror)->runtime) {}

  /// Takes what the device has written for the mirror; true if there was something.
  bool flush(ByteQueue& wire) {
    send_returned_packets(wire);
    const uint64_t offset = real_.memory().ring_pair_offset(0, mirror_.rank()).load(std::memory_order_acquire);
    if (offset == 0) return false;
    if (!out_open_) {
      auto* block = reinterpret_cast<lci::RingPair*>(real_.memory().at(offset));
      control_out_ = lci::RingConsumer({&block->control_head, block->slots(), control_slots()});
      data_out_ = lci::RingConsumer({&block->data_head, block->slots() + control_slots(), data_slots()});
      out_open_ = true;
    }
    bool moved = take(control_out_, Class::kControl, wire);
    while (take(data_out_, Class::kData, wire)) moved = true;
    if (moved) tell_real();  // there is room in its rings, and packets have come back
    return moved;
  }

  /// Puts what has come into the mirror, one message at most; false if none has come whole, or there is no room for it.
  bool pump(ByteQueue& wire) {
    Frame frame;
    size_t at = sizeof frame;
    if (!wire.peek(0, &frame, sizeof frame)) return false;
    std::vector<std::byte> inline_bytes(frame.inline_size), body(frame.body_size);
    if (!wire.peek(at, inline_bytes.data(), inline_bytes.size())) return false;
    at += inline_bytes.size();
    if (!wire.peek(at, body.data(), body.size())) return false;
    at += body.size();
    if (frame.kind == Class::kPacketBack) {
      give_back(static_cast<uint32_t>(frame.header.arg));
    } else if (!place(frame, inline_bytes, body)) {
      return false;
    }
    wire.drop(at);
    tell_real();
    return true;
  }

  /// The mirror says that its rank has this region, as that rank's handle names it.
  void expose(uint32_t index, uint64_t key, uint64_t size) {
    auto& chunk = mirror_.memory().header().region_chunks[index / lci::kRegionsPerChunk];
    if (chunk.load() == 0) chunk.store(mirror_.memory().allocate(lci::kRegionsPerChunk * sizeof(lci::RegionEntry)));
    auto& entry = reinterpret_cast<lci::RegionEntry*>(mirror_.memory().at(chunk.load()))[index % lci::kRegionsPerChunk];
    entry.place.store(0);
    entry.size.store(size);
    entry.kind.store(static_cast<uint32_t>(lci::RegionKind::kPrivate));
    entry.key.store(key);
  }

 private:
  enum class Class : uint32_t { kControl, kData, kPacketBack };
  struct Frame {
    Class kind;
    uint32_t inline_size;
    uint32_t body_size;
    lci::MessageHeader header;
  };

  uint32_t data_slots() const { return real_.attributes().ring_bytes / lci::kSlotBytes; }
  uint32_t control_slots() const { return real_.attributes().control_ring_bytes / lci::kSlotBytes; }

  static bool has_packet(lci::MessageKind kind) {
    switch (kind) {
      case lci::MessageKind::kAmPacket:
      case lci::MessageKind::kSendPacket:
      case lci::MessageKind::kAnnounce:
      case lci::MessageKind::kRendezvousData:
      case lci::MessageKind::kPutData:
        return true;
      default:
        return false;
    }
  }
  /// Bytes of the payload in the slots: of what has little there, as much as fits into one.
  static uint32_t inline_size(const lci::MessageHeader& header) {
    const bool all = header.kind == lci::MessageKind::kAmInline || header.kind == lci::MessageKind::kSendInline;
    return all ? header.size : lci::kFirstPayload;
  }

  // From the device to the wire

  bool take(lci::RingConsumer& ring, Class kind, ByteQueue& wire) {
    if (!ring.has_message()) return false;
    const lci::MessageHeader header = ring.header();
    const bool in_control = header.kind == lci::MessageKind::kCollective;
    const uint32_t in_slots = kind == Class::kData ? inline_size(header) : in_control ? header.size : 0;
    const bool packet = kind == Class::kData && has_packet(header.kind);
    wire.put(Frame{kind, in_slots, packet ? header.size : 0, header});
    std::byte payload[LCI_INLINE_MAX];
    if (in_slots != 0) {
      ring.read_payload(payload, in_slots);
      wire.put(payload, in_slots);
    }
    if (packet) take_packet(header, wire);
    ring.advance(lci::slots_for(in_slots));
    ring.publish_head();
    return true;
  }
  /// Its bytes go with the message. An announced one stays out until the receiver has taken the bytes: that bounds what
  /// a sender may have announced.
  void take_packet(const lci::MessageHeader& header, ByteQueue& wire) {
    const auto handle = static_cast<uint32_t>(header.arg & ~lci::kInPlace);
    const std::byte* bytes = real_.memory().at(uint64_t{handle} * lci::kPacketUnit) + lci::kPacketPayloadOffset;
    if (header.arg & lci::kInPlace) {
      uint64_t offset;
      std::memcpy(&offset, bytes, sizeof offset);
      bytes = real_.memory().at(offset);
    }
    wire.put(bytes, header.size);
    if (header.kind != lci::MessageKind::kAnnounce) give_back(handle);
  }
  void give_back(uint32_t handle) { return_to(real_, &handle, 1); }

  // From the wire to the device

  bool place(Frame& frame, const std::vector<std::byte>& inline_bytes, const std::vector<std::byte>& body) {
    open_rings();
    lci::RingProducer& ring = frame.kind == Class::kControl ? control_in_ : data_in_;
    if (!ring.has_room(lci::slots_for(frame.inline_size))) return false;
    if (frame.kind == Class::kData && has_packet(frame.header.kind)) {
      const uint32_t packet = free_packet();
      std::copy(body.begin(), body.end(),
                mirror_.memory().at(uint64_t{packet} * lci::kPacketUnit) + lci::kPacketPayloadOffset);
      if (frame.header.kind == lci::MessageKind::kAnnounce)
        announced_[packet] = static_cast<uint32_t>(frame.header.arg);
      frame.header.arg = packet;
    }
    ring.write(frame.header, inline_bytes.data(), frame.inline_size);
    ring.publish();
    return true;
  }
  void open_rings() {
    if (in_open_) return;
    const uint64_t offset = mirror_.memory().allocate(lci::RingPair::bytes(control_slots(), data_slots()));
    auto* block = new (mirror_.memory().at(offset)) lci::RingPair;
    control_in_ = lci::RingProducer({&block->control_head, block->slots(), control_slots()});
    data_in_ = lci::RingProducer({&block->data_head, block->slots() + control_slots(), data_slots()});
    mirror_.memory().ring_pair_offset(0, real_.rank()).store(offset, std::memory_order_release);
    in_open_ = true;
  }
  uint32_t free_packet() {
    if (free_.empty()) {
      free_.push_back(
          static_cast<uint32_t>(mirror_.memory().allocate(real_.attributes().packet_size) / lci::kPacketUnit));
    }
    const uint32_t packet = free_.back();
    free_.pop_back();
    return packet;
  }
  /// Packets of the mirror that the device has read.
  void send_returned_packets(ByteQueue& wire) {
    lci::OwnMemory& arena = mirror_.memory();
    arena.header().device[0].returned_packets.take_all(
        UINT32_MAX,
        [&](uint32_t handle) -> const lci::PacketHeader& {
          return *reinterpret_cast<lci::PacketHeader*>(arena.at(uint64_t{handle} * lci::kPacketUnit));
        },
        [&](uint32_t handle) {
          free_.push_back(handle);
          const auto announced = announced_.find(handle);
          if (announced != announced_.end()) {
            Frame back{Class::kPacketBack, 0, 0, {}};
            back.header.arg = announced->second;
            wire.put(back);
            announced_.erase(announced);
          }
          return lci::ReturnedPackets::Answer::kTaken;
        });
  }

  void tell_real() { real_.memory().summary(0)[mirror_.rank()].store(1, std::memory_order_release); }
  static void return_to(lci::Runtime& owner, const uint32_t* handles, size_t count) {
    lci::OwnMemory& arena = owner.memory();
    arena.header().device[0].returned_packets.give(handles, count, [&](uint32_t handle) -> lci::PacketHeader& {
      return *reinterpret_cast<lci::PacketHeader*>(arena.at(uint64_t{handle} * lci::kPacketUnit));
    });
  }

  lci::Runtime &real_, &mirror_;
  bool out_open_ = false, in_open_ = false;
  lci::RingConsumer control_out_, data_out_;
  lci::RingProducer control_in_, data_in_;
  std::vector<uint32_t> free_;
  std::map<uint32_t, uint32_t> announced_;  ///< By packet of the mirror, that of the sender which waits for it.
};

/// Ranks 0 and 1 of a job, each in a job of its own with a mirror of the other.
class LinkedRanks {
 public:
  explicit LinkedRanks(Attributes attributes = {})
      : jobs_{Job(2, with_messages(attributes)), Job(2, with_messages(attributes))},
        ends_{LinkEnd(jobs_[0], 0, 1), LinkEnd(jobs_[1], 1, 0)} {}

  lci_runtime* runtime(uint32_t rank) { return jobs_[rank].runtime(rank); }
  lci_device* device(uint32_t rank) { return jobs_[rank].device(rank); }
  LinkEnd& end(uint32_t rank) { return ends_[rank]; }
  uint64_t counter(uint32_t rank, const std::string& name) { return jobs_[rank].counter(rank, name); }
  /// The wire towards @p rank takes nothing out any more.
  void hold(uint32_t rank, bool value) { held_[rank] = value; }
  /// A rank adds a device, and the link makes the other one's mirror of it add one.
  lci_device* add_device(uint32_t rank) {
    lci_device* added = nullptr;
    EXPECT_EQ(LCI_DONE, lci_device_add(jobs_[rank].runtime(rank), &added)) << lci_last_error();
    lci_device* mirrored = nullptr;
    EXPECT_EQ(LCI_DONE, lci_device_add(jobs_[1 - rank].runtime(rank), &mirrored)) << lci_last_error();
    return added;
  }
  /// Bytes on their way to @p rank.
  size_t under_way(uint32_t rank) const { return towards_[rank].size(); }

  /// A pass of each device and each end. True if anything moved.
  bool progress() {
    bool moved = false;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      if (runtime(rank)) moved |= lci_progress(device(rank)) == LCI_DONE;
      if (!is_linked(rank)) continue;
      moved |= ends_[rank].flush(towards_[1 - rank]);
      if (!held_[rank]) moved |= ends_[rank].pump(towards_[rank]);
    }
    return moved;
  }
  void settle() {
    for (int quiet = 0; quiet < 50;) quiet = progress() ? 0 : quiet + 1;
  }
  /// Rank @p rank leaves (graceful) or fails; the link has delivered what it had sent, then tells the other one.
  void end_rank(uint32_t rank, bool graceful) {
    settle();
    jobs_[rank].close(rank, graceful ? 100 : 0);
    settle();
    jobs_[1 - rank].close(rank, graceful ? 100 : 0);
  }

 private:
  static Attributes with_messages(Attributes attributes) {
    attributes.emplace_back("rma", "messages");
    return attributes;
  }

  /// Whether the rank and its mirror of the other one are there.
  bool is_linked(uint32_t rank) { return jobs_[rank].runtime(0) && jobs_[rank].runtime(1); }

  Job jobs_[2];
  LinkEnd ends_[2];
  ByteQueue towards_[2];
  bool held_[2] = {false, false};
};

}  // namespace lci_test
