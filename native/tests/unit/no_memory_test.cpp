// SPDX-License-Identifier: Apache-2.0
// Static core only: it refuses what malloc is asked for.
// A piece of a large message for which there is no memory for a moment: it comes again, whole and once. [A10, X1]
// Mutations that must make this file fail: packet_back_first, declined_not_left_again, record_room_forgotten.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "support/graph.hpp"
#include "support/lane_driver.hpp"
#include "support/posting.hpp"
#include "support/rma_job.hpp"
#include "support/shortage.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;
constexpr uint32_t kSize = 200'000;  // many pieces through few packets
const Attributes kFewPackets = {{"devices", "2"}, {"rma", "messages"}, {"packets", "4"}, {"packets_max", "4"}};

/// One whose sender is rank 0, with the passes of either side.
void exchange_until(const std::function<bool()>& over, Shortage& shortage, const std::function<void()>& sender,
                    const std::function<void()>& receiver) {
  for (int i = 0; i < 10'000 && !over(); ++i) {
    sender();
    shortage.during(receiver);
  }
}

TEST(NoMemory, OfAReceiveIntoAList) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const std::vector<uint8_t> out = pattern(kSize, 3);
    std::vector<uint8_t> in(kSize);
    std::vector<lci_buffer> parts;
    for (uint32_t at = 0; at < kSize; at += 1000) parts.push_back({in.data() + at, 1000});
    lci_comp *sent = make_queue(job.runtime(0)), *received = make_queue(job.runtime(1));
    lci_descriptor receive = operation(LCI_OP_RECV, 0, 0, 5, parts.data(), 0);
    receive.flags |= LCI_FLAG_LIST;
    receive.u.ref.count = static_cast<uint32_t>(parts.size());
    ASSERT_EQ(LCI_POSTED, lci_post(job.device(1), &receive, received, nullptr)) << lci_last_error();
    ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(0), 1, 5, out.data(), kSize, sent, 0));
    for (int i = 0; i < 2; ++i) lci_progress(job.device(1));  // it is announced, and the answer on its way
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(received, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(out, in);
    job.check_ledgers();
  });
}

TEST(NoMemory, OfAPut) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const Allocated region(job.runtime(1), kSize);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    const std::vector<uint8_t> out = pattern(kSize, 3);
    lci_comp *ended = make_queue(job.runtime(0)), *first = make_queue(job.runtime(1));
    uint8_t place = 0;
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 1, &place, 1, first, 0, nullptr));
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(0), 1, 1, "x", 1, nullptr, 0));
    job.settle();  // there is a way, on which no packet was sent
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, remote_op(LCI_OP_PUT, 1, out.data(), kSize, remote, 0), ended));
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(ended, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(out, std::vector<uint8_t>(region.bytes_at, region.bytes_at + kSize));
    EXPECT_EQ(kSize, job.counter(1, "rma_served"));
    job.check_ledgers();
  });
}

// Its poster: the end of the put and its signal both come.
TEST(NoMemory, OfAPutWithASignal) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const Allocated region(job.runtime(1), kSize);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    const std::vector<uint8_t> out = pattern(kSize, 3);
    lci_comp *ended = make_queue(job.runtime(0)), *signals = nullptr;
    ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &signals));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", signals, 0, 0));
    job.settle();
    lci_descriptor put = remote_op(LCI_OP_PUT, 1, out.data(), kSize, remote, 0);
    put.port = 5;
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, put, ended));
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    bool over = false;
    exchange_until(
        [&] {
          over = over || lci_queue_pop(ended, &status) == LCI_DONE;
          return over && lci_counter_get(signals) == 1;
        },
        shortage, [&] { lci_progress(job.device(1)); }, [&] { lci_progress(job.device(0)); });
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(1u, lci_counter_get(signals));
    job.check_ledgers();
  });
}

