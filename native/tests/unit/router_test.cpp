// SPDX-License-Identifier: Apache-2.0
// Ranks on several hosts: by memory within a host, over TCP between hosts. Mutations that must make this file fail: see
// transport.tsv.
#include <gtest/gtest.h>

#include <thread>

#include "api/handles.hpp"
#include "runtime/runtime.hpp"
#include "support/job.hpp"
#include "support/posting.hpp"
#include "support/rma_job.hpp"
#include "support/statuses.hpp"
#include "transport/router.hpp"

namespace lci_test {
namespace {

/// Two ranks on each host.
Attributes in_pairs(Attributes more = {}) {
  more.emplace_back("ranks_per_host", "2");
  return more;
}

std::vector<lci_comp*> open_inboxes(Job& job) {
  std::vector<lci_comp*> inboxes;
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    inboxes.push_back(make_queue(job.runtime(rank)));
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(rank), 5, "", inboxes.back(), 0, 0));
  }
  return inboxes;
}

TEST(Router, IsChosenWhereItIsNeeded) {
  const auto chosen = [](uint32_t ranks, const char* per_host) {
    Job job(ranks, {{"ranks_per_host", per_host}});
    return attribute(job.runtime(0), "transport") + " " + attribute(job.runtime(0), "peer_memory");
  };
  EXPECT_EQ("shm all", chosen(4, "0"));
  EXPECT_EQ("shm all", chosen(4, "4"));
  EXPECT_EQ("routed all", chosen(4, "2"));
  EXPECT_EQ("routed all", chosen(3, "2"));
  EXPECT_EQ("tcp rings", chosen(3, "1"));
}

TEST(Router, MemoryIsNotSharedWithAnotherHost) {
  lci_inproc* inproc = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(3, &inproc));
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      lci_attrs* attrs = nullptr;
      ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
      ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "transport", "shm"));
      ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "ranks_per_host", "2"));
      lci_runtime* runtime = nullptr;
      EXPECT_EQ(LCI_ERR_BOOTSTRAP, lci_runtime_create(attrs, inproc, rank, &runtime));
      EXPECT_NE(std::string::npos, std::string(lci_last_error()).find("on another host")) << lci_last_error();
      EXPECT_EQ(rank == 2 ? 0 : 2, lci_last_error_rank());
      lci_attrs_free(attrs);
    });
  }
  for (auto& thread : threads) thread.join();
  lci_inproc_free(inproc);
}

// On whose host the receiver is makes no difference but in speed.
TEST(Router, MessagesOfEverySizeComeWholeFromEachToEach) {
  Job job(5, in_pairs());
  const auto inboxes = open_inboxes(job);
  for (const uint32_t size : {0u, 8u, 193u, 8128u, 8129u, 100'000u}) {
    for (uint32_t from = 0; from < job.size(); ++from) {
      for (uint32_t to = 0; to < job.size(); ++to) {
        const auto bytes = pattern(size, size + from);
        lci_comp* const ended = make_queue(job.runtime(from));
        const int code = post_am(job, from, to, 5, size, bytes, ended);
        ASSERT_TRUE(code == LCI_DONE || code == LCI_POSTED) << lci_last_error();
        lci_status status{};
        ASSERT_TRUE(until(job, [&] { return lci_queue_pop(inboxes[to], &status) == LCI_DONE; })) << from << " " << to;
        EXPECT_EQ(from, status.rank);
        ASSERT_EQ(size, status.size);
        EXPECT_EQ(0, compare(status.buffer, bytes.data(), size)) << from << " " << to;
        lci_buffer_free(status.buffer);
        if (code == LCI_POSTED) {
          ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended, &status) == LCI_DONE; })) << from << " " << to;
        }
      }
    }
  }
  job.check_ledgers();
}

// Within a host a put is a copy that is done at once, between hosts it travels.
TEST(Router, PutsWithinAHostAreCopies) {
  Job job(3, in_pairs());
  for (const uint32_t owner : {1u, 2u}) {
    const Allocated region(job.runtime(owner), 4096);
    const uint64_t remote = open_remote(job.runtime(0), owner, handle_of(region.memory));
    lci_comp* const ended = make_queue(job.runtime(0));
    const uint64_t value = 40 + owner;
    lci_descriptor put = remote_op(LCI_OP_PUT, owner, &value, 8, remote, 0);
    lci_status status{};
    int code = LCI_RETRY;
    ASSERT_TRUE(until(job, [&] { return !is_retry(code = lci_post(job.device(0), &put, ended, &status)); }));
    EXPECT_EQ(owner == 1 ? LCI_DONE : LCI_POSTED, code) << lci_last_error();
    if (code == LCI_POSTED) {
      ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended, &status) == LCI_DONE; }));
    }
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(0, compare(region.bytes_at, reinterpret_cast<const uint8_t*>(&value), 8));
  }
}

