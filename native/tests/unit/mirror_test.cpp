// SPDX-License-Identifier: Apache-2.0
// The seam of transports: a device against a mirror of its peer, played by a link that is a queue of bytes, whatever a
// rank may read of its peer (attribute peer_memory). See ADR 0010.
#include <array>

#include "rma/memory_handle.hpp"
#include "support/byte_link.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

template <typename Post>
int until_taken(LinkedRanks& ranks, Post post) {
  int code = LCI_RETRY;
  for (int i = 0; i < 200000 && is_retry(code); ++i) {
    code = post();
    if (is_retry(code)) ranks.progress();
  }
  return code;
}

bool pop(LinkedRanks& ranks, lci_comp* queue, lci_status* out) {
  for (int i = 0; i < 200000; ++i) {
    if (lci_queue_pop(queue, out) == LCI_DONE) return true;
    ranks.progress();
  }
  return false;
}

/// Nothing is out, and nobody was blamed.
void check_at_rest(LinkedRanks& ranks) {
  ranks.settle();
  for (const uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(0u, ranks.counter(rank, "packets_out")) << rank;
    EXPECT_EQ(0u, ranks.counter(rank, "protocol_errors")) << rank;
    EXPECT_EQ(0u, ranks.under_way(rank)) << rank;
  }
}

class Mirror : public testing::TestWithParam<const char*> {
 protected:
  static bool reads_all() { return GetParam() == std::string("all"); }
  static Attributes attributes(Attributes more = {}) {
    more.emplace_back("peer_memory", GetParam());
    return more;
  }
};
INSTANTIATE_TEST_SUITE_P(PeerMemory, Mirror, testing::Values("all", "rings"),
                         [](const auto& info) { return info.param; });

// A peer tells its devices by a word of its memory and a bell: a link can play both.
TEST_P(Mirror, ADeviceThatThePeerAddsIsSeen) {
  LinkedRanks ranks(attributes());
  lci_device* added = ranks.add_device(0);
  const auto post = [&] { return lci_post_am(added, 1, 5, 1, nullptr, 0, nullptr, 0); };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(LCI_RETRY_NOCREDIT, post());
    lci_progress(added);
  }
  ranks.add_device(1);
  EXPECT_EQ(LCI_DONE, lci_progress(added)) << "it was rung";
  EXPECT_EQ(LCI_DONE, post()) << lci_last_error();
}

TEST_P(Mirror, ActiveMessagesGoBothWays) {
  LinkedRanks ranks(attributes());
  std::array<lci_comp*, 2> inbox{};
  for (const uint32_t rank : {0u, 1u}) {
    inbox[rank] = make_queue(ranks.runtime(rank));
    ASSERT_EQ(LCI_DONE, lci_port_open(ranks.runtime(rank), 5, "", inbox[rank], 0, 0));
  }
  for (const uint32_t size : {0u, 8u, 32u, 33u, 192u, 193u, 4000u}) {
    for (const uint32_t from : {0u, 1u}) {
      const auto bytes = pattern(size, size + from);
      ASSERT_EQ(LCI_DONE,
                until_taken(
                    ranks,
                    [&] { return lci_post_am(ranks.device(from), 1 - from, 5, size, bytes.data(), size, nullptr, 0); }))
          << size << lci_last_error();
      lci_status status{};
      ASSERT_TRUE(pop(ranks, inbox[1 - from], &status)) << size;
      EXPECT_EQ(from, status.rank);
      EXPECT_EQ(size, status.tag);
      ASSERT_EQ(size, status.size);
      EXPECT_EQ(0, compare(status.buffer, bytes.data(), size)) << size;
      lci_buffer_free(status.buffer);
    }
  }
  check_at_rest(ranks);
}

