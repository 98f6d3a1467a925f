// SPDX-License-Identifier: Apache-2.0
// Rows about the backlog: a rank that takes nothing holds up nobody else, and the order to it is kept.
#include <algorithm>
#include <map>

#include "conformance/world.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kSlow = 7, kFree = 8;
constexpr uint32_t kBound = 32;

bool in_backlog(int code) {
  return code == LCI_DONE_BACKLOG || code == LCI_POSTED_BACKLOG;
}

/// What a rank posts to the port that its neighbour has not opened yet.
struct Flood {
  uint64_t accepted = 0, posted = 0, waiting = 0;
};

/// Posts with retry disallowed until the backlog is full. Nothing progresses meanwhile.
Flood flood(World& world, lci_comp* ended) {
  Flood sum;
  for (;;) {
    uint64_t value = sum.accepted;
    lci_descriptor op = operation(LCI_OP_AM, world.next(), kSlow, sum.accepted, &value, sizeof value, sum.accepted);
    op.flags |= LCI_FLAG_NO_RETRY | (sum.accepted % 2 ? LCI_FLAG_SIGNAL : 0);
    const int code = lci_post(world.device(), &op, ended, nullptr);
    value = UINT64_MAX;  // what waits has a copy
    EXPECT_FALSE(is_retry(code)) << lci_code_name(code);
    if (code >= LCI_RETRY) {
      EXPECT_EQ(LCI_ERR_EXHAUSTED, code) << lci_last_error();
      return sum;
    }
    ++sum.accepted;
    sum.waiting += in_backlog(code);
    sum.posted += code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
  }
}

void send_freely(World& world, uint32_t to, uint32_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, to, kFree, i, &i, sizeof i), nullptr)) << lci_last_error();
  }
}

/// Expects the numbers 0..count-1 from the left neighbour, each once; in order, unless chaos puts them out of it.
void take_in_order(World& world, lci_comp* queue, uint64_t count) {
  std::vector<int> seen(count);
  for (uint64_t i = 0; i < count; ++i) {
    const lci_status status = world.pop(queue);
    ASSERT_GT(count, status.tag);
    ++seen[status.tag];
    uint64_t value = 0;
    ASSERT_EQ(sizeof value, status.size);
    std::memcpy(&value, status.buffer, sizeof value);
    EXPECT_EQ(status.tag, value);
    if (world.seed() == 0) {
      EXPECT_EQ(i, status.tag) << "one overtook another";
    }
    lci_buffer_free(status.buffer);
  }
  EXPECT_EQ(std::vector<int>(count, 1), seen);
}

// Proves: H2 H3 H13 H14 X9 SS-6
CONFORMANCE(X9, AFullBacklogHoldsUpNobodyElse, {"backlog_messages", "32"}) {
  constexpr uint32_t kOthers = 20;
  lci_comp* const slow = world.queue();
  lci_comp* const free = world.queue();
  lci_comp* const ended = world.queue();
  world.open_port(kFree, free);
  world.barrier();

  const Flood before = flood(world, ended);
  EXPECT_EQ(kBound, before.waiting);
  // To that rank, whatever may be refused is refused behind it, to any port and engine.
  uint64_t value = before.accepted;
  for (const uint8_t kind : {LCI_OP_AM, LCI_OP_SEND}) {
    lci_descriptor behind = operation(kind, world.next(), kind == LCI_OP_AM ? kFree : 0, 5, &value, sizeof value);
    const int code = lci_post(world.device(), &behind, nullptr, nullptr);
    EXPECT_TRUE(code == LCI_RETRY_BACKLOG || (world.seed() != 0 && is_retry(code))) << lci_code_name(code);
  }
  // Others, oneself and control are not held up.
  send_freely(world, world.rank(), kOthers);
  const bool third = world.previous() != world.next();
  if (third) send_freely(world, world.previous(), kOthers);
  for (uint32_t i = 0; i < kOthers * (third ? 2 : 1); ++i) lci_buffer_free(world.pop(free).buffer);
  world.barrier();

  world.open_port(kSlow, slow);
  // What is new comes after what waited.
  EXPECT_EQ(LCI_DONE, world.post(operation(LCI_OP_AM, world.next(), kSlow, value, &value, sizeof value), nullptr));
  const Bytes mine(1, static_cast<uint8_t>(before.accepted + 1));  // chaos may refuse even the first one
  take_in_order(world, slow, world.gather(mine)[world.previous()][0]);
  for (uint64_t i = 0; i < before.posted; ++i) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
  EXPECT_EQ(0u, lci_queue_length(ended)) << "one signal each";
}

/// What a handler posts at each end of a flood's message: one more to the slow port of every rank.
struct Follower {
  World* world;
  lci_comp* ended;
  uint64_t flooded, followed = 0, posted = 0;

