// SPDX-License-Identifier: Apache-2.0
// Lanes driven from C: what Java does through the mapped block. [V1-V8, V11]
#include <atomic>
#include <random>
#include <thread>

#include "support/hostile_peer.hpp"
#include "support/job.hpp"
#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

bool is_retry(int code) {
  return code >= LCI_RETRY && code < LCI_ERR_ARGUMENT;
}

// A batch of good, refused and invalid descriptors: each its own outcome. [V1]
// Proves: V1
TEST(Lane, EveryDescriptorGetsItsOwnOutcome) {
  Job job(2);
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    receiver.open(1);  // demand 0: nothing is taken
    auto& first = sender.add_am(1, 1, 10, 100);
    auto& refused = sender.add_am(1, 1, 11, 101);
    auto& order = sender.add_am(1, 1, 12, 102);
    auto& bad_rank = sender.add_am(9, 1, 13, 103);
    auto& bad_port = sender.add_am(1, 0, 14, 104);
    auto& other_key = sender.add_am(1, 2, 15, 105);
    sender.enter();
    EXPECT_EQ(LCI_DONE, first.outcome) << "the key's announcement slot";
    EXPECT_EQ(LCI_RETRY_NOCREDIT, refused.outcome);
    EXPECT_EQ(LCI_RETRY_ORDER, order.outcome);
    EXPECT_EQ(LCI_ERR_RANK, bad_rank.outcome);
    EXPECT_EQ(LCI_ERR_PORT, bad_port.outcome);
    EXPECT_EQ(LCI_DONE, other_key.outcome);
    EXPECT_EQ(0u, sender.control().submit_count);
  }
}

// Whoever drives the receiver by its doorbell would not enter again, and the sender would wait. Mutation: answers_wait.
TEST(Lane, AnswersGoOutInThePassThatTookTheQuestion) {
  Job job(2);
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    receiver.open(1);  // demand 0: no record brings it back
    auto& announced = sender.add_am(1, 1, 10, 100);
    sender.enter();
    EXPECT_EQ(LCI_DONE, announced.outcome) << "the key's announcement slot";
    receiver.enter();
    sender.enter();
    auto& second = sender.add_am(1, 1, 11, 101);
    auto& third = sender.add_am(1, 1, 12, 102);
    sender.enter();
    EXPECT_EQ(LCI_DONE, second.outcome);
    EXPECT_EQ(LCI_DONE, third.outcome) << "there is credit, not the slot alone";
  }
}

// What was accepted arrives once: posts, arrivals and records are the same number. [M4] Mutation: post_twice.
// Proves: M4
TEST(Lane, PostsAreArrivals) {
  Job job(2);
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    receiver.demand(receiver.open(1)).requested = UINT64_MAX / 2;
    uint64_t accepted = 0, records = 0;
    auto receive = [&] {
      receiver.enter();
      receiver.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_MESSAGE) return;
        EXPECT_EQ(records, record.tag);
        ++records;
      });
    };
    for (int i = 0; i < 100000 && accepted < 5000; ++i) {
      auto& op = sender.add_am(1, 1, accepted, accepted);
      sender.enter();
      sender.read([](const lci_record&) {});
      accepted += op.outcome == LCI_DONE;
      receive();
      if (::testing::Test::HasFailure()) break;
    }
    for (int i = 0; i < 100; ++i) receive();
    EXPECT_EQ(5000u, accepted);
    EXPECT_EQ(accepted, records);
    EXPECT_EQ(accepted, job.counter(1, "arrivals"));
    EXPECT_EQ(accepted, job.counter(0, "operations_am_done"));
  }
}

