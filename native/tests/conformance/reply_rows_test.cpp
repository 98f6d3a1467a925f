// SPDX-License-Identifier: Apache-2.0
// Requests that reserve room for their reply. [2B-55]
#include <algorithm>

#include "conformance/world.hpp"

namespace lci_test {
namespace {

constexpr uint16_t kRequests = 11, kReplies = 12;

uint8_t reply_room(World& world, uint32_t port, uint32_t count, uint32_t bytes) {
  uint8_t id = 0;
  EXPECT_EQ(LCI_DONE, lci_port_reply_room(world.runtime(), port, count, bytes, &id)) << lci_last_error();
  EXPECT_NE(0, id);
  return id;
}

/// Echoes both ways at once over inboxes of 16: each rank has requests at the next, and answers the one before.
class Echo {
 public:
  Echo(World& world, uint32_t port_of_replies, uint32_t bytes)
      : world_(world), replies_at_(static_cast<uint16_t>(port_of_replies)), bytes_(bytes) {
    inbox_ = world.queue(64);
    world.open_port(kRequests, inbox_, 16, 1 << 20);
    replies_ = inbox_;
    if (replies_at_ != kRequests) {
      replies_ = world.queue(64);
      world.open_port(replies_at_, replies_, 16, 1 << 20);
    }
    room_ = reply_room(world, replies_at_, 16, bytes);
    world.barrier();
  }

  void run(uint32_t count) {
    Bytes payload(bytes_, static_cast<uint8_t>(world_.rank()));
    uint32_t asked = 0, answered = 0, told = 0;
    uint64_t sum = 0;
    lci_status request = LCI_STATUS_INIT;
    bool busy = false;  // with a request that is not answered yet
    auto take = [&](lci_status status) {
      if (status.tag % 2 == 1) {  // a reply
        ASSERT_EQ(world_.next(), status.rank);
        ASSERT_EQ(bytes_, status.size);
        ++told;
        sum += status.tag / 2;
        EXPECT_EQ(LCI_DONE, lci_arrival_free(world_.runtime(), &status));
      } else {
        ASSERT_FALSE(busy);
        request = status;
        busy = true;
      }
    };
    const auto turn = [&] {
      bool moved = false;
      if (asked < count) {
        auto op = operation(LCI_OP_AM, world_.next(), kRequests, uint64_t{2} * asked, payload.data(), bytes_);
        op.policy = room_;
        const int code = lci_post(world_.device(), &op, nullptr, nullptr);
        EXPECT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
        refused_ += code == LCI_RETRY_PENDING;
        asked += code == LCI_DONE;
        moved |= code == LCI_DONE;
      }
      if (busy) {
        auto op = operation(LCI_OP_AM, request.rank, replies_at_, request.tag + 1, request.buffer, bytes_);
        op.policy = LCI_AM_REPLY;
        const int code = lci_post(world_.device(), &op, nullptr, nullptr);
        EXPECT_NE(LCI_RETRY_NOCREDIT, code == LCI_RETRY_NOCREDIT && world_.seed() == 0 ? code : LCI_DONE);
        EXPECT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
        if (code == LCI_DONE) {
          EXPECT_EQ(LCI_DONE, lci_arrival_free(world_.runtime(), &request));
          busy = false;
          ++answered;
          moved = true;
        }
      }
      lci_status status = LCI_STATUS_INIT;
      // While a request waits to be answered no other is taken: what is stored stays stored.
      if ((!busy || replies_ != inbox_) && lci_queue_pop(replies_, &status) == LCI_DONE) {
        take(status);
        moved = true;
      }
      if (!busy && lci_queue_pop(inbox_, &status) == LCI_DONE) {
        take(status);
        moved = true;
      }
      if (moved) (void)world_.progress();
    };
    while (!testing::Test::HasFatalFailure() && (answered < count || told < count)) {
      const uint64_t goal = std::min(uint64_t{answered} + told + kStep, uint64_t{2} * count);  // what hangs is noticed
      world_.until([&] {
        turn();
        return testing::Test::HasFatalFailure() || uint64_t{answered} + told >= goal;
      });
    }
    EXPECT_EQ(count, told);
    EXPECT_EQ(count, answered);
    EXPECT_EQ(uint64_t{count} * (count - 1) / 2, sum) << "each once";
    world_.barrier();
  }
  uint64_t refused() const { return refused_; }

