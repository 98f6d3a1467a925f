// SPDX-License-Identifier: Apache-2.0
// Room for replies when things go wrong: refused requests, peers that go, ports that close and open again, backlogs.
// Mutations that must make this file fail: reply_without_room, forget_stored_request.
#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kRequests = 7, kReplies = 8;

/// Rank 0 asks, rank 1 answers.
class Asking {
 public:
  explicit Asking(uint32_t rooms, const Attributes& attributes = {}) : job(2, attributes) {
    replies = make_queue(job.runtime(0));
    requests = make_queue(job.runtime(1));
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kReplies, "", replies, 16, 1 << 20));
    EXPECT_EQ(LCI_DONE, lci_port_reply_room(job.runtime(0), kReplies, rooms, 500, &room)) << lci_last_error();
  }
  void open() { EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kRequests, "", requests, 16, 1 << 20)); }
  lci_descriptor request(uint32_t size = 8) const {
    auto op = operation(LCI_OP_AM, 1, kRequests, 3, bytes.data(), size);
    op.policy = room;
    return op;
  }
  lci_descriptor reply(uint32_t size = 8) const {
    auto op = operation(LCI_OP_AM, 0, kReplies, 4, bytes.data(), size);
    op.policy = LCI_AM_REPLY;
    return op;
  }
  int attempt(uint32_t from, lci_descriptor op, lci_comp* comp = nullptr) {
    return lci_post(job.device(from), &op, comp, nullptr);
  }
  void take(lci_comp* queue, uint32_t rank) {
    lci_status status = LCI_STATUS_INIT;
    ASSERT_TRUE(pop(job, queue, &status));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(job.runtime(rank), &status));
  }
  /// Rooms that are free, by asking until there is none; every request is answered.
  uint32_t free_rooms() {
    uint32_t asked = 0;
    int code = LCI_DONE;
    for (int tries = 0; code != LCI_RETRY_PENDING && tries < 1000; asked += code == LCI_DONE, ++tries) {
      code = attempt(0, request());
      if (code != LCI_RETRY_PENDING && is_retry(code)) job.progress();
      EXPECT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
    }
    for (uint32_t i = 0; i < asked; ++i) {
      take(requests, 1);
      EXPECT_EQ(LCI_DONE, post_until_taken(job, 1, reply(), nullptr)) << lci_last_error();
      take(replies, 0);
    }
    return asked;
  }

  Job job;
  const std::vector<uint8_t> bytes = pattern(70'000, 1);
  lci_comp* replies = nullptr;
  lci_comp* requests = nullptr;
  uint8_t room = 0;
};

