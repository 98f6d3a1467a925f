// SPDX-License-Identifier: Apache-2.0
// Ranks whose connections are reset all the time, at any byte: nothing is lost, nothing comes twice, nobody is dead.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "support/job.hpp"
#include "support/posting.hpp"
#include "support/rma_job.hpp"
#include "support/statuses.hpp"

namespace lci_test {
namespace {

Attributes over_breaking_links(uint64_t seed, Attributes more = {}) {
  more.emplace_back("transport", "tcp");
  more.emplace_back("chaos", "seed=" + std::to_string(seed) + ",cut=0.2,short=0.5");
  return more;
}

uint64_t over_all(Job& job, const char* counter) {
  uint64_t sum = 0;
  for (uint32_t rank = 0; rank < job.size(); ++rank) sum += job.counter(rank, counter);
  return sum;
}

void check_that_links_broke_and_nobody_died(Job& job) {
  EXPECT_GT(over_all(job, "chaos_cut"), 0u);
  EXPECT_GT(over_all(job, "links_resumed"), 0u);
  EXPECT_EQ(0u, over_all(job, "peers_failed"));
}

class TcpResume : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, TcpResume, testing::Range<uint64_t>(1, 6));

TEST_P(TcpResume, MessagesOfEverySizeComeOnceBothWays) {
  Job job(2, over_breaking_links(GetParam()));
  constexpr uint64_t kMessages = 400;
  const auto size_of = [](uint64_t tag) { return tag % 50 == 0 ? 100'000 : tag * 37 % 9000; };
  std::array<lci_comp*, 2> inbox{}, ended{};
  for (const uint32_t rank : {0u, 1u}) {
    inbox[rank] = make_queue(job.runtime(rank));
    ended[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inbox[rank], 0, 0));
  }
  std::vector<std::vector<uint8_t>> kept;  // until all has ended
  std::array<std::set<uint64_t>, 2> came;
  uint64_t posted = 0;
  const auto take = [&](uint32_t rank) {
    lci_status status{};
    while (lci_queue_pop(inbox[rank], &status) == LCI_DONE) {
      const auto bytes = pattern(size_of(status.tag), status.tag + 1 - rank);
      EXPECT_TRUE(came[rank].insert(status.tag).second) << status.tag << " came twice";
      ASSERT_EQ(bytes.size(), status.size);
      EXPECT_EQ(0, compare(status.buffer, bytes.data(), bytes.size())) << status.tag;
      lci_buffer_free(status.buffer);
    }
    while (lci_queue_pop(ended[rank], &status) == LCI_DONE) {
      EXPECT_EQ(LCI_DONE, status.code);
      --posted;
    }
  };
  for (uint64_t tag = 0; tag < kMessages; ++tag) {
    for (const uint32_t from : {0u, 1u}) {
      kept.push_back(pattern(size_of(tag), tag + from));
      const int code = post_am(job, from, 1 - from, 5, tag, kept.back(), ended[from]);
      ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
      posted += code == LCI_POSTED;
      take(0);
      take(1);
    }
  }
  EXPECT_TRUE(until(job,
                    [&] {
                      take(0);
                      take(1);
                      return posted == 0 && came[0].size() == kMessages && came[1].size() == kMessages;
                    }))
      << posted << " open, " << came[0].size() << " and " << came[1].size() << " came";
  job.check_ledgers();
  check_that_links_broke_and_nobody_died(job);
}

// Sent twice, an addition would count twice.
// Of six ranks each has one that is no neighbour: these two speak, in bursts, each at a time of its own.
TEST_P(TcpResume, LinksThatRestLoseNothing) {
  Job job(6, over_breaking_links(GetParam(), {{"net_idle_ms", "1"}}));
  std::minstd_rand random(static_cast<uint32_t>(GetParam()));
  std::array<lci_comp*, 6> inbox{};
  std::array<std::set<uint64_t>, 6> came;
  std::array<uint64_t, 6> posted{};
  for (uint32_t rank = 0; rank < 6; ++rank) {
    inbox[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inbox[rank], 0, 0));
  }
  const auto take_all = [&] {
    for (uint32_t rank = 0; rank < 6; ++rank) {
      for (lci_status status{}; lci_queue_pop(inbox[rank], &status) == LCI_DONE; lci_buffer_free(status.buffer)) {
        EXPECT_TRUE(came[rank].insert(status.tag).second) << status.tag << " came twice";
      }
    }
  };
  for (int burst = 0; burst < 8; ++burst) {
    const auto rank = static_cast<uint32_t>(random() % 6);
    for (auto count = 1 + random() % 20; count > 0; --count) {
      const uint32_t to = (rank + 3) % 6;
      if (post_am(job, rank, to, 5, posted[to], pattern(random() % 500, 0)) == LCI_DONE) ++posted[to];
    }
    const uint64_t until_ns = lci::now_ns() + random() % 200 * 1'000'000;
    while (lci::now_ns() < until_ns) {
      job.progress();
      take_all();
    }
  }
  const auto all_came = [&] {
    take_all();
    for (uint32_t rank = 0; rank < 6; ++rank) {
      if (came[rank].size() != posted[rank]) return false;
    }
    return true;
  };
  EXPECT_TRUE(until(job, all_came));
  check_that_links_broke_and_nobody_died(job);
}

