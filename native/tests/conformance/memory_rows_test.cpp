// SPDX-License-Identifier: Apache-2.0
// Rows of regions and their handles.
#include "conformance/remote.hpp"

namespace lci_test {
namespace {

/// Registers memory of this rank in several ways at once; peers use each of them through each device.
void registrations(World& world) {
  constexpr uint64_t kBytes = 9000;
  constexpr struct {
    uint64_t at, size;
  } kRanges[] = {{0, kBytes}, {0, kBytes}, {100, 4000}, {2000, 4000}, {8999, 1}, {300, 0}};
  constexpr uint32_t kWays = std::size(kRanges) + 1;  // and null
  lci_comp* ended = world.queue();
  const Allocated arena(world.runtime(), kBytes);
  Bytes heap(kBytes);
  for (uint8_t* memory : {heap.data(), arena.bytes_at}) {
    std::fill_n(memory, kBytes, uint8_t{0xEE});
    const uint64_t before = world.counter("memory_regions");
    std::vector<std::unique_ptr<Registered>> registered;
    Bytes handles;
    for (const auto& [at, size] : kRanges) {
      registered.push_back(std::make_unique<Registered>(world.runtime(), memory + at, size));
    }
    registered.push_back(std::make_unique<Registered>(world.runtime(), nullptr, 0));
    EXPECT_EQ(before + kWays, world.counter("memory_regions"));
    for (const auto& each : registered) {
      const Bytes handle = handle_of(each->memory);
      handles.insert(handles.end(), handle.begin(), handle.end());
    }
    const Bytes theirs = world.gather(handles)[world.next()];
    for (uint32_t way = 0; way < kWays; ++way) {
      const Bytes handle(theirs.begin() + way * LCI_MEMORY_HANDLE_SIZE,
                         theirs.begin() + (way + 1) * LCI_MEMORY_HANDLE_SIZE);
      const auto [at, size] = way < kWays - 1 ? kRanges[way] : kRanges[kWays - 2];
      uint64_t id = 0, opened = 77;
      ASSERT_EQ(LCI_DONE, lci_remote_open(world.runtime(), world.next(), handle.data(), handle.size(), &id, &opened))
          << lci_last_error();
      EXPECT_EQ(size, opened);
      const Bytes bytes = pattern(size, way);
      Bytes in(size);
      const uint32_t device = way % 2;
      EXPECT_EQ(LCI_DONE,
                finish(world, remote_op(LCI_OP_PUT, world.next(), bytes.data(), size, id, 0), ended, device).code)
          << lci_last_error();
      EXPECT_EQ(LCI_DONE,
                finish(world, remote_op(LCI_OP_GET, world.next(), in.data(), size, id, 0), ended, 1 - device).code);
      EXPECT_EQ(bytes, in);
      world.barrier();
      EXPECT_TRUE(holds(memory + at, bytes)) << "way " << way;
      EXPECT_EQ(LCI_ERR_SIZE, finish(world, remote_op(LCI_OP_PUT, world.next(), heap.data(), 1, id, size), ended).code);
      EXPECT_EQ(LCI_DONE, lci_remote_close(world.runtime(), id));
      world.barrier();
    }
    // One of several ends; the others live on. Parts of registered memory are sent as any other. [B3]
    registered[1].reset();
    const auto op = operation(LCI_OP_SEND, world.rank(), 0, 5, memory + 1000, 7000);
    Bytes in(7000);
    ASSERT_EQ(LCI_POSTED, world.post(operation(LCI_OP_RECV, world.rank(), 0, 5, in.data(), 7000), ended));
    EXPECT_EQ(LCI_DONE, world.post(op, ended));
    EXPECT_EQ(7000u, world.pop(ended).size);
    EXPECT_TRUE(holds(memory + 1000, in));
    registered.clear();
    EXPECT_EQ(before, world.counter("memory_regions"));
    world.barrier();
  }
  EXPECT_EQ(LCI_DONE, lci_memory_free(arena.memory)) << lci_last_error();
}

// Proves: B3 SS-31
CONFORMANCE(B3, RegistrationsNestRepeatAndMayBeEmpty, {"rma", "auto"}, {"devices", "2"}) {
  registrations(world);
}
// Proves: B3 SS-31
CONFORMANCE(B3, RegistrationsNestRepeatAndMayBeEmptyByMessages, {"rma", "messages"}, {"devices", "2"}) {
  registrations(world);
}

/// Handles travel as bytes; displacements count from the start of what was registered, wherever that begins.
void handles(World& world) {
  constexpr uint64_t kBytes = 10'001;
  lci_comp* ended = world.queue();
  for (const uint64_t before : {0u, 1u, 4097u}) {
    Regions regions(world, before == 0 ? RegionKind::kAllocated : RegionKind::kRegistered, kBytes, before);
    for (uint32_t rank = 0; rank < world.size(); ++rank) {
      const Bytes copy(regions.handle(rank));  // a second id for the same region
      uint64_t id = 0, size = 0;
      ASSERT_EQ(LCI_DONE, lci_remote_open(world.runtime(), rank, copy.data(), copy.size(), &id, &size));
      EXPECT_EQ(kBytes, size);
      EXPECT_NE(regions.of(rank), id);
      EXPECT_EQ(LCI_DONE, lci_remote_close(world.runtime(), id));
    }
    const uint64_t third = kBytes / 3;
    const uint64_t places[] = {0, third, kBytes - 8};
    for (const uint64_t place : places) {
      const uint64_t value = 0x0101010101010101ull * (1 + world.rank());
      EXPECT_EQ(
          LCI_DONE,
          finish(world, remote_op(LCI_OP_PUT, world.next(), &value, 8, regions.of(world.next()), place), ended).code)
          << lci_last_error();
    }
    world.barrier();
    for (const uint64_t place : places) {
      EXPECT_TRUE(holds(regions.mine() + place, Bytes(8, static_cast<uint8_t>(1 + world.previous())))) << place;
    }
    EXPECT_TRUE(untouched(regions.mine() + 8, third - 8));
    EXPECT_TRUE(untouched(regions.mine() + third + 8, kBytes - 16 - third));
    for (const uint64_t place : {kBytes - 7, kBytes, uint64_t{1} << 32, ~uint64_t{0}}) {
      uint64_t value = 0;
      for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
        EXPECT_EQ(LCI_ERR_SIZE,
                  finish(world, remote_op(kind, world.next(), &value, 8, regions.of(world.next()), place), ended).code);
      }
    }
    regions.close();
    Bytes gone = regions.handle(world.next());
    uint64_t id = 0;
    world.barrier();
    int code = lci_remote_open(world.runtime(), world.next(), gone.data(), gone.size(), &id, nullptr);
    if (world.peers_read_rings_only() || world.is_far(world.next())) {  // who is asked says so
      ASSERT_EQ(LCI_DONE, code) << lci_last_error();
      uint64_t value = 0;
      code = finish(world, remote_op(LCI_OP_PUT, world.next(), &value, 8, id, 0), ended).code;
      EXPECT_EQ(LCI_DONE, lci_remote_close(world.runtime(), id));
    }
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, code);
    world.barrier();
  }
}

