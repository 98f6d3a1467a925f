// SPDX-License-Identifier: Apache-2.0
// Threads that lend and free packets, and that reserve and free room for replies, all at once.
#include "flow/loans.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "flow/reply_rooms.hpp"
#include "support/threads.hpp"

namespace lci {
namespace {

using test::Deadline;
using test::run_threads;

// Every loan is taken back by exactly one of those who try, with its own charge.
TEST(LoansStress, EachIsTakenBackOnce) {
  constexpr uint32_t kThreads = 4, kPackets = 64, kRounds = 20'000;
  Loans loans(1, kPackets + 1, 1, kPackets);
  std::atomic<uint64_t> lent{0}, back{0}, wrong{0};
  const Deadline deadline(20);
  run_threads(kThreads, [&](uint32_t thread) {
    uint32_t random = thread + 1;
    for (uint32_t i = 0; i < kRounds && !deadline.passed(); ++i) {
      random = random * 1664525 + 1013904223;
      const uint32_t handle = 2 + (random >> 16) % (kPackets - 2);
      if (loans.lend(0, handle, {reinterpret_cast<InKey*>(uint64_t{handle} * 64), {handle, handle}, handle})) ++lent;
      Charge charge;
      if (!loans.take_back(0, 2 + (random >> 8) % (kPackets - 2), &charge)) continue;
      ++back;
      const auto of = static_cast<uint32_t>(reinterpret_cast<uint64_t>(charge.key) / 64);
      if (charge.generation != of || charge.credit.messages != of || charge.credit.bytes != of) ++wrong;
    }
  });
  Charge charge;
  for (uint32_t handle = 2; handle < kPackets; ++handle) back += loans.take_back(0, handle, &charge);
  EXPECT_EQ(lent, back);
  EXPECT_EQ(0u, wrong);
  EXPECT_EQ(0u, loans.lent(0));
  EXPECT_NE(0u, lent);
}

// No more rooms are in use than there are, and none is lost.
TEST(ReplyRoomsStress, NoneIsLostOrMade) {
  constexpr uint32_t kThreads = 4, kRooms = 3, kRounds = 20'000;
  ReplyRooms rooms(kThreads, 8);
  rooms.set_aside(kRooms, 1);
  std::atomic<uint32_t> in_use{0};
  std::atomic<bool> wrong{false};
  const Deadline deadline(20);
  run_threads(kThreads, [&](uint32_t thread) {
    for (uint32_t i = 0; i < kRounds && !deadline.passed(); ++i) {
      if (!rooms.reserve(thread, 0)) {
        std::this_thread::yield();
        continue;
      }
      if (++in_use > kRooms) wrong = true;
      --in_use;
      if (i % 3 == 0) {
        if (!rooms.cancel(thread)) wrong = true;
      } else {
        if (!rooms.use(thread)) wrong = true;
        rooms.give_back();
      }
    }
  });
  EXPECT_FALSE(wrong);
  EXPECT_EQ(kRooms, rooms.free());
}

}  // namespace
}  // namespace lci