// A receive that waits, and one that comes late.
TEST(NoMemory, OfALongReceive) {
  for (const bool waits : {true, false}) {
    at_every_allocation([waits](Shortage& shortage) {
      Job job(2, kFewPackets);
      const std::vector<uint8_t> out = pattern(kSize, 3);
      std::vector<uint8_t> in(kSize);
      lci_comp *sent = make_queue(job.runtime(0)), *received = make_queue(job.runtime(1));
      const auto receive = [&] { return lci_post_recv(job.device(1), 0, 5, in.data(), kSize, received, 0, nullptr); };
      if (waits) {
        ASSERT_EQ(LCI_POSTED, receive()) << lci_last_error();
      }
      ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(0), 1, 5, out.data(), kSize, sent, 0));
      const auto is_there = [&] { return job.counter(1, "unexpected_stored") != 0; };
      const auto pass_0 = [&] { lci_progress(job.device(0)); };
      const auto pass_1 = [&] { lci_progress(job.device(1)); };
      if (!waits) {
        exchange_until(is_there, shortage, pass_0, pass_1);
        ASSERT_EQ(LCI_POSTED, receive()) << lci_last_error();
      }
      lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
      exchange_until([&] { return lci_queue_pop(received, &status) == LCI_DONE; }, shortage, pass_0, pass_1);
      EXPECT_EQ(LCI_DONE, status.code);
      EXPECT_EQ(out, in);
      EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
      job.check_ledgers();
    });
  }
}

TEST(NoMemory, OfALongMessage) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const std::vector<uint8_t> out = pattern(kSize, 3);
    lci_comp *sent = make_queue(job.runtime(0)), *arrived = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", arrived, 10, 10 * kSize)) << lci_last_error();
    ASSERT_EQ(LCI_POSTED, lci_post_am(job.device(0), 1, kPort, 5, out.data(), kSize, sent, 0)) << lci_last_error();
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(arrived, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    ASSERT_EQ(LCI_DONE, status.code);
    const auto* bytes = static_cast<const uint8_t*>(status.buffer);
    EXPECT_EQ(out, std::vector<uint8_t>(bytes, bytes + status.size));
    lci_buffer_free(status.buffer);
    EXPECT_EQ(1u, job.counter(1, "arrivals"));
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.check_ledgers();
  });
}

// The first of a sender, who has no credit: it is looked at in the sender's packet.
TEST(NoMemory, OfAnAnnouncedMessage) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    lci_comp* arrived = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", arrived, 10, 10'000)) << lci_last_error();
    const uint64_t value = 42;
    ASSERT_EQ(LCI_DONE, lci_post_am(job.device(0), 1, kPort, 5, &value, sizeof value, nullptr, 0));
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(arrived, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    ASSERT_EQ(LCI_DONE, status.code);
    lci_buffer_free(status.buffer);
    job.settle();
    EXPECT_EQ(LCI_RETRY, lci_queue_pop(arrived, &status)) << "it came twice";
    EXPECT_EQ(1u, job.counter(1, "arrivals"));
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.check_ledgers();
  });
}

// What waits at its sender: the message for credit, in the backlog.
void backlog_at_every_allocation(const char* peer_memory) {
  Attributes attributes = kFewPackets;
  attributes.emplace_back("peer_memory", peer_memory);
  at_every_allocation([&](Shortage& shortage) {
    constexpr uint64_t kMessages = 40;
    Job job(2, attributes);
    lci_comp* arrived = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", arrived, 4, 4000)) << lci_last_error();
    uint64_t posted = 0, expected = 0;
    const auto sender = [&] {
      if (posted < kMessages) {
        lci_descriptor op = operation(LCI_OP_AM, 1, kPort, posted, &posted, sizeof posted);
        op.flags |= LCI_FLAG_NO_RETRY;
        lci_status status{};
        const int code = lci_post(job.device(0), &op, nullptr, &status);
        if (code == LCI_DONE || code == LCI_DONE_BACKLOG) ++posted;
        EXPECT_TRUE(code == LCI_DONE || code == LCI_DONE_BACKLOG || code == LCI_ERR_NO_MEMORY) << code;
      }
      lci_progress(job.device(0));
    };
    const auto receiver = [&] {
      lci_progress(job.device(1));
      lci_status status{};
      if (lci_queue_pop(arrived, &status) != LCI_DONE) return;
      EXPECT_EQ(expected++, status.tag) << "in order, each once";
      lci_buffer_free(status.buffer);
    };
    exchange_until([&] { return expected == kMessages; }, shortage, receiver, sender);
    EXPECT_EQ(kMessages, expected);
    EXPECT_EQ(0u, job.counter(0, "backlog_depth"));
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.check_ledgers();
  });
}

TEST(NoMemory, OfTheBacklog) {
  backlog_at_every_allocation("all");
}
// Where nothing may overtake what is announced, the backlog is looked at more often than it can go on.
TEST(NoMemory, OfTheBacklogWhereAnnouncementsHoldItBack) {
  backlog_at_every_allocation("rings");
}

