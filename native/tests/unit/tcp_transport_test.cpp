// SPDX-License-Identifier: Apache-2.0
// Ranks that reach each other by TCP over loopback: what the conformance tests do not look at.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "support/job.hpp"
#include "support/posting.hpp"
#include "support/statuses.hpp"

namespace lci_test {
namespace {

Attributes over_tcp(Attributes more = {}) {
  more.emplace_back("transport", "tcp");
  return more;
}

TEST(TcpTransport, IsSaidByTheRuntimeWithWhatFollowsFromIt) {
  Job job(2, over_tcp());
  EXPECT_EQ("tcp", attribute(job.runtime(0), "transport"));
  EXPECT_EQ("rings", attribute(job.runtime(0), "peer_memory"));
}

TEST(TcpTransport, RanksOfDifferentTransportsAreNotOfOneJob) {
  lci_inproc* inproc = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &inproc));
  std::array<int, 2> codes{};
  std::array<std::string, 2> texts;
  std::vector<std::thread> threads;
  for (const uint32_t rank : {0u, 1u}) {
    threads.emplace_back([&, rank] {
      lci_attrs* attrs = nullptr;
      ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
      ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "transport", rank == 0 ? "shm" : "tcp"));
      ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "peer_memory", "rings"));
      lci_runtime* runtime = nullptr;
      codes[rank] = lci_runtime_create(attrs, inproc, rank, &runtime);
      texts[rank] = lci_last_error();
      EXPECT_EQ(nullptr, runtime);
      lci_attrs_free(attrs);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(LCI_ERR_BOOTSTRAP, codes[rank]);
    EXPECT_NE(std::string::npos, texts[rank].find("transport")) << texts[rank];
  }
  lci_inproc_free(inproc);
}

TEST(TcpTransport, AnAddressThatIsNoneIsRefusedByName) {
  for (const auto& [address, code] : {std::pair{"localhost", LCI_ERR_ATTRIBUTE}, {"192.0.2.1", LCI_ERR_BOOTSTRAP}}) {
    lci_attrs* attrs = nullptr;
    ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
    ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "transport", "tcp"));
    ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "net_address", address));
    lci_runtime* runtime = nullptr;
    EXPECT_EQ(code, lci_runtime_create(attrs, nullptr, 0, &runtime)) << address;
    EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("net_address")) << lci_last_error();
    lci_attrs_free(attrs);
  }
}

// Proves: G12
// On: tcp
TEST(TcpTransport, MessagesOfEverySizeComeWholeBothWays) {
  Job job(2, over_tcp());
  std::array<lci_comp*, 2> inbox{}, ended{};
  for (const uint32_t rank : {0u, 1u}) {
    inbox[rank] = make_queue(job.runtime(rank));
    ended[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inbox[rank], 0, 0));
  }
  for (const uint32_t size : {0u, 1u, 8u, 32u, 33u, 92u, 192u, 193u, 4000u, 8128u, 8129u, 300'000u}) {
    for (const uint32_t from : {0u, 1u}) {
      const auto bytes = pattern(size, size + from);
      int code = LCI_RETRY;
      ASSERT_TRUE(until(job, [&] {
        code = lci_post_am(job.device(from), 1 - from, 5, size, bytes.data(), size, ended[from], 0);
        return !is_retry(code);
      }));
      ASSERT_LT(code, static_cast<int>(LCI_ERR_ARGUMENT)) << size << lci_last_error();
      lci_status sent{};
      if (code == LCI_POSTED) {
        ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended[from], &sent) == LCI_DONE; })) << size;
      }
      lci_status status{};
      ASSERT_TRUE(until(job, [&] { return lci_queue_pop(inbox[1 - from], &status) == LCI_DONE; })) << size;
      EXPECT_EQ(from, status.rank);
      EXPECT_EQ(size, status.tag);
      ASSERT_EQ(size, status.size);
      EXPECT_EQ(0, compare(status.buffer, bytes.data(), size)) << size;
      lci_buffer_free(status.buffer);
    }
  }
  job.check_ledgers();
}

