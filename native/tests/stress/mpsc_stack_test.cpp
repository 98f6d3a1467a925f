// SPDX-License-Identifier: Apache-2.0
// Many threads push, alone and in chains; one takes: nothing is lost or doubled, and each thread's come in its order.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/mpsc_stack.hpp"

namespace lci {
namespace {

struct Node {
  uint32_t thread;
  uint32_t number;
  Node* next = nullptr;
  static Node*& next_of(Node& node) { return node.next; }
};

TEST(MpscStackStress, LosesNothingAndKeepsTheOrderOfEachThread) {
  constexpr uint32_t kThreads = 3, kNodes = 60'000;
  MpscStack<Node, &Node::next_of> stack;
  std::vector<std::vector<Node>> nodes(kThreads);
  std::vector<std::jthread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    for (uint32_t number = 0; number < kNodes; ++number) nodes[thread].push_back({thread, number});
    threads.emplace_back([&stack, &mine = nodes[thread]] {
      for (uint32_t i = 0; i < kNodes;) {
        if (i % 5 == 0 && i + 2 < kNodes) {  // a chain of three
          mine[i + 2].next = &mine[i + 1];
          mine[i + 1].next = &mine[i];
          stack.push(&mine[i], &mine[i + 2]);
          i += 3;
        } else {
          stack.push(&mine[i++]);
        }
      }
    });
  }
  std::vector<uint32_t> expected(kThreads, 0);
  for (uint64_t taken = 0; taken < uint64_t{kThreads} * kNodes;) {
    Node* node = stack.take_all_in_order();
    if (!node) std::this_thread::yield();
    for (; node; node = node->next, ++taken) ASSERT_EQ(expected[node->thread]++, node->number) << node->thread;
  }
  threads.clear();
  EXPECT_TRUE(stack.empty());
}

}  // namespace
}  // namespace lci