/// Each rank waits for a message of rank @p of; it ends in what is said of that rank.
void expect_heard(Job& job, uint32_t of, uint32_t timeout_ms, int code) {
  std::vector<lci_comp*> ended(job.size());
  std::vector<uint64_t> words(job.size());
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    if (rank == of) continue;
    ended[rank] = make_queue(job.runtime(rank));
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(rank), of, 7, &words[rank], 8, ended[rank], 0, nullptr));
  }
  job.settle();
  job.close(of, timeout_ms);
  for (uint32_t rank = 0; rank < job.size(); ++rank) {
    if (rank == of) continue;
    lci_status status{};
    ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended[rank], &status) == LCI_DONE; })) << rank;
    EXPECT_EQ(code, status.code) << rank;
    EXPECT_EQ(of, status.rank) << rank;
    EXPECT_EQ(code == LCI_ERR_PEER_FAILED ? 1u : 0u, job.counter(rank, "peers_failed")) << rank;
  }
}

// Also by ranks that have no link to the one that is gone, nor to any on its host.
TEST(Router, ADeathIsHeardOnAllHosts) {
  for (const uint32_t of : {0u, 3u, 8u}) {
    Job job(9, in_pairs());
    expect_heard(job, of, 0, LCI_ERR_PEER_FAILED);
  }
}

// A loop may be stuck, and with it the device that has the links: the other one of the host says it, of a rank that is
// not watched from here, and watches nobody here.
TEST(Router, ADeathIsHeardByARankThatDoesNotLookAtItsLinks) {
  Job job(8, in_pairs({{"devices", "2"}}));
  uint64_t word = 0;
  lci_comp* const ended = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1, 1), 4, 7, &word, 8, ended, 0, nullptr));
  job.settle();
  job.close(4, 0);
  lci_status status{};
  for (const lci::test::Deadline deadline(60); !deadline.passed();) {
    for (const uint32_t rank : {0u, 2u, 3u, 5u, 6u, 7u}) lci_progress(job.device(rank));
    lci_progress(job.device(1, 1));
    if (lci_queue_pop(ended, &status) == LCI_DONE) break;
  }
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
}

/// Rank @p rank finds by one of its ways that another one is gone.
void find_gone(Job& job, uint32_t rank, uint32_t gone, lci::RankState state) {
  // A private base, which only a cast of this kind reaches.
  auto& events = (lci::PeerEvents&)static_cast<lci::Router&>(job.runtime(rank)->runtime->transport());
  events.gone(gone, state);
}
void find_failed(Job& job, uint32_t rank, uint32_t failed) {
  find_gone(job, rank, failed, lci::RankState::kFailed);
}

// A host is cut off in one direction: the others count its ranks as failed one after another, and their words come.
TEST(Router, RanksOfAHostThatIsCutOffOneWayDoNotBelieveTheOthersOfEachOther) {
  Job job(4, in_pairs({{"net_dead_ms", "2000"}, {"net_reconnect_ms", "300"}}));
  const auto pass = [&] {
    for (const uint32_t rank : {0u, 1u, 3u}) lci_progress(job.device(rank));
  };
  find_failed(job, 0, 2);
  for (int i = 0; i < 2000; ++i) pass();
  EXPECT_EQ(1u, job.counter(0, "peers_failed"));
  EXPECT_EQ(1u, job.counter(1, "peers_failed")) << "ranks of a host see the same";
  EXPECT_EQ(0u, job.counter(3, "peers_failed")) << "a rank of its own host lives";
  // Of the two that call each other dead rank 0 is heard no more.
  for (const uint32_t rank : {0u, 1u}) find_failed(job, 3, rank);
  for (const lci::test::Deadline end(3); !end.passed();) pass();
  EXPECT_EQ(2u, job.counter(3, "peers_failed"));
  EXPECT_EQ(0u, job.counter(3, "fenced"));
}

TEST(Router, ARankOfItsOwnHostIsGivenUpIfOthersStayAndSayIt) {
  Job job(4, in_pairs({{"net_dead_ms", "2000"}, {"net_reconnect_ms", "300"}}));
  find_failed(job, 0, 2);
  EXPECT_TRUE(until(job, [&] { return job.counter(3, "peers_failed") == 1; }));
}

TEST(Router, ThatARankLeavesIsHeardOnAllHosts) {
  for (const uint32_t of : {1u, 4u}) {
    Job job(6, in_pairs());
    expect_heard(job, of, 5000, LCI_ERR_PEER_LEFT);
  }
}