TEST(ReplyRoom, IsReservedForEachRequestAndNotForWhatIsRefused) {
  Asking asking(3);
  ASSERT_EQ(LCI_DONE, asking.attempt(0, asking.request())) << "announced";
  for (int i = 0; i < 100; ++i) ASSERT_EQ(LCI_RETRY_NOCREDIT, asking.attempt(0, asking.request())) << i;
  asking.open();
  asking.take(asking.requests, 1);
  ASSERT_EQ(LCI_DONE, post_until_taken(asking.job, 1, asking.reply(500), nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_ERR_ARGUMENT, asking.attempt(1, asking.reply()));
  asking.take(asking.replies, 0);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(3u, asking.free_rooms());
  asking.job.check_ledgers();
}

// Replies need no credit: the port that they go to is closed to everything else.
TEST(ReplyRoom, IsUsedThoughThePortHasNoCreditLeft) {
  Asking asking(2);
  asking.open();
  for (uint64_t stored = 0; stored < 16;) {  // rank 0 takes nothing
    const auto op = operation(LCI_OP_AM, 0, kReplies, 0, asking.bytes.data(), 8);
    stored += asking.attempt(1, op) == LCI_DONE;
    asking.job.progress();
  }
  int code = LCI_DONE;
  while (code == LCI_DONE) code = asking.attempt(1, operation(LCI_OP_AM, 0, kReplies, 0, asking.bytes.data(), 8));
  ASSERT_EQ(LCI_RETRY_NOCREDIT, code);
  ASSERT_EQ(LCI_DONE, post_until_taken(asking.job, 0, asking.request(), nullptr));
  asking.take(asking.requests, 1);
  EXPECT_EQ(LCI_DONE, asking.attempt(1, asking.reply())) << lci_last_error();
  bool told = false;
  for (int i = 0; i < 18 && !told; ++i) {
    lci_status status = LCI_STATUS_INIT;
    ASSERT_TRUE(pop(asking.job, asking.replies, &status));
    told = status.tag == 4;
    EXPECT_EQ(LCI_DONE, lci_arrival_free(asking.job.runtime(0), &status));
  }
  EXPECT_TRUE(told);
}

// Nor do they wait behind what waits for credit in the backlog.
TEST(ReplyRoom, RepliesOvertakeTheBacklog) {
  Asking asking(2);
  asking.open();
  ASSERT_EQ(LCI_DONE, post_until_taken(asking.job, 0, asking.request(), nullptr));
  asking.take(asking.requests, 1);
  for (int i = 0; i < 3; ++i) {  // to a port that never opens
    auto op = operation(LCI_OP_AM, 0, 30, 0, asking.bytes.data(), 8);
    op.flags |= LCI_FLAG_NO_RETRY;
    EXPECT_LE(asking.attempt(1, op), LCI_DONE_BACKLOG);
  }
  EXPECT_NE(0u, asking.job.counter(1, "backlog_depth"));
  EXPECT_EQ(LCI_DONE, asking.attempt(1, asking.reply())) << lci_last_error();
  asking.take(asking.replies, 0);
}

// Requests by rendezvous and from the backlog reserve room as others do.
TEST(ReplyRoom, EveryKindOfRequestReservesOne) {
  for (const char* chaos : {"", "seed=3,delay=0.3,refuse=0.2"}) {
    Asking asking(2, {{"chaos", chaos}});
    asking.open();
    lci_comp* ended = make_queue(asking.job.runtime(0));
    for (const uint32_t size : {0u, 192u, 4000u, 70'000u}) {
      for (const uint8_t flags : {0, int{LCI_FLAG_SIGNAL}, int{LCI_FLAG_NO_RETRY}, int{LCI_FLAG_NETWORK}}) {
        auto op = asking.request(size);
        op.flags |= flags;
        const int code = post_until_taken(asking.job, 0, op, ended);
        ASSERT_LE(code, LCI_POSTED_BACKLOG) << lci_last_error();
        asking.take(asking.requests, 1);
        ASSERT_EQ(LCI_DONE, post_until_taken(asking.job, 1, asking.reply(size % 501), nullptr)) << lci_last_error();
        asking.take(asking.replies, 0);
        lci_status status = LCI_STATUS_INIT;
        if (code >= LCI_POSTED) {
          ASSERT_TRUE(pop(asking.job, ended, &status));
        }
      }
    }
    EXPECT_EQ(2u, asking.free_rooms());
    asking.job.check_ledgers();
  }
}

TEST(ReplyRoom, IsFreeAgainWhenItsPeerIsGone) {
  Asking asking(2);
  asking.open();
  lci_comp* self = make_queue(asking.job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(asking.job.runtime(0), kRequests, "", self, 16, 1 << 20));
  for (int i = 0; i < 2; ++i) ASSERT_EQ(LCI_DONE, post_until_taken(asking.job, 0, asking.request(), nullptr));
  auto to_self = asking.request();
  to_self.rank = 0;
  EXPECT_EQ(LCI_RETRY_PENDING, asking.attempt(0, to_self));
  asking.job.close(1, 0);
  for (int i = 0; i < 2'000'000 && asking.job.counter(0, "peers_failed") == 0; ++i) asking.job.progress();
  asking.job.settle();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(LCI_DONE, post_until_taken(asking.job, 0, to_self, nullptr));
}

// By each device: one that has not seen the death yet still sends requests to the dead.
// Mutation: first_device_forgets_replies.
TEST(ReplyRoom, IsFreeAgainThoughADeviceAskedTheDead) {
  Job job(3, {{"devices", "2"}});
  lci_comp* replies = make_queue(job.runtime(0));
  lci_comp* requests = make_queue(job.runtime(2));
  uint8_t room = 0;
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kReplies, "", replies, 16, 1 << 20));
  ASSERT_EQ(LCI_DONE, lci_port_reply_room(job.runtime(0), kReplies, 2, 500, &room)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(2), kRequests, "", requests, 16, 1 << 20));
  const uint64_t value = 1;
  auto before = operation(LCI_OP_AM, 1, kReplies, 0, &value, sizeof value);  // it knows the rank
  ASSERT_EQ(LCI_DONE, lci_post(job.device(0, 1), &before, nullptr, nullptr)) << lci_last_error();
  job.close(1, 0);
  for (int i = 0; i < 2'000'000 && job.counter(0, "peers_failed") == 0; ++i) job.progress();  // device 0 only
  auto request = operation(LCI_OP_AM, 1, kRequests, 0, &value, sizeof value);
  request.policy = room;
  ASSERT_EQ(LCI_DONE, lci_post(job.device(0, 1), &request, nullptr, nullptr)) << lci_last_error();
  for (int i = 0; i < 200; ++i) lci_progress(job.device(0, 1));
  request.rank = 2;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(LCI_DONE, post_until_taken(job, 0, request, nullptr)) << i;
}