// A loop that was refused posts again when it is told to: it is told, now or in a later pass. Its first operation made
// room for 64 records, which those of its receives take by then.
TEST(NoMemory, ToTellWhoWasRefused) {
  at_every_allocation([](Shortage& shortage) {
    constexpr uint64_t kMessages = 40, kReceives = 64;
    Job job(2, kFewPackets);
    LaneDriver lane(job, 0);
    std::vector<uint64_t> in;
    in.reserve(kReceives);
    const uint32_t all = lane.control().flags;
    const auto receive = [&] {
      lane.control().flags = LCI_ENTER_POST;
      in.push_back(0);
      lci_descriptor& op = lane.add(operation(LCI_OP_RECV, 1, 0, in.size(), &in.back(), sizeof in.back()));
      lane.enter();
      EXPECT_EQ(LCI_POSTED, op.outcome);
      lane.control().submit_count = 0;
      lane.control().flags = all;
    };
    while (in.size() + 1 < kReceives) receive();
    lci_comp* arrived = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", arrived, 4, 4000)) << lci_last_error();
    uint64_t posted = 0, expected = 0;
    bool room = true;
    const auto sender = [&] {
      lci_descriptor* const op = room && posted < kMessages ? &lane.add_am(1, kPort, posted, posted) : nullptr;
      if (op) op->outcome = LCI_ERR_NO_MEMORY;
      lane.enter();
      if (op && op->outcome == LCI_DONE) ++posted;
      if (op && is_retry(op->outcome)) room = false;
      lane.control().submit_count = 0;
      lane.read([&](const lci_record& record) { room |= record.kind == LCI_RECORD_WRITABLE; });
    };
    const auto receiver = [&] {
      if (in.size() < kReceives) {
        if (room) return;  // until it is refused
        receive();
      }
      lci_progress(job.device(1));
      lci_status status{};
      if (lci_queue_pop(arrived, &status) != LCI_DONE) return;
      EXPECT_EQ(expected++, status.tag) << "in order, each once";
      lci_buffer_free(status.buffer);
    };
    exchange_until([&] { return expected == kMessages; }, shortage, receiver, sender);
    EXPECT_EQ(kMessages, expected) << posted << " posted; was told of room: " << room;
    uint64_t sent = 0;
    for (int i = 0; i < 10'000 && lane.control().in_flight != 0; ++i) {
      if (sent < in.size() && lci_post_send(job.device(1), 0, sent + 1, &sent, sizeof sent, nullptr, 0) == LCI_DONE)
        ++sent;
      lci_progress(job.device(1));
      sender();
    }
    EXPECT_EQ(0u, lane.control().in_flight);
  });
}

// Operations that end while the thread of their lane is elsewhere: its records wait, all of them. A post for whose end
// there is no room is refused.
TEST(NoMemory, OfEndsThatWaitForTheirLoop) {
  at_every_allocation([](Shortage& shortage) {
    constexpr uint32_t kReceives = 200;  // more than there is room for at first
    Job job(2);
    LaneDriver lane(job, 1);
    std::vector<uint64_t> in(kReceives);
    std::vector<bool> ended(kReceives);
    for (uint32_t i = 0; i < kReceives; ++i) {
      lci_descriptor* op = nullptr;
      do {
        const bool again = op != nullptr;
        op = &lane.add(operation(LCI_OP_RECV, 0, 0, i, &in[i], sizeof in[i], i));
        op->outcome = LCI_ERR_NO_MEMORY;
        shortage.during([&] { lane.enter(); });
        ASSERT_TRUE(!again || op->outcome == LCI_POSTED);
      } while (op->outcome == LCI_ERR_NO_MEMORY);
      ASSERT_EQ(LCI_POSTED, op->outcome);
    }
    const auto help = [&] { lci_lane_help(lane.handle()); };
    for (uint64_t i = 0; i < kReceives; ++i) {
      lci_descriptor send = operation(LCI_OP_SEND, 1, 0, i, &i, sizeof i);
      for (int code = LCI_RETRY; is_retry(code); lci_progress(job.device(0))) {
        lci_descriptor attempt = send;
        code = lci_post(job.device(0), &attempt, nullptr, nullptr);
        shortage.during(help);
      }
    }
    for (int i = 0; i < 100; ++i) lci_progress(job.device(0)), shortage.during(help);
    for (int i = 0; i < 100; ++i) {
      shortage.during([&] { lane.enter(); });
      lane.read([&](const lci_record& record) {
        ASSERT_EQ(LCI_RECORD_OP, record.kind);
        EXPECT_EQ(LCI_DONE, record.code);
        EXPECT_FALSE(ended[record.context]) << "it came twice";
        ended[record.context] = true;
        EXPECT_EQ(record.context, in[record.context]);
      });
      lane.control().submit_count = 0;
    }
    EXPECT_EQ(kReceives, std::count(ended.begin(), ended.end(), true));
    EXPECT_EQ(0u, lane.control().in_flight);
  });
}