 private:
  static constexpr uint64_t kStep = 1000;
  World& world_;
  const uint16_t replies_at_;
  const uint32_t bytes_;
  lci_comp* inbox_ = nullptr;
  lci_comp* replies_ = nullptr;
  uint8_t room_ = 0;
  uint64_t refused_ = 0;
};

// Proves: X10
CONFORMANCE(X10, EchoesBothWaysAtOnceNeverWaitForEachOther) {
  Echo(world, kReplies, 8).run(300);
}
// One inbox for both: requests that nobody takes do not keep replies out. Two processes of the soak do it a million
// times.
// Proves: X10
CONFORMANCE(X10, EchoesThroughOneInbox) {
  const bool all = soak() && world.seed() == 0 && world.size() == 2;
  Echo(world, kRequests, 1000).run(all ? 1'000'000 : 300);
}

// Without room nothing is asked, and nothing is left behind; a reply makes room, once, and only for its port.
CONFORMANCE(X10, RoomIsReservedBeforeTheRequestLeaves) {
  lci_comp* inbox = world.queue();
  lci_comp* replies = world.queue();
  world.open_port(kRequests, inbox);
  world.open_port(kReplies, replies);
  const uint8_t room = reply_room(world, kReplies, 2, 100);
  world.barrier();
  Bytes bytes(101, 1);
  auto request = operation(LCI_OP_AM, world.next(), kRequests, 0, bytes.data(), 8);
  request.policy = room;
  ASSERT_EQ(LCI_DONE, world.post(request, nullptr)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, world.post(request, nullptr)) << lci_last_error();
  for (int i = 0; i < 100; ++i) {
    lci_descriptor third = request;
    const int code = lci_post(world.device(), &third, nullptr, nullptr);
    EXPECT_TRUE(code == LCI_RETRY_PENDING || (world.seed() != 0 && is_retry(code))) << code;
  }
  lci_status status[2] = {world.pop(inbox), world.pop(inbox)};
  auto reply = operation(LCI_OP_AM, world.previous(), kReplies, 5, bytes.data(), 101);
  reply.policy = LCI_AM_REPLY;
  EXPECT_EQ(LCI_ERR_SIZE, lci_post(world.device(), &reply, nullptr, nullptr)) << "longer than its room";
  reply.size = 100;
  lci_descriptor elsewhere = reply;
  elsewhere.port = kRequests;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &elsewhere, nullptr, nullptr));
  ASSERT_EQ(LCI_DONE, world.post(reply, nullptr)) << lci_last_error();
  ASSERT_EQ(LCI_DONE, world.post(reply, nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &reply, nullptr, nullptr)) << "each once";
  for (int i = 0; i < 2; ++i) {
    lci_status answer = world.pop(replies);
    EXPECT_EQ(100u, answer.size);
    EXPECT_EQ(5u, answer.tag);
    EXPECT_EQ(world.next(), answer.rank);
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &answer));
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status[i]));
  }
  ASSERT_EQ(LCI_DONE, world.post(request, nullptr)) << "there is room again";
  lci_status last = world.pop(inbox);
  ASSERT_EQ(LCI_DONE, world.post(reply, nullptr)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &last));
  last = world.pop(replies);
  EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &last));
  uint8_t id = 0;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_port_reply_room(world.runtime(), kReplies, 1, 1, &id)) << "once per port";
  EXPECT_EQ(LCI_ERR_SIZE, lci_port_reply_room(world.runtime(), 20, 1, 1 << 20, &id));
  EXPECT_EQ(LCI_ERR_PORT, lci_port_reply_room(world.runtime(), 0, 1, 1, &id));
  request.policy = 100;
  EXPECT_EQ(LCI_ERR_ARGUMENT, lci_post(world.device(), &request, nullptr, nullptr)) << "no such room";
}

// A request that is discarded at its receiver does not keep its room.
CONFORMANCE(X10, ADiscardedRequestGivesItsRoomBack) {
  lci_comp* inbox = world.queue();
  lci_comp* replies = world.queue();
  world.open_port(kReplies, replies);
  const uint8_t room = reply_room(world, kReplies, 1, 100);
  world.barrier();
  Bytes bytes(300, 1);
  auto request = operation(LCI_OP_AM, world.next(), kRequests, 0, bytes.data(), 300);
  request.policy = room;
  ASSERT_EQ(LCI_DONE, world.post(request, nullptr)) << "announced: the port is not open yet";
  world.barrier();
  world.open_port(kRequests, inbox);
  ASSERT_EQ(LCI_DONE, lci_port_close(world.runtime(), kRequests));
  world.barrier();
  auto other = operation(LCI_OP_AM, world.next(), 13, 0, bytes.data(), 300);
  other.policy = room;
  world.open_port(13, inbox);
  ASSERT_EQ(LCI_DONE, world.post(other, nullptr)) << "the room is there again: " << lci_last_error();
  lci_status status = LCI_STATUS_INIT;
  do {  // the first may have come before its port closed
    status = world.pop(inbox);
    EXPECT_EQ(LCI_DONE, lci_arrival_free(world.runtime(), &status));
  } while (status.port != 13);
}

}  // namespace
}  // namespace lci_test