// Many more than rings, windows and the bytes that are kept have room for.
TEST(TcpTransport, AStreamFasterThanItsReaderLosesNothing) {
  Job job(2, over_tcp({{"packets", "64"}, {"packets_max", "64"}}));
  lci_comp* inbox = make_queue(job.runtime(1), 65536);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 1000, 0));
  constexpr uint64_t kCount = 20'000;
  uint64_t sent = 0, seen = 0;
  std::vector<bool> came(kCount);
  ASSERT_TRUE(until(job,
                    [&] {
                      while (sent < kCount) {
                        const auto bytes = pattern(sent % 700, sent);
                        const int code = lci_post_am(job.device(0), 1, 5, sent, bytes.data(),
                                                     static_cast<uint32_t>(bytes.size()), nullptr, 0);
                        if (is_retry(code)) break;
                        EXPECT_EQ(LCI_DONE, code);
                        ++sent;
                      }
                      lci_status status{};
                      if (lci_queue_pop(inbox, &status) != LCI_DONE) return false;
                      EXPECT_LT(status.tag, kCount);
                      EXPECT_FALSE(came[status.tag]) << "twice";
                      came[status.tag] = true;
                      const auto bytes = pattern(status.tag % 700, status.tag);
                      EXPECT_EQ(bytes.size(), status.size);
                      EXPECT_EQ(0, compare(status.buffer, bytes.data(), bytes.size()));
                      lci_buffer_free(status.buffer);
                      return ++seen == kCount;
                    }))
      << sent << " sent, " << seen << " seen";
  job.check_ledgers();
}

// Rings grow to hundreds of times their size at first, and all comes in the order of the posts.
TEST(TcpTransport, MessagesComeInOrderWhileRingsGrow) {
  for (const char* most : {"4096", "8192", "1M"}) {
    Job job(2, over_tcp({{"ring_bytes", "4096"}, {"net_ring_bytes", most}}));
    lci_comp* inbox = make_queue(job.runtime(1), 65536);
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 10'000, 0));
    constexpr uint64_t kCount = 30'000;
    uint64_t sent = 0, seen = 0;
    ASSERT_TRUE(until(job,
                      [&] {
                        for (; sent < kCount; ++sent) {
                          const int code = lci_post_am(job.device(0), 1, 5, sent, &sent, sizeof sent, nullptr, 0);
                          if (is_retry(code)) break;
                          EXPECT_EQ(LCI_DONE, code);
                        }
                        lci_status status{};
                        while (lci_queue_pop(inbox, &status) == LCI_DONE) {
                          EXPECT_EQ(seen, status.tag);
                          ++seen;
                          lci_buffer_free(status.buffer);
                        }
                        return seen == kCount;
                      }))
        << sent << " sent, " << seen << " seen";
    job.check_ledgers();
  }
}

