// SPDX-License-Identifier: Apache-2.0
// A TCP link whose peer has proved itself, and then lies: in records, in words, in what it says to have, over any
// number of connections, plain or sealed. What the link sends is the same bytes again after each break, in records that
// follow each other, with no more in them than the peer has room for. A peer that does not lie is not blamed.
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "fuzz/input.hpp"
#include "support/link_host.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace {

using lci::FrameHeader;
using lci::MessageHeader;
using lci::MessageKind;
using lci_fuzz::Input;
using Bytes = std::vector<std::byte>;

constexpr lci::LinkSizes kSizes{16, 32, 960, 256};
constexpr size_t kMostSaid = 1 << 20;

template <typename T>
void append(Bytes* to, const T& value) {
  const size_t end = to->size();
  to->resize(end + sizeof value);
  std::memcpy(to->data() + end, &value, sizeof value);
}
template <typename T>
T read(const Bytes& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// Null: sealing is left out.
const lci::CryptoLibrary* crypto() {
  static lci::CryptoLibrary library;
  static const bool is_there = lci::CryptoLibrary::load("", &library) == LCI_DONE;
  return is_there ? &library : nullptr;
}

/// What the peer has of the link's records, as an honest one keeps it.
class Heard {
 public:
  /// Bytes that follow those before position().
  void take(const std::byte* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i, ++position_) {
      if (position_ == all_.size()) {
        all_.push_back(bytes[i]);
      } else {
        FUZZ_EXPECT(all_[position_] == bytes[i]);  // it was sent before, and lost
      }
    }
    while (judge()) {
    }
  }
  uint64_t position() const { return position_; }
  /// What was taken behind @p position is lost, unless the link was told that it has come.
  void forget(uint64_t position) { position_ = std::clamp(position, told_, position_); }
  uint64_t tell() { return told_ = std::max(told_, std::min(judged_, position_)); }
  /// An honest peer reports the room of a ring, and of a window, behind what has come.
  lci::RecordHeader report() {
    room_.control_room = control_ + kSizes.control_slots;
    room_.data_room = data_ + kSizes.data_slots;
    room_.packet_room = packets_ + lci::packet_window(kSizes);
    return room_;
  }
  /// What the link has room for.
  const lci::RecordHeader& last() const { return last_; }
  std::vector<uint64_t> announced;

 private:
  /// One more record that has come whole.
  bool judge() {
    if (all_.size() - judged_ < sizeof(lci::RecordHeader)) return false;
    const auto header = read<lci::RecordHeader>(all_, judged_);
    FUZZ_EXPECT(header.position == judged_ && header.length <= kSizes.most_record());
    const size_t end = judged_ + sizeof header + header.length;
    if (all_.size() < end) return false;
    for (size_t at = judged_ + sizeof header; at < end;) at += judge_frame(at);
    FUZZ_EXPECT(lci::has_room_before(room_.control_room, control_) && lci::has_room_before(room_.data_room, data_) &&
                lci::has_room_before(room_.packet_room, packets_));
    last_ = header;
    judged_ = end;
    return true;
  }
  size_t judge_frame(size_t at) {
    const MessageHeader message = lci::to_message(read<FrameHeader>(all_, at));
    const uint32_t in_slots = lci::bytes_in_slots(message);
    if (lci::is_control(message.kind)) control_ += lci::slots_for(in_slots);
    if (!lci::is_data(message.kind)) return sizeof(FrameHeader) + in_slots;
    data_ += lci::slots_for(in_slots);
    if (message.kind == MessageKind::kAnnounce) announced.push_back(message.arg);
    if (!lci::is_in_packet(message.kind)) return sizeof(FrameHeader) + in_slots;
    ++packets_;
    return sizeof(FrameHeader) + in_slots + message.size;
  }

  Bytes all_;
  size_t judged_ = 0;
  uint64_t position_ = 0, told_ = 0;
  uint32_t control_ = 0, data_ = 0, packets_ = 0;
  lci::RecordHeader last_{}, room_{};
};