// A sender that was refused is told when it may send, and not of a grant that brings it nothing.
TEST(Lane, WritableMeansThatThereIsRoom) {
  Job job(2);
  lci_comp* queue = make_queue(job.runtime(1));
  ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 1, "", queue, 1, 1 << 20));  // one message: nothing for leases
  {
    LaneDriver sender(job, 0);
    uint32_t told = 0;
    auto enter = [&] {
      sender.enter();
      sender.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_WRITABLE) return;
        EXPECT_GT(record.context, 0u);
        ++told;
      });
    };
    auto post = [&] {
      auto& op = sender.add_am(1, 1, 0, 0);
      enter();
      return op.outcome;
    };
    ASSERT_EQ(LCI_DONE, post()) << "announced";
    lci_progress(job.device(1));  // admitted; its packet goes back, the answer is still to come
    ASSERT_EQ(LCI_RETRY_NOCREDIT, post());
    ASSERT_EQ(1u, told) << "the announcement's slot is free again";
    ASSERT_EQ(LCI_DONE, post()) << "announced: it waits for the one stored message to be taken";
    ASSERT_EQ(LCI_RETRY_NOCREDIT, post());
    for (int i = 0; i < 10; ++i) {
      lci_progress(job.device(1));  // the answer: the port is open, but has no room
      enter();
    }
    EXPECT_EQ(1u, told) << "there is no room yet";
    lci_status status{};
    ASSERT_EQ(LCI_DONE, lci_queue_pop(queue, &status));
    lci_buffer_free(status.buffer);
    for (int i = 0; i < 10; ++i) {
      lci_progress(job.device(1));
      enter();
    }
    EXPECT_EQ(2u, told);
    EXPECT_EQ(LCI_DONE, post());
  }
}

// Credit may come in two parts: first bytes, with no message to send them in. Mutation: forget_refused.
TEST(Lane, ARefusedSenderIsNotToldOfBytesAlone) {
  Job job(2);
  HostilePeer peer(job);
  {
    LaneDriver sender(job, 0);
    uint64_t room = 0;
    auto enter = [&] {
      sender.enter();
      sender.read([&](const lci_record& record) {
        if (record.kind == LCI_RECORD_WRITABLE) room += record.context;
      });
    };
    auto post = [&] {
      auto& op = sender.add_am(1, 1, 0, 0);
      enter();
      return op.outcome;
    };
    ASSERT_EQ(LCI_DONE, post()) << "announced; its packet never comes back";
    ASSERT_EQ(LCI_RETRY_NOCREDIT, post());
    ASSERT_TRUE(peer.send({lci::MessageKind::kGrant, 0, 1, 0, 0, 1, 100}));
    enter();
    EXPECT_EQ(0u, room);
    ASSERT_TRUE(peer.send({lci::MessageKind::kGrant, 0, 1, 1, 0, 1, 0}));
    enter();
    EXPECT_EQ(1u, room);
    EXPECT_EQ(LCI_DONE, post());
    EXPECT_EQ(LCI_RETRY_NOCREDIT, post());
  }
  job.close(0, 0);
}

// Four destinations, one of them without demand: the others get everything. [V2] Mutation:
// refusal_blocks_all.
// Proves: V2
TEST(Lane, ARankWithoutDemandDoesNotBlockTheOthers) {
  constexpr uint32_t kPerRank = 20000;
  Job job(5);
  {
    std::vector<std::unique_ptr<LaneDriver>> lanes;
    for (uint32_t rank = 0; rank < 5; ++rank) lanes.push_back(std::make_unique<LaneDriver>(job, rank));
    uint32_t index[5] = {};
    for (uint32_t rank = 1; rank < 5; ++rank) {
      index[rank] = lanes[rank]->open(1, 64, 1 << 20);
      lanes[rank]->demand(index[rank]).requested = rank == 1 ? 0 : UINT64_MAX / 2;
    }
    uint64_t sent[5] = {}, received[5] = {}, sum[5] = {};
    uint64_t passes = 0;
    while ((sent[2] < kPerRank || sent[3] < kPerRank || sent[4] < kPerRank || received[2] < kPerRank ||
            received[3] < kPerRank || received[4] < kPerRank) &&
           ++passes < 1'000'000) {
      lci_descriptor* posted[5] = {};
      for (uint32_t rank = 1; rank < 5; ++rank) {
        if (sent[rank] < kPerRank) posted[rank] = &lanes[0]->add_am(rank, 1, 0, sent[rank]);
      }
      lanes[0]->enter();
      for (uint32_t rank = 1; rank < 5; ++rank) {
        if (posted[rank] && posted[rank]->outcome == LCI_DONE) ++sent[rank];
      }
      lanes[0]->read([](const lci_record&) {});
      for (uint32_t rank = 1; rank < 5; ++rank) {
        lanes[rank]->enter();
        lanes[rank]->read([&](const lci_record& record) {
          if (record.kind != LCI_RECORD_MESSAGE) return;
          ++received[rank];
          sum[rank] += LaneDriver::value_of(record);
        });
      }
    }
    for (uint32_t rank = 2; rank < 5; ++rank) {
      EXPECT_EQ(kPerRank, received[rank]) << rank;
      EXPECT_EQ(uint64_t{kPerRank} * (kPerRank - 1) / 2, sum[rank]) << rank;
    }
    EXPECT_EQ(0u, received[1]);
    EXPECT_LE(sent[1], 65u) << "more than the slow rank has room for";
  }
}