// Whatever one of a batch lacks, the others are posted, and each has its own outcome. [V1]
TEST(NoMemory, OfOneInABatch) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2);
    LaneDriver lane(job, 0);
    std::array<uint64_t, 2> in{};
    std::vector<uint8_t> bytes(100'000, 7), out(100'000);
    std::array<lci_descriptor*, 5> ops{};
    const auto add = [&](size_t i, const lci_descriptor& op) {
      ops[i] = &lane.add(op);
      ops[i]->outcome = LCI_RETRY;
    };
    const uint64_t word = 42;
    add(0, receive_from(1, 1, &in[0], sizeof in[0]));
    add(1, operation(LCI_OP_SEND, 1, 0, 2, bytes.data(), bytes.size(), 1));
    add(2, receive_from(1, 3, &in[1], sizeof in[1]));
    add(3, operation(LCI_OP_SEND, 1, 0, 4, &word, sizeof word, 3));
    int entered = LCI_RETRY;
    shortage.during([&] { entered = lci_lane_enter(lane.handle()); });
    ASSERT_EQ(LCI_DONE, entered) << lci_last_error();
    const auto went = [&](size_t i) { return ops[i]->outcome == LCI_DONE || lci::is_posted(ops[i]->outcome); };
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(went(i) || ops[i]->outcome == LCI_ERR_NO_MEMORY) << i;
    EXPECT_TRUE(shortage.was_there() || (went(0) && went(1) && went(2) && went(3)));
    uint32_t ended = 0;
    const uint32_t ends = lane.control().in_flight;
    uint64_t got = 0;
    lci_comp* const received = make_queue(job.runtime(1));
    uint32_t expected = 0;
    const auto post = [&](uint32_t op, uint64_t tag, void* buffer, uint32_t size) {
      lci_descriptor other = operation(op, 0, 0, tag, buffer, size, tag);
      if (op == LCI_OP_RECV) ++expected;
      EXPECT_FALSE(lci::is_error(lci_post(job.device(1), &other, op == LCI_OP_RECV ? received : nullptr, nullptr)));
    };
    if (went(0)) post(LCI_OP_SEND, 1, const_cast<uint64_t*>(&word), sizeof word);
    if (went(1)) post(LCI_OP_RECV, 2, out.data(), static_cast<uint32_t>(out.size()));
    if (went(2)) post(LCI_OP_SEND, 3, const_cast<uint64_t*>(&word), sizeof word);
    if (went(3)) post(LCI_OP_RECV, 4, &got, sizeof got);
    for (const lci::test::Deadline limit(30); !limit.passed() && (ended < ends || expected != 0);) {
      lci_status status{};
      if (lci_queue_pop(received, &status) == LCI_DONE) --expected;
      lane.enter();
      ended += lane.read([](const lci_record& record) { EXPECT_EQ(LCI_DONE, record.code) << record.context; });
      lci_progress(job.device(1));
    }
    EXPECT_EQ(ends, ended);
    EXPECT_EQ(0u, expected);
    EXPECT_EQ(went(0) ? word : 0, in[0]);
    EXPECT_EQ(went(1), out == bytes);
    EXPECT_EQ(went(2) ? word : 0, in[1]);
    EXPECT_EQ(went(3) ? word : 0, got);
  });
}

// The sender hears that its receiver is ready, and streams.
TEST(NoMemory, OfALongSend) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const std::vector<uint8_t> out = pattern(kSize, 3);
    std::vector<uint8_t> in(kSize);
    lci_comp *sent = make_queue(job.runtime(0)), *received = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_POSTED, lci_post_recv(job.device(1), 0, 5, in.data(), kSize, received, 0, nullptr));
    ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(0), 1, 5, out.data(), kSize, sent, 0));
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(received, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(1)); }, [&] { lci_progress(job.device(0)); });
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(out, in);
    ASSERT_TRUE(pop(job, sent, &status));
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(0u, job.counter(0, "protocol_errors"));
    job.check_ledgers();
  });
}

// Who serves a get.
TEST(NoMemory, OfAServedGet) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const Allocated region(job.runtime(1), kSize);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    const std::vector<uint8_t> wanted = pattern(kSize, 3);
    std::copy(wanted.begin(), wanted.end(), region.bytes_at);
    std::vector<uint8_t> in(kSize);
    lci_comp* ended = make_queue(job.runtime(0));
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, remote_op(LCI_OP_GET, 1, in.data(), kSize, remote, 0), ended));
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(ended, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(wanted, in);
    EXPECT_EQ(kSize, job.counter(1, "rma_served"));
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.check_ledgers();
  });
}

