// SPDX-License-Identifier: Apache-2.0
// Put and get with signal: what the target's port gets, when, and what a refused signal leaves. [C5, C7, 2B-3, 2B-4,
// 2B-6, SS-35]
#include <random>

#include "support/rma_job.hpp"
#include "support/seeds.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;

class PutSignal : public ::testing::TestWithParam<const char*> {
 protected:
  static Attributes attributes() { return {{"rma", GetParam()}}; }
};
INSTANTIATE_TEST_SUITE_P(Ways, PutSignal, ::testing::Values("auto", "messages"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PutSignal, TheStatusNamesTheInitiatorAndHasNoBuffer) {
  for (const uint32_t ranks : {1u, 2u, 4u}) {
    Job job(ranks, attributes());
    const uint32_t owner = ranks - 1;
    lci_comp* told = make_queue(job.runtime(owner));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(owner), kPort, "", told, 8, 1 << 16));
    const Allocated region(job.runtime(owner), 1 << 20);
    for (uint32_t from = 0; from < ranks; ++from) {
      lci_comp* ended = make_queue(job.runtime(from));
      const uint64_t remote = open_remote(job.runtime(from), owner, handle_of(region.memory));
      for (const uint64_t size : {0u, 8u, 8117u, 100000u}) {
        for (const uint64_t tag : {0u, 1u, 65535u}) {
          const auto bytes = pattern(size, tag + from);
          std::vector<uint8_t> in(size);
          for (const uint8_t kind : {LCI_OP_PUT, LCI_OP_GET}) {
            void* local = kind == LCI_OP_PUT ? const_cast<uint8_t*>(bytes.data()) : in.data();
            ASSERT_EQ(LCI_DONE, complete(job, from, remote_op(kind, owner, local, size, remote, 3, kPort, tag), ended))
                << lci_last_error();
            lci_status status{};
            ASSERT_TRUE(pop(job, told, &status)) << size;
            EXPECT_EQ(LCI_DONE, status.code);
            EXPECT_EQ(from, status.rank);
            EXPECT_EQ(tag, status.tag);
            EXPECT_EQ(nullptr, status.buffer);
            EXPECT_EQ(0u, status.size);
            EXPECT_EQ(kPort, status.port);
            ASSERT_EQ(0, compare(region.bytes_at + 3, bytes.data(), size)) << "the signal came before the data";
          }
          EXPECT_EQ(bytes, in);
        }
      }
    }
    EXPECT_EQ(0u, lci_queue_length(told));
    ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(owner), kPort));
    job.check_ledgers();
  }
}

TEST_P(PutSignal, CountersAndHandlersAreSignalled) {
  Job job(2, attributes());
  lci_comp *counter = nullptr, *handler = nullptr, *ended = make_queue(job.runtime(0));
  struct Seen {
    uint64_t calls = 0;
    bool buffer = false;
  } seen;
  auto look = [](const lci_status* status, void* argument) {
    auto* what = static_cast<Seen*>(argument);
    ++what->calls;
    what->buffer = what->buffer || status->buffer || status->size != 0;
  };
  ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), look, &seen, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 1, "", counter, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 2, "", handler, 0, 0));
  const Allocated region(job.runtime(1), 64);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  uint64_t value = 1;
  for (uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(LCI_DONE,
              complete(job, 0, remote_op(i % 3 ? LCI_OP_PUT : LCI_OP_GET, 1, &value, 8, remote, 0, 1 + i % 2), ended));
  }
  job.settle();
  EXPECT_EQ(500u, lci_counter_get(counter));
  EXPECT_EQ(500u, seen.calls);
  EXPECT_FALSE(seen.buffer);
  job.check_ledgers();
}