// It says goodbye to other hosts, one of which says so here, before it does so on its own.
TEST(Router, ARankOfThisHostThatLeavesIsNotTakenForDeadWhenAnotherHostHearsItFirst) {
  Job job(4, in_pairs());
  find_gone(job, 0, 1, lci::RankState::kLeft);
  job.settle();
  EXPECT_EQ(0u, job.counter(0, "peers_failed") + job.counter(0, "peers_left"));
  job.close(1, 5000);
  EXPECT_TRUE(until(job, [&] { return job.counter(0, "peers_left") == 1; }));
  EXPECT_EQ(0u, job.counter(0, "peers_failed"));
}

// A rank tells its own host first that it leaves, and ranks there tell others: what it has said itself may be on its
// way.
TEST(Router, ThatARankOfAnotherHostLeavesIsHeardByItsLinkFirst) {
  Job job(4, in_pairs());
  find_gone(job, 0, 2, lci::RankState::kLeft);
  job.settle();
  EXPECT_EQ(0u, job.counter(0, "peers_failed") + job.counter(0, "peers_left"));
  job.close(2, 5000);
  EXPECT_TRUE(until(job, [&] { return job.counter(0, "peers_left") == 1; }));
  EXPECT_EQ(0u, job.counter(0, "peers_failed"));
}

// Two hosts go, and with them all to whom those of the other two had a link.
TEST(Router, WhoWasWatchedByTheDeadIsWatchedByOthers) {
  Job job(8, in_pairs({{"net_dead_ms", "2000"}, {"net_reconnect_ms", "500"}}));
  for (const uint32_t dead : {0u, 1u, 4u, 5u}) job.close(dead, 0);
  for (const uint32_t rank : {2u, 3u, 6u, 7u}) {
    ASSERT_TRUE(until(job, [&] { return job.counter(rank, "peers_failed") == 4; })) << rank;
  }
  job.settle();
  job.close(3, 0);
  for (const uint32_t rank : {2u, 6u, 7u}) {
    EXPECT_TRUE(until(job, [&] { return job.counter(rank, "peers_failed") == 5; })) << rank;
  }
}

TEST(Router, BarriersHaveAllHosts) {
  Job job(4, in_pairs());
  std::vector<lci_comp*> ended;
  for (uint32_t rank = 0; rank < job.size(); ++rank) ended.push_back(make_queue(job.runtime(rank)));
  for (int round = 0; round < 20; ++round) {
    for (uint32_t rank = 0; rank < job.size(); ++rank) {
      ASSERT_EQ(LCI_POSTED, lci_post_barrier(job.device(rank), ended[rank], 0)) << lci_last_error();
    }
    for (uint32_t rank = 0; rank < job.size(); ++rank) {
      lci_status status{};
      ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended[rank], &status) == LCI_DONE; })) << rank;
      EXPECT_EQ(LCI_DONE, status.code);
    }
  }
}

// How many barriers a rank has completed is known on other hosts. Rank 0 leaves when it is through, and rank 3 hears of
// that while it still waits for rank 1.
TEST(Router, ABarrierGoesOnWithoutWhoLeftBehindIt) {
  Job job(4, in_pairs());
  std::vector<lci_comp*> ended;
  for (uint32_t rank = 0; rank < job.size(); ++rank) ended.push_back(make_queue(job.runtime(rank)));
  for (const uint32_t rank : {1u, 2u, 3u, 0u}) {
    ASSERT_EQ(LCI_POSTED, lci_post_barrier(job.device(rank), ended[rank], 0)) << lci_last_error();
    lci_progress(job.device(rank));  // its first round is out
  }
  lci_status status{};
  status.code = LCI_RETRY;
  for (const lci::test::Deadline deadline(60); !deadline.passed();) {
    for (const uint32_t rank : {0u, 2u}) lci_progress(job.device(rank));
    if (lci_queue_pop(ended[0], &status) == LCI_DONE) break;
  }
  ASSERT_EQ(LCI_DONE, status.code);
  job.close(0, 5000);
  for (const lci::test::Deadline deadline(60); job.counter(3, "peers_left") == 0 && !deadline.passed();) {
    lci_progress(job.device(3));
  }
  EXPECT_EQ(0u, lci_queue_length(ended[3])) << "it waits for rank 1";
  for (const uint32_t rank : {1u, 2u, 3u}) {
    ASSERT_TRUE(until(job, [&] { return lci_queue_pop(ended[rank], &status) == LCI_DONE; })) << rank;
    EXPECT_EQ(LCI_DONE, status.code) << rank << " " << lci_code_name(status.code);
  }
}

}  // namespace
}  // namespace lci_test