// The first ranges of many come while the ring is full, so that the next ones have to wait.
TEST(NoMemory, OfGetsOfSeveralRanges) {
  constexpr uint32_t kGets = 20, kRanges = 3, kBytes = 64;
  at_every_allocation([](Shortage& shortage) {
    Job job(2, {{"rma", "messages"}, {"ring_bytes", "4096"}});
    const Allocated region(job.runtime(1), kGets * kRanges * kBytes);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    const std::vector<uint8_t> wanted = pattern(kGets * kRanges * kBytes, 3);
    std::copy(wanted.begin(), wanted.end(), region.bytes_at);
    std::vector<uint8_t> in(wanted.size());
    lci_comp* ended = make_queue(job.runtime(0));
    lci_comp* counter = nullptr;
    ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &counter));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", counter, 0, 0));
    const auto post = [&] { return lci_post_am(job.device(0), 1, 5, 0, "x", 1, nullptr, 0); };
    ASSERT_EQ(LCI_DONE, post());
    job.settle();  // there is credit now
    uint32_t over = 0;
    const auto is_over = [&](uint32_t count) {
      for (lci_status status{}; lci_queue_pop(ended, &status) == LCI_DONE; ++over) EXPECT_EQ(LCI_DONE, status.code);
      return over == count;
    };
    for (uint32_t get = 0; get < kGets; ++get) {
      lci_buffer parts[kRanges];
      lci_place places[kRanges];
      for (uint32_t range = 0; range < kRanges; ++range) {
        const uint64_t at = (get * kRanges + range) * kBytes;
        parts[range] = {in.data() + at, kBytes};
        places[range] = {remote, at};
      }
      lci_descriptor op = remote_op(LCI_OP_GET, 1, parts, 0, reinterpret_cast<uint64_t>(places), 0);
      op.flags |= LCI_FLAG_LIST;
      op.u.ref.count = kRanges;
      for (int code = LCI_RETRY; (code = lci_post(job.device(0), &op, ended, nullptr)) != LCI_POSTED;) {
        ASSERT_EQ(LCI_RETRY_NOMEM, code) << lci_last_error();
        lci_progress(job.device(1));
      }
    }
    for (int i = 0; i < 100; ++i) lci_progress(job.device(1));
    while (post() == LCI_DONE) {
    }
    ASSERT_EQ(LCI_RETRY_NOMEM, post());
    shortage.during([&] { lci_progress(job.device(0)); });  // before the peer has taken anything
    exchange_until([&] { return is_over(kGets); }, shortage, [&] { lci_progress(job.device(1)); },
                   [&] { lci_progress(job.device(0)); });
    EXPECT_TRUE(is_over(kGets));
    EXPECT_EQ(wanted, in);
    EXPECT_EQ(0u, job.counter(0, "protocol_errors"));
    job.check_ledgers();
  });
}

/// A receive and a message of a handler, which leaves them to its device, for it is called within a post.
struct Leaver {
  static constexpr uint32_t kPort = 5;

  explicit Leaver(Job& of) : job(of) {
    EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), end, this, &ended));
    EXPECT_EQ(LCI_DONE, lci_handler_create(job.runtime(0), run, this, &handler));
    EXPECT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &arrived));
    EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", arrived, 0, 0));
    EXPECT_EQ(LCI_POSTED, lci_post_recv(job.device(0), 1, 2, nullptr, 0, handler, 99, nullptr));
    EXPECT_EQ(LCI_DONE, lci_post_cancel(job.device(0), 99)) << lci_last_error();
  }
  static void run(const lci_status*, void* self) { static_cast<Leaver*>(self)->leave(); }
  static void end(const lci_status* status, void* self) { static_cast<Leaver*>(self)->ends.push_back(status->code); }
  void leave() {
    lci_descriptor receive = operation(LCI_OP_RECV, 1, 0, 1, &word, sizeof word);
    receive.flags |= LCI_FLAG_NO_RETRY;
    EXPECT_EQ(LCI_POSTED_BACKLOG, lci_post(job.device(0), &receive, ended, nullptr)) << lci_last_error();
    lci_descriptor message = operation(LCI_OP_AM, 1, kPort, 0, &word, sizeof word);
    message.flags |= LCI_FLAG_NO_RETRY;
    EXPECT_EQ(LCI_DONE_BACKLOG, lci_post(job.device(0), &message, nullptr, nullptr)) << lci_last_error();
  }

  Job& job;
  lci_comp *handler = nullptr, *ended = nullptr, *arrived = nullptr;
  uint64_t word = 0;
  std::vector<int> ends;  // of the receive
};