class Run {
 public:
  explicit Run(Input& input)
      : input_(input), crypto_(input.number<uint8_t>() % 4 == 0 ? crypto() : nullptr), host_(0, kSizes) {
    FUZZ_EXPECT(host_.is_made());
    link_ = std::make_unique<lci::TcpLink>(host_, 0, 1, host_.mirror(), host_.counters);
    FUZZ_EXPECT(link_->prepare());
    connect(false);
  }

  void go() {
    for (int steps = 0; steps < 200 && !input_.empty() && !link_->has_ended(); ++steps) step();
    if (!lies_) FUZZ_EXPECT(host_.shared().get(lci::Metric::protocol_errors) == 0);
    if (link_->has_ended()) {
      FUZZ_EXPECT(!host_.ends.empty() || left_);
      FUZZ_EXPECT(link_->drained());
    }
    link_->close(input_.number<uint8_t>() % 2 != 0);
  }

 private:
  void step() {
    if (left_) {
      link_->has_left();
      return input_.number<uint8_t>() % 2 ? hear() : connect(false);
    }
    switch (input_.number<uint8_t>() % 13) {
      case 0:
      case 1:
        return post();
      case 2:
        return pass();
      case 3:
        return say_what_is_right();
      case 4:
        return say_anything();
      case 5:
        return hear();
      case 6:
        return connect(false);
      case 7:
        return connect(true);
      case 8:
        heard_.forget(input_.number<uint16_t>());
        return connect(false);
      case 9:
        link_->stuck_ns(1 + input_.number<uint32_t>());
        host_.other_has_failed = input_.number<uint8_t>() % 8 == 0;
        return;
      case 10:
        return garbage();
      case 11:
        link_->acknowledge();
        link_->quiet_ns(1);
        link_->provide_words(1);
        return link_->propose_rest();
      default:
        return end();
    }
  }

  // --- this rank

  void post() {
    static constexpr MessageKind kKinds[] = {MessageKind::kAmInline, MessageKind::kAmPacket,
                                             MessageKind::kAnnounce, MessageKind::kSendPacket,
                                             MessageKind::kReady,    MessageKind::kCollective};
    MessageHeader header{};
    header.kind = kKinds[input_.number<uint8_t>() % std::size(kKinds)];
    header.tag = ++posted_;
    lci::RingProducer& ring = lci::is_control(header.kind) ? host_.control : host_.data;
    if (header.kind == MessageKind::kAmInline || header.kind == MessageKind::kCollective)
      header.size = input_.number<uint8_t>() % (LCI_INLINE_MAX + 1);
    if (lci::is_in_packet(header.kind)) header.size = input_.number<uint16_t>() % (kSizes.most_payload + 1);
    if (lci::is_in_packet(header.kind) || header.kind == MessageKind::kAnnounce) {
      const uint64_t offset = host_.memory().allocate(lci::kPacketPayloadOffset + kSizes.most_payload);
      FUZZ_EXPECT(offset != 0);
      std::memset(host_.memory().at(offset) + lci::kPacketPayloadOffset, static_cast<int>(posted_), header.size);
      header.arg = offset / lci::kPacketUnit;
    }
    const std::byte payload[LCI_INLINE_MAX] = {std::byte{static_cast<uint8_t>(posted_)}};
    const uint32_t in_slots = lci::bytes_in_slots(header);
    if (!ring.has_room(lci::slots_for(in_slots))) return;
    ring.write(header, payload, in_slots);
    ring.publish();
    if (input_.number<uint8_t>() % 2) link_->flush();
  }

  void pass() {
    link_->wake(true, true, input_.number<uint8_t>() % 4 == 0);
    while (link_->is_readable()) link_->read();
    take_all();
    link_->settle(input_.number<uint8_t>() % 2 != 0);
  }

