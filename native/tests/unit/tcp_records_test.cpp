// SPDX-License-Identifier: Apache-2.0
// Records of a TCP link: from rings to bytes, from bytes to a mirror, and bytes that no honest link sends.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "transport/network/mirror.hpp"
#include "transport/shm/arena.hpp"
#include "transport/tcp/inflow.hpp"
#include "transport/tcp/outflow.hpp"

namespace lci {
namespace {

constexpr LinkSizes kSizes{64, 64, 4032, 512};

class Events final : public LinkEvents {
 public:
  bool record_came(const RecordHeader& header) override {
    records.push_back(header);
    return true;
  }
  bool word_came(LinkWord word, const FrameHeader& frame) override {
    words.push_back(frame);
    return word == LinkWord::kDevices;
  }
  std::vector<RecordHeader> records;
  std::vector<FrameHeader> words;
};

/// Rank 0 sends, rank 1 receives; the bytes between them are the test's.
class TcpRecords : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LCI_DONE, Arena::create(16 << 20, 0, 0, 2, 1, &sender_));
    const uint64_t offset = sender_->allocate(RingPair::bytes(kSizes.control_slots, kSizes.data_slots));
    auto* rings = new (sender_->at(offset)) RingPair;
    control_ = RingProducer(rings->control(kSizes.control_slots));
    data_ = RingProducer(rings->data(kSizes.control_slots, kSizes.data_slots));
    sender_->ring_pair_offset(0, 1).store(offset);
    ASSERT_EQ(LCI_DONE, Mirror::create(16 << 20, 0, 2, 1, &mirror_));
    out_ = std::make_unique<Outflow>(*sender_, 0, 1, kSizes, counters_);
    in_ = std::make_unique<Inflow>(*mirror_, 0, 1, kSizes, events_);
    ASSERT_TRUE(in_->open());
    ASSERT_TRUE(out_->accept_room(in_->report()));
  }

  uint32_t packet(uint32_t size, uint8_t fill) {
    const uint64_t offset = sender_->allocate(kPacketPayloadOffset + kSizes.most_payload);
    std::memset(sender_->at(offset) + kPacketPayloadOffset, fill, size);
    return static_cast<uint32_t>(offset / kPacketUnit);
  }
  void write(const MessageHeader& header, const void* payload, uint32_t size) {
    ASSERT_TRUE(data_.has_room(slots_for(size)));
    data_.write(header, payload, size);
    data_.publish();
  }
  /// All bytes that are to be sent, as if they were.
  std::vector<std::byte> sent() {
    std::vector<std::byte> bytes;
    iovec parts[2];
    const int count = out_->bytes().unsent(parts);
    for (int i = 0; i < count; ++i) {
      const auto* from = static_cast<const std::byte*>(parts[i].iov_base);
      bytes.insert(bytes.end(), from, from + parts[i].iov_len);
    }
    out_->bytes().count_sent(bytes.size());
    return bytes;
  }
  /// The rings as the device of rank 1 finds them.
  RingConsumer data_in() {
    const uint64_t offset = mirror_->ring_pair_offset(0, 1).load();
    return RingConsumer(
        reinterpret_cast<RingPair*>(mirror_->at(offset))->data(kSizes.control_slots, kSizes.data_slots));
  }
  RingPair& pair() { return *reinterpret_cast<RingPair*>(mirror_->at(mirror_->ring_pair_offset(0, 1).load())); }
  size_t returned() {
    size_t count = 0;
    sender_->header().device[0].returned_packets.take_all(
        1000,
        [&](uint32_t handle) -> const PacketHeader& {
          return *reinterpret_cast<PacketHeader*>(sender_->at(uint64_t{handle} * kPacketUnit));
        },
        [&](uint32_t) {
          ++count;
          return ReturnedPackets::Answer::kTaken;
        });
    return count;
  }

  std::shared_ptr<Arena> sender_;
  std::unique_ptr<Mirror> mirror_;
  RingProducer control_, data_;
  Events events_;
  Counters counters_;
  std::unique_ptr<Outflow> out_;
  std::unique_ptr<Inflow> in_;
};

