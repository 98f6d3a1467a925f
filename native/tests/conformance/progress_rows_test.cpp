// SPDX-License-Identifier: Apache-2.0
// Rows about progress: what it serves, that control goes out whatever is full, and that order is the user's affair.
#include "conformance/world.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kPort = 7;

/// A barrier over device 0, for which nothing else is progressed.
void barrier_of_first_device(World& world, lci_comp* ended) {
  lci_descriptor op{};
  op.op = LCI_OP_BARRIER;
  ASSERT_EQ(LCI_POSTED, lci_post(world.device(0), &op, ended, nullptr)) << lci_last_error();
  const lci::test::Deadline end(30);
  for (lci_status status{}; lci_queue_pop(ended, &status) != LCI_DONE;) {
    ASSERT_FALSE(end.passed());
    if (lci_progress(world.device(0)) != LCI_DONE) std::this_thread::yield();
  }
}

// Progress serves the device that it is given, and nothing progresses by itself.
// Proves: SS-53
CONFORMANCE(SS_53, ProgressServesItsDeviceAlone, {"devices", "2"}) {
  lci_comp* const inbox = world.queue();
  lci_comp* const ended = world.queue();
  world.open_port(kPort, inbox);
  world.barrier();
  barrier_of_first_device(world, ended);  // all have left the barrier in which both devices were progressed
  // With retry disallowed nothing has to be progressed for it to be accepted.
  uint64_t value = world.rank();
  lci_descriptor op = operation(LCI_OP_AM, world.next(), kPort, 1, &value, sizeof value);
  op.flags |= LCI_FLAG_NO_RETRY;
  const int code = lci_post(world.device(1), &op, nullptr, nullptr);
  EXPECT_TRUE(code == LCI_DONE || code == LCI_DONE_BACKLOG) << lci_code_name(code);
  for (int i = 0; i < 3; ++i) barrier_of_first_device(world, ended);
  EXPECT_EQ(0u, lci_queue_length(inbox)) << "it came over a device that nobody progresses";
  barrier_of_first_device(world, ended);  // nobody starts with the other device before all have looked
  const lci_status status = world.pop(inbox);
  EXPECT_EQ(world.previous(), status.rank);
  lci_buffer_free(status.buffer);
}

// Rings of 64 slots are full of messages while a hundred rendezvous are pending each way: all of it ends.
// Proves: H8
CONFORMANCE(H8, RendezvousEndWhileRingsAreFull, {"ring_bytes", "4096"}, {"control_ring_bytes", "4096"},
            {"packets", "8"}, {"packets_max", "8"}) {
  constexpr uint32_t kRendezvous = 100, kSize = 20'000;
  uint64_t arrived = 0;
  lci_comp* handler = nullptr;
  const auto count = [](const lci_status*, void* argument) { ++*static_cast<uint64_t*>(argument); };
  ASSERT_EQ(LCI_DONE, lci_handler_create(world.runtime(), count, &arrived, &handler));
  lci_comp* const ended = world.queue();
  world.open_port(kPort, handler);
  std::vector<Bytes> in(kRendezvous, Bytes(kSize)), out;
  for (uint32_t i = 0; i < kRendezvous; ++i) {
    out.push_back(pattern(kSize, world.rank() * 1000 + i));
    EXPECT_EQ(LCI_POSTED, world.post(operation(LCI_OP_RECV, world.previous(), 0, i, in[i].data(), kSize), ended));
  }
  world.barrier();
  uint64_t flooded = 0, full = 0;
  const auto flood = [&] {
    for (int i = 0; i < 200; ++i) {
      lci_descriptor op = operation(LCI_OP_AM, world.next(), kPort, 0, &flooded, sizeof flooded);
      const int code = lci_post(world.device(), &op, nullptr, nullptr);
      EXPECT_TRUE(code == LCI_DONE || is_retry(code)) << lci_code_name(code);
      flooded += code == LCI_DONE;
      full += code == LCI_RETRY_NOMEM;
      if (code != LCI_DONE) return;
    }
  };
  for (uint32_t i = 0; i < kRendezvous; ++i) {
    EXPECT_EQ(LCI_POSTED, world.post(operation(LCI_OP_SEND, world.next(), 0, i, out[i].data(), kSize), ended));
    flood();
  }
  uint32_t over = 0;
  world.until([&] {
    flood();
    for (lci_status status{}; lci_queue_pop(ended, &status) == LCI_DONE; ++over) EXPECT_EQ(LCI_DONE, status.code);
    return over == 2 * kRendezvous && full != 0;
  });
  for (uint32_t i = 0; i < kRendezvous; ++i) EXPECT_EQ(pattern(kSize, world.previous() * 1000 + i), in[i]) << i;
  Bytes mine(sizeof flooded);
  std::memcpy(mine.data(), &flooded, sizeof flooded);
  const Bytes theirs = world.gather(mine)[world.previous()];
  uint64_t expected = 0;
  std::memcpy(&expected, theirs.data(), sizeof expected);
  world.until([&] { return arrived == expected; });
}

/// One rank's part in a broadcast round the ring, piece by piece; who needs their order asks for it by their numbers.
void broadcast(World& world, uint32_t root, std::vector<Bytes>& pieces) {
  lci_comp* const received = world.queue();
  lci_comp* const sent = world.queue();
  lci_in_order in{root, 0}, out{root, 0};
  uint32_t posted = 0;
  for (Bytes& piece : pieces) {
    const auto size = static_cast<uint32_t>(piece.size());
    if (world.rank() != root) {
      lci_status status{};
      const auto receive = operation(LCI_OP_RECV, world.previous(), 0, lci_in_order_tag(&in), piece.data(), size);
      if (world.post(receive, received, &status) == LCI_POSTED) status = world.pop(received);
      ASSERT_EQ(LCI_DONE, status.code);
    }
    if (world.next() == root) continue;
    const auto send = operation(LCI_OP_SEND, world.next(), 0, lci_in_order_tag(&out), piece.data(), size);
    posted += world.post(send, sent) == LCI_POSTED;
  }
  for (uint32_t i = 0; i < posted; ++i) EXPECT_EQ(LCI_DONE, world.pop(sent).code);
}

// Short, packet and rendezvous messages in turn: they overtake each other, and the broadcast is right.
// Proves: SS-11
CONFORMANCE(SS_11, ABroadcastInPiecesKeepsItsOrder) {
  constexpr uint32_t kPieces = 60, kSizes[] = {16, 3000, 20'000};
  for (uint32_t root = 0; root < world.size(); ++root) {
    std::vector<Bytes> pieces, expected;
    for (uint32_t i = 0; i < kPieces; ++i) {
      expected.push_back(pattern(kSizes[i % 3], root * 100 + i));
      pieces.emplace_back(expected[i].size());
    }
    if (world.rank() == root) pieces = expected;
    broadcast(world, root, pieces);
    for (uint32_t i = 0; i < kPieces; ++i) EXPECT_EQ(expected[i], pieces[i]) << "piece " << i << ", root " << root;
  }
  if (world.seed() == 0) return;
  Bytes mine(1, world.counter("chaos_reordered") != 0);
  uint32_t reordering = 0;
  for (const Bytes& theirs : world.gather(mine)) reordering += theirs[0];
  EXPECT_NE(0u, reordering) << "nothing was put out of order";
}

}  // namespace
}  // namespace lci_test