TEST_P(TcpResume, AdditionsCountOnce) {
  Job job(3, over_breaking_links(GetParam()));
  const Allocated word(job.runtime(0), 8);
  std::memset(word.bytes_at, 0, 8);
  std::array<lci_comp*, 3> ended{};
  std::array<uint64_t, 3> remote{};
  for (const uint32_t rank : {1u, 2u}) {
    ended[rank] = make_queue(job.runtime(rank));
    remote[rank] = open_remote(job.runtime(rank), 0, handle_of(word.memory));
  }
  constexpr uint64_t kAdditions = 500;
  std::set<uint64_t> before;
  for (uint64_t i = 0; i < kAdditions; ++i) {
    for (const uint32_t rank : {1u, 2u}) {
      uint64_t value = 0;
      ASSERT_EQ(LCI_DONE,
                complete(job, rank, atomic_op(LCI_ATOMIC_ADD, 0, 1, 0, remote[rank], 0), ended[rank], &value));
      EXPECT_TRUE(before.insert(value).second) << value;
    }
  }
  uint64_t sum = 0;
  std::memcpy(&sum, word.bytes_at, 8);
  EXPECT_EQ(2 * kAdditions, sum);
  check_that_links_broke_and_nobody_died(job);
  ASSERT_EQ(LCI_DONE, lci_memory_free(word.memory));
}

/// Rank 0 leaves, while the others make passes: rank 1 gets all @p messages that were posted to its @p inbox, then
/// hears that it left.
void check_that_it_is_read_to_the_end(Job& job, lci_comp* inbox, uint32_t messages, const std::function<void()>& pass) {
  std::atomic<bool> has_left{false};
  std::thread leaver([&] {
    job.close(0, 60'000);
    has_left = true;
  });
  uint32_t came = 0;
  bool left = false;
  for (const lci::test::Deadline deadline(30); !deadline.passed() && !(has_left && left && came == messages);) {
    pass();
    lci_status status{};
    if (lci_queue_pop(inbox, &status) == LCI_DONE) {
      ++came;
      lci_buffer_free(status.buffer);
    }
    left = job.counter(1, "peers_left") == 1;
  }
  EXPECT_TRUE(has_left) << "it waits for its limit";
  leaver.join();
  EXPECT_EQ(messages, came);
  EXPECT_TRUE(left);
  EXPECT_EQ(0u, job.counter(1, "peers_failed"));
}

// Also if a connection breaks over the last words of it.
// Sealed as well: a piece that waits for room here is with the system of neither.
TEST_P(TcpResume, ARankThatLeavesIsReadToTheEnd) {
  for (uint64_t round = 0; round < 20; ++round) {
    const char* const security = round % 2 == 0 ? "auth" : "sealed";
    SCOPED_TRACE(security);
    Job job(2, over_breaking_links(100 * GetParam() + round / 2, {{"net_security", security}}));
    lci_comp* const inbox = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 0, 0));
    for (uint64_t tag = 0; tag < 30; ++tag) ASSERT_EQ(LCI_DONE, post_am(job, 0, 1, 5, tag, pattern(3000, tag)));
    check_that_it_is_read_to_the_end(job, inbox, 30, [&] { lci_progress(job.device(1)); });
  }
}