TEST_F(TcpRecords, AMessageComesAsItWasPosted) {
  std::vector<uint8_t> bytes(100, 3);
  write({MessageKind::kAmInline, kFlagCredited, 5, 100, 9, 11, 13}, bytes.data(), 100);
  ASSERT_TRUE(out_->take({}, 42));
  const auto wire = sent();
  size_t taken = 0;
  ASSERT_EQ(Inflow::Answer::kTaken, in_->take(wire.data(), wire.size(), &taken));
  EXPECT_EQ(wire.size(), taken);
  EXPECT_EQ(wire.size(), in_->report().received);
  ASSERT_EQ(1u, events_.records.size());
  EXPECT_EQ(42u, events_.records[0].barriers);
  RingConsumer ring = data_in();
  ASSERT_TRUE(ring.has_message());
  const MessageHeader header = ring.header();
  EXPECT_EQ(MessageKind::kAmInline, header.kind);
  EXPECT_EQ(kFlagCredited, header.flags);
  EXPECT_EQ(5, header.target);
  EXPECT_EQ(100u, header.size);
  EXPECT_EQ(9u, header.aux);
  EXPECT_EQ(11u, header.tag);
  EXPECT_EQ(13u, header.arg);
  std::vector<uint8_t> copy(100);
  ring.read_payload(copy.data(), 100);
  EXPECT_EQ(bytes, copy);
}

// However the bytes are cut, what comes is the same.
TEST_F(TcpRecords, PiecesOfAnySizeMakeTheSameMessages) {
  for (size_t piece = 1; piece < 200; piece += piece < 80 ? 1 : 37) {
    SetUp();
    for (uint8_t i = 0; i < 5; ++i) {
      const std::vector<uint8_t> bytes(20u * i, i);
      write({MessageKind::kAmInline, 0, 5, 20u * i, 0, i, 0}, bytes.data(), 20u * i);
      const uint64_t word = i;
      write({MessageKind::kRendezvousData, 0, 0, 1000, 0, i, packet(1000, i)}, &word, sizeof word);
      ASSERT_TRUE(out_->take({}, 0));
    }
    const auto wire = sent();
    std::vector<std::byte> rest;
    for (size_t at = 0; at < wire.size(); at += piece) {
      rest.insert(rest.end(), wire.data() + at, wire.data() + std::min(wire.size(), at + piece));
      size_t taken = 0;
      ASSERT_EQ(Inflow::Answer::kTaken, in_->take(rest.data(), rest.size(), &taken)) << in_->why();
      rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(taken));
    }
    EXPECT_TRUE(rest.empty());
    RingConsumer ring = data_in();
    for (uint8_t i = 0; i < 5; ++i) {
      ASSERT_TRUE(ring.has_message()) << piece;
      EXPECT_EQ(20u * i, ring.header().size);
      ring.advance(slots_for(20u * i));
      ASSERT_TRUE(ring.has_message()) << piece;
      const MessageHeader chunk = ring.header();
      EXPECT_EQ(MessageKind::kRendezvousData, chunk.kind);
      const std::byte* payload = mirror_->at(chunk.arg * kPacketUnit) + kPacketPayloadOffset;
      EXPECT_EQ(std::byte{i}, payload[0]);
      EXPECT_EQ(std::byte{i}, payload[999]);
      ring.advance(1);
    }
    EXPECT_FALSE(ring.has_message());
  }
}

TEST_F(TcpRecords, APacketComesBackWhenThePeerHasIt) {
  write({MessageKind::kAmPacket, 0, 5, 1000, 0, 1, packet(1000, 1)}, nullptr, 0);
  ASSERT_TRUE(out_->take({}, 0));
  const auto wire = sent();
  EXPECT_EQ(0u, returned());
  ASSERT_TRUE(out_->acknowledge(0));
  EXPECT_EQ(0u, returned());
  ASSERT_TRUE(out_->acknowledge(wire.size()));
  EXPECT_EQ(1u, returned());
  EXPECT_FALSE(out_->acknowledge(wire.size() + 1)) << "what was not sent cannot have come";
  EXPECT_FALSE(out_->acknowledge(wire.size() - 1)) << "nor can less have come than before";
}

