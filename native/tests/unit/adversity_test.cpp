// SPDX-License-Identifier: Apache-2.0
// What must hold when things end at a bad moment: ports, peers, lanes and runtimes that go while traffic runs.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "support/job.hpp"
#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 7;
constexpr uint32_t kLong = 100000;  // above every eager limit: a rendezvous

bool fails(Job& job, uint32_t rank, uint64_t count = 1) {
  for (int i = 0; i < 2'000'000 && job.counter(rank, "peers_failed") < count; ++i) job.progress();
  return job.counter(rank, "peers_failed") == count;
}

struct Answering {
  lci_device* device;
  std::atomic<int> answered{0};
};

// A handler may post with retry disallowed, also when what calls it is the runtime that closes. [SS-47, 2B-10]
// Proves: H6
TEST(Closing, LetsHandlersPost) {
  Job job(2);
  Answering answering{job.device(0)};
  lci_comp* handler = nullptr;
  auto answer = [](const lci_status* status, void* argument) {
    auto& self = *static_cast<Answering*>(argument);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_INLINE | LCI_FLAG_NO_RETRY;
    op.rank = status->rank;
    op.port = kPort;
    const int code = lci_post(self.device, &op, nullptr, nullptr);
    if (code == LCI_DONE || code == LCI_DONE_BACKLOG) ++self.answered;
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), answer, &answering, &handler));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", handler, 0, 0));
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(1), 0, kPort, 1, nullptr, 0, nullptr, 0));
  job.close(0, 1000);
  EXPECT_EQ(1, answering.answered);
}

// As above, with an operation that the close cancels.
// Proves: SS-18 A20
TEST(Closing, LetsHandlersOfCancelledOperationsPost) {
  Job job(2);
  Answering answering{job.device(0)};
  lci_comp* handler = nullptr;
  auto answer = [](const lci_status* status, void* argument) {
    auto& self = *static_cast<Answering*>(argument);
    EXPECT_EQ(LCI_ERR_CANCELLED, status->code);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_INLINE | LCI_FLAG_NO_RETRY;
    op.rank = 1;
    op.port = kPort;
    lci_post(self.device, &op, nullptr, nullptr);
    ++self.answered;
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), answer, &answering, &handler));
  uint64_t value = 0;
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 1, &value, sizeof value, handler, 0, nullptr));
  job.close(0, 0);
  EXPECT_EQ(1, answering.answered);
}

// A receive that matched a rendezvous of another device, which has not looked at it yet.
// Proves: SS-17
TEST(Closing, CancelsAMatchedRendezvousOnItsWayToItsDevice) {
  Job job(2, {{"devices", "2"}});
  std::vector<uint8_t> out(kLong, 1), in(kLong);
  lci_comp* sent = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(1, 1), 0, 5, out.data(), kLong, sent, 0));
  for (int i = 0; i < 100; ++i) lci_progress(job.device(0, 1));
  std::atomic<int> cancelled{0};
  lci_comp* handler = nullptr;
  auto count = [](const lci_status* status, void* argument) {
    if (status->code == LCI_ERR_CANCELLED) ++*static_cast<std::atomic<int>*>(argument);
  };
  ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), count, &cancelled, &handler));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, 0), 1, 5, in.data(), kLong, handler, 0, nullptr));
  job.close(0, 0);
  EXPECT_EQ(1, cancelled);
}

