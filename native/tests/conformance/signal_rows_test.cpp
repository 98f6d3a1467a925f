// SPDX-License-Identifier: Apache-2.0
// Rows of put and get with signal.
#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kSignalPort = 6;
constexpr uint64_t kTags[] = {0, 1, LCI_MAX_SIGNAL_TAG};

struct Operation {
  uint8_t kind;
  uint64_t size;
  uint64_t tag;
};

/// Every size, with the tags by turns; a put and then a get of the same place.
std::vector<Operation> operations(World& world) {
  std::vector<Operation> all;
  for (const uint64_t size : {uint64_t{0}, uint64_t{8}, uint64_t{65}, uint64_t{lci_runtime_max_eager(world.runtime())},
                              uint64_t{lci_runtime_max_eager(world.runtime())} + 1, uint64_t{100'000}}) {
    const uint64_t tag = kTags[all.size() / 2 % std::size(kTags)];
    for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) all.push_back({kind, size, tag});
  }
  return all;
}

/// Every rank signals every rank, itself included. A put is in place when its signal is there; what a get read may be
/// overwritten from then on.
void signals(World& world) {
  constexpr uint64_t kPlace = 100'000;
  lci_comp* ended = world.queue();
  lci_comp* told = world.queue();
  world.open_port(kSignalPort, told, 16);
  for (const RegionKind kind : kRegionKinds) {
    Regions regions(world, kind, world.size() * kPlace);
    for (const auto& [op_kind, size, tag] : operations(world)) {
      const bool put = op_kind == LCI_OP_PUT;
      std::vector<Bytes> local;
      uint64_t posted = 0;
      for (uint32_t to = 0; to < world.size(); ++to) {
        Bytes& bytes = local.emplace_back(put ? pattern(size, world.rank() + tag) : Bytes(size));
        lci_descriptor op =
            remote_op(op_kind, to, bytes.data(), size, regions.of(to), world.rank() * kPlace, kSignalPort, tag);
        lci_status done = LCI_STATUS_INIT;
        const int code = world.post(op, ended, &done);
        ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_code_name(code) << " " << lci_last_error();
        if (code == LCI_DONE) {
          EXPECT_EQ(op.user_context, done.user_context);
        }
        posted += code == LCI_POSTED;
      }
      std::vector<int> from(world.size());
      for (uint32_t n = 0; n < world.size(); ++n) {
        const lci_status status = world.pop(told);
        EXPECT_EQ(LCI_DONE, status.code);
        EXPECT_EQ(tag, status.tag);
        EXPECT_EQ(nullptr, status.buffer);
        EXPECT_EQ(0u, status.size);
        EXPECT_EQ(kSignalPort, status.port);
        EXPECT_EQ(0u, status.user_context);
        ASSERT_GT(world.size(), status.rank);
        ++from[status.rank];
        uint8_t* place = regions.mine() + status.rank * kPlace;
        if (put) {
          EXPECT_TRUE(holds(place, pattern(size, status.rank + tag))) << "told before the data was there";
        } else {
          std::fill_n(place, size, uint8_t{0xEE});
        }
      }
      EXPECT_EQ(std::vector<int>(world.size(), 1), from);
      for (; posted != 0; --posted) {
        const lci_status end = world.pop(ended);
        EXPECT_EQ(LCI_DONE, end.code);
        EXPECT_EQ(77u, end.user_context) << "what remote_op() gives";
      }
      for (const Bytes& bytes : local) EXPECT_EQ(pattern(size, world.rank() + tag), bytes) << "told before it was read";
      world.barrier();
    }
    regions.close();
  }
  EXPECT_EQ(0u, lci_queue_length(told));
  EXPECT_EQ(LCI_DONE, lci_port_close(world.runtime(), kSignalPort));
}

// Proves: C5 C7 C14 C15 C16 C17 D15 SS-35 SS-37
CONFORMANCE(C5, PutAndGetWithSignal, {"rma", "auto"}) {
  signals(world);
}
// Proves: C5 C7 C14 C15 C16 C17 D15 SS-35 SS-37
CONFORMANCE(C5, PutAndGetWithSignalByMessages, {"rma", "messages"}) {
  signals(world);
}

/// What a signal cannot carry is refused where it is posted; neither side notices anything else.
void limits(World& world) {
  lci_comp* ended = world.queue();
  lci_comp* told = world.queue();
  world.open_port(kSignalPort, told);
  Regions regions(world, RegionKind::kAllocated, 64);
  Bytes bytes(64, 1), expected = bytes;
  const auto answer = [&](uint8_t kind, uint32_t port, uint64_t tag) {
    lci_descriptor op = remote_op(kind, world.next(), bytes.data(), 64, regions.of(world.next()), 0, port, tag);
    return lci_post(world.device(), &op, ended, nullptr);
  };
  for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
    for (const uint64_t tag : {uint64_t{LCI_MAX_SIGNAL_TAG} + 1, uint64_t{1} << 32, ~uint64_t{0}}) {
      EXPECT_EQ(LCI_ERR_TAG, answer(kind, kSignalPort, tag));
    }
    EXPECT_EQ(LCI_ERR_PORT, answer(kind, LCI_MAX_PORT + 1, 0));
  }
  EXPECT_EQ(LCI_ERR_PORT, lci_post_put_signal(world.device(), world.next(), bytes.data(), 64, regions.of(world.next()),
                                              0, 0, 0, ended, 0));
  world.barrier();
  for (int i = 0; i < 100; ++i) world.progress();
  EXPECT_TRUE(untouched(regions.mine(), 64));
  EXPECT_EQ(expected, bytes);
  EXPECT_EQ(0u, lci_queue_length(told) + lci_queue_length(ended));
  regions.close();
}

