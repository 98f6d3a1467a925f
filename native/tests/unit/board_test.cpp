// SPDX-License-Identifier: Apache-2.0
// Boards in the memory of a rank, and their directory, without calls.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "transport/memory/boards.hpp"
#include "transport/shm/arena.hpp"

namespace lci {
namespace {

constexpr CallHeader kCall{.kind = LCI_COLLECTIVE_ALLREDUCE, .count = 1};

class BoardTest : public ::testing::Test {
 protected:
  BoardTest() {
    EXPECT_EQ(LCI_DONE, Arena::create(64 << 20, 0, 0, 2, 1, &arena_));
    boards_ = std::make_unique<Boards>(*arena_);
  }
  Board* open(uint64_t context) { return boards_->open(context, all_live); }
  const Board* find(uint64_t context) {
    uint32_t looked = 0;
    return Boards::find(*arena_, context, &looked);
  }
  static bool all_live(uint32_t) { return false; }

  std::shared_ptr<Arena> arena_;
  std::unique_ptr<Boards> boards_;
};

TEST_F(BoardTest, ShowsACallWithItsNumberToItsContext) {
  Board* const board = open(7);
  ASSERT_NE(nullptr, board);
  EXPECT_EQ(nullptr, board->look(0, 7, 0)) << "call 0 was not shown";
  const uint64_t value = 42;
  board->show(0, 0, kCall, &value, sizeof value);
  const BoardSlot* const slot = board->look(0, 7, 0);
  ASSERT_NE(nullptr, slot);
  EXPECT_TRUE(slot->call == kCall);
  EXPECT_EQ(0, std::memcmp(&value, slot->payload, sizeof value));
  EXPECT_EQ(nullptr, board->look(1, 7, 0)) << "it has the other slot";
  EXPECT_EQ(nullptr, board->look(0, 8, 0)) << "it is another context's";
  EXPECT_EQ(nullptr, board->look(0, 7, 1)) << "it is another call";
  board->show(1, 5, kCall, nullptr, 0);
  EXPECT_EQ(slot, board->look(0, 7, 0)) << "the turn before stays";
  EXPECT_NE(nullptr, board->look(7, uint64_t{5})) << "by whoever does not know the turn";
  board->show(2, 9, kCall, nullptr, 0);
  EXPECT_EQ(nullptr, board->look(0, 7, 0));
}

TEST_F(BoardTest, IsFoundByItsContext) {
  EXPECT_EQ(nullptr, find(7)) << "there is no directory";
  // Some of them want the same entry.
  std::vector<Board*> opened;
  for (uint64_t i = 0; i < 40; ++i) opened.push_back(open(7 + i % 4 * BoardDirectory::kEntries + i / 4));
  for (uint64_t i = 0; i < 40; ++i) EXPECT_EQ(opened[i], find(7 + i % 4 * BoardDirectory::kEntries + i / 4));
  EXPECT_EQ(nullptr, find(6));
}

TEST_F(BoardTest, IsLookedForAgainWhenThereAreOthers) {
  ASSERT_NE(nullptr, open(1));
  uint32_t looked = 0;
  EXPECT_EQ(nullptr, Boards::find(*arena_, 2, &looked));
  EXPECT_NE(0u, looked);
  Board* const board = open(2);
  EXPECT_EQ(board, Boards::find(*arena_, 2, &looked));
}

TEST_F(BoardTest, IsUsedAgainWhenItsReadersNeedItNoMore) {
  Board* const board = open(7);
  Board reader{};
  reader.give_to(7);
  boards_->close(*board, 3, {{&reader, 1}}, all_live);
  EXPECT_EQ(board, find(7)) << "somebody may come late";
  reader.has_read(2);
  EXPECT_NE(board, open(8));
  EXPECT_EQ(1u, boards_->waiting());
  reader.has_read(3);
  EXPECT_EQ(board, open(9));
  EXPECT_EQ(0u, boards_->waiting());
  EXPECT_EQ(nullptr, find(7));
  EXPECT_EQ(nullptr, board->look(0, 9, 0)) << "what it showed is gone";
}

TEST_F(BoardTest, DoesNotWaitForWhoIsGoneOrHasGivenTheContextUp) {
  Board* const board = open(7);
  Board reader{}, other{};
  reader.give_to(7);
  other.give_to(8);
  const auto gone = [](uint32_t rank) { return rank == 1; };
  boards_->close(*board, 3, {{&reader, 1}, {&other, 2}}, gone);
  EXPECT_EQ(0u, boards_->waiting());
}

// Of a context that has failed: each has shown something, and none has read what the other has.
TEST_F(BoardTest, TwoThatReadEachOtherAndHaveClosedAreBothUsedAgain) {
  Board* const one = open(7);
  Board* const other = open(7);
  for (Board* const board : {one, other}) board->show(0, 0, kCall, nullptr, 0);
  boards_->close(*one, 1, {{other, 1}}, all_live);
  EXPECT_EQ(1u, boards_->waiting());
  boards_->close(*other, 1, {{one, 0}}, all_live);
  EXPECT_EQ(0u, boards_->waiting());
  Board* const again = open(8);
  EXPECT_FALSE(again->is_done(8, 1)) << "it has read nothing for its new context";
}

TEST_F(BoardTest, ThereIsABoundOfThem) {
  for (uint64_t i = 1; i <= BoardDirectory::kEntries; ++i) ASSERT_NE(nullptr, open(i)) << i;
  EXPECT_EQ(nullptr, open(9999));
}

// The memory is a peer's, and so is every word of it.
TEST_F(BoardTest, WhatLiesOutsideMemoryIsNone) {
  Board* const board = open(7);
  const uint64_t directory = arena_->header().boards.load();
  auto& entries = reinterpret_cast<BoardDirectory*>(arena_->at(directory))->entries;
  for (const uint64_t wrong : {uint64_t{0}, uint64_t{64}, arena_->reserve() - 64, UINT64_MAX - 63, UINT64_MAX,
                               static_cast<uint64_t>(reinterpret_cast<std::byte*>(board) - arena_->base()) + 8}) {
    entries[7].board.store(wrong);
    EXPECT_EQ(nullptr, find(7)) << wrong;
    arena_->header().boards.store(wrong);
    EXPECT_EQ(nullptr, find(7)) << wrong;
    arena_->header().boards.store(directory);
  }
}

}  // namespace
}  // namespace lci