// With demand n exactly n messages are recorded; the rest stays, and comes with more demand. [V5]
// Mutation: ignore_demand.
// Proves: V5
TEST(Lane, InboxesAreDrainedToTheirDemandOnly) {
  Job job(2);
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    const uint32_t slow = receiver.open(1, 128, 1 << 20);
    const uint32_t fast = receiver.open(2, 128, 1 << 20);
    receiver.demand(fast).requested = UINT64_MAX / 2;
    uint64_t counts[2] = {}, sent[2] = {};
    auto drive = [&](int passes) {
      for (int i = 0; i < passes; ++i) {
        lci_descriptor* ops[2] = {&sender.add_am(1, 1, 0, sent[0]), &sender.add_am(1, 2, 0, sent[1])};
        sender.enter();
        for (int k = 0; k < 2; ++k) sent[k] += ops[k]->outcome == LCI_DONE;
        sender.read([](const lci_record&) {});
        receiver.enter();
        receiver.read([&](const lci_record& record) {
          if (record.kind == LCI_RECORD_MESSAGE) ++counts[record.index == fast];
        });
      }
    };
    drive(3000);
    EXPECT_EQ(0u, counts[0]);
    EXPECT_GT(counts[1], 2000u);
    receiver.demand(slow).requested += 10;
    drive(100);
    EXPECT_EQ(10u, counts[0]);
    EXPECT_EQ(receiver.demand(slow).delivered, 10u);
    receiver.demand(slow).requested = UINT64_MAX / 2;
    drive(1000);
    for (int i = 0; i < 100; ++i) {
      sender.enter();
      receiver.enter();
      receiver.read([&](const lci_record& record) {
        if (record.kind == LCI_RECORD_MESSAGE) ++counts[record.index == fast];
      });
    }
    EXPECT_EQ(sent[0], counts[0]);
    EXPECT_EQ(sent[1], counts[1]);
  }
}

// Messages of many sizes through a completion ring of 64 records, wrap after wrap. [V6]
TEST(Lane, RecordsOfAllSizesSurviveTheWrap) {
  Job job(2, {{"lane_completions", "64"}});
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    const uint32_t index = receiver.open(1);
    receiver.demand(index).requested = UINT64_MAX / 2;
    std::mt19937 random(7);
    std::vector<uint8_t> bytes(70000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + 3);
    uint64_t sent = 0, received = 0, ended = 0, posted = 0;
    for (int i = 0; i < 200000 && (received < 5000 || ended < posted); ++i) {
      if (sent < 5000) {
        lci_descriptor op{};
        op.op = LCI_OP_AM;
        op.flags = LCI_FLAG_BUFFER;
        op.rank = 1;
        op.port = 1;
        const uint32_t kind = random() % 100;
        op.size = kind < 60 ? random() % 193 : kind < 95 ? random() % 8000 : random() % 70000;
        op.tag = op.size;
        op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
        auto& added = sender.add(op);
        sender.enter();
        ASSERT_LT(added.outcome, LCI_ERR_ARGUMENT) << lci_last_error();
        if (!is_retry(added.outcome)) ++sent;
        if (added.outcome == LCI_POSTED) ++posted;
      } else {
        sender.enter();
      }
      sender.read([&](const lci_record& record) { ended += record.kind == LCI_RECORD_OP && record.code == LCI_DONE; });
      receiver.enter();
      receiver.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_MESSAGE) return;
        const void* payload = record.flags & LCI_RECORD_FLAG_ADDRESS ? reinterpret_cast<const void*>(record.u.address)
                                                                     : record.u.inline_payload;
        ASSERT_EQ(record.tag, record.size);
        ASSERT_EQ(0, compare(bytes.data(), payload, record.size)) << record.size;
        ++received;
      });
    }
    EXPECT_EQ(5000u, received);
    EXPECT_EQ(posted, ended);
    EXPECT_GT(posted, 10u);
    EXPECT_EQ(0u, sender.control().in_flight);
  }
}