// Proves: SS-35 C15
CONFORMANCE(SS35, WhatASignalCannotCarryIsRefused, {"rma", "auto"}) {
  limits(world);
}
// Proves: SS-35 C15
CONFORMANCE(SS35, WhatASignalCannotCarryIsRefusedByMessages, {"rma", "messages"}) {
  limits(world);
}

/// The receiver knows who it was, whatever the operation and its protocol.
void sources(World& world) {
  constexpr uint32_t kSizes[] = {8, 4000, 20'000};
  lci_comp* ended = world.queue();
  lci_comp* told = world.queue();
  lci_comp* received = world.queue();
  world.open_port(kSignalPort, told);
  Regions regions(world, RegionKind::kRegistered, 8 * world.size());  // 8 bytes for each rank
  Bytes in(kSizes[2]);
  for (const uint32_t size : kSizes) {
    const Bytes bytes(size, static_cast<uint8_t>(world.rank()));
    for (const uint8_t kind : {LCI_OP_AM, LCI_OP_PUT, LCI_OP_GET, LCI_OP_SEND}) {
      uint64_t posted = 0;
      for (uint32_t to = 0; to < world.size(); ++to) {
        lci_descriptor op =
            operation(kind, to, kind == LCI_OP_SEND ? 0 : kSignalPort, world.rank(), bytes.data(), size);
        if (kind == LCI_OP_SEND) op.policy = LCI_POLICY_TAG;
        if (kind == LCI_OP_PUT || kind == LCI_OP_GET) {
          op = remote_op(kind, to, in.data(), 8, regions.of(to), 8 * world.rank(), kSignalPort, world.rank());
        }
        posted += world.post(op, ended) == LCI_POSTED;
      }
      for (uint32_t from = 0; from < world.size(); ++from) {
        lci_status status{};
        if (kind == LCI_OP_SEND) {
          lci_descriptor op = operation(LCI_OP_RECV, LCI_ANY_SOURCE, 0, from, in.data(), size);
          if (world.post(op, received, &status) == LCI_POSTED) status = world.pop(received);
          EXPECT_EQ(in[0], status.rank);
        } else {
          status = world.pop(told);
        }
        EXPECT_EQ(status.tag, status.rank) << int{kind} << ", " << size << " bytes";
        if (status.buffer && kind == LCI_OP_AM) lci_buffer_free(status.buffer);
      }
      for (; posted != 0; --posted) world.pop(ended);
      world.barrier();
    }
  }
  regions.close();
}

// Proves: G11 SS-37
CONFORMANCE(G11, RankOfTheSource, {"rma", "auto"}) {
  sources(world);
}
// Proves: G11 SS-37
CONFORMANCE(G11, RankOfTheSourceByMessages, {"rma", "messages"}) {
  sources(world);
}

}  // namespace
}  // namespace lci_test
