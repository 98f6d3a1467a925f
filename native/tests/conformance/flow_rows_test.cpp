// SPDX-License-Identifier: Apache-2.0
// Rows of area X: what goes on while inboxes are full, and what becomes of messages to a port that closes.
#include "conformance/world.hpp"
#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kFull = 7, kServed = 8;

/// Sends to a port that nobody serves: what it has room for, and then until it has refused 200 times on end.
/// @return how many it took.
uint64_t fill(World& world, uint64_t room, const Bytes& bytes) {
  uint64_t accepted = 0;
  int refused = 0;
  world.until([&] {
    lci_descriptor op = operation(LCI_OP_AM, world.next(), kFull, accepted, bytes.data(), bytes.size());
    const int code = lci_post(world.device(), &op, nullptr, nullptr);
    EXPECT_TRUE(code == LCI_DONE || is_retry(code)) << lci_code_name(code) << ' ' << lci_last_error();
    accepted += code == LCI_DONE;
    refused = code == LCI_DONE ? 0 : refused + 1;
    return accepted >= room && refused >= 200;
  });
  return accepted;
}

void take(World& world, lci_comp* queue, uint64_t count, const Bytes& bytes) {
  for (uint64_t i = 0; i < count; ++i) {
    const lci_status status = world.pop(queue);
    EXPECT_EQ(world.previous(), status.rank);
    ASSERT_EQ(bytes.size(), status.size);
    EXPECT_EQ(0, compare(bytes.data(), status.buffer, status.size));
    lci_buffer_free(status.buffer);
  }
}

uint64_t number_of(const Bytes& bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

/// Sends @p count messages to the served port of the right neighbour, and takes as many from the left one.
void exchange(World& world, lci_comp* served, uint64_t count, const Bytes& bytes) {
  uint64_t sent = 0, taken = 0;
  world.until([&] {
    lci_descriptor op = operation(LCI_OP_AM, world.next(), kServed, sent, bytes.data(), bytes.size());
    if (sent < count) sent += lci_post(world.device(), &op, nullptr, nullptr) == LCI_DONE;
    lci_status status{};
    if (lci_queue_pop(served, &status) == LCI_DONE) {
      lci_buffer_free(status.buffer);
      ++taken;
    }
    return sent == count && taken == count;
  });
}

/// A barrier, while @p turn serves what the world does not know of.
template <typename Turn>
void barrier_with(World& world, lci_comp* ended, Turn turn) {
  lci_descriptor op{};
  op.op = LCI_OP_BARRIER;
  EXPECT_EQ(LCI_POSTED, world.post(op, ended));
  lci_status status{};
  world.until([&] { return turn(), lci_queue_pop(ended, &status) == LCI_DONE; });
  EXPECT_EQ(LCI_DONE, status.code);
}

/// What the left neighbour says that it sent.
uint64_t sent_by_previous(World& world, uint64_t mine) {
  Bytes bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  return number_of(world.gather(bytes)[world.previous()]);
}

// All inboxes are full. Barriers, a rendezvous and its data, and the credits of another port move all the same.
// Proves: X1
CONFORMANCE(X1, ControlMovesWhileInboxesAreFull, {"ring_bytes", "8192"}, {"control_ring_bytes", "4096"}) {
  lci_comp* const full = world.queue();
  lci_comp* const served = world.queue();
  lci_comp* const ended = world.queue();
  world.open_port(kFull, full, 16);
  world.open_port(kServed, served, 2);
  Bytes in(300'000);
  const Bytes out = pattern(in.size(), world.rank()), small = pattern(100, 3);
  EXPECT_EQ(LCI_POSTED, world.post(operation(LCI_OP_RECV, world.previous(), 0, 1, in.data(), in.size(), 1), ended));
  world.barrier();
  const uint64_t expected = sent_by_previous(world, fill(world, 16, small));

  for (int i = 0; i < 3; ++i) world.barrier();
  EXPECT_EQ(LCI_POSTED, world.post(operation(LCI_OP_SEND, world.next(), 0, 1, out.data(), out.size(), 2), ended));
  EXPECT_EQ(3u, world.pop(ended).user_context + world.pop(ended).user_context);
  EXPECT_EQ(pattern(in.size(), world.previous()), in);
  exchange(world, served, 50, small);  // more than the port has room for: each needs credit that comes back
  world.barrier();
  take(world, full, expected, small);
}

// An inbox keeps more than the sender has packets: they come back although nobody takes what they brought.
// Proves: X6
CONFORMANCE(X6, AFullInboxKeepsNoPackets, {"packets", "24"}, {"packets_max", "24"}) {
  constexpr uint32_t kRoom = 64;
  lci_comp* const full = world.queue();
  lci_comp* const served = world.queue();
  world.open_port(kFull, full, kRoom);
  world.open_port(kServed, served);
  world.barrier();
  const Bytes bytes = pattern(4000, 5);
  const uint64_t expected = sent_by_previous(world, fill(world, 25, bytes));
  world.until([&] { return world.counter("packets_out") <= 1; });  // the one that is announced
  exchange(world, served, 30, bytes);                              // so everybody else goes on
  world.barrier();
  take(world, full, expected, bytes);
}

// A lane's port closes under full load: each message that was accepted is recorded, or counted as discarded with what
// was stored beyond the demand; and the sender hears. Proves: X13
CONFORMANCE(X13, ACloseOfALanesPortLosesCountOfNothing, {"devices", "2"}) {
  lci_comp* const ended = world.queue();
  uint64_t accepted = 0, recorded = 0;
  {
    LaneDriver lane(world.runtime(), 1);
    const uint32_t index = lane.open(kFull, 64, 1 << 20);
    lane.demand(index).requested = 200;
    const uint64_t before = world.counter("discarded");
    world.barrier();
    bool open = true, told = false;
    const auto turn = [&] {
      lane.enter();
      lane.read([&](const lci_record& record) { recorded += record.kind == LCI_RECORD_MESSAGE; });
      if (open && recorded == 200 && lane.demand(index).depth >= 20) {
        open = false;
        EXPECT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), index)) << lci_last_error();
      }
    };
    world.until([&] {
      lci_descriptor* const posted = told ? nullptr : &lane.add_am(world.next(), kFull, 0, accepted);
      turn();
      if (posted) {
        EXPECT_TRUE(posted->outcome == LCI_DONE || is_retry(posted->outcome) || posted->outcome == LCI_ERR_PORT_CLOSED);
        accepted += posted->outcome == LCI_DONE;
        told = posted->outcome == LCI_ERR_PORT_CLOSED;
      }
      return told && !open;
    });
    // The neighbour may need this lane until it is told as well: serve it while the numbers go round.
    barrier_with(world, ended, turn);
    const uint64_t expected = sent_by_previous(world, accepted);
    world.until([&] {
      turn();
      return recorded + world.counter("discarded") - before >= expected;
    });
    barrier_with(world, ended, turn);
    EXPECT_EQ(expected, recorded + world.counter("discarded") - before);
    EXPECT_LT(200u, expected);
  }
}

}  // namespace
}  // namespace lci_test