// It declined what was stored there, and left; device 0 sees that first.
TEST(ReplyRoom, APeerThatDeclinedAndLeftIsNoLiar) {
  Asking asking(2, {{"devices", "2"}});
  asking.open();
  lci_device* const asks = asking.job.device(0, 1);
  lci_device* const asked = asking.job.device(1, 1);
  int sent = 0;
  for (int i = 0; i < 200'000 && sent < 2; ++i) {
    auto op = asking.request();
    const int code = lci_post(asks, &op, nullptr, nullptr);
    ASSERT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
    sent += code == LCI_DONE;
    lci_progress(asks);
    lci_progress(asked);
  }
  for (int i = 0; i < 200; ++i) lci_progress(asked);
  ASSERT_EQ(2u, lci_queue_length(asking.requests));
  ASSERT_EQ(LCI_DONE, lci_port_close(asking.job.runtime(1), kRequests));
  ASSERT_EQ(LCI_DONE, lci_comp_free(asking.requests)) << lci_last_error();
  for (int i = 0; i < 200; ++i) lci_progress(asked);
  asking.job.close(1, 1000);
  for (int i = 0; i < 2'000'000 && asking.job.counter(0, "peers_left") == 0; ++i) asking.job.progress();
  for (int i = 0; i < 200; ++i) lci_progress(asks);
  EXPECT_EQ(0, asking.job.counter(0, "protocol_errors"));
  auto to_self = asking.request();
  to_self.rank = 0;
  lci_comp* self = make_queue(asking.job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(asking.job.runtime(0), kRequests, "", self, 16, 1 << 20));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(LCI_DONE, post_until_taken(asking.job, 0, to_self, nullptr)) << i;
}