// A handler that the close calls for one device posts on the next one, which is still to be ended: it is refused, or
// signalled as well. One is told of a receive when the engines are empty; one of a send before, and its own receive
// matches what waits on the first device. Mutation: close_ends_one_by_one.
// Proves: A20
TEST(Closing, EndsWhatHandlersPostOnAnotherDevice) {
  constexpr uint64_t kSent = 5, kNobodys = 6;
  for (const bool of_receive : {true, false}) {
    Job job(2, {{"devices", "2"}});
    const std::vector<uint8_t> out(kLong, 1);
    lci_comp* sent = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(1), 0, kSent, out.data(), kLong, sent, 0));
    for (int i = 0; i < 100; ++i) lci_progress(job.device(0));
    struct Posting {
      lci_device* device;
      uint64_t tag;
      lci_comp* handler = nullptr;
      std::vector<uint8_t> in = std::vector<uint8_t>(kLong);
      int posted = 1, signals = 0;
    } posting{job.device(0, 1), of_receive ? kNobodys : kSent};
    auto post = [](const lci_status*, void* argument) {
      auto& self = *static_cast<Posting*>(argument);
      if (++self.signals > 1) return;
      const int code = lci_post_recv(self.device, 1, self.tag, self.in.data(), kLong, self.handler, 0, nullptr);
      EXPECT_TRUE(code == LCI_POSTED || code == LCI_ERR_CLOSED) << lci_code_name(code);
      if (code == LCI_POSTED) ++self.posted;
    };
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), post, &posting, &posting.handler));
    uint8_t place = 0;
    ASSERT_EQ(LCI_POSTED, of_receive ? lci_post_recv(job.device(0), 1, 1, &place, 1, posting.handler, 0, nullptr)
                                     : lci_post_send(job.device(0), 1, 1, out.data(), kLong, posting.handler, 0));
    job.close(0, 0);
    EXPECT_EQ(posting.posted, posting.signals) << (of_receive ? "of a receive" : "of a send");
    EXPECT_GE(posting.signals, 1);
  }
}

// A rendezvous that a closed port refused takes no announcement slot with it: the port can be reached when it is open
// again, although it has nothing to lease.
TEST(Reopening, ARefusedRendezvousLeavesItsSlot) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  lci_comp* sent = make_queue(job.runtime(0));
  std::vector<uint8_t> bytes(kLong, 3);
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 1, 1 << 20));  // one message: all by announcement
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  ASSERT_EQ(LCI_POSTED, lci_post_am(job.device(0), 1, kPort, 1, bytes.data(), kLong, sent, 0));
  ASSERT_TRUE(pop(job, sent, &status));
  EXPECT_EQ(LCI_ERR_PORT_CLOSED, status.code);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 1, 1 << 20));
  int code = LCI_RETRY;
  for (int i = 0; i < 1000 && code != LCI_DONE; ++i) {
    job.progress();
    code = lci_post_am(job.device(0), 1, kPort, 2, bytes.data(), 8, nullptr, 0);
  }
  EXPECT_EQ(LCI_DONE, code) << lci_code_name(code);
  ASSERT_TRUE(pop(job, queue, &status));
  lci_buffer_free(status.buffer);
}

// The port closes and opens while a rendezvous for the old one is on its way, whose sender was told "closed": the
// receiver does not wait for it, and the new port's room stays whole.
TEST(Reopening, ARendezvousThatCrossedTheRefusalIsForgotten) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  lci_comp* sent = make_queue(job.runtime(0));
  std::vector<uint8_t> bytes(kLong, 3);
  lci_status status{};
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 64, 1 << 20));
  ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kPort, 1, bytes.data(), 8, nullptr, 0));  // earns credit
  ASSERT_TRUE(pop(job, queue, &status));
  lci_buffer_free(status.buffer);
  job.settle();
  ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kPort));
  // Rank 1 says so, and rank 0 posts before it hears it. All bytes of the port: whatever is left of it is noticed.
  for (int i = 0; i < 10; ++i) lci_progress(job.device(1));
  ASSERT_EQ(LCI_POSTED, lci_post_am(job.device(0), 1, kPort, 2, bytes.data(), kLong, sent, 0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 64, kLong));
  ASSERT_TRUE(pop(job, sent, &status));
  job.settle();
  if (status.code == LCI_DONE) {  // delivered to the new port: as good
    ASSERT_TRUE(pop(job, queue, &status));
    lci_buffer_free(status.buffer);
  } else {
    EXPECT_EQ(LCI_ERR_PORT_CLOSED, status.code);
  }
  ASSERT_EQ(LCI_POSTED, lci_post_am(job.device(0), 1, kPort, 3, bytes.data(), kLong, sent, 0));
  ASSERT_TRUE(pop(job, queue, &status)) << "the room that the first one took is there again";
  lci_buffer_free(status.buffer);
  ASSERT_TRUE(pop(job, sent, &status));
  job.settle();
  EXPECT_LE(job.counter(1, "credits_leased"), 64u);
  job.check_ledgers();
}