TEST(TcpTransport, LinksAreCountedWithTheirDevice) {
  Job job(2, over_tcp({{"devices", "2"}}));
  const auto count = [&](uint32_t device, const std::string& name) {
    uint64_t values[256];
    const uint32_t size = lci_runtime_snapshot_part(job.runtime(0), device, values, 256);
    for (uint32_t i = 0; i < size; ++i) {
      if (name == lci_counter_name(i)) return values[i];
    }
    ADD_FAILURE() << "no counter " << name;
    return uint64_t{0};
  };
  EXPECT_EQ(1u, count(0, "links_open")) << "to a neighbour, whatever is posted";
  EXPECT_EQ(0u, count(1, "links_open")) << "nobody has asked for one";
  EXPECT_EQ(0u, count(LCI_NO_DEVICE, "links_open"));
  EXPECT_EQ(1u, job.counter(0, "links_open"));
  lci_comp* const inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 0, 0));
  const uint64_t before = count(0, "net_messages_sent"), bytes = count(0, "net_bytes_sent");
  ASSERT_EQ(LCI_DONE, post_am(job, 0, 1, 5, 1, pattern(1000, 1)));
  lci_status status{};
  ASSERT_TRUE(until(job, [&] { return lci_queue_pop(inbox, &status) == LCI_DONE; }));
  lci_buffer_free(status.buffer);
  EXPECT_GT(count(0, "net_messages_sent"), before);
  EXPECT_GT(count(0, "net_bytes_sent"), bytes + 1000);
  EXPECT_EQ(0u, count(1, "net_bytes_sent"));
  std::thread leaver([&] { job.close(1, 60'000); });
  bool closed = false;
  for (const lci::test::Deadline deadline(60); !deadline.passed() && !closed;) {
    lci_progress(job.device(0));
    closed = count(0, "links_open") == 0;
  }
  leaver.join();
  EXPECT_TRUE(closed) << "the other rank has left";
}

/// For several looks at links over which nothing goes.
void be_quiet(Job& job) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
  ASSERT_TRUE(until(job, [&] { return std::chrono::steady_clock::now() > end; }));
}

// Each rank of six has four neighbours, and one rank that is none.
TEST(TcpTransport, AnIdleLinkIsClosedAndOpenedByTheNextMessage) {
  constexpr uint32_t kRanks = 6, kNeighbours = 4;
  Job job(kRanks, over_tcp({{"net_idle_ms", "1"}}));
  const auto open_links = [&](uint32_t rank) { return job.counter(rank, "links_open"); };
  std::array<lci_comp*, kRanks> inbox{};
  for (const uint32_t rank : {0u, 3u}) {
    inbox[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inbox[rank], 0, 0));
  }
  for (uint64_t round = 0; round < 6; ++round) {
    const uint32_t from = round % 2 ? 3 : 0, to = 3 - from;
    int code = LCI_RETRY;
    ASSERT_TRUE(until(job, [&] { return (code = post_am(job, from, to, 5, round, pattern(100, round))) == LCI_DONE; }));
    lci_status status{};
    ASSERT_TRUE(pop(job, inbox[to], &status));
    EXPECT_EQ(round, status.tag);
    lci_buffer_free(status.buffer);
    ASSERT_TRUE(until(job, [&] { return open_links(0) == kNeighbours && open_links(3) == kNeighbours; }))
        << open_links(0) << " links";
  }
  be_quiet(job);
  EXPECT_EQ(kNeighbours, open_links(0));
  EXPECT_EQ(kNeighbours, open_links(3));
  EXPECT_EQ(0u, job.counter(0, "links_resumed") + job.counter(0, "peers_failed"));
  job.close(3, 10'000);
  for (const uint32_t rank : {0u, 1u, 2u, 4u, 5u}) {
    EXPECT_TRUE(until(job, [&] { return job.counter(rank, "peers_left") == 1; })) << "rank " << rank;
  }
}

// Rank 0 of twelve keeps links to its neighbours 1, 2, 10 and 11. Ranks 3 to 9 have links to their own four neighbours.
TEST(TcpTransport, BeyondABoundTheLinkThatWasUsedLongestAgoIsClosed) {
  constexpr uint32_t kRanks = 12, kBound = 6, kNeighbours = 4;
  Job job(kRanks, over_tcp({{"net_links", std::to_string(kBound)}}));
  const auto open_links = [&](uint32_t rank) { return job.counter(rank, "links_open"); };
  std::array<lci_comp*, kRanks> inbox{};
  for (uint32_t rank = 3; rank < 10; ++rank) {
    inbox[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inbox[rank], 0, 0));
  }
  const auto tell = [&](uint32_t rank) {
    ASSERT_TRUE(until(job, [&] { return post_am(job, 0, rank, 5, rank, pattern(100, rank)) == LCI_DONE; }));
    lci_status status{};
    ASSERT_TRUE(pop(job, inbox[rank], &status)) << rank;
    EXPECT_EQ(rank, status.tag);
    lci_buffer_free(status.buffer);
  };
  // Should all come at the same look: of two that were quiet for as long, that to the higher rank goes first.
  for (const uint32_t rank : {4u, 3u, 5u}) {
    tell(rank);
    be_quiet(job);
  }
  EXPECT_TRUE(until(job, [&] { return open_links(0) == kBound; })) << open_links(0);
  EXPECT_EQ(kNeighbours + 1, open_links(3));
  EXPECT_EQ(kNeighbours, open_links(4));
  EXPECT_EQ(kNeighbours + 1, open_links(5));
  for (uint32_t rank = 3; rank < 10; ++rank) tell(rank);
  EXPECT_TRUE(until(job, [&] { return open_links(0) == kBound; })) << open_links(0);
  EXPECT_EQ(0u, job.counter(0, "links_resumed") + job.counter(0, "peers_failed"));
}