// A third one hears the goodbye first, and says so, while the link over which the rest comes is broken.
TEST_P(TcpResume, ARankThatLeavesIsReadToTheEndWhoeverSaysThatItLeft) {
  for (uint64_t round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    Job job(3, over_breaking_links(100 * GetParam() + round));
    lci_comp* const inbox = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 0, 0));
    for (uint64_t tag = 0; tag < 100; ++tag) ASSERT_EQ(LCI_DONE, post_am(job, 0, 1, 5, tag, pattern(3000, tag)));
    check_that_it_is_read_to_the_end(job, inbox, 100, [&] {
      lci_progress(job.device(1));
      for (int i = 0; i < 10; ++i) lci_progress(job.device(2));
    });
    EXPECT_EQ(0u, job.counter(2, "peers_failed"));
  }
}

// The goodbye over the link of one device is read while that of the other one is broken.
TEST_P(TcpResume, ARankThatLeavesIsReadToTheEndOverTheLinkOfEachDevice) {
  constexpr uint32_t kMessages = 40, kDevices = 2;
  for (uint64_t round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    Job job(2, over_breaking_links(100 * GetParam() + round, {{"devices", std::to_string(kDevices)}}));
    lci_comp* const inbox = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 0, 0));
    const auto pass = [&](uint32_t rank) {
      for (uint32_t index = 0; index < kDevices; ++index) lci_progress(job.device(rank, index));
    };
    const auto bytes = pattern(3000, round);
    for (uint32_t posted = 0; posted < kMessages;) {
      lci_device* const device = job.device(0, posted % kDevices);
      const int code = lci_post_am(device, 1, 5, posted, bytes.data(), 3000, nullptr, 0);
      pass(0);
      pass(1);
      if (is_retry(code)) continue;
      ASSERT_EQ(LCI_DONE, code);
      ++posted;
    }
    check_that_it_is_read_to_the_end(job, inbox, kMessages, [&] { pass(1); });
  }
}

// Nobody is left who would call but the two that leave.
TEST_P(TcpResume, TwoThatLeaveAtOnceDoNotWaitForTheirLimit) {
  for (uint64_t round = 0; round < 5; ++round) {
    Job job(2, over_breaking_links(1000 * GetParam() + round));
    for (const uint32_t rank : {0u, 1u}) {
      ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", make_queue(job.runtime(rank)), 0, 0));
    }
    for (const uint32_t from : {0u, 1u}) {
      for (uint64_t tag = 0; tag < 20; ++tag) {
        ASSERT_EQ(LCI_DONE, post_am(job, from, 1 - from, 5, tag, pattern(500, tag)));
      }
    }
    std::thread leaver([&] { job.close(0, 3'600'000); });
    job.close(1, 3'600'000);
    leaver.join();
  }
}

TEST_P(TcpResume, ADeathIsStillADeath) {
  Job job(3, over_breaking_links(GetParam()));
  lci_comp* const ended = make_queue(job.runtime(1));
  uint64_t word = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 7, &word, 8, ended, 0, nullptr));
  job.settle();
  job.close(0, 0);
  lci_status status{};
  ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended, &status) == LCI_DONE; }));
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
  EXPECT_TRUE(until(job, [&] { return job.counter(2, "peers_failed") == 1; }));
  EXPECT_EQ(1u, job.counter(1, "peers_failed"));
}

}  // namespace
}  // namespace lci_test