TEST_F(TcpRecords, AnAnnouncementComesBackByWord) {
  const uint32_t announced = packet(0, 0);
  write({MessageKind::kAnnounce, 0, 5, 0, 0, 1, announced}, nullptr, 0);
  ASSERT_TRUE(out_->take({}, 0));
  const auto wire = sent();
  size_t taken = 0;
  ASSERT_EQ(Inflow::Answer::kTaken, in_->take(wire.data(), wire.size(), &taken));
  ASSERT_TRUE(out_->acknowledge(wire.size()));
  EXPECT_EQ(0u, returned());
  const auto token = static_cast<uint32_t>(data_in().header().arg);
  mirror_->header().device[0].returned_packets.give(&token, 1, [&](uint32_t handle) -> PacketHeader& {
    return *reinterpret_cast<PacketHeader*>(mirror_->at(uint64_t{handle} * kPacketUnit));
  });
  std::vector<uint32_t> back;
  in_->collect([&](uint32_t packet) { back.push_back(packet); });
  EXPECT_EQ(std::vector<uint32_t>{announced}, back);
  EXPECT_FALSE(out_->end_announcement(announced + 1));
  EXPECT_TRUE(out_->end_announcement(announced));
  EXPECT_EQ(1u, returned());
  EXPECT_FALSE(out_->end_announcement(announced)) << "twice";
}

TEST_F(TcpRecords, WithoutRoomNothingIsTaken) {
  uint32_t written = 0;
  for (; data_.has_room(1); ++written) write({MessageKind::kAmInline, 0, 5, 0, 0, written, 0}, nullptr, 0);
  ASSERT_TRUE(out_->take({}, 0));
  write({MessageKind::kAmInline, 0, 5, 0, 0, written, 0}, nullptr, 0);
  EXPECT_FALSE(out_->take({}, 0)) << "the mirror's ring is full";
  control_.write({MessageKind::kGrant, 0, 5, 0, 0, 0, 0}, nullptr, 0);
  control_.publish();
  EXPECT_TRUE(out_->take({}, 0)) << "control does not wait behind data";
  EXPECT_TRUE(out_->accept_room({0, 64, 64 + 1, packet_window(kSizes)}));
  EXPECT_TRUE(out_->take({}, 0));
}

// Control with a payload takes several slots in the mirror as well, and waits for so many.
TEST_F(TcpRecords, ControlOfSeveralSlotsKeepsToItsWindow) {
  std::vector<uint8_t> bytes(96);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7);
  const MessageHeader header{MessageKind::kCollective, 0, 0, 96, 1, 2, 3};
  constexpr uint32_t kSlots = slots_for(96);
  uint32_t written = 0;
  for (; control_.has_room(kSlots); ++written) control_.write(header, bytes.data(), 96);
  control_.publish();
  const uint32_t room = kSlots * (written - 1) + 1;  // for the first slot of the last one
  auto narrow = std::make_unique<Outflow>(*sender_, 0, 1, kSizes, counters_);
  ASSERT_TRUE(narrow->accept_room({0, room, kSizes.data_slots, packet_window(kSizes)}));
  std::swap(out_, narrow);
  ASSERT_TRUE(out_->take({}, 0));
  const auto wire = sent();
  size_t taken = 0;
  ASSERT_EQ(Inflow::Answer::kTaken, in_->take(wire.data(), wire.size(), &taken));
  const uint64_t offset = mirror_->ring_pair_offset(0, 1).load();
  RingConsumer in(reinterpret_cast<RingPair*>(mirror_->at(offset))->control(kSizes.control_slots));
  uint32_t came = 0;
  for (; in.has_message(); ++came) {
    EXPECT_EQ(96u, in.header().size);
    std::vector<uint8_t> payload(96);
    in.read_payload(payload.data(), 96);
    EXPECT_EQ(bytes, payload);
    in.advance(kSlots);
  }
  EXPECT_EQ(written - 1, came);
  EXPECT_FALSE(out_->take({}, 0)) << "there is no room for the last one";
}

