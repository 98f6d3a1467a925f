// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_MATCHING_ENTRY_QUEUE_HPP_
#define LCI_MATCHING_ENTRY_QUEUE_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/mutation.hpp"
#include "matching/matching_engine.hpp"

namespace lci {

/// Seven values of a queue, and the way to the next seven.
struct alignas(64) EntryNode {
  static constexpr size_t kEntries = 7;
  void* entries[kEntries];
  EntryNode* next;
};
static_assert(sizeof(EntryNode) == 64);

/// Nodes that no queue of a bucket uses at the moment. Valid as zero bytes: then empty. Guarded by the bucket's lock.
class SpareNodes {
 public:
  /// An empty node.
  EntryNode* take() {
    if (first_ == nullptr) return new EntryNode{};
    EntryNode* node = first_;
    first_ = node->next;
    --count_;
    return node;
  }
  /// Afterwards take() needs no memory once.
  void make_room() {
    if (first_ == nullptr) give(new EntryNode{});
  }
  /// @param node without entries
  void give(EntryNode* node) {
    if (count_ == kMost) {
      delete node;
      return;
    }
    node->next = first_;
    first_ = node;
    ++count_;
  }
  void clear() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next);
    count_ = 0;
  }

 private:
  static constexpr uint32_t kMost = 16;  // 1 KiB for a bucket that once held more than a hundred values of a key
  EntryNode* first_;
  uint32_t count_;
};

/**
 * Values of one key and one side, oldest first: two inline, the rest in nodes of seven that are one cache line each.
 * [B18] Valid as zero bytes: then empty. Not thread-safe: the bucket's lock guards it. Values are not null.
 *
 * The nodes form a ring reached by its last one. Nodes are packed from the left; only the last may have gaps at its
 * end, and the inline places are always filled first.
 */
class EntryQueue {
 public:
  bool empty() const { return inline_[0] == nullptr; }
  uint64_t key() const { return key_; }
  Side side() const { return (last_and_side_ & 1) == 0 ? Side::kSend : Side::kReceive; }

  /// Walks the nodes.
  size_t size() const {
    size_t result = (inline_[0] != nullptr) + (inline_[1] != nullptr);
    const Node* node = last();
    if (node == nullptr) return result;
    do {
      node = node->next;
      for (void* entry : node->entries) result += entry != nullptr;
    } while (node != last());
    return result;
  }

  /// Starts over with another key; only when empty.
  void open(uint64_t key, Side side) {
    key_ = key;
    last_and_side_ = side == Side::kReceive;
  }

  /// Afterwards push() needs no memory once.
  void make_room(SpareNodes& spare) const {
    if (inline_[1] == nullptr) return;
    const Node* node = last();
    if (node == nullptr || node->entries[kNodeEntries - 1] != nullptr) spare.make_room();
  }

  void push(void* value, SpareNodes& spare) {
    if (inline_[0] == nullptr) {
      inline_[0] = value;
    } else if (inline_[1] == nullptr) {
      inline_[1] = value;
    } else {
      push_overflow(value, spare);
    }
  }

  /// Oldest value; only when not empty.
  void* pop(SpareNodes& spare) {
    if (LCI_MUTATED("matching_lifo") && inline_[1] != nullptr) std::swap(inline_[0], inline_[1]);
    void* value = inline_[0];
    inline_[0] = inline_[1];
    inline_[1] = inline_[1] == nullptr ? nullptr : pop_overflow(spare);
    return value;
  }

  /// Takes out the values for which @p take answers true, called oldest first; returns how many.
  template <typename Take>
  size_t extract(SpareNodes& spare, Take take) {
    size_t taken = 0;
    for (size_t left = size(); left > 0; --left) {  // once around: what stays goes to the end
      void* value = pop(spare);
      if (take(value)) {
        ++taken;
      } else {
        push(value, spare);
      }
    }
    return taken;
  }

  /// Drops all values.
  void clear(SpareNodes& spare) {
    while (!empty()) pop(spare);
  }

 private:
  static constexpr size_t kNodeEntries = EntryNode::kEntries;
  using Node = EntryNode;

  Node* last() const { return reinterpret_cast<Node*>(last_and_side_ & ~uintptr_t{1}); }
  void set_last(Node* node) { last_and_side_ = reinterpret_cast<uintptr_t>(node) | (last_and_side_ & 1); }

  void push_overflow(void* value, SpareNodes& spare) {
    Node* node = last();
    if (node == nullptr || node->entries[kNodeEntries - 1] != nullptr) node = append_node(spare);
    size_t at = 0;
    while (node->entries[at] != nullptr) ++at;
    node->entries[at] = value;
  }

  Node* append_node(SpareNodes& spare) {
    Node* node = spare.take();
    Node* previous = last();
    node->next = previous == nullptr ? node : previous->next;
    if (previous != nullptr) previous->next = node;
    set_last(node);
    return node;
  }

  /// Oldest value of the nodes; null if there are none.
  void* pop_overflow(SpareNodes& spare) {
    Node* tail = last();
    if (tail == nullptr) return nullptr;
    Node* first = tail->next;
    void* value = first->entries[0];
    for (size_t at = 1; at < kNodeEntries; ++at) first->entries[at - 1] = first->entries[at];
    first->entries[kNodeEntries - 1] = nullptr;
    if (first->entries[0] == nullptr) {
      tail->next = first->next;
      if (first == tail) set_last(nullptr);
      spare.give(first);
    }
    return value;
  }

  uint64_t key_;
  void* inline_[2];
  uintptr_t last_and_side_;  // the last node, and the side in the lowest bit
};
static_assert(sizeof(EntryQueue) == 32);

}  // namespace lci

#endif  // LCI_MATCHING_ENTRY_QUEUE_HPP_