// The packets that the loop may fill are not all that there are: the first message of a sender needs one as well.
TEST(Lane, SendsThroughFewPackets) {
  for (const char* packets : {"2", "4", "9"}) {
    Job job(2, {{"devices", "1"}, {"packets", packets}, {"packets_max", packets}});
    lci_comp* arrived = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 1, "", arrived, 4, 4000)) << lci_last_error();
    LaneDriver lane(job, 0);
    lci_status status{};
    bool came = false, posted = false;
    for (int i = 0; i < 1000 && !came; ++i) {
      lci_descriptor* const op = posted ? nullptr : &lane.add_am(1, 1, 7, 9);
      lane.enter();
      if (op) posted = op->outcome == LCI_DONE;
      lci_progress(job.device(1));
      came = lci_queue_pop(arrived, &status) == LCI_DONE;
    }
    ASSERT_TRUE(came) << packets << " packets";
    EXPECT_EQ(7u, status.tag);
    EXPECT_LT(0u, lane.control().packet_count);
    lci_buffer_free(status.buffer);
  }
}

// The pool tries one other device's packets per attempt, so a refusal may come although there are some: it is tried for
// again, though nobody gives a packet back any more. [V4] Mutation: miss_packets.
// Proves: SS-24
// Proves: SS-23
TEST(Lane, ARefusedPacketIsFoundWhereverItLies) {
  const std::vector<uint8_t> bytes(1000);
  uint64_t refused = 0;
  for (int round = 0; round < 20; ++round) {
    uint64_t handled = 0;
    Job job(2, {{"devices", "4"}, {"packets", "64"}, {"packets_max", "64"}});
    lci_comp* handler = nullptr;
    auto count = [](const lci_status*, void* argument) { ++*static_cast<uint64_t*>(argument); };
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(1), count, &handled, &handler));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 1, "", handler, 0, 0));
    LaneDriver lane(job, 0);
    auto serve = [&] {
      for (int i = 0; i < 100; ++i) {
        lci_progress(job.device(1, 1));
        lci_progress(job.device(0, 1));
      }
    };
    // Device 1 gets hold of every packet that the lane does not cache, and has them back in the end.
    auto send = [&] { return lci_post_am(job.device(0, 1), 1, 1, 0, bytes.data(), 1000, nullptr, 0) == LCI_DONE; };
    uint64_t sent = send();
    serve();  // the port is known to need no credit
    for (int i = 0; i < 10000 && job.counter(0, "packets_free") != 0; ++i) sent += send();
    ASSERT_EQ(0u, job.counter(0, "packets_free"));
    serve();
    ASSERT_EQ(0u, job.counter(0, "packets_out"));
    ASSERT_EQ(sent, handled);
    lci_descriptor op{};
    op.op = LCI_OP_AM;
    op.flags = LCI_FLAG_BUFFER;
    op.rank = 1;
    op.port = 1;
    op.size = 1000;
    op.u.ref.address = reinterpret_cast<uint64_t>(bytes.data());
    bool taken = false;
    for (int i = 0; i < 1000 && !taken; ++i) {
      const uint32_t generation = lane.control().generation[0];
      auto& added = lane.add(op);
      lane.enter();
      taken = added.outcome == LCI_DONE;
      refused += added.outcome == LCI_RETRY_NOPACKET;
      for (int k = 0; k < 100 && !taken && lane.control().generation[0] == generation; ++k) lane.enter();
      ASSERT_TRUE(taken || lane.control().generation[0] != generation) << "refused for ever, with packets free";
    }
    EXPECT_TRUE(taken);
  }
  EXPECT_GT(refused, 0u);
}