TEST(ReplyRoom, IsFreeAgainWhenTheRequestIsDiscarded) {
  for (const uint32_t size : {8u, 1000u, 70'000u}) {
    Asking asking(1);
    lci_comp* ended = make_queue(asking.job.runtime(0));
    ASSERT_LE(asking.attempt(0, asking.request(size), ended), LCI_POSTED) << lci_last_error();
    asking.job.settle();
    asking.open();
    ASSERT_EQ(LCI_DONE, lci_port_close(asking.job.runtime(1), kRequests));
    asking.job.settle();
    auto elsewhere = asking.request();
    elsewhere.port = 9;
    ASSERT_EQ(LCI_DONE, lci_port_open(asking.job.runtime(1), 9, "", asking.requests, 16, 1 << 20));
    EXPECT_EQ(LCI_DONE, post_until_taken(asking.job, 0, elsewhere, nullptr)) << size << ": " << lci_last_error();
  }
}

// Those that were stored, and that nobody took before their port closed, or their queue was freed.
// Mutation: forget_stored_request.
TEST(ReplyRoom, IsFreeAgainWhenStoredRequestsAreDiscarded) {
  for (const bool lane : {false, true}) {
    for (const bool zero_copy : {false, true}) {
      SCOPED_TRACE(std::string(lane ? "lane" : "queue") + (zero_copy ? ", zero copy" : ""));
      Job job(2, {{"devices", "2"}});
      lci_comp* replies = make_queue(job.runtime(0));
      uint8_t room = 0;
      ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kReplies, "", replies, 16, 1 << 20));
      ASSERT_EQ(LCI_DONE, lci_port_reply_room(job.runtime(0), kReplies, 5, 500, &room)) << lci_last_error();
      auto home = lane ? std::make_unique<LaneDriver>(job, 1, 0) : nullptr;
      // The requests come by device 1, which another thread, or lane, might own.
      lci_device* asking = nullptr;
      lci_device* asked = nullptr;
      ASSERT_EQ(LCI_DONE, lci_runtime_device(job.runtime(0), 1, &asking));
      ASSERT_EQ(LCI_DONE, lci_runtime_device(job.runtime(1), 1, &asked));
      auto progress = [&] {
        lci_progress(asking);
        lci_progress(asked);
        if (home) home->enter();
      };
      lci_comp* requests = nullptr;
      uint32_t inbox = 0;
      auto open = [&] {
        if (home) {
          inbox = home->open(kRequests, 16, 1 << 20);  // no demand
          ASSERT_EQ(LCI_DONE, lci_lane_zero_copy(home->handle(), inbox, zero_copy));
          return;
        }
        requests = make_queue(job.runtime(1));
        if (zero_copy) {
          EXPECT_EQ(LCI_DONE, lci_comp_zero_copy(requests));
        }
        ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kRequests, "", requests, 16, 1 << 20));
      };
      const auto bytes = pattern(1000, 3);
      auto ask = [&](uint32_t size) {
        auto op = operation(LCI_OP_AM, 1, kRequests, 0, bytes.data(), size);
        op.policy = room;
        int code = LCI_RETRY;
        for (int i = 0; i < 200'000 && is_retry(code) && code != LCI_RETRY_PENDING; ++i) {
          lci_descriptor attempt = op;
          code = lci_post(asking, &attempt, nullptr, nullptr);
          progress();
        }
        return code;
      };
      for (int round = 0; round < 3; ++round) {
        open();
        for (int i = 0; i < 200; ++i) progress();  // the sender learns that it is open
        for (const uint32_t size : {8u, 1000u, 100u, 1000u, 0u}) ASSERT_EQ(LCI_DONE, ask(size)) << lci_last_error();
        EXPECT_EQ(LCI_RETRY_PENDING, ask(8));
        for (int i = 0; i < 200; ++i) progress();
        if (home) {
          EXPECT_EQ(5u, home->demand(inbox).depth);
          ASSERT_EQ(LCI_DONE, lci_lane_close_port(home->handle(), inbox));
        } else {
          EXPECT_EQ(5u, lci_queue_length(requests));
          ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kRequests));
          ASSERT_EQ(LCI_DONE, lci_comp_free(requests)) << lci_last_error();
        }
        for (int i = 0; i < 200; ++i) progress();
      }
      home.reset();
      job.check_ledgers();
    }
  }
}

}  // namespace
}  // namespace lci_test
