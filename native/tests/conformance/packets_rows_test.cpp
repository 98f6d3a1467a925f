// SPDX-License-Identifier: Apache-2.0
// Packets in users' hands: messages assembled in them, and arrivals delivered in them.
#include <algorithm>

#include "conformance/windows.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 9;

struct Packet {
  uint64_t handle = 0;
  uint8_t* bytes = nullptr;
};

Packet take_packet(World& world) {
  Packet packet;
  void* payload = nullptr;
  world.until([&] { return lci_packet_get(world.device(), &packet.handle, &payload) == LCI_DONE; });
  packet.bytes = static_cast<uint8_t*>(payload);
  return packet;
}

lci_descriptor in_packet(uint8_t op, uint32_t rank, uint16_t port, uint64_t tag, const Packet& packet, uint32_t size) {
  lci_descriptor result = operation(op, rank, port, tag, nullptr, size);
  result.flags = LCI_FLAG_PACKET;
  result.u.ref.address = packet.handle;
  return result;
}

// Proves: B11
CONFORMANCE(B11, PayloadsAreAlignedAndFollowTheContext, {"packet_size", "4096"}) {
  const uint32_t eager = lci_runtime_max_eager(world.runtime());
  EXPECT_EQ(4096u - 64, eager);
  uint64_t layout[LCI_LAYOUT_COUNT], base = 0, length = 0;
  lci_layout(layout, LCI_LAYOUT_COUNT);
  ASSERT_EQ(LCI_DONE, lci_runtime_arena(world.runtime(), &base, &length));
  EXPECT_EQ(64u, layout[LCI_LAYOUT_PACKET_PAYLOAD]) << "the context comes first";
  Packet packets[8];
  for (Packet& packet : packets) {
    packet = take_packet(world);
    const uint64_t address = reinterpret_cast<uint64_t>(packet.bytes);
    EXPECT_EQ(0u, address % 64);
    EXPECT_EQ(base + packet.handle * layout[LCI_LAYOUT_PACKET_UNIT] + layout[LCI_LAYOUT_PACKET_PAYLOAD], address);
    std::memset(packet.bytes, static_cast<int>(packet.handle & 0xFF), eager);
  }
  for (const Packet& packet : packets) {  // all of it is usable, and nobody else's
    EXPECT_EQ(eager, std::count(packet.bytes, packet.bytes + eager, packet.handle & 0xFF));
    EXPECT_EQ(LCI_DONE, lci_packet_put(world.device(), packet.handle));
  }
}

// A packet that was refused is the caller's, and may be posted again; a posted one comes back to the pool.
// Proves: SS-22
CONFORMANCE(SS22, APacketIsTakenOverOrKept) {
  const uint32_t eager = lci_runtime_max_eager(world.runtime());
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  Windows windows(world, 16'384);
  world.barrier();
  Packet packet = take_packet(world);
  uint8_t place[64];
  // Nobody has opened the port: after the announced one, posts are refused, and the packet stays.
  ASSERT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, world.next(), kPort, 0, place, 8), nullptr));
  auto op = in_packet(LCI_OP_AM, world.next(), kPort, 1, packet, 300);
  for (int i = 0; i < 100; ++i) {
    lci_descriptor attempt = op;
    const int code = lci_post(world.device(), &attempt, nullptr, nullptr);
    ASSERT_TRUE(is_retry(code)) << code << " " << lci_last_error();
    std::memset(packet.bytes, i, 300);
  }
  world.barrier();
  world.open_port(kPort, inbox);
  ASSERT_EQ(LCI_DONE, world.post(op, nullptr)) << lci_last_error();
  for (int i = 0; i < 2; ++i) {
    lci_status status = world.pop(inbox);
    if (status.tag == 1) {
      EXPECT_EQ(300, std::count_if(static_cast<uint8_t*>(status.buffer), static_cast<uint8_t*>(status.buffer) + 300,
                                   [](uint8_t byte) { return byte == 99; }));
    }
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status));
  }
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_packet_put(world.device(), packet.handle)) << "taken over";
  // Every operation that takes packets takes them over; the others leave them alone, as does what is too long.
  packet = take_packet(world);
  op = in_packet(LCI_OP_SEND, world.next(), 0, 2, packet, eager + 1);
  EXPECT_EQ(LCI_ERR_SIZE, lci_post(world.device(), &op, ended, nullptr));
  op = in_packet(LCI_OP_RECV, world.previous(), 0, 2, packet, 100);
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &op, ended, nullptr)) << "nothing is received into a packet";
  op = in_packet(LCI_OP_GET, world.next(), 0, 2, packet, 100);
  op.u.ref.remote = windows.of(world.next());
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &op, ended, nullptr)) << "nor got";
  op = in_packet(LCI_OP_SEND, world.next(), 0, 2, packet, 64);
  ++op.u.ref.address;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &op, ended, nullptr)) << "the exact one";
  --op.u.ref.address;
  std::memset(packet.bytes, 7, 64);
  ASSERT_EQ(LCI_DONE, world.post(op, nullptr)) << lci_last_error();
  lci_status status = LCI_STATUS_INIT;
  if (world.post(operation(LCI_OP_RECV, world.previous(), 0, 2, place, 64), ended, &status) == LCI_POSTED) {
    status = world.pop(ended);
  }
  EXPECT_EQ(64, std::count(place, place + 64, 7));
  packet = take_packet(world);
  std::memset(packet.bytes, 8, eager);
  op = in_packet(LCI_OP_PUT, world.next(), 0, 3, packet, eager);
  op.u.ref.remote = windows.of(world.next());
  const int code = world.post(op, ended);
  ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
  if (code == LCI_POSTED) {
    EXPECT_EQ(LCI_DONE, world.pop(ended).code);
  }
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_packet_put(world.device(), packet.handle));
  world.barrier();
  EXPECT_EQ(eager, std::count(windows.mine(), windows.mine() + eager, 8));
  EXPECT_EQ(0u, world.counter("packets_held"));
  world.barrier();
}