/// A handler that stays in the thread that entered until it is let go.
struct Stay {
  std::atomic<bool> entered{false}, open{false};
  static void run(const lci_status*, void* argument) {
    auto& stay = *static_cast<Stay*>(argument);
    if (stay.entered.exchange(true)) return;
    while (!stay.open) std::this_thread::yield();
  }
};

// Somebody is inside a lane, for as long as it takes: whoever comes gets busy. [V7] Mutation: lane_lets_all_in.
// Proves: V7
TEST(Lane, LetsNobodyInBesideItsOwner) {
  Job job(1);
  {
    LaneDriver lane(job, 0);
    Stay stay;
    lci_comp* handler = nullptr;
    ASSERT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), &Stay::run, &stay, &handler));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), 7, "", handler, 0, 0));
    lane.add_am(0, 7, 0, 0);
    std::thread owner([&] {
      while (!stay.entered) lane.enter();
    });
    while (!stay.entered) std::this_thread::yield();
    int busy = 0;
    for (int i = 0; i < 10; ++i) busy += lane.enter() == LCI_ERR_BUSY;
    stay.open = true;
    owner.join();
    EXPECT_EQ(10, busy);
    EXPECT_LE(lane.enter(), LCI_RETRY) << "free again";
  }
}

// Two threads fight for a lane; it stays whole. Under TSan this also shows the hand-over. [V7]
// Proves: V7
TEST(Lane, HasOneOwnerAtATime) {
  Job job(2);
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    const uint32_t index = receiver.open(1);
    receiver.demand(index).requested = UINT64_MAX / 2;
    std::atomic<uint64_t> busy{0}, entered{0};
    auto fight = [&] {
      for (int i = 0; i < 20000; ++i) {
        const int code = sender.enter();
        ASSERT_TRUE(code == LCI_DONE || code == LCI_RETRY || code == LCI_ERR_BUSY);
        ++(code == LCI_ERR_BUSY ? busy : entered);
        if (i % 64 == 0) std::this_thread::yield();
      }
    };
    std::thread a(fight), b(fight);
    a.join();
    b.join();
    EXPECT_EQ(40000u, busy + entered);
    EXPECT_GT(entered, 0u);
  }
}

// Receives always come back as records; synchronizers fire as records. [E2, V5]
TEST(Lane, ReceivesAndSynchronizersComeBackAsRecords) {
  Job job(1);
  {
    LaneDriver lane(job, 0);
    lci_comp* synchronizer = nullptr;
    ASSERT_EQ(LCI_DONE, lci_lane_synchronizer_create(lane.handle(), 2, &synchronizer)) << lci_last_error();
    uint64_t places[3] = {}, value = 42;
    for (int i = 0; i < 3; ++i) {
      lci_descriptor send{};
      send.op = LCI_OP_SEND;
      send.flags = LCI_FLAG_BUFFER;
      send.size = 8;
      send.tag = i;
      send.u.ref.address = reinterpret_cast<uint64_t>(&value);
      lci_descriptor receive = send;
      receive.op = LCI_OP_RECV;
      receive.u.ref.address = reinterpret_cast<uint64_t>(&places[i]);
      receive.user_context = 70 + i;
      if (i < 2) {
        receive.flags |= LCI_FLAG_COMP;
        receive.user_context = uint64_t{80u + i} << 32 | lci_comp_id(synchronizer);
      }
      auto& sent = lane.add(send);
      auto& received = lane.add(receive);
      lane.enter();
      ASSERT_EQ(LCI_DONE, sent.outcome) << lci_last_error();
      ASSERT_EQ(LCI_POSTED, received.outcome) << lci_last_error();
    }
    std::vector<lci_record> fired, ended;
    for (int i = 0; i < 100; ++i) {
      lane.enter();
      lane.read([&](const lci_record& record) {
        if (record.kind == LCI_RECORD_SYNC) fired.push_back(record);
        if (record.kind == LCI_RECORD_OP) ended.push_back(record);
      });
    }
    ASSERT_EQ(2u, fired.size());
    EXPECT_EQ(1u, fired[0].index);
    EXPECT_EQ(0u, fired[1].index);
    EXPECT_EQ(80u + 81u, (fired[0].context & 0xFFFFFFFF) + (fired[1].context & 0xFFFFFFFF));
    EXPECT_EQ(lci_comp_id(synchronizer), fired[0].context >> 32);
    ASSERT_EQ(1u, ended.size());
    EXPECT_EQ(72u, ended[0].context);
    for (const uint64_t place : places) EXPECT_EQ(42u, place);
    EXPECT_EQ(LCI_DONE, lci_comp_free(synchronizer));
  }
}