// A dead peer's announced message is still delivered, but earns its sender no lease.
TEST(PeerFailure, TheDeadGetNoNewLease) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(0));
  const uint32_t size = lci_runtime_max_eager(job.runtime(0));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kPort, "", queue, 32, size));
  const std::vector<uint8_t> bytes(size, 7);
  int accepted = 0;
  for (int i = 0; i < 1000; ++i) {  // the first takes all bytes, the next waits
    accepted += lci_post_am(job.device(1), 0, kPort, 1, bytes.data(), size, nullptr, 0) == LCI_DONE;
    job.progress();
  }
  ASSERT_EQ(2, accepted);
  job.close(1, 0);
  ASSERT_TRUE(fails(job, 0));
  job.settle();
  lci_status status{};
  for (int i = 0; i < accepted; ++i) {
    ASSERT_TRUE(pop(job, queue, &status));
    lci_buffer_free(status.buffer);
  }
  job.settle();
  EXPECT_EQ(0u, job.counter(0, "credits_leased"));
}

// What the dead had announced is shown with the port until it has found room, and is in the inbox then: a loop knows
// when it has heard all that a rank had to say. What the living announce does not count.
// Mutation: forget_left_behind.
TEST(PeerFailure, WhatTheDeadLeftBehindIsCountedUntilItIsIn) {
  Job job(3);
  LaneDriver lane(job, 0);
  const uint32_t size = lci_runtime_max_eager(job.runtime(0));
  const uint32_t index = lane.open(kPort, 32, size);
  const std::vector<uint8_t> bytes(size, 7);
  uint64_t read = 0;
  const auto turns = [&](int count) {
    for (int i = 0; i < count; ++i) {
      lane.enter();
      lane.read([&](const lci_record& record) { read += record.kind == LCI_RECORD_MESSAGE; });
      for (uint32_t rank = 1; rank < job.size(); ++rank) {
        if (job.runtime(rank)) lci_progress(job.device(rank));
      }
    }
  };
  int accepted = 0;
  for (const uint32_t rank : {2, 1}) {
    for (int i = 0; i < 1000; ++i) {  // the first takes all bytes, the next of each rank waits
      accepted += lci_post_am(job.device(rank), 0, kPort, 1, bytes.data(), size, nullptr, 0) == LCI_DONE;
      turns(1);
    }
  }
  ASSERT_EQ(3, accepted);
  EXPECT_EQ(0u, lane.demand(index).left_behind) << "all live";
  job.close(1, 0);
  for (int i = 0; i < 2'000'000 && job.counter(0, "peers_failed") == 0; ++i) turns(1);
  turns(100);
  EXPECT_EQ(1u, lane.demand(index).left_behind);
  EXPECT_EQ(1u, lane.demand(index).depth);
  for (uint64_t wanted = 1; wanted <= 3; ++wanted) {
    lane.demand(index).requested = wanted;
    turns(100);
    EXPECT_EQ(wanted, read);
  }
  EXPECT_EQ(0u, lane.demand(index).left_behind);
  EXPECT_EQ(0u, lane.demand(index).depth);
}