// Proves: B4 B5 SS-33
CONFORMANCE(B4, HandlesAndDisplacements, {"rma", "auto"}) {
  handles(world);
}
// Proves: B4 B5 SS-33
CONFORMANCE(B4, HandlesAndDisplacementsByMessages, {"rma", "messages"}) {
  handles(world);
}

/// Local buffers need no registration, and leave none behind: not when they are refused or fail, and on neither side.
void unregistered(World& world) {
  constexpr uint64_t kBytes = 100'000;
  lci_comp* ended = world.queue();
  lci_comp* inbox = world.queue();
  Regions regions(world, RegionKind::kRegistered, kBytes);
  world.open_port(6, inbox);
  world.barrier();
  const uint64_t before = world.counter("memory_regions"), allocated = world.counter("memory_allocated");
  const auto same = [&] {
    EXPECT_EQ(before, world.counter("memory_regions"));
    EXPECT_EQ(allocated, world.counter("memory_allocated"));
  };
  Bytes out = pattern(kBytes, world.rank()), in(kBytes);
  for (int round = 0; round < 3; ++round) {  // rendezvous of both kinds
    ASSERT_EQ(LCI_POSTED, world.post(operation(LCI_OP_RECV, world.previous(), 0, 5, in.data(), kBytes), ended));
    EXPECT_EQ(LCI_POSTED, world.post(operation(LCI_OP_SEND, world.next(), 0, 5, out.data(), kBytes), ended));
    EXPECT_EQ(LCI_POSTED, world.post(operation(LCI_OP_AM, world.next(), 6, 5, out.data(), kBytes), ended));
    for (int n = 0; n < 3; ++n) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
    const lci_status arrival = world.pop(inbox);
    EXPECT_TRUE(arrival.size == kBytes && compare(arrival.buffer, in.data(), kBytes) == 0);
    lci_buffer_free(arrival.buffer);
    same();
  }
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    const auto op = [&](uint64_t size) {
      return remote_op(kind, world.next(), in.data(), size, regions.of(world.next()), 0);
    };
    EXPECT_EQ(LCI_DONE, finish(world, op(kBytes), ended).code) << lci_last_error();
    EXPECT_EQ(LCI_ERR_SIZE, finish(world, op(kBytes + 1), ended).code);
    same();
    uint64_t posted = 0;  // until it is refused, where messages are used
    for (int n = 0; n < 300; ++n) {
      lci_descriptor attempt = op(kBytes);
      const int code = lci_post(world.device(), &attempt, ended, nullptr);
      EXPECT_TRUE(code == LCI_DONE || code == LCI_POSTED || is_retry(code)) << lci_last_error();
      posted += code == LCI_POSTED;
    }
    same();
    for (; posted != 0; --posted) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
    same();
  }
  regions.close();
}

// Proves: B6 SS-28
CONFORMANCE(B6, LocalBuffersNeedNoRegistration, {"rma", "auto"}) {
  unregistered(world);
}
// Proves: B6 SS-28
CONFORMANCE(B6, LocalBuffersNeedNoRegistrationByMessages, {"rma", "messages"}) {
  unregistered(world);
}

}  // namespace
}  // namespace lci_test