TEST(NoMemory, OfWhatAHandlerHasLeft) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2);
    Leaver left(job);
    left.ends.reserve(8);
    shortage.during([&] { lci_progress(job.device(0)); });
    const uint64_t word = 7;
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(1), 0, 1, &word, sizeof word, nullptr, 0));
    job.settle();
    EXPECT_EQ(std::vector<int>{LCI_DONE}, left.ends);
    EXPECT_EQ(word, left.word);
    EXPECT_EQ(1u, lci_counter_get(left.arrived));
    job.check_ledgers();
  });
}

TEST(NoMemory, OfWhatAHandlerHasLeftWhenItsRuntimeCloses) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2);
    Leaver left(job);
    left.ends.reserve(8);
    shortage.during([&] { job.close(0, 0); });
    EXPECT_EQ(std::vector<int>{LCI_ERR_CANCELLED}, left.ends);
  });
}

// The device to which the message was announced is another one, and its thread answers.
TEST(NoMemory, OfAReceiveThatMatchesAtAnotherDevice) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const std::vector<uint8_t> out = pattern(kSize, 3);
    std::vector<uint8_t> in(kSize);
    lci_comp *sent = make_queue(job.runtime(0)), *received = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_POSTED, lci_post_send(job.device(0, 1), 1, 5, out.data(), kSize, sent, 0));
    const auto pass_0 = [&] { lci_progress(job.device(0, 1)); };
    const auto pass_1 = [&] { lci_progress(job.device(1, 1)), lci_progress(job.device(1)); };
    for (int i = 0; i < 100; ++i) pass_0(), pass_1();
    ASSERT_EQ(1u, job.counter(1, "unexpected_stored"));
    int code = LCI_RETRY;
    const auto post = [&] { code = lci_post_recv(job.device(1), 0, 5, in.data(), kSize, received, 0, nullptr); };
    shortage.during(post);
    if (code == LCI_ERR_NO_MEMORY) post();
    ASSERT_EQ(LCI_POSTED, code) << lci_last_error();
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(received, &status) == LCI_DONE; }, shortage, pass_0, pass_1);
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(out, in);
    for (int i = 0; i < 100; ++i) pass_0(), pass_1();
    EXPECT_EQ(0u, job.counter(1, "unexpected_stored"));
    job.check_ledgers();
  });
}

// Requests that were stored and are discarded: the rank that asked has its rooms for replies again.
TEST(NoMemory, OfRequestsThatNobodyAnswers) {
  at_every_allocation([](Shortage& shortage) {
    constexpr uint32_t kRequests = 7, kReplies = 8, kRooms = 3;
    Job job(2);
    uint8_t room = 0;
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(0), kReplies, "", make_queue(job.runtime(0)), 16, 1 << 20));
    ASSERT_EQ(LCI_DONE, lci_port_reply_room(job.runtime(0), kReplies, kRooms, 500, &room)) << lci_last_error();
    lci_comp* requests = nullptr;
    const auto ask_until_refused = [&] {
      requests = make_queue(job.runtime(1));
      EXPECT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kRequests, "", requests, 16, 1 << 20)) << lci_last_error();
      job.settle();
      uint32_t asked = 0;
      int code = LCI_DONE;
      for (int i = 0; i < 1000 && code != LCI_RETRY_PENDING; ++i, asked += code == LCI_DONE) {
        lci_descriptor op = operation(LCI_OP_AM, 1, kRequests, 3, "x", 1);
        op.policy = room;
        code = lci_post(job.device(0), &op, nullptr, nullptr);
        EXPECT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
        job.progress();
      }
      job.settle();
      return asked;
    };
    ASSERT_EQ(kRooms, ask_until_refused());
    ASSERT_EQ(LCI_DONE, lci_port_close(job.runtime(1), kRequests));
    int code = LCI_RETRY;
    const auto discard = [&] { code = lci_comp_free(requests); };
    shortage.during(discard);
    if (code == LCI_ERR_NO_MEMORY) discard();
    EXPECT_EQ(LCI_DONE, code) << lci_last_error();
    for (int i = 0; i < 3; ++i) shortage.during([&] { lci_progress(job.device(1)); });
    job.settle();
    EXPECT_EQ(kRooms, ask_until_refused());
  });
}