// A receive posted on a device that has not felt the death yet, while device 0 has.
TEST(PeerFailure, EndsReceivesOfEveryDevice) {
  Job job(2, {{"devices", "2"}});
  job.close(1, 0);
  ASSERT_TRUE(fails(job, 0));
  job.settle();
  uint64_t value = 0;
  lci_comp* queue = make_queue(job.runtime(0));
  lci_status status{};
  const int code = lci_post_recv(job.device(0, 1), 1, 1, &value, sizeof value, queue, 0, nullptr);
  if (code == LCI_POSTED) {
    for (int i = 0; i < 1000; ++i) lci_progress(job.device(0, 1));
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "nobody will ever send this";
    EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
  } else {
    EXPECT_EQ(LCI_ERR_PEER_FAILED, code);
  }
}

// Nothing waits for the dead, nor is it counted as if it did.
TEST(PeerFailure, EmptiesTheBacklog) {
  Job job(2);
  uint64_t value = 1;
  for (uint64_t tag = 0; tag < 5; ++tag) {
    lci_descriptor op = operation(LCI_OP_AM, 1, kPort, tag, &value, sizeof value);
    op.flags |= LCI_FLAG_NO_RETRY;
    lci_status status{};
    const int code = lci_post(job.device(0), &op, nullptr, &status);
    EXPECT_EQ(tag == 0 ? LCI_DONE : LCI_DONE_BACKLOG, code) << lci_last_error();
  }
  EXPECT_EQ(4u, job.counter(0, "backlog_depth")) << "the first one is announced";
  job.close(1, 0);
  ASSERT_TRUE(fails(job, 0));
  job.settle();
  EXPECT_EQ(0u, job.counter(0, "backlog_depth"));
}

// Messages to a port that never opens wait in the backlog, and the time of the close passes.
TEST(PeerFailure, ARankThatCouldNotSendEverythingHasFailed) {
  Job job(2);
  uint64_t value = 42;
  for (const int code : {LCI_DONE, LCI_DONE_BACKLOG}) {  // the first one is announced
    lci_descriptor op = operation(LCI_OP_AM, 0, kPort, 1, &value, sizeof value);
    op.flags |= LCI_FLAG_NO_RETRY;
    ASSERT_EQ(code, lci_post(job.device(1), &op, nullptr, nullptr)) << lci_last_error();
  }
  job.close(1, 20);
  ASSERT_TRUE(fails(job, 0));
  EXPECT_EQ(0u, job.counter(0, "peers_left"));
}

// What a rank sent before it left lies here: a receive that comes late gets it, and the next one is told.
// Mutation: gone_before_matched.
TEST(PeerFailure, WhatTheGoneHadSentIsReceivedLate) {
  Job job(2);
  uint64_t value = 42, got = 0;
  ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 5, &value, sizeof value, nullptr, 0));
  job.settle();
  ASSERT_EQ(1u, job.counter(0, "unexpected_stored"));
  job.close(1, 1000);
  for (int i = 0; i < 2'000'000 && job.counter(0, "peers_left") == 0; ++i) job.progress();
  job.settle();
  lci_comp* queue = make_queue(job.runtime(0));
  EXPECT_EQ(LCI_DONE, lci_post_recv(job.device(0), 1, 5, &got, sizeof got, queue, 0, nullptr)) << lci_last_error();
  EXPECT_EQ(42u, got);
  EXPECT_EQ(0u, job.counter(0, "unexpected_stored"));
  EXPECT_EQ(LCI_ERR_PEER_LEFT, lci_post_recv(job.device(0), 1, 5, &got, sizeof got, queue, 0, nullptr));
  EXPECT_EQ(0u, job.counter(0, "receives_pending"));
}

