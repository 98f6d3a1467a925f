// SPDX-License-Identifier: Apache-2.0
#include "protocol/pending_receives.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace lci {
namespace {

PostedReceive* add(PendingReceives& table, uint16_t engine, uint64_t context, const Completion* graph = nullptr) {
  PostedReceive* added = table.take().release();
  table.add(*added, {engine, context, graph});
  return added;
}

void end(PendingReceives& table, PostedReceive* receive) {
  table.end(*receive);
}

PostedReceive* find(PendingReceives& table, uint16_t engine, uint64_t context, const Completion* graph = nullptr) {
  return table.find({engine, context, graph}, [](const PostedReceive&) { return true; });
}

TEST(PendingReceives, AreFoundByAllOfTheirName) {
  PendingReceives table;
  const auto* graph = reinterpret_cast<const Completion*>(uintptr_t{0x1000});
  PostedReceive* const plain = add(table, 0, 7);
  PostedReceive* const of_engine = add(table, 3, 7);
  PostedReceive* const of_graph = add(table, 0, 7, graph);
  EXPECT_EQ(plain, find(table, 0, 7));
  EXPECT_EQ(of_engine, find(table, 3, 7));
  EXPECT_EQ(of_graph, find(table, 0, 7, graph));
  EXPECT_EQ(nullptr, find(table, 0, 8));
  EXPECT_EQ(nullptr, find(table, 4, 7));
  end(table, plain);
  EXPECT_EQ(nullptr, find(table, 0, 7));
  EXPECT_EQ(of_graph, find(table, 0, 7, graph));
  end(table, of_engine);
  end(table, of_graph);
  EXPECT_EQ(0u, table.count());
}

TEST(PendingReceives, OfOneNameEachIsFoundInTurn) {
  PendingReceives table;
  for (int i = 0; i < 100; ++i) add(table, 0, 5);
  for (int i = 0; i < 100; ++i) {
    PostedReceive* found = find(table, 0, 5);
    ASSERT_NE(nullptr, found);
    end(table, found);
  }
  EXPECT_EQ(nullptr, find(table, 0, 5));
}

TEST(PendingReceives, ALookCostsTheSameHoweverManyArePending) {
  PendingReceives table;
  constexpr uint64_t kMany = 200'000;
  std::vector<PostedReceive*> all;
  for (uint64_t context = 0; context < kMany; ++context) all.push_back(add(table, 0, context << 16));
  for (uint64_t context = 0; context < kMany; ++context) {
    const uint64_t before = table.looked_at();
    ASSERT_EQ(all[context], find(table, 0, context << 16)) << context;
    ASSERT_LE(table.looked_at() - before, 24u) << context;
  }
  for (PostedReceive* receive : all) end(table, receive);
  EXPECT_EQ(0u, table.count());
}

TEST(PendingReceives, WhatOthersGiveBackLeavesAtTheNextLook) {
  PendingReceives table;
  PostedReceive* const first = add(table, 0, 1);
  PostedReceive* const second = add(table, 0, 2);
  table.give_back(*first);
  EXPECT_EQ(2u, table.count());
  EXPECT_EQ(nullptr, find(table, 0, 1));
  EXPECT_EQ(second, find(table, 0, 2));
  EXPECT_EQ(1u, table.count());
  table.give_back(*second);  // the table's end frees it
}

}  // namespace
}  // namespace lci
