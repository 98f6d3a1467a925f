// SPDX-License-Identifier: Apache-2.0
// Attribute peer_memory=rings: a rank reads of its peers what was sent to it, and nothing else. What has no credit
// stays with its sender until the receiver asks for it.
#include <array>
#include <string>
#include <thread>

#include "support/job.hpp"
#include "support/posting.hpp"
#include "support/rma_job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5;
constexpr uint32_t kSize = 1000;

Attributes rings(Attributes more = {}) {
  more.emplace_back("peer_memory", "rings");
  return more;
}

int post(Job& job, uint32_t port, uint64_t tag, uint32_t size = kSize) {
  const auto bytes = pattern(size, tag);
  return lci_post_am(job.device(0), 1, port, tag, bytes.data(), size, nullptr, 0);
}

/// The next message at rank 1 is this one.
void expect_next(Job& job, lci_comp* inbox, uint64_t tag, uint32_t size = kSize) {
  lci_status status{};
  ASSERT_TRUE(pop(job, inbox, &status)) << tag;
  EXPECT_EQ(tag, status.tag);
  ASSERT_EQ(size, status.size);
  const auto expected = pattern(size, tag);
  EXPECT_EQ(0, compare(status.buffer, expected.data(), size)) << tag;
  lci_buffer_free(status.buffer);
}

void expect_at_rest(Job& job) {
  job.settle();
  for (const uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(0u, job.counter(rank, "packets_out")) << rank;
    EXPECT_EQ(0u, job.counter(rank, "sends_pending")) << rank;
    EXPECT_EQ(0u, job.counter(rank, "protocol_errors")) << rank;
  }
}

TEST(PeerMemoryRings, AnAnnouncedPayloadStaysWithItsSender) {
  Job job(2, rings());
  ASSERT_EQ(LCI_DONE, post(job, kPort, 1)) << lci_last_error();
  job.settle();
  EXPECT_EQ(1u, job.counter(0, "announcements"));
  EXPECT_EQ(0u, job.counter(0, "packets_out"));
  EXPECT_EQ(1u, job.counter(0, "sends_pending"));
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  expect_next(job, inbox, 1);
  expect_at_rest(job);
}

// The announced one is asked for when the port opens, and its sender has credit before it has sent it.
TEST(PeerMemoryRings, NothingOvertakesAnAnnouncedMessage) {
  for (const char* chaos : {"", "seed=1,delay=0.3,ticks=8", "seed=2,delay=0.3,ticks=8,refuse=0.1"}) {
    SCOPED_TRACE(chaos);
    Job job(2, rings({{"chaos", chaos}}));
    lci_comp* inbox = make_queue(job.runtime(1));
    for (uint64_t round = 0; round < 20; ++round) {
      const uint32_t port = kPort + static_cast<uint32_t>(round);
      for (uint64_t tag = 0; tag < 12; ++tag) {
        const uint32_t size = tag % 3 == 0 ? kSize : 8;
        int code = LCI_RETRY;
        for (int i = 0; i < 100000 && is_retry(code); ++i) {
          code = post(job, port, tag, size);
          if (!is_retry(code)) break;
          if (tag == 1 && i == 5) {
            ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), port, "", inbox, 0, 0));
          }
          job.progress();
        }
        ASSERT_EQ(LCI_DONE, code) << tag << " " << lci_last_error();
      }
      // Chaos may put messages of a key in another order, as over any link; without it they come as they were posted.
      if (*chaos == '\0') {
        for (uint64_t tag = 0; tag < 12; ++tag) expect_next(job, inbox, tag, tag % 3 == 0 ? kSize : 8);
      } else {
        lci_status status{};
        for (uint64_t tag = 0; tag < 12; ++tag) {
          ASSERT_TRUE(pop(job, inbox, &status)) << tag;
          lci_buffer_free(status.buffer);
        }
      }
    }
    expect_at_rest(job);
  }
}