// What a rank had announced to an engine before that was created here comes to it, and then nothing does.
// Mutation: late_engine_ends_receives.
TEST(PeerFailure, WhatTheGoneHadAnnouncedIsReceivedByALateEngine) {
  constexpr uint16_t kLate = 7;
  Job job(2);
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(1), kLate, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
  uint64_t value = 42, got = 0, nothing = 0;
  const lci_descriptor send = operation(LCI_OP_SEND, 0, kLate, 5, &value, sizeof value);
  lci_status status{};
  ASSERT_EQ(LCI_DONE, post_until_taken(job, 1, send, nullptr, &status)) << lci_last_error();
  job.settle();
  job.close(1, 0);
  for (int i = 0; i < 2'000'000 && job.counter(0, "peers_failed") == 0; ++i) job.progress();
  job.settle();
  ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(0), kLate, LCI_ENGINE_MAP, nullptr, nullptr)) << lci_last_error();
  lci_comp* queue = make_queue(job.runtime(0));
  lci_descriptor first = operation(LCI_OP_RECV, 1, kLate, 5, &got, sizeof got, 1);
  lci_descriptor second = operation(LCI_OP_RECV, 1, kLate, 5, &nothing, sizeof nothing, 2);
  EXPECT_EQ(LCI_POSTED, lci_post(job.device(0), &first, queue, &status)) << lci_last_error();
  EXPECT_EQ(LCI_POSTED, lci_post(job.device(0), &second, queue, &status)) << lci_last_error();
  job.settle();
  ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
  EXPECT_EQ(LCI_DONE, status.code);
  EXPECT_EQ(1u, status.user_context);
  EXPECT_EQ(42u, got);
  ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "nobody will ever send this";
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
  EXPECT_EQ(2u, status.user_context);
  EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post(job.device(0), &second, queue, &status));
  EXPECT_EQ(0u, job.counter(0, "receives_pending"));
}

// A device that the gone never spoke to has nothing to bring, and need not be progressed.
TEST(PeerFailure, EndsReceivesThoughOtherDevicesRest) {
  Job job(2, {{"devices", "2"}});
  uint64_t got = 0;
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, 0), 1, 5, &got, sizeof got, queue, 5, nullptr));
  job.close(1, 0);
  lci_status status{};
  for (int i = 0; i < 2'000'000 && job.counter(0, "peers_failed") == 0; ++i) lci_progress(job.device(0, 0));
  for (int i = 0; i < 100; ++i) lci_progress(job.device(0, 0));
  ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "nobody will ever send this";
  EXPECT_EQ(LCI_ERR_PEER_FAILED, status.code);
  EXPECT_EQ(LCI_ERR_PEER_FAILED, lci_post_recv(job.device(0, 0), 1, 5, &got, sizeof got, queue, 5, nullptr));
}

// A receive ends when no device can bring its message any more, whichever feels the departure first.
// Mutation: first_device_ends_receives.
TEST(PeerFailure, ReceivesWaitForWhatOtherDevicesHaveNotRead) {
  for (const uint32_t receiver : {0u, 1u}) {
    for (const uint32_t sender : {0u, 1u}) {
      SCOPED_TRACE(testing::Message() << "receive on device " << receiver << ", send on device " << sender);
      Job job(2, {{"devices", "2"}});
      uint64_t value = 42, got = 0, nothing = 0;
      lci_comp* queue = make_queue(job.runtime(0));
      ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, receiver), 1, 5, &got, sizeof got, queue, 5, nullptr));
      ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0, receiver), 1, 6, &nothing, sizeof nothing, queue, 6, nullptr));
      ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1, sender), 0, 5, &value, sizeof value, nullptr, 0));
      for (int i = 0; i < 100; ++i) lci_progress(job.device(1, sender));
      job.close(1, 1000);
      lci_device* const first = job.device(0, 1 - sender);
      for (int i = 0; i < 2'000'000 && job.counter(0, "peers_left") == 0; ++i) lci_progress(first);
      for (int i = 0; i < 100; ++i) lci_progress(first);
      lci_status status{};
      EXPECT_NE(LCI_DONE, lci_queue_pop(queue, &status)) << "ended before all was read: " << status.code;
      for (int i = 0; i < 100; ++i) lci_progress(job.device(0, sender));
      ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
      EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(5u, status.user_context);
      EXPECT_EQ(42u, got);
      ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "nobody will ever send this";
      EXPECT_EQ(LCI_ERR_PEER_LEFT, status.code);
      EXPECT_EQ(6u, status.user_context);
      EXPECT_EQ(0u, job.counter(0, "receives_pending"));
    }
  }
}