// Of twelve ranks, those four to which rank 0 had links from the beginning.
TEST(TcpTransport, ARankWhoseFirstNeighboursHaveLeftHearsOfOthers) {
  for (const char* idle_ms : {"0", "1"}) {
    Job job(12, over_tcp({{"net_idle_ms", idle_ms}}));
    uint32_t left = 0;
    for (const uint32_t leaver : {1u, 2u, 10u, 11u, 6u}) {
      job.close(leaver, 10'000);
      ++left;
      for (const uint32_t rank : {0u, 3u, 4u, 5u, 7u, 8u, 9u}) {
        ASSERT_TRUE(until(job, [&] { return job.counter(rank, "peers_left") == left; }))
            << "rank " << rank << " of rank " << leaver << ", with net_idle_ms=" << idle_ms;
      }
    }
  }
}

TEST(TcpTransport, BothWhoCallAtOnceGetOneLink) {
  for (int round = 0; round < 20; ++round) {
    Job job(3, over_tcp());
    std::array<lci_comp*, 3> inbox{};
    for (uint32_t rank = 0; rank < 3; ++rank) {
      inbox[rank] = make_queue(job.runtime(rank));
      ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inbox[rank], 0, 0));
    }
    uint32_t open = 0;
    for (uint32_t from = 0; from < 3; ++from) {
      for (uint32_t to = 0; to < 3; ++to) {
        if (from == to) continue;
        ASSERT_EQ(LCI_DONE, post_am(job, from, to, 5, from, pattern(8, from)));
        ++open;
      }
    }
    std::array<uint32_t, 3> came{};
    ASSERT_TRUE(until(job, [&] {
      for (uint32_t rank = 0; rank < 3; ++rank) {
        lci_status status{};
        if (lci_queue_pop(inbox[rank], &status) != LCI_DONE) continue;
        ++came[rank];
        lci_buffer_free(status.buffer);
      }
      return came[0] + came[1] + came[2] == open;
    }));
    EXPECT_EQ(2u, came[0]);
    for (uint32_t rank = 0; rank < 3; ++rank) EXPECT_EQ(0u, job.counter(rank, "peers_failed"));
    job.check_ledgers();
  }
}

TEST(TcpTransport, ARankThatLeavesIsReadToTheEnd) {
  Job job(2, over_tcp());
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 0, 0));
  for (uint64_t tag = 0; tag < 10; ++tag) ASSERT_EQ(LCI_DONE, post_am(job, 0, 1, 5, tag, pattern(3000, tag)));
  job.close(0, 5000);
  uint32_t came = 0;
  EXPECT_TRUE(until(job, [&] {
    lci_status status{};
    if (lci_queue_pop(inbox, &status) == LCI_DONE) {
      ++came;
      lci_buffer_free(status.buffer);
    }
    return job.counter(1, "peers_left") == 1 && came == 10;
  })) << came;
  EXPECT_EQ(0u, job.counter(1, "peers_failed"));
  EXPECT_EQ(LCI_ERR_PEER_LEFT, post_am(job, 1, 0, 5, 0, pattern(8, 0)));
}