// The port's first signal takes the announcement slot, the second is refused: not a byte of it is written.
TEST_P(PutSignal, ARefusedSignalLeavesNoTrace) {
  Job job(2, attributes());
  lci_comp *told = make_queue(job.runtime(1)), *ended = make_queue(job.runtime(0));
  const Allocated region(job.runtime(1), 128);
  std::memset(region.bytes_at, 0xEE, 128);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  std::vector<uint8_t> bytes(64, 1), in(64, 2);
  ASSERT_EQ(LCI_DONE, complete(job, 0, remote_op(LCI_OP_PUT, 1, bytes.data(), 64, remote, 0, kPort, 5), ended));
  lci_descriptor refused = remote_op(LCI_OP_PUT, 1, bytes.data(), 64, remote, 64, kPort, 6);
  lci_descriptor reading = remote_op(LCI_OP_GET, 1, in.data(), 64, remote, 0, kPort, 7);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(LCI_RETRY_NOCREDIT, lci_post(job.device(0), &refused, ended, nullptr));
    ASSERT_EQ(LCI_RETRY_NOCREDIT, lci_post(job.device(0), &reading, ended, nullptr));
    job.progress();
  }
  for (int i = 64; i < 128; ++i) ASSERT_EQ(0xEE, region.bytes_at[i]);
  EXPECT_EQ(std::vector<uint8_t>(64, 2), in);
  // Without retry it waits in the backlog, and comes when the port opens.
  refused.flags |= LCI_FLAG_NO_RETRY;
  EXPECT_EQ(LCI_POSTED_BACKLOG, lci_post(job.device(0), &refused, ended, nullptr)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", told, 4, 4096));
  lci_status status{};
  for (const uint64_t tag : {5u, 6u}) {
    ASSERT_TRUE(pop(job, told, &status));
    EXPECT_EQ(tag, status.tag);
  }
  ASSERT_TRUE(pop(job, ended, &status));
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(1, region.bytes_at[127]);
  job.check_ledgers();
}

// Credit is what bounds them: a reader that does not read stops its senders, and nothing is lost. [X2]
TEST_P(PutSignal, SignalsAreUnderThePortsCredit) {
  Job job(2, attributes());
  lci_comp *told = make_queue(job.runtime(1), 4), *ended = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", told, 4, 1 << 16));
  const Allocated region(job.runtime(1), 8);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  uint64_t sent = 0, received = 0, value = 0, most = 0;
  std::vector<bool> seen(1000);
  lci_status status{};
  for (int i = 0; i < 100000 && received < 1000; ++i) {
    value = sent;
    if (sent < 1000 && !is_retry(lci_post_put_signal(job.device(0), 1, &value, 8, remote, 0, kPort, sent, ended, 0))) {
      ++sent;
      while (std::string(GetParam()) == "messages" && lci_queue_pop(ended, &status) != LCI_DONE) job.progress();
    }
    job.progress();
    most = std::max(most, lci_queue_length(told));
    if (i % 7 == 0 && lci_queue_pop(told, &status) == LCI_DONE) {
      ASSERT_LT(status.tag, 1000u);
      EXPECT_FALSE(seen[status.tag]) << status.tag;  // in any order: an announced one may be overtaken
      seen[status.tag] = true;
      ++received;
    }
  }
  EXPECT_EQ(1000u, received);
  EXPECT_LE(most, 4u);
  EXPECT_EQ(0u, job.counter(1, "discarded"));
  job.check_ledgers();
}

// A port that closes refuses the signal; the data is there.
TEST_P(PutSignal, AClosedPortIsAnError) {
  Job job(2, attributes());
  lci_comp *told = make_queue(job.runtime(1)), *ended = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", told, 8, 4096));
  const Allocated region(job.runtime(1), 8);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  uint64_t value = 1;
  const lci_descriptor op = remote_op(LCI_OP_PUT, 1, &value, 8, remote, 0, kPort, 1);
  ASSERT_EQ(LCI_DONE, complete(job, 0, op, ended));
  job.settle();
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  job.settle();
  EXPECT_EQ(LCI_ERR_PORT_CLOSED, complete(job, 0, op, ended));
  lci_status status{};
  while (lci_queue_pop(told, &status) == LCI_DONE) {
  }
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", told, 8, 4096));
  job.settle();
  EXPECT_EQ(LCI_DONE, complete(job, 0, op, ended));
  EXPECT_TRUE(pop(job, told, &status));
  job.check_ledgers();
}