// [B26]
// Proves: B26
TEST(CompletionObject, WithAPendingOperationIsBusy) {
  Job job(2);
  uint64_t value = 42, got = 0;
  lci_comp* queue = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 1, &got, sizeof got, queue, 0, nullptr));
  ASSERT_EQ(LCI_ERR_BUSY, lci_comp_free(queue));
  ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 1, &value, sizeof value, nullptr, 0));
  lci_status status{};
  ASSERT_TRUE(pop(job, queue, &status));
  EXPECT_EQ(42u, got);
  EXPECT_EQ(LCI_DONE, lci_comp_free(queue));
}

// A rendezvous that has to wait in the backlog of rank 0's lane, which then goes.
// What waits behind it goes on, and nobody's receive is cancelled in its place.
TEST(LaneFree, ItsBacklogBlocksNobody) {
  Job job(2, {{"announcements", "2"}});  // one send without credit
  std::vector<uint8_t> bytes(kLong, 1);
  {
    LaneDriver lane(job, 0);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_BUFFER | LCI_FLAG_NO_RETRY;
    op.rank = 1;
    op.port = kPort;
    op.size = 8;
    op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
    lane.add(op);  // the announcement
    op.op = LCI_OP_SEND;
    op.port = 0;
    op.size = kLong;
    op.tag = 77;
    for (int i = 0; i < 2; ++i) lane.add(op);
    op.op = LCI_OP_AM;
    op.port = kPort;
    op.tag = 77;
    lane.add(op);
    op.size = 8;
    op.tag = 2;
    lane.add(op);
    lane.enter();
  }
  uint64_t value = 0;
  lci_comp* received = make_queue(job.runtime(0));
  ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 9, &value, sizeof value, received, 77, nullptr));
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 0, 0));
  lci_status status{};
  int small = 0;
  for (int i = 0; i < 20000 && small < 2; ++i) {
    job.progress();
    if (lci_queue_pop(queue, &status) == LCI_DONE) {
      small += status.size == 8;
      lci_buffer_free(status.buffer);
    }
  }
  EXPECT_EQ(2, small) << "accepted with done: delivered";
  EXPECT_EQ(LCI_RETRY, lci_queue_pop(received, &status)) << "the receive is somebody else's";
}

// A rendezvous whose sender's lane went: the receiver hears of it, and its receive ends.
TEST(LaneFree, EndsTheReceivesOfItsRendezvous) {
  for (const bool streaming : {false, true}) {
    Job job(2, {{"packets", "8"}, {"packets_max", "8"}});
    const uint32_t size = 4 << 20;
    std::vector<uint8_t> out(size, 1), in(size);
    lci_comp* queue = make_queue(job.runtime(1));
    {
      LaneDriver lane(job, 0);
      lci_descriptor op{};
      op.op = LCI_OP_SEND;
      op.flags = LCI_FLAG_BUFFER;
      op.rank = 1;
      op.size = size;
      op.tag = 5;
      op.u.ref.address = reinterpret_cast<uint64_t>(out.data());
      lane.add(op);
      lane.enter();
      ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 5, in.data(), size, queue, 0, nullptr));
      for (int i = 0; i < 3; ++i) {
        lci_progress(job.device(1));
        if (streaming) lane.enter();
      }
    }
    lci_status status{};
    ASSERT_TRUE(pop(job, queue, &status)) << "streaming " << streaming;
    EXPECT_EQ(LCI_ERR_CANCELLED, status.code);
    job.check_ledgers();
  }
}

