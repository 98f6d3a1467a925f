// SPDX-License-Identifier: Apache-2.0
// Rows of lists of buffers, for put and get.
#include <numeric>

#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kListPort = 6;

/// A list that goes to, or comes from, several regions, from the last place to the first.
struct List {
  List(const std::vector<uint64_t>& sizes, Bytes& local, const std::vector<uint64_t>& regions, uint64_t gap) {
    uint64_t at = 0, there = 0;
    for (const uint64_t size : sizes) {
      buffers.push_back({size == 0 ? nullptr : local.data() + at, size});
      places.push_back({regions[places.size() % regions.size()], there});
      at += size;
      there += size + gap;
    }
    std::reverse(buffers.begin(), buffers.end());
    std::reverse(places.begin(), places.end());
  }
  lci_descriptor op(uint8_t kind, uint32_t rank) const {
    lci_descriptor op = remote_op(kind, rank, buffers.data(), 0, reinterpret_cast<uint64_t>(places.data()), 0);
    op.flags |= LCI_FLAG_LIST;
    op.u.ref.count = buffers.size();
    return op;
  }
  void forget() {
    std::fill(buffers.begin(), buffers.end(), lci_buffer{reinterpret_cast<void*>(8), 1});
    std::fill(places.begin(), places.end(), lci_place{1, ~uint64_t{0}});
  }
  std::vector<lci_buffer> buffers;
  std::vector<lci_place> places;
};

const std::vector<std::vector<uint64_t>> kShapes = {
    {0}, {0, 0, 0}, {8}, {1, 2, 3}, {0, 9000, 0}, {20'000, 1, 30'000}, std::vector<uint64_t>(20, 33)};

constexpr struct {
  uint8_t flags;
  uint32_t port;
} kWays[] = {{0, 0}, {LCI_FLAG_SIGNAL, kListPort}, {LCI_FLAG_NO_RETRY, kListPort}};

/// Parts of several regions of a peer, with and without signal; the list itself is gone when the post returns.
void lists(World& world) {
  constexpr uint64_t kGap = 5, kBytes = 60'000;
  lci_comp* ended = world.queue();
  lci_comp* told = world.queue();
  world.open_port(kListPort, told, 16);
  Regions one(world, RegionKind::kAllocated, kBytes), two(world, RegionKind::kRegistered, kBytes);
  Regions* const both[] = {&one, &two};
  uint64_t tag = 0;
  for (const auto& shape : kShapes) {
    const uint64_t size = std::accumulate(shape.begin(), shape.end(), uint64_t{0});
    for (const auto& [flags, port] : kWays) {
      ++tag;
      for (Regions* each : both) std::fill_n(each->mine(), kBytes, uint8_t{0xEE});
      world.barrier();
      for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
        Bytes local = kind == LCI_OP_PUT ? pattern(size, world.rank() + tag) : Bytes(size);
        List list(shape, local, {one.of(world.next()), two.of(world.next())}, kGap);
        lci_descriptor op = list.op(kind, world.next());
        op.flags |= flags;
        op.port = static_cast<uint16_t>(port);
        op.tag = tag;
        lci_status status{};
        const int code = world.post(op, ended, &status);
        list.forget();
        ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_last_error();
        EXPECT_TRUE(code != LCI_DONE || !(flags & LCI_FLAG_SIGNAL));
        if (code != LCI_DONE) status = world.pop(ended);
        EXPECT_EQ(LCI_DONE, status.code);
        EXPECT_EQ(size, status.size);
        EXPECT_EQ(nullptr, status.buffer);
        EXPECT_EQ(77u, status.user_context);
        EXPECT_EQ(pattern(size, world.rank() + tag), local);
        if (port != 0) {  // once for all parts, and after them
          const lci_status signal = world.pop(told);
          EXPECT_EQ(world.previous(), signal.rank);
          EXPECT_EQ(tag, signal.tag);
        }
        if (port == 0) world.barrier();
        const Bytes expected = pattern(size, world.previous() + tag);
        uint64_t at = 0, there = 0;
        for (size_t part = 0; part < shape.size(); ++part) {
          const uint8_t* place = both[part % 2]->mine() + there;
          EXPECT_EQ(0, compare(place, expected.data() + at, shape[part])) << "part " << part;
          EXPECT_TRUE(untouched(place + shape[part], kGap)) << "behind part " << part;
          at += shape[part];
          there += shape[part] + kGap;
        }
        world.barrier();
      }
    }
  }
  EXPECT_EQ(0u, lci_queue_length(told) + lci_queue_length(ended));
  two.close();
  one.close();
}

// Mutation: rma_lose_part.
// Proves: C13
CONFORMANCE(C13, ListsOfPutAndGet, {"rma", "auto"}) {
  lists(world);
}
// Proves: C13
CONFORMANCE(C13, ListsOfPutAndGetByMessages, {"rma", "messages"}) {
  lists(world);
}

/// One part that is wrong, and nothing of the list moves.
void bad_lists(World& world) {
  lci_comp* ended = world.queue();
  Regions good(world, RegionKind::kAllocated, 64), gone(world, RegionKind::kRegistered, 64);
  gone.close();
  Regions others(world, RegionKind::kAllocated, 64);
  Bytes local(192, 1);
  const uint32_t peer = world.next();
  const auto answer = [&](uint8_t kind, const auto& change) {
    List list({8, 8, 8}, local, {good.of(peer), good.of(peer), good.of(peer)}, 0);
    lci_descriptor op = list.op(kind, peer);
    change(list, op);
    return finish(world, op, ended).code;
  };
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    EXPECT_EQ(LCI_ERR_SIZE, answer(kind, [](List& list, auto&) { list.places[2].displacement = 57; }));
    EXPECT_EQ(LCI_ERR_SIZE, answer(kind, [](List& list, auto&) { list.buffers[2].size = ~uint64_t{0}; }));
    EXPECT_EQ(LCI_ERR_SIZE, answer(kind, [](List& list, auto&) {
                list.buffers[2].size = 0;  // no bytes, but beyond the end all the same
                list.places[2].displacement = 65;
              }));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(kind, [&](List& list, auto&) { list.places[2].remote = gone.of(peer); }));
    EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, answer(kind, [&](List& list, auto&) { list.places[2].remote = 0; }));
    EXPECT_EQ(LCI_ERR_RANK, answer(kind, [&](List& list, auto&) { list.places[2].remote = others.of(world.rank()); }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](List& list, auto&) { list.buffers[2].address = nullptr; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.u.ref.count = 0; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.u.ref.count = LCI_MAX_LIST + 1; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.u.ref.address = 0; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.u.ref.remote = 0; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.u.ref.displacement = 8; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.size = 24; }));
    EXPECT_EQ(LCI_ERR_ARGUMENT, answer(kind, [](auto&, lci_descriptor& op) { op.flags = LCI_FLAG_LIST; }));
  }
  world.barrier();
  EXPECT_TRUE(untouched(good.mine(), 64) && untouched(others.mine(), 64));
  EXPECT_EQ(Bytes(192, 1), local);
  others.close();
  good.close();
}

// Proves: C13
CONFORMANCE(C13, BadListsMoveNothing, {"rma", "auto"}) {
  bad_lists(world);
}
// Proves: C13
CONFORMANCE(C13, BadListsMoveNothingByMessages, {"rma", "messages"}) {
  bad_lists(world);
}

}  // namespace
}  // namespace lci_test