// The packet is the caller's as long as its post has not been taken.
TEST(NoMemory, OfAPacketForTheBacklog) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2);
    lci_descriptor op = operation(LCI_OP_AM, 1, 5, 0, "x", 1);
    op.flags |= LCI_FLAG_NO_RETRY;
    ASSERT_EQ(LCI_DONE, lci_post(job.device(0), &op, nullptr, nullptr)) << lci_last_error();  // is announced
    uint64_t packet = 0;
    void* payload = nullptr;
    ASSERT_EQ(LCI_DONE, lci_packet_get(job.device(0), &packet, &payload));
    op.flags = LCI_FLAG_PACKET | LCI_FLAG_NO_RETRY;
    op.u.ref.address = packet;
    int code = LCI_RETRY_NOMEM;
    shortage.during([&] { code = lci_post(job.device(0), &op, nullptr, nullptr); });
    if (code != LCI_DONE_BACKLOG) {
      EXPECT_EQ(LCI_DONE, lci_packet_put(job.device(0), packet)) << lci_last_error();
    }
    lci_comp* arrived = nullptr;
    ASSERT_EQ(LCI_DONE, lci_counter_create(job.runtime(1), &arrived));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), 5, "", arrived, 0, 0));
    job.settle();
    EXPECT_EQ(code == LCI_DONE_BACKLOG ? 2u : 1u, lci_counter_get(arrived));
    job.check_ledgers();
  });
}

// The owner of a word that a peer adds to: the message comes again, and the word has changed once.
// Mutation: atomic_room_late.
TEST(NoMemory, OfAServedAtomicOperation) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    const Allocated region(job.runtime(1), 64);
    const uint64_t remote = open_remote(job.runtime(0), 1, handle_of(region.memory));
    std::memset(region.bytes_at, 0, 64);
    lci_comp* ended = make_queue(job.runtime(0));
    ASSERT_EQ(LCI_POSTED, post_until_taken(job, 0, atomic_op(LCI_ATOMIC_ADD, 1, 5, 0, remote, 8), ended));
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    exchange_until([&] { return lci_queue_pop(ended, &status) == LCI_DONE; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    EXPECT_EQ(LCI_DONE, status.code);
    EXPECT_EQ(0u, status.tag);
    uint64_t word = 0;
    std::memcpy(&word, region.bytes_at + 8, sizeof word);
    EXPECT_EQ(5u, word);
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.check_ledgers();
  });
}

// A send that comes before its engine, or its receive.
TEST(NoMemory, OfAnAnnouncedSend) {
  at_every_allocation([](Shortage& shortage) {
    constexpr uint16_t kLate = 7;
    Job job(2, kFewPackets);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      ASSERT_EQ(LCI_DONE, lci_engine_create(job.runtime(rank), kLate, LCI_ENGINE_MAP, nullptr, nullptr));
    }
    const uint64_t value = 42;
    lci_descriptor send = operation(LCI_OP_SEND, 1, kLate, 5, &value, sizeof value);
    lci_status status{LCI_RETRY, 0, 0, nullptr, 0, 0, 0, 0};
    ASSERT_EQ(LCI_DONE, lci_post(job.device(0), &send, nullptr, &status)) << lci_last_error();
    exchange_until([&] { return job.counter(1, "unexpected_stored") != 0; }, shortage,
                   [&] { lci_progress(job.device(0)); }, [&] { lci_progress(job.device(1)); });
    EXPECT_EQ(1u, job.counter(1, "unexpected_stored"));
    uint64_t got = 0;
    lci_descriptor receive = operation(LCI_OP_RECV, 0, kLate, 5, &got, sizeof got);
    lci_comp* received = make_queue(job.runtime(1));
    EXPECT_EQ(LCI_DONE, lci_post(job.device(1), &receive, received, &status)) << lci_last_error();
    EXPECT_EQ(42u, got);
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
    job.settle();
    job.check_ledgers();
  });
}

