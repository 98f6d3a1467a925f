// SPDX-License-Identifier: Apache-2.0
// Books of packets that are lent, and of room for replies.
#include "flow/loans.hpp"

#include <gtest/gtest.h>

#include "flow/reply_rooms.hpp"
#include "wire/reply_address.hpp"

namespace lci {
namespace {

InKey* key(uintptr_t number) {
  return reinterpret_cast<InKey*>(number * 64);
}

TEST(Loans, AreTakenBackOnceAndKeepTheirCharge) {
  Loans loans(2, 100, 8, 4);
  ASSERT_TRUE(loans.lend(1, 80, {key(1), {2, 300}, 7}));
  EXPECT_FALSE(loans.lend(1, 80, {key(2), {1, 1}, 1})) << "it is out";
  EXPECT_FALSE(loans.lend(1, 83, {key(2), {1, 1}, 1})) << "what overlaps it is no packet of an honest peer";
  Charge charge;
  EXPECT_FALSE(loans.take_back(0, 80, &charge)) << "of another rank";
  EXPECT_FALSE(loans.take_back(1, 88, &charge));
  EXPECT_FALSE(loans.take_back(1, 83, &charge));
  EXPECT_FALSE(loans.take_back(2, 80, &charge));
  EXPECT_FALSE(loans.take_back(1, 0, &charge));
  ASSERT_TRUE(loans.take_back(1, 80, &charge));
  EXPECT_EQ(key(1), charge.key);
  EXPECT_EQ(2u, charge.credit.messages);
  EXPECT_EQ(300u, charge.credit.bytes);
  EXPECT_EQ(7u, charge.generation);
  EXPECT_FALSE(loans.take_back(1, 80, &charge)) << "twice";
  EXPECT_TRUE(loans.lend(1, 80, {key(3), {1, 1}, 8})) << "again";
  EXPECT_EQ(1u, loans.lent(1));
  EXPECT_EQ(0u, loans.lent(0));
}

TEST(Loans, AreBoundedPerRankAndByTheArena) {
  Loans loans(2, 100, 8, 3);
  for (uint32_t i = 1; i <= 3; ++i) ASSERT_TRUE(loans.lend(0, 8 * i, {}));
  EXPECT_FALSE(loans.lend(0, 8 * 4, {}));
  EXPECT_TRUE(loans.lend(1, 8 * 4, {})) << "each rank has its own";
  EXPECT_FALSE(loans.lend(1, 8 * 100, {})) << "behind the arena";
  Charge charge;
  EXPECT_FALSE(loans.take_back(1, 8 * 100, &charge));
  ASSERT_TRUE(loans.take_back(0, 8 * 2, &charge));
  EXPECT_TRUE(loans.lend(0, 8 * 4, {}));
}

TEST(ReplyRooms, AreReservedUsedAndGivenBack) {
  ReplyRooms rooms(3, 8);
  rooms.set_aside(2, 100);
  EXPECT_EQ(100u, rooms.bytes());
  EXPECT_TRUE(rooms.reserve(0, 0));
  EXPECT_TRUE(rooms.reserve(2, 0));
  EXPECT_FALSE(rooms.reserve(1, 0)) << "all are in use";
  EXPECT_FALSE(rooms.use(1)) << "it was asked nothing";
  EXPECT_TRUE(rooms.use(2));
  EXPECT_FALSE(rooms.use(2));
  EXPECT_FALSE(rooms.reserve(1, 5)) << "the reply was not taken yet";
  rooms.give_back();
  std::vector<uint32_t> told;
  rooms.wanted().take_each([&](uint32_t device) { told.push_back(device); });
  EXPECT_EQ((std::vector<uint32_t>{0, 5}), told) << "the devices that were refused";
  EXPECT_TRUE(rooms.wanted().empty()) << "once";
  EXPECT_TRUE(rooms.reserve(1, 0));
  EXPECT_TRUE(rooms.cancel(1)) << "it did not leave";
  EXPECT_FALSE(rooms.cancel(1));
  rooms.forget(0);
  EXPECT_EQ(2u, rooms.free());
  rooms.give_back();
  EXPECT_EQ(2u, rooms.free()) << "never more than were set aside";
  ASSERT_TRUE(rooms.reserve(1, 0));
  ASSERT_TRUE(rooms.reserve(1, 0));
  ASSERT_TRUE(rooms.use(1));  // stored, and gone with the port that closed
  rooms.reopen();
  EXPECT_EQ(1u, rooms.free());
}

TEST(ReplyRooms, RepliesAreOwedOnce) {
  ReplyRooms rooms(2, 8);
  EXPECT_FALSE(rooms.answer(1));
  rooms.owe(1, 64);
  EXPECT_TRUE(rooms.owes(1));
  EXPECT_FALSE(rooms.owes(0));
  EXPECT_EQ(64u, rooms.bound(1));
  EXPECT_TRUE(rooms.answer(1));
  EXPECT_FALSE(rooms.answer(1));
  rooms.take_answer_back(1);
  EXPECT_TRUE(rooms.answer(1));
}

TEST(ReplyAddress, SurvivesItsWord) {
  const ReplyAddress address{32767, 0xFFFFFFFF};
  const ReplyAddress back = ReplyAddress::of(address.word());
  EXPECT_EQ(address.port, back.port);
  EXPECT_EQ(address.bytes, back.bytes);
}

}  // namespace
}  // namespace lci