// One that goes on is one; when something has gone and the rest waits again, it is another.
TEST_F(TcpRecords, AWaitForRoomIsCountedOnce) {
  const auto stalls = [&] { return counters_.get(Metric::net_stalls); };
  uint32_t written = 0;
  const auto post = [&] { write({MessageKind::kAmInline, 0, 5, 0, 0, written++, 0}, nullptr, 0); };
  while (data_.has_room(1)) post();
  ASSERT_TRUE(out_->take({}, 0));
  EXPECT_EQ(0u, stalls()) << "all went";
  post();
  EXPECT_FALSE(out_->take({}, 0));
  post();
  EXPECT_FALSE(out_->take({}, 0));
  EXPECT_EQ(1u, stalls());
  ASSERT_TRUE(out_->accept_room({0, 64, 64 + 1, packet_window(kSizes)}));
  EXPECT_TRUE(out_->take({}, 0));
  EXPECT_EQ(2u, stalls()) << "there was room for one of two";
  ASSERT_TRUE(out_->accept_room({0, 64, 64 + 2, packet_window(kSizes)}));
  EXPECT_TRUE(out_->take({}, 0));
  EXPECT_FALSE(out_->take({}, 0));
  EXPECT_EQ(2u, stalls()) << "nothing waits";
}

// What is under way fills it; what has come, and is not known to have, is kept as well.
TEST_F(TcpRecords, AWindowOfItsOwnSizeAndTwiceAsManyBytesKept) {
  for (const uint32_t bytes : {256u << 10, 4u << 20, 64u << 20}) {
    LinkSizes sizes = kSizes;
    sizes.window_bytes = bytes;
    Inflow in(*mirror_, 0, 1, sizes, events_);
    ASSERT_TRUE(in.open());
    EXPECT_EQ(bytes / (sizes.most_payload + kPacketPayloadOffset), in.report().packet_room);
    EXPECT_EQ(2u * bytes, Outflow(*sender_, 0, 1, sizes, counters_).bytes().room());
  }
}

TEST_F(TcpRecords, WhatIsNotAcknowledgedMayLeaveNoRoom) {
  const uint32_t full = packet(kSizes.most_payload, 1);
  Report room = in_->report();
  for (uint32_t sent = 0; out_->bytes().room() >= sizeof(RecordHeader) + kSizes.most_record(); ++sent) {
    ASSERT_TRUE(out_->accept_room(room));
    ++room.data_room;
    ++room.packet_room;
    write({MessageKind::kAmPacket, 0, 5, kSizes.most_payload, 0, sent, full}, nullptr, 0);
    ASSERT_TRUE(out_->take({}, 0));
  }
  EXPECT_EQ(0u, counters_.get(Metric::net_stalls));
  write({MessageKind::kAmInline, 0, 5, 0, 0, 0, 0}, nullptr, 0);
  EXPECT_FALSE(out_->take({}, 0));
  EXPECT_EQ(1u, counters_.get(Metric::net_stalls));
}

TEST_F(TcpRecords, RecordsAndTheirMessagesAreCounted) {
  const auto count = [&](Metric counter) { return counters_.get(counter); };
  for (uint64_t i = 0; i < 3; ++i) write({MessageKind::kAmInline, 0, 5, 0, 0, i, 0}, nullptr, 0);
  control_.write({MessageKind::kGrant, 0, 5, 0, 0, 0, 0}, nullptr, 0);
  control_.publish();
  out_->provide_words(1);
  out_->say(LinkWord::kDevices, 0, 0, 1);
  ASSERT_TRUE(out_->take({}, 0));
  EXPECT_EQ(1u, count(Metric::net_records_sent));
  EXPECT_EQ(4u, count(Metric::net_messages_sent)) << "without what the link itself says";
  out_->tell({}, 0);
  EXPECT_EQ(2u, count(Metric::net_records_sent));
  EXPECT_EQ(4u, count(Metric::net_messages_sent));
  EXPECT_FALSE(out_->take({}, 0));
  EXPECT_EQ(2u, count(Metric::net_records_sent)) << "there was nothing";
}