/// Arrivals of every kind at one zero-copy queue, all freed in the same way.
void mixed_arrivals(World& world) {
  const uint32_t eager = lci_runtime_max_eager(world.runtime());
  const uint32_t sizes[] = {0, 8, 192, 193, 1000, eager, eager + 1, 50'000};
  constexpr uint32_t kRounds = 12;
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(inbox)) << lci_last_error();
  world.open_port(kPort, inbox);
  world.barrier();
  uint32_t posted = 0, in_packets = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::vector<Bytes> sent;
    for (const uint32_t size : sizes) {
      sent.push_back(pattern(size, world.rank() * 31 + round + size));
      const int code = world.post(operation(LCI_OP_AM, world.next(), kPort, round, sent.back().data(), size), ended);
      ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
      posted += code == LCI_POSTED;
    }
    std::vector<lci_status> held;  // all at once, then freed in another order
    for (size_t i = 0; i < std::size(sizes); ++i) held.push_back(world.pop(inbox));
    for (auto status = held.rbegin(); status != held.rend(); ++status) {
      const Bytes expected = pattern(status->size, world.previous() * 31 + status->tag + status->size);
      EXPECT_EQ(0, compare(expected.data(), status->buffer, expected.size())) << expected.size();
      const bool in_packet = status->packet != 0;
      in_packets += in_packet;
      EXPECT_FALSE(in_packet && status->size > eager) << status->size;
      if (in_packet) {
        EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(status->buffer) % 64);
      }
      lci_status copy = *status;
      EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &*status)) << lci_last_error();
      EXPECT_EQ(nullptr, status->buffer);
      EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &*status)) << "nothing is left";
      if (in_packet) {
        EXPECT_EQ(LCI_ERR_ARGUMENT, lci_arrival_free(world.runtime(), &copy)) << "freed already";
      }
    }
    for (; posted != 0; --posted) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
    world.barrier();
  }
  EXPECT_GE(in_packets, kRounds) << "what is eager came in its packet";
}

// Proves: B14 SS-21
CONFORMANCE(B14, ArrivalsOfEveryKindAreFreedInOneWay) {
  mixed_arrivals(world);
}
CONFORMANCE(B14, ArrivalsOfEveryKindAreFreedInOneWayFromASmallPool, {"packets", "4"}, {"packets_max", "8"}) {
  mixed_arrivals(world);
}

// A user who keeps what he gets has at most his share of his senders' packets: the rest is copied, and all goes on.
// What is kept counts against the port until it is freed.
CONFORMANCE(B14, WhoKeepsPacketsDoesNotStopItsSender) {
  constexpr uint32_t kMessages = 60;  // the pool of a rank begins with 64 packets
  lci_comp* inbox = world.queue();
  ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(inbox));
  world.open_port(kPort, inbox, 256, 1 << 20);
  world.barrier();
  Bytes bytes = pattern(1000, world.rank());
  std::vector<lci_status> held;
  for (uint32_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, world.next(), kPort, i, bytes.data(), 1000), nullptr));
    held.push_back(world.pop(inbox));
  }
  const auto in_packets = std::count_if(held.begin(), held.end(), [](const auto& each) { return each.packet != 0; });
  EXPECT_EQ(64 / 2 / world.size(), static_cast<uint32_t>(in_packets));
  const Bytes expected = pattern(1000, world.previous());
  for (lci_status& status : held) {
    EXPECT_EQ(0, compare(expected.data(), status.buffer, 1000));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status));
  }
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_zero_copy(nullptr));
  lci_comp* counter = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(world.runtime(), &counter));
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_comp_zero_copy(counter)) << "it stores nothing";
}

// Proves: B13
// The sender's packet is what the receiver reads: nothing is copied on either side. A write that comes after the post
// shows it, and no counter could show more. Over a network the reader has the copy that came.
CONFORMANCE(B13, OnePacketFromAssemblyToReader) {
  lci_comp* inbox = world.queue();
  ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(inbox));
  world.open_port(kPort, inbox);
  world.barrier();
  int in_packets = 0;
  for (int round = 0; round < 10; ++round) {  // those that are announced, the first at least, are copied
    const Packet packet = take_packet(world);
    std::memset(packet.bytes, 1, 1000);
    ASSERT_EQ(LCI_DONE, world.post(in_packet(LCI_OP_AM, world.next(), kPort, 0, packet, 1000), nullptr));
    lci_status status = world.pop(inbox);
    world.barrier();
    packet.bytes[999] = 2;  // it is out, or nobody's, but it is the same memory
    world.barrier();
    const bool same = status.packet != 0 && !world.is_far(world.previous());
    EXPECT_EQ(same ? 2 : 1, static_cast<const uint8_t*>(status.buffer)[999]);
    EXPECT_EQ(1, static_cast<const uint8_t*>(status.buffer)[998]);
    in_packets += status.packet != 0;
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status));
  }
  EXPECT_NE(0, in_packets);
}

}  // namespace
}  // namespace lci_test