TEST_P(Mirror, AnnouncedMessagesWaitAtTheReceiver) {
  LinkedRanks ranks(attributes({{"announcements", "4"}}));
  constexpr uint64_t kCount = 40;
  lci_comp* received = make_queue(ranks.runtime(1));
  uint64_t posted = 0;
  // Nobody receives: what has no credit is announced, and there is an end to that.
  while (posted < kCount) {
    const auto bytes = pattern(1000, posted);
    const int code = lci_post_send(ranks.device(0), 1, posted, bytes.data(), 1000, nullptr, 0);
    if (is_retry(code)) {
      ranks.settle();
      if (ranks.counter(0, "announcements") != 0 &&
          is_retry(lci_post_send(ranks.device(0), 1, posted, bytes.data(), 1000, nullptr, 0))) {
        break;
      }
      continue;
    }
    ASSERT_EQ(LCI_DONE, code) << lci_last_error();
    ++posted;
  }
  const uint64_t announced = ranks.counter(0, "announcements");
  EXPECT_GT(announced, 0u);
  if (reads_all()) {
    EXPECT_GT(ranks.counter(0, "packets_out"), 0u) << "an announced payload is out until it is taken";
  } else {
    EXPECT_EQ(0u, ranks.counter(0, "packets_out")) << "an announced payload stays until it is asked for";
  }
  for (uint64_t tag = 0; tag < posted; ++tag) {
    const auto expected = pattern(1000, tag);
    std::vector<uint8_t> buffer(1000);
    lci_status status{};
    const int code = until_taken(
        ranks, [&] { return lci_post_recv(ranks.device(1), 0, tag, buffer.data(), 1000, received, tag, &status); });
    if (code == LCI_POSTED) {
      ASSERT_TRUE(pop(ranks, received, &status)) << tag;
    }
    ASSERT_EQ(LCI_DONE, status.code) << tag;
    EXPECT_EQ(0, compare(buffer.data(), expected.data(), 1000)) << tag;
  }
  check_at_rest(ranks);
}

TEST_P(Mirror, LongMessagesComeInChunks) {
  LinkedRanks ranks(attributes());
  lci_comp* sent = make_queue(ranks.runtime(0));
  lci_comp* received = make_queue(ranks.runtime(1));
  const auto bytes = pattern(1'000'000, 3);
  std::vector<uint8_t> buffer(bytes.size());
  ASSERT_EQ(LCI_POSTED, lci_post_recv(ranks.device(1), 0, 7, buffer.data(), 1'000'000, received, 0, nullptr));
  ASSERT_EQ(LCI_POSTED,
            until_taken(ranks, [&] { return lci_post_send(ranks.device(0), 1, 7, bytes.data(), 1'000'000, sent, 0); }));
  lci_status status{};
  ASSERT_TRUE(pop(ranks, received, &status));
  EXPECT_EQ(bytes.size(), status.size);
  EXPECT_EQ(bytes, buffer);
  ASSERT_TRUE(pop(ranks, sent, &status));
  check_at_rest(ranks);
}

TEST_P(Mirror, PutsAndGetsTravelAsMessages) {
  LinkedRanks ranks(attributes());
  constexpr uint64_t kSize = 100'000;
  Allocated region(ranks.runtime(1), kSize);
  const HandleBytes handle = handle_of(region.memory);
  lci::MemoryHandle named;
  ASSERT_EQ(LCI_DONE, lci::decode(handle.data(), handle.size(), &named));
  if (reads_all()) ranks.end(0).expose(named.index, named.key, named.size);
  const uint64_t remote = open_remote(ranks.runtime(0), 1, handle);
  lci_comp* ended = make_queue(ranks.runtime(0));
  const auto bytes = pattern(kSize, 1);
  std::vector<uint8_t> back(kSize);
  lci_status status{};
  ASSERT_EQ(
      LCI_POSTED,
      until_taken(ranks, [&] { return lci_post_put(ranks.device(0), 1, bytes.data(), kSize, remote, 0, ended, 1); }))
      << lci_last_error();
  ASSERT_TRUE(pop(ranks, ended, &status));
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(0, compare(region.bytes_at, bytes.data(), kSize));
  ASSERT_EQ(LCI_POSTED, until_taken(ranks, [&] {
              return lci_post_get(ranks.device(0), 1, back.data(), kSize, remote, 0, ended, 2);
            }));
  ASSERT_TRUE(pop(ranks, ended, &status));
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(bytes, back);
  check_at_rest(ranks);
}