// Each rank has a link to the next two; the others hear of a death from those.
TEST(TcpTransport, ADeathIsHeardByAllAndEndsWhatWaits) {
  constexpr uint32_t kRanks = 7;
  Job job(kRanks, over_tcp());
  std::array<lci_comp*, kRanks> ended{};
  std::array<std::array<uint8_t, 64>, kRanks> buffers{};
  for (uint32_t rank = 1; rank < kRanks; ++rank) {
    ended[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(rank), 0, 7, buffers[rank].data(), 64, ended[rank], rank, nullptr));
  }
  job.settle();
  job.close(0, 0);
  for (uint32_t rank = 1; rank < kRanks; ++rank) {
    lci_status status{};
    ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended[rank], &status) == LCI_DONE; })) << rank;
    EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code) << rank;
    EXPECT_EQ(0u, status.rank);
  }
  for (uint32_t rank = 1; rank < kRanks; ++rank) EXPECT_EQ(1u, job.counter(rank, "peers_failed")) << rank;
  // What they have still to say to ranks that have left is not waited for: the limit is an hour.
  for (uint32_t rank = 1; rank < kRanks; ++rank) job.close(rank, 3'600'000);
}

// Nobody looks at the links of a device whose loop is stuck: deaths are found all the same.
TEST(TcpTransport, ADeathIsHeardByARankThatDoesNotLookAtItsLinks) {
  Job job(3, over_tcp({{"devices", "2"}, {"net_dead_ms", "2000"}, {"net_reconnect_ms", "500"}}));
  uint64_t word = 0;
  lci_comp* const ended = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1, 1), 2, 7, &word, 8, ended, 0, nullptr));
  job.settle();
  job.close(2, 0);
  lci_status status{};
  for (const lci::test::Deadline deadline(60); !deadline.passed();) {
    lci_progress(job.device(1, 1));
    if (lci_queue_pop(ended, &status) == LCI_DONE) break;
  }
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
}

// What a user keeps never takes all that a link has room for. [X6]
TEST(TcpTransport, RetainedMessagesDoNotHoldUpOthers) {
  Job job(2, over_tcp({{"packets", "4096"}}));
  lci_comp* kept = make_queue(job.runtime(1));
  lci_comp* other = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_comp_zero_copy(kept)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", kept, 2000, 64 << 20));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 6, "", other, 0, 0));
  std::vector<lci_status> held;
  for (uint64_t tag = 0; tag < 1500; ++tag) {
    ASSERT_EQ(LCI_DONE, post_am(job, 0, 1, 5, tag, pattern(2000, tag)));
    lci_status status{};
    while (lci_queue_pop(kept, &status) == LCI_DONE) held.push_back(status);
  }
  ASSERT_EQ(LCI_DONE, post_am(job, 0, 1, 6, 1, pattern(2000, 1)));
  lci_status status{};
  EXPECT_TRUE(until(job, [&] { return lci_queue_pop(other, &status) == LCI_DONE; }));
  lci_buffer_free(status.buffer);
  ASSERT_TRUE(until(job, [&] {
    while (lci_queue_pop(kept, &status) == LCI_DONE) held.push_back(status);
    return held.size() == 1500;
  }));
  for (lci_status& each : held) {
    const auto bytes = pattern(2000, each.tag);
    EXPECT_EQ(0, compare(each.buffer, bytes.data(), bytes.size()));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(1), &each));
  }
  job.check_ledgers();
}

TEST(TcpTransport, ADeviceThatIsAddedGetsLinksOfItsOwn) {
  Job job(2, over_tcp());
  std::array<lci_device*, 2> added{};
  ASSERT_EQ(LCI_DONE, lci_device_add(job.runtime(0), &added[0]));
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", inbox, 0, 0));
  const auto post = [&] { return lci_post_am(added[0], 1, 5, 1, nullptr, 0, nullptr, 0); };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(LCI_RETRY_NOCREDIT, post());
    lci_progress(added[0]);
    job.progress();
  }
  ASSERT_EQ(LCI_DONE, lci_device_add(job.runtime(1), &added[1]));
  lci_status status{};
  bool posted = false;
  EXPECT_TRUE(until(job, [&] {
    for (lci_device* device : added) lci_progress(device);
    posted = posted || post() == LCI_DONE;
    return posted && lci_queue_pop(inbox, &status) == LCI_DONE;
  }));
  lci_buffer_free(status.buffer);
}

}  // namespace
}  // namespace lci_test