  /// As the device does, which has checks of its own.
  void take_all() {
    if (!host_.hears()) return;
    lci::RingPair& rings = host_.rings_of_other();
    if (!reads_) {
      control_ = lci::RingConsumer(rings.control(kSizes.control_slots));
      data_ = lci::RingConsumer(rings.data(kSizes.control_slots, kSizes.data_slots));
      reads_ = true;
    }
    while (control_.has_message()) {
      const MessageHeader header = control_.header();
      FUZZ_EXPECT(lci::is_control(header.kind));
      control_.advance(lci::slots_for(lci::bytes_in_slots(header)));
    }
    while (data_.has_message() || go_over()) {
      const MessageHeader header = data_.header();
      FUZZ_EXPECT(lci::is_data(header.kind));
      const bool in_packet = lci::is_in_packet(header.kind) || header.kind == MessageKind::kAnnounce;
      if (in_packet) give_back(header);
      data_.advance(lci::slots_for(lci::bytes_in_slots(header)));
    }
    control_.publish_head();
    data_.publish_head();
  }
  /// To the ring that follows, if there is one and it has a message.
  bool go_over() {
    lci::RingMemory next{};
    if (!link_->take_wider(&next)) return false;
    data_ = lci::RingConsumer(next);
    return data_.has_message();
  }
  void give_back(const MessageHeader& header) {
    lci::Mirror& mirror = host_.mirror();
    FUZZ_EXPECT(header.size <= kSizes.most_payload);
    FUZZ_EXPECT(mirror.contains(header.arg * lci::kPacketUnit, lci::kPacketPayloadOffset + uint64_t{header.size}));
    const auto handle = static_cast<uint32_t>(header.arg);
    mirror.header().device[0].returned_packets.give(&handle, 1, [&](uint32_t packet) -> lci::PacketHeader& {
      return *reinterpret_cast<lci::PacketHeader*>(mirror.at(uint64_t{packet} * lci::kPacketUnit));
    });
  }

  void end() {
    if (input_.number<uint8_t>() % 8 != 0) return pass();
    if (input_.number<uint8_t>() % 2) {
      link_->finish(true, false);
    } else {
      left_ = true;
      link_->leave(lci::RankState::kLeft, input_.number<uint8_t>(), true);
    }
  }

  // --- the peer

  void connect(bool lies) {
    int pair[2];
    FUZZ_EXPECT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    lci::FileDescriptor mine(pair[0]), theirs(pair[1]);
    const lci::LinkProgress progress = link_->progress();
    lci::LinkProgress peer{progress.connections + 1, heard_.position()};
    if (lies) {
      peer.connections += input_.number<uint8_t>() % 3 - 1u;
      peer.taken += static_cast<uint64_t>(static_cast<int64_t>(input_.number<int16_t>()));
      lies_ = true;
    }
    link_->needs(peer);
    FUZZ_EXPECT(lies_ || progress.taken <= said_.size());
    said_to_ = std::min(progress.taken, said_.size());
    lci::SealKeys keys{};
    keys.of_sender.bytes.fill(std::byte{1});
    lci::SealKeys other{keys.of_receiver, keys.of_sender};
    peer_ = lci::Connection(std::move(theirs), crypto_, other);
    link_->open(lci::Connection(std::move(mine), crypto_, keys), peer, input_.number<uint8_t>() % 2 != 0);
  }

  void hear() {
    std::byte came[lci::Connection::kPiece];
    bool more = false;
    const size_t room = crypto_ ? sizeof came : 1 + input_.number<uint16_t>() % sizeof came;
    const ssize_t size = peer_.receive(came, room, &more);
    if (size > 0 && !lies_) heard_.take(came, static_cast<size_t>(size));
  }

  void send() {
    for (bool goes = true; goes && said_to_ < said_.size();) {
      const size_t piece = std::min<size_t>(1 + input_.number<uint16_t>(), said_.size() - said_to_);
      const iovec part{said_.data() + said_to_, piece};
      const ssize_t sent = peer_.send(&part, 1);
      goes = sent > 0;
      if (goes) said_to_ += static_cast<size_t>(sent);
    }
  }

  void say(Bytes frames, bool lies) {
    if (said_.size() > kMostSaid) return;
    lci::RecordHeader header = heard_.report();
    header.length = static_cast<uint32_t>(frames.size());
    header.position = said_.size();
    header.received = heard_.tell();
    Bytes record;
    append(&record, header);
    record.insert(record.end(), frames.begin(), frames.end());
    for (uint8_t changes = lies ? input_.number<uint8_t>() % 3 : 0; changes > 0; --changes) {
      record[input_.number<uint16_t>() % record.size()] = std::byte{input_.number<uint8_t>()};
    }
    lies_ |= lies;
    said_.insert(said_.end(), record.begin(), record.end());
    send();
  }

