// SPDX-License-Identifier: Apache-2.0
// What comes over a TCP link after both ends have proved themselves: records of honest links, changed and cut anywhere,
// or any bytes. Nothing is written outside the mirror; what is refused says why; what is taken is in the rings.
#include <algorithm>
#include <memory>
#include <vector>

#include "fuzz/input.hpp"
#include "transport/network/mirror.hpp"
#include "transport/shm/arena.hpp"
#include "transport/tcp/inflow.hpp"
#include "transport/tcp/outflow.hpp"

namespace {

using lci_fuzz::Input;

constexpr lci::LinkSizes kSizes{16, 32, 960, 32};
constexpr uint64_t kReserve = 4 << 20;

class Events final : public lci::LinkEvents {
 public:
  explicit Events(lci::Outflow& out) : out_(out) {}
  bool record_came(const lci::RecordHeader& header) override {
    return out_.acknowledge(header.received) &&
           out_.accept_room({0, header.control_room, header.data_room, header.packet_room});
  }
  bool word_came(lci::LinkWord word, const lci::FrameHeader& frame) override {
    return word == lci::LinkWord::kPacketBack ? out_.end_announcement(frame.arg) : word == lci::LinkWord::kDevices;
  }

 private:
  lci::Outflow& out_;
};

/// A record with frames whose kinds and sizes the input chooses, right but for what it changes afterwards.
std::vector<std::byte> record_of(Input& input, uint64_t position) {
  std::vector<std::byte> bytes(sizeof(lci::RecordHeader));
  for (uint8_t frames = input.number<uint8_t>() % 8; frames > 0; --frames) {
    lci::FrameHeader frame{};
    frame.kind = input.number<uint8_t>() % 32;
    if (frame.kind >= 28) frame.kind = static_cast<uint8_t>(0xE0 + frame.kind % 4);
    frame.flags = input.number<uint8_t>();
    frame.size = input.number<uint16_t>() % 1200;
    frame.arg = input.number<uint8_t>();
    const lci::MessageHeader message = lci::to_message(frame);
    const bool data = lci::is_data(message.kind);
    const size_t payload =
        data ? std::min<size_t>(lci::bytes_in_slots(message), 4096) + (lci::is_in_packet(message.kind) ? frame.size : 0)
             : 0;
    const auto* from = reinterpret_cast<const std::byte*>(&frame);
    bytes.insert(bytes.end(), from, from + sizeof frame);
    bytes.resize(bytes.size() + payload, std::byte{0x33});
  }
  lci::RecordHeader header{};
  header.length = static_cast<uint32_t>(bytes.size() - sizeof header);
  header.position = position;
  header.control_room = kSizes.control_slots;
  header.data_room = kSizes.data_slots;
  header.packet_room = lci::packet_window(kSizes);
  std::memcpy(bytes.data(), &header, sizeof header);
  for (uint8_t changes = input.number<uint8_t>() % 3; changes > 0; --changes) {
    bytes[input.number<uint16_t>() % bytes.size()] = std::byte{input.number<uint8_t>()};
  }
  return bytes;
}

void run(Input& input) {
  std::shared_ptr<lci::Arena> own;
  FUZZ_EXPECT(lci::Arena::create(kReserve, 0, 0, 2, 1, &own) == LCI_DONE);
  std::unique_ptr<lci::Mirror> mirror;
  FUZZ_EXPECT(lci::Mirror::create(kReserve, 0, 2, 1, &mirror) == LCI_DONE);
  lci::Counters counters;
  lci::Outflow out(*own, 0, 0, kSizes, counters);
  Events events(out);
  lci::Inflow in(*mirror, 0, 1, kSizes, events);
  FUZZ_EXPECT(in.open());
  std::vector<std::byte> rest;
  uint64_t position = 0;
  for (uint8_t records = 1 + input.number<uint8_t>() % 6; records > 0; --records) {
    const std::vector<std::byte> record = record_of(input, position);
    position += record.size();
    for (size_t at = 0; at < record.size();) {
      const size_t piece = std::min<size_t>(1 + input.number<uint16_t>() % 2000, record.size() - at);
      rest.insert(rest.end(), record.data() + at, record.data() + at + piece);
      at += piece;
      size_t taken = 0;
      const lci::Inflow::Answer answer = in.take(rest.data(), rest.size(), &taken);
      FUZZ_EXPECT(taken <= rest.size());
      if (answer == lci::Inflow::Answer::kNonsense) {
        FUZZ_EXPECT(*in.why() != '\0');
        return;
      }
      FUZZ_EXPECT(answer == lci::Inflow::Answer::kTaken);
      rest.erase(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(taken));
    }
  }
  FUZZ_EXPECT(in.report().received <= position);
  const uint64_t offset = mirror->ring_pair_offset(0, 1).load();
  if (offset == 0) return;  // nothing was said
  auto* rings = reinterpret_cast<lci::RingPair*>(mirror->at(offset));
  lci::RingConsumer data(rings->data(kSizes.control_slots, kSizes.data_slots));
  while (data.has_message()) {
    const lci::MessageHeader header = data.header();
    FUZZ_EXPECT(lci::is_data(header.kind));
    if (lci::is_in_packet(header.kind)) {
      FUZZ_EXPECT(header.size <= kSizes.most_payload);
      FUZZ_EXPECT(mirror->contains(header.arg * lci::kPacketUnit, lci::kPacketPayloadOffset + uint64_t{header.size}));
    }
    data.advance(lci::slots_for(lci::bytes_in_slots(header)));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  run(input);
  return 0;
}