TEST_P(Mirror, BarriersMeet) {
  LinkedRanks ranks(attributes());
  std::array<lci_comp*, 2> ended{};
  for (const uint32_t rank : {0u, 1u}) ended[rank] = make_queue(ranks.runtime(rank));
  for (int round = 0; round < 5; ++round) {
    lci_status status{};
    ASSERT_EQ(LCI_POSTED, lci_post_barrier(ranks.device(0), ended[0], 0));
    ranks.settle();
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(ended[0], &status)) << "rank 1 has not come";
    ASSERT_EQ(LCI_POSTED, lci_post_barrier(ranks.device(1), ended[1], 0));
    for (const uint32_t rank : {0u, 1u}) ASSERT_TRUE(pop(ranks, ended[rank], &status)) << rank;
  }
  check_at_rest(ranks);
}

TEST_P(Mirror, AWireThatStandsStillHoldsTheSenderBack) {
  LinkedRanks ranks(attributes());
  lci_comp* inbox = make_queue(ranks.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(ranks.runtime(1), 5, "", inbox, 16, 0));
  uint64_t sent = 0;
  ASSERT_EQ(LCI_DONE,
            until_taken(ranks, [&] { return lci_post_am(ranks.device(0), 1, 5, sent, &sent, 8, nullptr, 0); }));
  ++sent;
  ranks.settle();
  ranks.hold(1, true);
  for (int refused = 0; refused < 100;) {
    const int code = lci_post_am(ranks.device(0), 1, 5, sent, &sent, 8, nullptr, 0);
    ASSERT_TRUE(code == LCI_DONE || code == LCI_RETRY_NOCREDIT) << code;
    code == LCI_DONE ? ++sent : ++refused;
    ranks.progress();
    ASSERT_LE(sent, 17u) << "more than the port has room for";
  }
  ranks.hold(1, false);
  for (uint64_t tag = 0; tag < sent; ++tag) {
    lci_status status{};
    ASSERT_TRUE(pop(ranks, inbox, &status));
    EXPECT_EQ(tag, status.tag);
    lci_buffer_free(status.buffer);
  }
  check_at_rest(ranks);
}

class Ends : public testing::TestWithParam<std::tuple<bool, const char*>> {};

TEST_P(Ends, WhatARankSentBeforeItsEndComesFirst) {
  const auto [graceful, peer_memory] = GetParam();
  LinkedRanks ranks(Attributes{{"peer_memory", peer_memory}});
  lci_comp* received = make_queue(ranks.runtime(0));
  const uint64_t first = 11;
  uint64_t got = 0, none = 0;
  lci_status status{};
  // With credit it leaves at once, whatever its receiver may read.
  ASSERT_EQ(LCI_DONE, until_taken(ranks, [&] { return lci_post_send(ranks.device(1), 0, 0, &none, 8, nullptr, 0); }));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(ranks.device(0), 1, 0, &none, 8, received, 0, nullptr));
  ASSERT_TRUE(pop(ranks, received, &status));
  ranks.settle();
  ASSERT_EQ(LCI_DONE, until_taken(ranks, [&] { return lci_post_send(ranks.device(1), 0, 1, &first, 8, nullptr, 0); }));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(ranks.device(0), 1, 2, &none, 8, received, 2, nullptr));
  ranks.end_rank(1, graceful);
  const int code = lci_post_recv(ranks.device(0), 1, 1, &got, 8, received, 1, &status);
  EXPECT_EQ(LCI_DONE, code) << lci_last_error();
  EXPECT_EQ(first, got);
  ASSERT_TRUE(pop(ranks, received, &status));
  EXPECT_EQ(2u, status.user_context);
  EXPECT_EQ(graceful ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED, status.code);
  EXPECT_EQ(graceful ? LCI_ERR_PEER_LEFT : LCI_ERR_PEER_FAILED,
            lci_post_send(ranks.device(0), 1, 1, &first, 8, nullptr, 0));
}
INSTANTIATE_TEST_SUITE_P(Mirror, Ends, testing::Combine(testing::Bool(), testing::Values("all", "rings")),
                         [](const auto& info) {
                           return (std::get<0>(info.param) ? "ByLeaving_" : "ByDying_") +
                                  std::string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace lci_test
