// SPDX-License-Identifier: Apache-2.0
// Rows of ports that close while others send to them.
#include "conformance/remote.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kClosedPort = 6;

/// Messages and signals towards one port of the next rank.
class Flood {
 public:
  Flood(World& world, const Regions& regions, std::vector<uint32_t> sizes)
      : world_(world), regions_(regions), sizes_(std::move(sizes)), ended_(world.queue(65'536)), bytes_(40'000, 3) {}

  /// One attempt; false when the port is known to be closed.
  bool post() {
    lci_descriptor op = next();
    const int code = lci_post(world_.device(), &op, ended_, nullptr);
    EXPECT_TRUE(code < LCI_ERR_ARGUMENT || code == LCI_ERR_PORT_CLOSED) << lci_code_name(code) << lci_last_error();
    accepted_ += code == LCI_DONE;
    posted_ += code == LCI_POSTED;
    attempts_ += !is_retry(code);
    refused_ = is_retry(code);
    return code != LCI_ERR_PORT_CLOSED;
  }
  /// Waits for what was posted: ended with done, or because the port closed.
  void wait() {
    for (uint64_t n = 0; n < posted_; ++n) {
      const lci_status status = world_.pop(ended_);
      EXPECT_TRUE(status.code == LCI_DONE || status.code == LCI_ERR_PORT_CLOSED) << lci_code_name(status.code);
      accepted_ += status.code == LCI_DONE;
    }
    posted_ = 0;
  }
  /// Whether the last attempt is to be repeated.
  bool refused() const { return refused_; }
  uint64_t accepted() const { return accepted_; }

 private:
  lci_descriptor next() {
    const uint32_t to = world_.next(), size = sizes_[attempts_ % sizes_.size()];
    if (attempts_ % 3 == 0) return operation(LCI_OP_AM, to, kClosedPort, attempts_, bytes_.data(), size);
    const uint8_t kind = attempts_ % 3 == 1 ? LCI_OP_PUT : LCI_OP_GET;
    return remote_op(kind, to, bytes_.data(), size, regions_.of(to), 0, kClosedPort, attempts_ % 65'536);
  }

  World& world_;
  const Regions& regions_;
  const std::vector<uint32_t> sizes_;
  lci_comp* const ended_;
  Bytes bytes_;
  uint64_t attempts_ = 0, accepted_ = 0, posted_ = 0;
  bool refused_ = false;
};

uint64_t sum(const std::vector<Bytes>& all) {
  uint64_t sum = 0;
  for (const Bytes& bytes : all) {
    uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    sum += value;
  }
  return sum;
}

uint64_t sum_over_ranks(World& world, uint64_t mine) {
  Bytes bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  return sum(world.gather(bytes));
}

/// Every rank closes its port while the previous one sends as fast as it can, and opens it again.
void close_under_load(World& world, const std::vector<uint32_t>& sizes, bool exact) {
  constexpr uint64_t kBeforeClose = 40;
  lci_comp* inbox = world.queue(64);
  Regions regions(world, RegionKind::kRegistered, 40'000);
  Flood flood(world, regions, sizes);
  const uint64_t discarded = world.counter("discarded");
  uint64_t delivered = 0;
  const auto take = [&] {
    lci_status status{};
    if (lci_queue_pop(inbox, &status) != LCI_DONE) return;
    EXPECT_EQ(world.previous(), status.rank);
    if (status.buffer) lci_buffer_free(status.buffer);
    ++delivered;
  };
  for (int round = 0; round < 2; ++round) {
    const uint64_t before = delivered;
    bool open = true, flooding = true;
    world.open_port(kClosedPort, inbox, 32);
    world.barrier();
    if (round != 0) {  // it takes a message for a sender to learn that the port is open again
      world.until([&] { return flood.post(); });
    }
    world.until([&] {
      for (int i = 0; i < 8; ++i) {
        flooding = flooding && flood.post();
        if (!flooding || flood.refused()) break;
      }
      take();
      if (open && delivered - before >= kBeforeClose) {
        EXPECT_EQ(LCI_DONE, lci_port_close(world.runtime(), kClosedPort)) << lci_last_error();
        open = false;
      }
      return !open && !flooding;
    });
    flood.wait();
    world.barrier();
  }
  world.until([&] {  // what was under way is counted where it arrives
    take();
    return world.counter("sends_pending") == 0 && world.counter("packets_out") == 0;
  });
  world.barrier();
  for (int i = 0; i < 1000; ++i) world.progress();
  while (lci_queue_length(inbox) != 0) take();
  world.barrier();
  const uint64_t accepted = sum_over_ranks(world, flood.accepted());
  const uint64_t arrived = sum_over_ranks(world, delivered);
  const uint64_t lost = sum_over_ranks(world, world.counter("discarded") - discarded);
  EXPECT_LE(2 * kBeforeClose * world.size(), arrived);
  if (exact) {
    EXPECT_EQ(accepted, arrived + lost) << "each message that was accepted was delivered, or counted";
  } else {
    EXPECT_LE(accepted, arrived + lost);
  }
  regions.close();
}

// Proves: X13
CONFORMANCE(X13, ClosesUnderLoad, {"rma", "auto"}) {
  close_under_load(world, {0, 8, 300, 5000}, true);
}
// Proves: X13
CONFORMANCE(X13, ClosesUnderLoadByMessages, {"rma", "messages"}) {
  close_under_load(world, {0, 8, 300, 5000}, true);
}
// What is announced, or half of it there, when the port closes ends at its sender, and may count at both ranks.
// Proves: X13
CONFORMANCE(X13, ClosesUnderLongMessages, {"rma", "messages"}) {
  close_under_load(world, {20'000, 0, 40'000}, false);
}

}  // namespace
}  // namespace lci_test