TEST_F(TcpRecords, RoomThatCannotBeIsRefused) {
  const Report room = in_->report();
  EXPECT_FALSE(out_->accept_room({0, room.control_room - 1, room.data_room, room.packet_room})) << "less than before";
  EXPECT_FALSE(out_->accept_room({0, room.control_room + 1, room.data_room, room.packet_room})) << "more than it has";
  EXPECT_FALSE(out_->accept_room({0, room.control_room, kMostDataSlots + 1, room.packet_room}));
  EXPECT_FALSE(out_->accept_room({0, room.control_room, room.data_room, room.packet_room + (1u << 25)}));
  EXPECT_TRUE(out_->accept_room(room));
  EXPECT_TRUE(out_->accept_room({0, room.control_room, kMostDataSlots, room.packet_room})) << "peers have their own";
}

// --- rings of data that grow

/// The device of rank 1, and how far its peer may write.
class TcpWindow : public TcpRecords {
 protected:
  void SetUp() override {
    TcpRecords::SetUp();
    told_ = in_->report().data_room;
  }
  /// So many messages come, which the peer has room for as it was told.
  void send(uint32_t count) {
    for (; count > 0; --count) {
      write({MessageKind::kAmInline, 0, 5, 0, 0, sent_++, 0}, nullptr, 0);
      ASSERT_TRUE(out_->accept_room({0, 64, told_, packet_window(kSizes)}));
      ASSERT_TRUE(out_->take({}, 0)) << sent_;
      const auto wire = sent();
      size_t taken = 0;
      ASSERT_EQ(Inflow::Answer::kTaken, in_->take(wire.data(), wire.size(), &taken)) << in_->why();
    }
  }
  /// The device takes so many messages, and finds them in order.
  void take(uint32_t count) {
    if (!reads_) in_ring_ = data_in();
    reads_ = true;
    for (; count > 0; --count) {
      if (!in_ring_.has_message()) go_over();
      ASSERT_TRUE(in_ring_.has_message()) << taken_;
      EXPECT_EQ(taken_++, in_ring_.header().tag);
      in_ring_.advance(1);
    }
    in_ring_.publish_head();
  }
  bool go_over() {
    RingMemory next{};
    if (!in_->take_wider(&next)) return false;
    in_ring_ = RingConsumer(next);
    return true;
  }
  /// How many more the peer may send, when it is told anew.
  uint32_t window() {
    in_->widen(told_);
    told_ = in_->report().data_room;
    return told_ - sent_;
  }

  RingConsumer in_ring_;
  bool reads_ = false;
  uint32_t sent_ = 0, taken_ = 0, told_ = 0;
};

TEST_F(TcpWindow, GrowsWhenThePeerUsesItUpAndTheDeviceKeepsUp) {
  EXPECT_EQ(64u, window());
  send(60);
  take(60);
  EXPECT_EQ(64u, window()) << "there was room left";
  send(64);
  EXPECT_EQ(0u, window()) << "the device has not taken them";
  take(64);
  EXPECT_EQ(256u, window());
  send(256);
  take(256);
  EXPECT_EQ(512u, window()) << "and not 1,024";
  send(512);
  take(512);
  EXPECT_EQ(512u, window());
}

TEST_F(TcpWindow, HoldsWhatLiesInTheRingBeforeItFirst) {
  send(64);
  take(60);
  ASSERT_EQ(256u, window());
  send(100);
  EXPECT_TRUE(in_ring_.has_message());
  take(104);
  EXPECT_FALSE(in_ring_.has_message());
  EXPECT_FALSE(go_over()) << "it has";
}

