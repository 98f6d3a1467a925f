// SPDX-License-Identifier: Apache-2.0
// Rows of put and get: by copies where the memory is at hand, and by messages.
#include <tuple>

#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint64_t kRoom = 64;  // around each place

/// What SPEC asks of sends, and the sizes around a packet.
std::vector<uint64_t> sizes(World& world) {
  const uint64_t eager = lci_runtime_max_eager(world.runtime());
  return {0, 8, 64, 65, 8116, 8117, eager, eager + 1, 65536, 300'000};
}

/// Every rank puts to every rank, itself included, at three displacements; nothing else changes. Then all read it.
void puts_and_gets(World& world) {
  const uint64_t most = sizes(world).back() + kRoom;
  lci_comp* ended = world.queue();
  for (const RegionKind kind : kRegionKinds) {
    Regions regions(world, kind, world.size() * most);
    const auto place = [&](uint32_t rank) { return rank * most; };
    for (const uint64_t size : sizes(world)) {
      const uint64_t shift = size % 3 * (kRoom / 2);  // front, middle, end of the place
      std::fill_n(regions.mine(), world.size() * most, uint8_t{0xEE});
      world.barrier();
      for (uint32_t to = 0; to < world.size(); ++to) {
        Bytes bytes = pattern(size, world.rank() + size);
        const auto op =
            remote_op(LCI_OP_PUT, to, size ? bytes.data() : nullptr, size, regions.of(to), place(world.rank()) + shift);
        EXPECT_EQ(LCI_DONE, finish(world, op, ended).code) << size << " " << lci_last_error();
        std::fill(bytes.begin(), bytes.end(), 0);  // the caller's again [SS-27]
      }
      world.barrier();
      for (uint32_t from = 0; from < world.size(); ++from) {
        const uint8_t* at = regions.mine() + place(from);
        EXPECT_TRUE(holds(at + shift, pattern(size, from + size))) << size << " bytes from " << from;
        EXPECT_TRUE(untouched(at, shift) && untouched(at + shift + size, most - shift - size)) << size;
      }
      for (uint32_t from = 0; from < world.size(); ++from) {
        Bytes in(size + 1, 0xDD);
        const auto op = remote_op(LCI_OP_GET, from, size ? in.data() : nullptr, size, regions.of(from),
                                  place(world.rank()) + shift);
        EXPECT_EQ(LCI_DONE, finish(world, op, ended).code) << size << " " << lci_last_error();
        EXPECT_EQ(0xDD, in.back());
        in.pop_back();
        EXPECT_EQ(pattern(size, world.rank() + size), in);
      }
      world.barrier();
    }
    regions.close();
  }
}

// Proves: C4 C6 C16 C17 SS-27 SS-33
CONFORMANCE(C4, PutsAndGetsAtEverySize, {"rma", "auto"}) {
  puts_and_gets(world);
}
// Proves: C4 C6 C16 C17 SS-27 SS-33 SS-34
CONFORMANCE(C4, PutsAndGetsAtEverySizeByMessages, {"rma", "messages"}) {
  puts_and_gets(world);
}

/// What the caller learns of each operation, whatever carries it.
void statuses(World& world) {
  lci_comp* ended = world.queue();
  const uint64_t eager = lci_runtime_max_eager(world.runtime());
  uint64_t context = uint64_t{1} << 63;  // all 64 bits come back, those of the tag, too
  for (const RegionKind kind : kRegionKinds) {
    Regions regions(world, kind, 100'000);
    for (const uint64_t size : {uint64_t{0}, uint64_t{100}, eager + 1, uint64_t{100'000}}) {
      for (const uint8_t flags : {0, int{LCI_FLAG_SIGNAL}, int{LCI_FLAG_NO_RETRY}, int{LCI_FLAG_NETWORK}}) {
        for (const uint8_t kind_of_op : {LCI_OP_PUT, LCI_OP_GET}) {
          Bytes bytes(size + 1);
          lci_descriptor op = remote_op(kind_of_op, world.next(), bytes.data(), size, regions.of(world.next()), 0);
          op.flags |= flags;
          op.tag = ++context;
          op.user_context = ~context;
          const lci_status status = finish(world, op, ended);
          EXPECT_EQ(LCI_DONE, status.code) << lci_last_error();
          EXPECT_EQ(world.next(), status.rank);
          EXPECT_EQ(context, status.tag);
          EXPECT_EQ(bytes.data(), status.buffer) << size << ", flags " << int{flags};
          EXPECT_EQ(size, status.size);
          EXPECT_EQ(~context, status.user_context);
          EXPECT_EQ(0u, status.port);
        }
      }
    }
    regions.close();
  }
}

// Proves: C14 D15
CONFORMANCE(D15, StatusOfPutAndGet, {"rma", "auto"}) {
  statuses(world);
}
// Proves: C14 D15
CONFORMANCE(D15, StatusOfPutAndGetByMessages, {"rma", "messages"}) {
  statuses(world);
}

/// Inline payloads and packets are the caller's again at once, also when the put waits in the backlog: where messages
/// are used, more than may be under way are posted.
void short_forms(World& world) {
  constexpr uint32_t kInline = 300, kPackets = 8, kPlace = 8192;
  lci_comp* ended = world.queue(4096);
  Regions regions(world, RegionKind::kRegistered, (kInline + kPackets) * kPlace);
  const uint32_t eager = lci_runtime_max_eager(world.runtime());
  const auto size_of = [&](uint32_t i) { return i < kInline ? i % (LCI_INLINE_MAX + 1) : eager - i % 2; };
  std::vector<std::pair<uint64_t, void*>> packets(kPackets);
  for (auto& packet : packets) {
    world.until([&] { return lci_packet_get(world.device(), &packet.first, &packet.second) == LCI_DONE; });
  }
  uint64_t posted = 0;
  for (uint32_t i = 0; i < kInline + kPackets; ++i) {
    const Bytes bytes = pattern(size_of(i), world.rank() + i);
    lci_descriptor entries[1 + LCI_INLINE_MAX / 64] = {
        remote_op(LCI_OP_PUT, world.next(), nullptr, bytes.size(), regions.of(world.next()), uint64_t{i} * kPlace)};
    entries[0].flags = LCI_FLAG_NO_RETRY;
    void* payload = entries + 1;
    if (i >= kInline) {
      std::tie(entries[0].u.ref.address, payload) = packets[i - kInline];
      entries[0].flags |= LCI_FLAG_PACKET;
    }
    if (!bytes.empty()) std::memcpy(payload, bytes.data(), bytes.size());
    const int code = lci_post(world.device(), entries, ended, nullptr);
    ASSERT_LT(code, LCI_RETRY) << lci_code_name(code) << " " << lci_last_error();
    posted += code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
    std::memset(static_cast<void*>(entries), 0, sizeof entries);
  }
  for (uint64_t n = 0; n < posted; ++n) {
    const lci_status status = world.pop(ended);
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(nullptr, status.buffer) << status.size << " bytes";
  }
  world.barrier();
  for (uint32_t i = 0; i < kInline + kPackets; ++i) {
    const uint8_t* at = regions.mine() + i * kPlace;
    EXPECT_TRUE(holds(at, pattern(size_of(i), world.previous() + i))) << "put " << i;
    EXPECT_TRUE(untouched(at + size_of(i), kPlace - size_of(i))) << "put " << i;
  }
  regions.close();
}

// Proves: G1 G2 SS-27
CONFORMANCE(G1, InlineAndPacketPuts, {"rma", "auto"}) {
  short_forms(world);
}
// Proves: G1 G2 SS-27
CONFORMANCE(G1, InlineAndPacketPutsByMessages, {"rma", "messages"}) {
  short_forms(world);
}

}  // namespace
}  // namespace lci_test