// To send one it takes no other packet: else those who hold all could wait for ever.
TEST(PeerMemoryRings, AllPacketsMayBeAnnounced) {
  constexpr uint32_t kPackets = 4;
  Job job(2, rings({{"packets", std::to_string(kPackets)}, {"packets_max", std::to_string(kPackets)}}));
  uint32_t announced = 0;
  while (post(job, kPort + announced, announced) == LCI_DONE) ++announced;
  EXPECT_EQ(kPackets, announced);
  EXPECT_EQ(LCI_RETRY_NOPACKET, post(job, kPort + announced, announced));
  job.settle();
  for (uint32_t i = 0; i < announced; ++i) {
    lci_comp* inbox = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort + i, "", inbox, 0, 0));
    expect_next(job, inbox, i);
  }
  ASSERT_EQ(LCI_DONE, post(job, kPort, 77));
  expect_at_rest(job);
}

TEST(PeerMemoryRings, ClosedPortsGiveThePacketsBack) {
  Job job(2, rings({{"packets", "4"}, {"packets_max", "4"}}));
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  ASSERT_EQ(LCI_DONE, post(job, kPort, 1));
  job.settle();
  EXPECT_EQ(LCI_ERR_PORT_CLOSED, post(job, kPort, 2));
  EXPECT_EQ(1u, job.counter(1, "discarded"));
  expect_at_rest(job);
}

// A graceful close waits for what nobody has asked for, within its limit.
TEST(PeerMemoryRings, AnAnnouncedMessageIsLostWithItsSender) {
  Job job(2, rings());
  ASSERT_EQ(LCI_DONE, post(job, kPort, 1));
  job.settle();
  job.close(0, 50);
  job.settle();
  lci_comp* inbox = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, 0, 0));
  job.settle();
  lci_status status{};
  EXPECT_TRUE(until(job, [&] { return job.counter(1, "discarded") == 1; }));
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(inbox, &status));
}

TEST(PeerMemoryRings, PutsAndGetsTravelAsMessages) {
  Job job(2, rings());
  Allocated region(job.runtime(1), kSize);
  const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
  lci_comp* ended = make_queue(job.runtime(0));
  const auto bytes = pattern(kSize, 9);
  lci_status status{};
  ASSERT_EQ(LCI_POSTED, lci_post_put(job.device(0), 1, bytes.data(), kSize, remote, 0, ended, 1)) << lci_last_error();
  ASSERT_TRUE(pop(job, ended, &status));
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(0, compare(region.bytes_at, bytes.data(), kSize));
  EXPECT_EQ(0u, job.counter(0, "rma_copied"));
  EXPECT_EQ(kSize, job.counter(0, "rma_streamed"));
  expect_at_rest(job);
}

// Only the target knows that its region has ended: the access says so, opening it does not.
TEST(PeerMemoryRings, AnEndedRegionIsFoundByTheAccess) {
  Job job(2, rings());
  HandleBytes handle;
  {
    std::array<uint8_t, kSize> bytes{};
    const Registered region(job.runtime(1), bytes.data(), kSize);
    handle = handle_of(region.memory);
  }
  const uint64_t remote = open_remote(job.runtime(0), 1, handle);
  lci_comp* ended = make_queue(job.runtime(0));
  const auto bytes = pattern(kSize, 9);
  lci_status status{};
  ASSERT_EQ(LCI_POSTED, lci_post_put(job.device(0), 1, bytes.data(), kSize, remote, 0, ended, 1)) << lci_last_error();
  ASSERT_TRUE(pop(job, ended, &status));
  EXPECT_EQ(LCI_ERR_MEMORY_CLOSED, status.code);
  expect_at_rest(job);
}

TEST(PeerMemoryRings, MustBeTheSameOnAllRanks) {
  lci_inproc* job = nullptr;
  ASSERT_EQ(LCI_DONE, lci_inproc_create(2, &job));
  std::array<int, 2> codes{};
  std::array<std::string, 2> texts;
  {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        lci_attrs* attrs = nullptr;
        ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
        ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "peer_memory", rank == 0 ? "all" : "rings"));
        lci_runtime* runtime = nullptr;
        codes[rank] = lci_runtime_create(attrs, job, rank, &runtime);
        texts[rank] = lci_last_error();
        lci_attrs_free(attrs);
      });
    }
    for (auto& thread : threads) thread.join();
  }
  lci_inproc_free(job);
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, codes[0]);
  EXPECT_EQ(LCI_ERR_BOOTSTRAP, codes[1]);
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "rank 1 has other attributes: peer_memory", texts[0]);
}

}  // namespace
}  // namespace lci_test