/// Random puts and gets of three ranks with signals, by both ways, under a seed; nothing is lost or comes twice.
void run_under_chaos(uint64_t seed, const char* mode) {
  constexpr uint64_t kPerRank = 150, kSlots = 64, kSlotBytes = 20000;
  const std::string plan = "seed=" + std::to_string(seed) + ",delay=0.3,ticks=12,refuse=0.15,short=0.2,stall=1@40x200";
  Job job(3, {{"rma", mode}, {"chaos", plan}, {"packets", "32"}, {"packets_max", "64"}, {"inbox_messages", "32"}});
  std::mt19937_64 random(seed);
  struct RankState {
    lci_comp *told = nullptr, *ended = nullptr;
    std::vector<Allocated> regions;  // one per initiator
    uint64_t sent = 0, posted = 0, signals = 0, expected_told = 0, was_told = 0;
    std::vector<std::vector<uint8_t>> sources;
    bool free_slot[kSlots];
  };
  std::vector<RankState> ranks(3);
  std::vector<std::vector<uint64_t>> remotes(3, std::vector<uint64_t>(3));
  for (uint32_t rank = 0; rank < 3; ++rank) {
    ranks[rank].told = make_queue(job.runtime(rank), 64);
    ranks[rank].ended = make_queue(job.runtime(rank), 65536);
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), kPort, "", ranks[rank].told, 32, 1 << 20));
    for (uint32_t from = 0; from < 3; ++from) ranks[rank].regions.emplace_back(job.runtime(rank), kSlots * kSlotBytes);
    ranks[rank].sources.assign(kSlots, {});
    std::fill(std::begin(ranks[rank].free_slot), std::end(ranks[rank].free_slot), true);
  }
  for (uint32_t from = 0; from < 3; ++from) {
    for (uint32_t to = 0; to < 3; ++to) {
      remotes[from][to] = open_remote(job.runtime(from), to, handle_of(ranks[to].regions[from].memory));
    }
  }
  uint64_t done = 0;
  for (int pass = 0; pass < 3'000'000 && done < 3; ++pass) {
    const auto rank = static_cast<uint32_t>(random() % 3);
    RankState& mine = ranks[rank];
    const uint64_t slot = random() % kSlots;
    if (mine.sent < kPerRank && mine.free_slot[slot]) {
      const auto to = static_cast<uint32_t>(random() % 3);
      const uint64_t sizes[] = {0, 8, 300, 8117, kSlotBytes};
      const uint64_t size = sizes[random() % 5];
      mine.sources[slot] = pattern(size, mine.sent);
      // The tag says where the data is; a seed in the first bytes, whether it is whole.
      lci_descriptor op =
          remote_op(LCI_OP_PUT, to, mine.sources[slot].data(), size, remotes[rank][to], slot * kSlotBytes, kPort, slot);
      op.user_context = slot;
      const int code = lci_post(job.device(rank), &op, mine.ended, nullptr);
      if (!is_retry(code)) {
        ASSERT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
        ++mine.sent;
        ++ranks[to].expected_told;
        mine.free_slot[slot] = false;  // until the target has looked at it
        if (code == LCI_POSTED) ++mine.posted;
      }
    }
    lci_progress(job.device(rank));
    lci_status status{};
    if (random() % 4 == 0 && lci_queue_pop(mine.told, &status) == LCI_DONE) {
      ASSERT_LT(status.tag, kSlots);
      RankState& from = ranks[status.rank];
      ASSERT_FALSE(from.free_slot[status.tag]) << "told twice";
      const auto& source = from.sources[status.tag];
      ASSERT_EQ(0, compare(mine.regions[status.rank].bytes_at + status.tag * kSlotBytes, source.data(), source.size()))
          << "told before the data was there";
      from.free_slot[status.tag] = true;
      ++mine.was_told;
    }
    while (lci_queue_pop(mine.ended, &status) == LCI_DONE) {
      EXPECT_EQ(LCI_DONE, status.code);
      ++mine.signals;
    }
    done = 0;
    for (const RankState& each : ranks) {
      done += each.sent == kPerRank && each.signals == each.posted && each.was_told == each.expected_told;
    }
  }
  EXPECT_EQ(3u, done);
  job.check_ledgers();
  EXPECT_GT(job.counter(0, "chaos_delayed") + job.counter(0, "chaos_refused"), 50u);
}

TEST_P(PutSignal, NothingIsLostUnderChaos) {
  for (const uint64_t seed : seeds(3, 200)) {
    SCOPED_TRACE(how_to_replay(seed));
    run_under_chaos(seed, GetParam());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lci_test