// What is used up before the device has gone over to the ring that follows makes no other one.
TEST_F(TcpWindow, IsWidenedOnceAtATime) {
  send(64);
  take(64);
  ASSERT_EQ(256u, window());
  EXPECT_EQ(256u, window());
  send(256);
  EXPECT_EQ(0u, window());
  take(256);
  EXPECT_EQ(512u, window());
}

TEST_F(TcpWindow, OfADeviceThatIsSlowStaysAsItIs) {
  send(64);
  for (uint32_t round = 0; round < 100; ++round) {
    take(32);
    ASSERT_EQ(32u, window());
    send(32);
  }
}

TEST_F(TcpWindow, StaysAsItIsWithoutMemory) {
  while (mirror_->allocate(1 << 16) != 0) {
  }
  while (mirror_->allocate(64) != 0) {
  }
  send(64);
  take(64);
  EXPECT_EQ(64u, window());
  send(64);
  take(64);
}

TEST_F(TcpWindow, StaysAsItIsIfItMayNotBeSoLarge) {
  in_ = std::make_unique<Inflow>(*mirror_, 0, 1, LinkSizes{64, 64, 4032, 32}, events_);
  ASSERT_TRUE(in_->open());
  send(64);
  take(64);
  EXPECT_EQ(64u, window());
}

// Its whole pages read as zeros again; what is beside it stays.
TEST_F(TcpWindow, GivesTheMemoryOfTheRingBeforeItBack) {
  LinkSizes sizes = kSizes;
  sizes.data_slots = 256;
  sizes.most_data_slots = 1024;
  in_ = std::make_unique<Inflow>(*mirror_, 0, 1, sizes, events_);
  ASSERT_TRUE(in_->open());
  const auto words = [](const RingMemory& ring) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < ring.capacity; ++i) count += ring.slots[i].word.load() != 0;
    return count;
  };
  told_ = 256;
  for (int i = 0; i < 4; ++i) {
    send(64);
    if (i == 0) in_ring_ = RingConsumer(pair().data(64, 256));
    reads_ = true;
    take(64);
  }
  const RingMemory before = pair().data(64, 256);
  ASSERT_EQ(256u, words(before));
  EXPECT_EQ(1024u, window());
  EXPECT_EQ(256u, words(before)) << "the device reads it";
  ASSERT_TRUE(go_over());
  EXPECT_GE(64u, words(before));
  EXPECT_EQ(64u * 4, before.head->load());
  send(1);
  take(1);
}

// --- bytes that no honest link sends

struct Lie {
  const char* name;
  std::function<void(std::vector<std::byte>&)> tell;
};
void PrintTo(const Lie& lie, std::ostream* out) {
  *out << lie.name;
}

template <typename Change>
Lie in_header(const char* name, Change change) {
  return {name, [=](std::vector<std::byte>& wire) {
            RecordHeader header;
            std::memcpy(&header, wire.data(), sizeof header);
            change(header);
            std::memcpy(wire.data(), &header, sizeof header);
          }};
}
template <typename Change>
Lie in_frame(const char* name, Change change) {
  return {name, [=](std::vector<std::byte>& wire) {
            FrameHeader frame;
            std::memcpy(&frame, wire.data() + sizeof(RecordHeader), sizeof frame);
            change(frame);
            std::memcpy(wire.data() + sizeof(RecordHeader), &frame, sizeof frame);
          }};
}

class TcpLies : public TcpRecords, public testing::WithParamInterface<Lie> {};

TEST_P(TcpLies, AreFoundOut) {
  const std::vector<uint8_t> bytes(100, 3);
  write({MessageKind::kAmInline, 0, 5, 100, 0, 0, 0}, bytes.data(), 100);
  ASSERT_TRUE(out_->take({}, 0));
  auto wire = sent();
  GetParam().tell(wire);
  size_t taken = 0;
  EXPECT_EQ(Inflow::Answer::kNonsense, in_->take(wire.data(), wire.size(), &taken));
  EXPECT_STRNE("", in_->why());
}