// A node of a graph ends with an error, and its run with it.
TEST(NoMemory, OfANode) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    LaneDriver lane(job, 1);
    uint64_t got = 0;
    lci_descriptor receive = receive_from(0, 5, &got, sizeof got);
    const lci_graph_node node{LCI_NODE_OP, 0};
    const lci_graph_edge edges[] = {{LCI_GRAPH_START, 2}, {2, LCI_GRAPH_END}};
    uint32_t graph = 0;
    ASSERT_EQ(LCI_DONE, lci_lane_graph_create(lane.handle(), &node, 1, edges, 2, &receive, 1, 77, &graph));
    lci_descriptor start{};
    start.op = LCI_OP_GRAPH_START;
    start.user_context = graph;
    lane.add(start);
    shortage.during([&] { lane.enter(); });
    const uint64_t value = 42;
    ASSERT_EQ(LCI_DONE, lci_post_send(job.device(0), 1, 5, &value, sizeof value, nullptr, 0)) << lci_last_error();
    uint64_t ended = 0;
    for (int i = 0; i < 100; ++i) {
      lane.enter();
      lane.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_GRAPH) return;
        ++ended;
        EXPECT_EQ(shortage.was_there() ? LCI_ERR_NO_MEMORY : LCI_DONE, record.code);
      });
    }
    EXPECT_EQ(1u, ended);
  });
}

// Instances and nodes of a graph: there are all of them or none, and the graph goes on as it was.
// Proves: E25
TEST(NoMemory, OfAnInstance) {
  at_every_allocation([](Shortage& shortage) {
    Job job(1);
    uint64_t from = 3, to = 0;
    lci_descriptor copy{};
    copy.op = LCI_OP_COPY;
    copy.u.memory = {reinterpret_cast<uint64_t>(&to), reinterpret_cast<uint64_t>(&from), 0, sizeof to};
    GraphUnderTest graph(job.runtime(0));
    graph.edge(LCI_GRAPH_START, graph.operation(nullptr, copy));
    int deep = LCI_RETRY, added = LCI_RETRY;
    lci_node node = 0;
    shortage.during([&] {
      deep = lci_graph_set_depth(graph.handle(), 3);
      added = lci_graph_add_op(graph.handle(), nullptr, &copy, nullptr, &node);
    });
    EXPECT_TRUE(deep == LCI_DONE || deep == LCI_ERR_NO_MEMORY) << lci_code_name(deep);
    EXPECT_TRUE(added == LCI_DONE || added == LCI_ERR_NO_MEMORY) << lci_code_name(added);
    EXPECT_EQ(shortage.was_there(), deep != LCI_DONE || added != LCI_DONE);
    const lci_node last = graph.operation(nullptr, copy);
    graph.edge(LCI_GRAPH_START, last);
    for (int run = 0; run < 4; ++run) graph.start();
    EXPECT_EQ(LCI_DONE, graph.test());
    EXPECT_EQ(3u, to);
    const uint32_t depth = deep == LCI_DONE ? 3 : 1;
    for (uint32_t instance = 0; instance < 4; ++instance) {
      const int found = lci_graph_node_get(graph.handle(), lci_node_in(last, instance), nullptr, nullptr);
      EXPECT_EQ(instance < depth, found == LCI_DONE) << instance;
    }
  });
}

// An inbox of another lane, for which the message is left.
TEST(NoMemory, OfAMessageForAnotherLane) {
  at_every_allocation([](Shortage& shortage) {
    Job job(2, kFewPackets);
    LaneDriver home(job, 1, 0), other(job, 1, 1);
    const uint32_t index = home.open(kPort);
    home.demand(index).requested = 100;
    const std::vector<uint8_t> out = pattern(kSize, 3);
    lci_device* const from = job.device(0, 1);
    lci_comp* sent = make_queue(job.runtime(0));
    ASSERT_EQ(LCI_POSTED, lci_post_am(from, 1, kPort, 5, out.data(), kSize, sent, 0)) << lci_last_error();
    for (int i = 0; i < 3; ++i) other.enter();  // it is announced, and the answer on its way
    uint64_t messages = 0;
    std::vector<uint8_t> in;
    const auto read = [&](const lci_record& record) {
      if (record.kind != LCI_RECORD_MESSAGE) return;
      ++messages;
      const auto* bytes = reinterpret_cast<const uint8_t*>(record.u.address);
      in.assign(bytes, bytes + record.size);
    };
    exchange_until([&] { return messages != 0; }, shortage,
                   [&] {
                     lci_progress(from);
                     home.enter();
                     home.read(read);
                   },
                   [&] { other.enter(); });
    for (int i = 0; i < 100; ++i) lci_progress(from), other.enter(), home.enter(), home.read(read);
    EXPECT_EQ(1u, messages);
    EXPECT_EQ(out, in);
    EXPECT_EQ(1u, job.counter(1, "arrivals"));
    EXPECT_EQ(0u, job.counter(0, "packets_out"));
    EXPECT_EQ(0u, job.counter(1, "protocol_errors"));
  });
}

}  // namespace
}  // namespace lci_test