// A receive of one lane is matched on another lane's device. When the first lane is gone, nothing writes into its
// buffer. [A19]
TEST(LaneFree, NothingWritesIntoItsBuffersAfterwards) {
  Job job(2, {{"devices", "2"}});
  std::vector<uint8_t> out(kLong, 9);
  std::vector<uint8_t> in(kLong, 0);
  {
    LaneDriver other(job, 0, 1);
    lci_comp* sent = make_queue(job.runtime(1));
    {
      LaneDriver lane(job, 0, 0);
      lci_descriptor op{};
      op.op = LCI_OP_RECV;
      op.flags = LCI_FLAG_BUFFER;
      op.rank = 1;
      op.size = kLong;
      op.tag = 5;
      op.u.ref.address = reinterpret_cast<uint64_t>(in.data());
      ASSERT_EQ(LCI_POSTED, (lane.add(op), lane.enter(), LCI_POSTED));
      ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(1, 1), 0, 5, out.data(), kLong, sent, 0));
      other.enter();  // matched: the other lane's device will write
    }
    for (int i = 0; i < 100; ++i) {
      lci_progress(job.device(1, 1));
      other.enter();
    }
  }
  EXPECT_EQ(std::vector<uint8_t>(kLong, 0), in) << "the buffer was its owner's again";
}

// A message for which the system has no memory waits; the lane is not lost, and others are served.
TEST(Memory, RefusedForOneMessageStopsNothingElse) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers' memory knows no limit";
#else
  Job job(3);
  constexpr uint32_t kHuge = 1u << 30;
  void* huge = mmap(nullptr, kHuge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(MAP_FAILED, huge);
  lci_comp* sent = make_queue(job.runtime(1));
  {
    LaneDriver lane(job, 0);
    lane.demand(lane.open(kPort, 16, 1 << 20)).requested = 100;
    ASSERT_EQ(LCI_POSTED, lci_post_am(job.device(1), 0, kPort, 1, huge, kHuge, sent, 0));
    ASSERT_EQ(LCI_DONE, lci_post_am(job.device(2), 0, kPort, 2, nullptr, 0, nullptr, 0));
    rlimit before{};
    ASSERT_EQ(0, getrlimit(RLIMIT_AS, &before));
    rlimit tight = before;
    tight.rlim_cur = kHuge;
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &tight));
    int worst = LCI_DONE;
    uint64_t tag = 0;
    for (int i = 0; i < 1000; ++i) {
      worst = std::max(worst, lane.enter());
      lane.read([&](const lci_record& record) { tag = record.kind == LCI_RECORD_MESSAGE ? record.tag : tag; });
    }
    ASSERT_EQ(0, setrlimit(RLIMIT_AS, &before));
    EXPECT_LE(worst, LCI_RETRY) << lci_code_name(worst);
    EXPECT_EQ(2u, tag) << "of the other rank";
    job.close(1, 0);
  }
  munmap(huge, kHuge);
#endif
}

// What the queue cannot hold is not granted: no message is lost. [X2]
// Proves: X2
TEST(FlowControl, AQueueSmallerThanThePortLosesNothing) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1), 8);
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 0, 0));
  uint64_t accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    const int code = lci_post_am(job.device(0), 1, kPort, accepted, nullptr, 0, nullptr, 0);
    ASSERT_TRUE(code == LCI_DONE || is_retry(code));
    accepted += code == LCI_DONE;
    job.progress();
  }
  EXPECT_EQ(0u, job.counter(1, "discarded"));
  lci_status status{};
  for (uint64_t i = 0; i < accepted; ++i) {
    ASSERT_TRUE(pop(job, queue, &status)) << i << " of " << accepted;
    EXPECT_EQ(i, status.tag);
    lci_buffer_free(status.buffer);
  }
}

}  // namespace
}  // namespace lci_test