INSTANTIATE_TEST_SUITE_P(
    Each, TcpLies,
    testing::Values(in_header("RecordTooLong", [](RecordHeader& header) { header.length = kSizes.most_record() + 1; }),
                    in_header("RecordAgain", [](RecordHeader& header) { header.position = 1; }),
                    in_header("RecordCutShort", [](RecordHeader& header) { header.length -= 1; }),
                    in_frame("NoKind", [](FrameHeader& frame) { frame.kind = 0; }),
                    in_frame("KindOfNobody", [](FrameHeader& frame) { frame.kind = 99; }),
                    in_frame("LinkWordOutOfPlace", [](FrameHeader& frame) { frame.kind = 0xE3; }),
                    in_frame("InlineTooLong", [](FrameHeader& frame) { frame.size = LCI_INLINE_MAX + 1; }),
                    in_frame("PacketTooLong",
                             [](FrameHeader& frame) {
                               frame.kind = static_cast<uint8_t>(MessageKind::kAmPacket);
                               frame.size = kSizes.most_payload + 1;
                             }),
                    in_frame("LongerThanItsRecord",
                             [](FrameHeader& frame) {
                               frame.kind = static_cast<uint8_t>(MessageKind::kAmPacket);
                               frame.size = 200;
                             }),
                    in_frame("AnnouncementWithBytes",
                             [](FrameHeader& frame) {
                               frame.kind = static_cast<uint8_t>(MessageKind::kAnnounce);
                               frame.size = 1;
                             })),
    [](const auto& info) { return info.param.name; });

// A sender that does not keep to the windows.
TEST_F(TcpRecords, MoreThanThereIsRoomForIsFoundOut) {
  std::vector<std::byte> wire(sizeof(RecordHeader));
  const auto add = [&](const FrameHeader& frame) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&frame);
    wire.insert(wire.end(), bytes, bytes + sizeof frame);
  };
  for (const MessageKind kind : {MessageKind::kGrant, MessageKind::kAmInline, MessageKind::kAmPacket}) {
    SetUp();
    wire.assign(sizeof(RecordHeader), std::byte{0});
    for (uint32_t i = 0; i < 600; ++i) add({static_cast<uint8_t>(kind), 0, 5, 0, 0, 0, 0});
    RecordHeader header{};
    header.length = static_cast<uint32_t>(wire.size() - sizeof header);
    std::memcpy(wire.data(), &header, sizeof header);
    size_t taken = 0;
    EXPECT_EQ(Inflow::Answer::kNonsense, in_->take(wire.data(), wire.size(), &taken)) << static_cast<int>(kind);
  }
}

TEST(TcpSendBuffer, KeepsBytesInOrderAcrossItsEndAndAsItGrows) {
  SendBuffer buffer(1 << 20);
  uint64_t appended = 0, read = 0;
  const auto byte = [](uint64_t position) { return static_cast<uint8_t>(position * 131 >> 3); };
  for (int round = 0; round < 3000; ++round) {
    const size_t size = 1 + static_cast<size_t>(round * 7919 % 5000);
    if (buffer.room() >= size) {
      std::vector<uint8_t> bytes(size);
      for (size_t i = 0; i < size; ++i) bytes[i] = byte(appended + i);
      buffer.append(bytes.data(), size);
      appended += size;
    }
    if (round % 3 != 0) continue;
    iovec parts[2];
    const int count = buffer.unsent(parts);
    uint64_t now = 0;
    for (int i = 0; i < count; ++i) {
      for (size_t at = 0; at < parts[i].iov_len; ++at) {
        ASSERT_EQ(byte(read + now), static_cast<uint8_t*>(parts[i].iov_base)[at]);
        ++now;
      }
    }
    const uint64_t some = round % 2 == 0 ? now : now / 2;
    buffer.count_sent(some);
    read += some;
    ASSERT_TRUE(buffer.acknowledge(read - read % 7));
  }
  EXPECT_GT(read, 1u << 20);
  EXPECT_FALSE(buffer.acknowledge(buffer.end() + 1));
}

}  // namespace
}  // namespace lci