  void say_what_is_right() {
    Bytes frames;
    for (uint8_t count = input_.number<uint8_t>() % 4; count > 0; --count) {
      FrameHeader frame{};
      switch (input_.number<uint8_t>() % 7) {
        case 5:
          frame.kind = static_cast<uint8_t>(lci::LinkWord::kRest);
          break;
        case 6: {
          const uint8_t bytes = input_.number<uint8_t>() % (LCI_INLINE_MAX + 1);
          if (!lci::has_room_before(heard_.last().control_room, control_said_ + lci::slots_for(bytes))) continue;
          control_said_ += lci::slots_for(bytes);
          frame.kind = static_cast<uint8_t>(MessageKind::kCollective);
          frame.size = bytes;
          append(&frames, frame);
          frames.resize(frames.size() + bytes);
          continue;
        }
        case 0: {
          const uint8_t number = input_.number<uint8_t>();
          const bool counts = number < lci::kMaxDevices;
          frame.kind = static_cast<uint8_t>(counts ? lci::LinkWord::kDevices : lci::LinkWord::kSpoken);
          frame.arg = 1 + number % lci::kMaxDevices;
          frame.aux = counts ? 0 : number % 2;
          break;
        }
        case 1:  // of two ranks only this one can be meant
          frame.kind = static_cast<uint8_t>(lci::LinkWord::kNotice);
          frame.size = static_cast<uint32_t>(lci::RankState::kFailed);
          break;
        case 2:
          if (heard_.announced.empty()) continue;
          frame.kind = static_cast<uint8_t>(lci::LinkWord::kPacketBack);
          frame.arg = heard_.announced.back();
          heard_.announced.pop_back();
          break;
        case 3:
          if (!lci::has_room_before(heard_.last().data_room, data_said_ + 1)) continue;
          ++data_said_;
          frame.kind = static_cast<uint8_t>(MessageKind::kAmInline);
          break;
        default:
          if (!lci::has_room_before(heard_.last().control_room, control_said_ + 1)) continue;
          ++control_said_;
          frame.kind = static_cast<uint8_t>(MessageKind::kReady);
          break;
      }
      append(&frames, frame);
    }
    say(std::move(frames), false);
  }

  void say_anything() {
    Bytes frames;
    for (uint8_t count = input_.number<uint8_t>() % 4; count > 0; --count) {
      FrameHeader frame{};
      frame.kind = input_.number<uint8_t>() % 32;
      if (frame.kind >= 26) frame.kind = static_cast<uint8_t>(0xE0 + frame.kind % 6);
      frame.flags = input_.number<uint8_t>();
      frame.size = input_.number<uint16_t>() % 1200;
      frame.aux = input_.number<uint8_t>() % 4;
      frame.arg = input_.number<uint8_t>();
      append(&frames, frame);
      const MessageHeader message = lci::to_message(frame);
      if (!lci::is_data(message.kind) && !lci::is_control(message.kind)) continue;
      frames.resize(frames.size() + lci::bytes_in_slots(message) + (lci::is_in_packet(message.kind) ? frame.size : 0));
    }
    say(std::move(frames), true);
  }

  /// On the wire, sealed or not.
  void garbage() {
    std::byte bytes[64];
    input_.copy(bytes, sizeof bytes);
    lies_ = true;
    ::send(peer_.socket(), bytes, 1 + input_.number<uint8_t>() % sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  Input& input_;
  const lci::CryptoLibrary* const crypto_;
  lci_test::LinkHost host_;
  std::unique_ptr<lci::TcpLink> link_;
  lci::RingConsumer control_, data_;  // in the mirror
  bool reads_ = false, left_ = false;
  uint64_t posted_ = 0;
  lci::Connection peer_;
  Heard heard_;
  Bytes said_;          // by the peer, since the first
  size_t said_to_ = 0;  // of these, over this connection
  uint32_t data_said_ = 0, control_said_ = 0;
  bool lies_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Run(input).go();
  return 0;
}