  static void run(const lci_status* status, void* argument) {
    auto& self = *static_cast<Follower*>(argument);
    if (status->user_context >= self.flooded) return;
    for (uint32_t to = 0; to < self.world->size(); ++to) {
      uint64_t value = self.flooded + self.followed++;
      lci_descriptor op = operation(LCI_OP_AM, to, kSlow, value, &value, sizeof value, value);
      op.flags |= LCI_FLAG_NO_RETRY | LCI_FLAG_SIGNAL;
      const int code = lci_post(self.world->device(), &op, self.ended, nullptr);
      EXPECT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_code_name(code) << ' ' << lci_last_error();
      value = UINT64_MAX;
      ++self.posted;
    }
  }
};

// Handlers post into the backlog while it is served: to the rank that is being served and to others, behind what waits
// already; what they post is signalled once and arrives once.
// Proves: H13 SS-47
CONFORMANCE(H13, HandlersPostIntoTheBacklogThatIsServed, {"backlog_messages", "512"}) {
  constexpr uint64_t kFlood = 40;
  lci_comp* const slow = world.queue();
  lci_comp* signals = nullptr;
  ASSERT_EQ(LCI_DONE, lci_counter_create(world.runtime(), &signals));
  Follower follower{&world, signals, kFlood};
  lci_comp* handler = nullptr;
  ASSERT_EQ(LCI_DONE, lci_handler_create(world.runtime(), &Follower::run, &follower, &handler));
  for (uint64_t i = 0; i < kFlood; ++i) {
    uint64_t value = i;
    lci_descriptor op = operation(LCI_OP_AM, world.next(), kSlow, i, &value, sizeof value, i);
    op.flags |= LCI_FLAG_NO_RETRY | LCI_FLAG_SIGNAL;
    const int code = lci_post(world.device(), &op, handler, nullptr);
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_code_name(code) << ' ' << lci_last_error();
    value = UINT64_MAX;
  }
  EXPECT_LE(world.counter("backlog_depth"), kFlood + world.size());
  EXPECT_GE(world.counter("backlog_depth") + 1, kFlood) << "there is room for one announcement";
  world.barrier();
  world.open_port(kSlow, slow);

  // From each rank kFlood more for each of us; from our left neighbour the flood before them.
  std::map<uint32_t, std::vector<uint64_t>> came;
  for (uint64_t i = 0; i < kFlood + world.size() * kFlood; ++i) {
    const lci_status status = world.pop(slow);
    uint64_t value = 0;
    std::memcpy(&value, status.buffer, sizeof value);
    EXPECT_EQ(status.tag, value);
    came[status.rank].push_back(value);
    lci_buffer_free(status.buffer);
  }
  for (uint32_t from = 0; from < world.size(); ++from) {
    std::vector<uint64_t> expected;
    if (from == world.previous()) {
      for (uint64_t i = 0; i < kFlood; ++i) expected.push_back(i);
    }
    for (uint64_t i = 0; i < kFlood; ++i) expected.push_back(kFlood + i * world.size() + world.rank());
    if (world.seed() != 0) std::sort(came[from].begin(), came[from].end());
    EXPECT_EQ(expected, came[from]) << "of rank " << from;
  }
  world.until([&] { return lci_counter_get(signals) == kFlood * world.size(); });
  EXPECT_EQ(kFlood * world.size(), follower.posted);
}

// A put whose signal finds no room waits there as well; its bytes stay where they are until then.
// Proves: H13
CONFORMANCE(H13, PutsWaitInTheBacklog) {
  constexpr uint64_t kPuts = 6;
  lci_comp* const slow = world.queue();
  lci_comp* const ended = world.queue();
  const Allocated region(world.runtime(), kPuts * 8);
  const uint64_t remote =
      open_remote(world.runtime(), world.next(), world.gather(handle_of(region.memory))[world.next()]);
  uint64_t values[kPuts];
  uint64_t waiting = 0;
  for (uint64_t i = 0; i < kPuts; ++i) {
    values[i] = world.rank() * 100 + i;
    lci_descriptor put = remote_op(LCI_OP_PUT, world.next(), &values[i], 8, remote, i * 8, kSlow, i);
    put.flags |= LCI_FLAG_NO_RETRY | LCI_FLAG_SIGNAL;
    const int code = lci_post(world.device(), &put, ended, nullptr);
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_code_name(code) << ' ' << lci_last_error();
    waiting += code == LCI_POSTED_BACKLOG;
  }
  EXPECT_GE(waiting, kPuts - 1) << "there is room for one announcement";
  world.barrier();
  world.open_port(kSlow, slow);
  for (uint64_t i = 0; i < kPuts; ++i) {
    const lci_status arrived = world.pop(slow);
    EXPECT_EQ(world.previous(), arrived.rank);
    uint64_t value = 0;
    std::memcpy(&value, region.bytes_at + arrived.tag * 8, 8);
    EXPECT_EQ(world.previous() * 100 + arrived.tag, value) << "the data comes before its signal";
    EXPECT_EQ(LCI_DONE, world.pop(ended).code);
  }
  world.barrier();
  EXPECT_EQ(LCI_DONE, lci_remote_close(world.runtime(), remote));
  EXPECT_EQ(LCI_DONE, lci_memory_free(region.memory));
}

}  // namespace
}  // namespace lci_test
