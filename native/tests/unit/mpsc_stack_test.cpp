// SPDX-License-Identifier: Apache-2.0
#include "base/mpsc_stack.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace lci {
namespace {

struct Node {
  int value;
  Node* next = nullptr;
  static Node*& next_of(Node& node) { return node.next; }
};
using Stack = MpscStack<Node, &Node::next_of>;

std::vector<int> values(Node* first) {
  std::vector<int> result;
  for (Node* node = first; node; node = node->next) result.push_back(node->value);
  return result;
}

TEST(MpscStack, GivesAllAtOnceTheNewestFirst) {
  Node one{1}, two{2}, three{3};
  Stack stack;
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(nullptr, stack.take_all());
  stack.push(&one);
  stack.push(&two);
  stack.push(&three);
  EXPECT_FALSE(stack.empty());
  EXPECT_EQ((std::vector<int>{3, 2, 1}), values(stack.take_all()));
  EXPECT_TRUE(stack.empty());
}

TEST(MpscStack, GivesThemInOrderAsWell) {
  Node one{1}, two{2}, three{3};
  Stack stack;
  EXPECT_EQ(nullptr, stack.take_all_in_order());
  for (Node* node : {&one, &two, &three}) stack.push(node);
  EXPECT_EQ((std::vector<int>{1, 2, 3}), values(stack.take_all_in_order()));
  EXPECT_TRUE(stack.empty());
}

TEST(MpscStack, TakesAChainAsOnePiece) {
  Node one{1}, two{2}, three{3}, four{4};
  Stack stack;
  stack.push(&one);
  three.next = &two;
  stack.push(&two, &three);
  stack.push(&four);
  EXPECT_EQ((std::vector<int>{1, 2, 3, 4}), values(stack.take_all_in_order()));
}

}  // namespace
}  // namespace lci