// Operations outstanding when the lane goes are forgotten; closing the runtime then touches nothing of the lane.
TEST(Lane, MayGoBeforeItsOperationsEnd) {
  Job job(2);
  std::vector<uint8_t> big(100000);
  {
    LaneDriver lane(job, 0);
    lci_descriptor receive{};
    receive.op = LCI_OP_RECV;
    receive.flags = LCI_FLAG_BUFFER;
    receive.rank = 1;
    receive.tag = 3;
    receive.size = 100000;
    receive.u.ref.address = reinterpret_cast<uint64_t>(big.data());
    lci_descriptor send = receive;
    send.op = LCI_OP_SEND;
    lci_descriptor barrier{};
    barrier.op = LCI_OP_BARRIER;
    auto& received = lane.add(receive);
    auto& sent = lane.add(send);
    auto& entered = lane.add(barrier);
    lane.enter();
    ASSERT_EQ(LCI_POSTED, received.outcome);
    ASSERT_EQ(LCI_POSTED, sent.outcome);
    ASSERT_EQ(LCI_POSTED, entered.outcome);
    EXPECT_EQ(1u, job.counter(0, "receives_pending"));
  }
  EXPECT_EQ(0u, job.counter(0, "receives_pending")) << "its buffer may be gone";
  EXPECT_EQ(0u, job.counter(0, "sends_pending"));
  lci_comp* queue = make_queue(job.runtime(1));
  lci_descriptor barrier{};
  barrier.op = LCI_OP_BARRIER;
  ASSERT_EQ(LCI_POSTED, lci_post(job.device(1), &barrier, queue, nullptr));
  job.settle();
  lci_status status{};
  EXPECT_EQ(LCI_DONE, lci_queue_pop(queue, &status)) << "a barrier that was entered still takes part";
}

// Each source wakes a parked lane. [V11] Mutation: skip_wake (then only the time-out ends the park, and it is counted).
TEST(Parking, ArrivalAndWakeEndAPark) {
  Job job(2);
  {
    LaneDriver sender(job, 0), receiver(job, 1);
    const uint32_t index = receiver.open(1);
    receiver.demand(index).requested = UINT64_MAX / 2;
    constexpr uint64_t kMessages = 2000;
    std::atomic<uint64_t> received{0};
    std::thread loop([&] {
      while (received < kMessages) {
        const int code = receiver.enter();
        receiver.read([&](const lci_record& record) {
          if (record.kind == LCI_RECORD_MESSAGE) ++received;
        });
        if (code == LCI_RETRY && !receiver.control().must_enter && received < kMessages) {
          receiver.park_word().store(1, std::memory_order_seq_cst);
          lci_lane_park(receiver.handle(), 1'000'000'000);
        }
      }
    });
    for (uint64_t i = 0; i < kMessages;) {
      auto& op = sender.add_am(1, 1, 0, i);
      sender.enter();
      sender.read([](const lci_record&) {});
      if (op.outcome != LCI_DONE) continue;
      ++i;
      while (received < i) {
        sender.enter();
        std::this_thread::yield();
      }
    }
    loop.join();
    EXPECT_EQ(0u, receiver.control().late_wakes);
  }
  EXPECT_EQ(0u, job.counter(1, "late_wakes"));
}

}  // namespace
}  // namespace lci_test
