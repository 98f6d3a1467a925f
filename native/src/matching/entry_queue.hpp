// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_MATCHING_ENTRY_QUEUE_HPP_
#define LCI_MATCHING_ENTRY_QUEUE_HPP_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "matching/matching_engine.hpp"

namespace lci {

/// Six values of a queue, and the way to the nodes before and behind.
struct alignas(64) EntryNode {
  static constexpr size_t kEntries = 6;
  void* entries[kEntries];
  EntryNode* next;
  EntryNode* previous;
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
 * Values of one key and one side, oldest first: two inline, the rest in nodes of six that are one cache line each.
 * [B18] Valid as zero bytes: then empty. Not thread-safe: the bucket's lock guards it. Values are not null.
 *
 * The nodes form a ring reached by its last one. A node is packed from the left and never empty. What is inline came
 * before what is in nodes: a value stays where it is until it leaves, so a placed one (see Place) is told once.
 */
class EntryQueue {
 public:
  bool empty() const { return inline_[0] == nullptr && last() == nullptr; }
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
    const Node* node = last();
    const bool full = node == nullptr ? inline_[1] != nullptr : node->entries[kNodeEntries - 1] != nullptr;
    if (full) spare.make_room();
  }

  /// @param placed whether the value begins with its Place; the same of all values of a queue
  void push(void* value, SpareNodes& spare, bool placed) {
    const void* at = this;
    if (last() != nullptr || inline_[1] != nullptr) {
      at = push_overflow(value, spare);
    } else {
      inline_[inline_[0] == nullptr ? 0 : 1] = value;
    }
    if (placed) place_of(value).at = at;
  }

  /// Oldest value; only when not empty.
  void* pop(SpareNodes& spare, bool placed) {
    void* value = inline_[0];
    if (value != nullptr) {
      inline_[0] = std::exchange(inline_[1], nullptr);
    } else {
      value = last()->next->entries[0];
      take_out(last()->next, 0, spare);
    }
    if (placed) place_of(value).at = nullptr;
    return value;
  }

  /// Takes @p value out; false if it is not in. A placed one must not be in another queue of this key and side.
  /// @param looked_at counts the entries that were looked at
  bool remove(void* value, SpareNodes& spare, bool placed, size_t* looked_at) {
    if (!placed) return remove_searched(value, spare, looked_at);
    Place& place = place_of(value);
    if (place.at == nullptr) return false;
    auto* node = static_cast<Node*>(const_cast<void*>(place.at));
    const bool found = place.at == this ? remove_inline(value, looked_at) : remove_from(node, value, spare, looked_at);
    place.at = nullptr;
    return found;
  }

  /// Takes out the values for which @p take answers true, called oldest first; returns how many it was shown. Needs no
  /// memory: what stays, stays where it is.
  template <typename Take>
  size_t extract(SpareNodes& spare, bool placed, Take take) {
    size_t shown = 0;
    const auto is_taken = [&](void* value) {
      ++shown;
      if (!placed) return take(value);
      Place& place = place_of(value);  // whoever takes it may end it at once
      const void* const at = std::exchange(place.at, nullptr);
      const bool taken = take(value);
      if (!taken) place.at = at;
      return taken;
    };
    while (inline_[0] != nullptr && is_taken(inline_[0])) inline_[0] = std::exchange(inline_[1], nullptr);
    if (inline_[1] != nullptr && is_taken(inline_[1])) inline_[1] = nullptr;
    Node* const end = last();
    for (Node* node = end == nullptr ? nullptr : end->next; node != nullptr;) {
      Node* const next = node == end ? nullptr : node->next;
      for (size_t at = 0; at < kNodeEntries && node->entries[at] != nullptr;) {
        const bool alone = at == 0 && node->entries[1] == nullptr;
        if (!is_taken(node->entries[at])) {
          ++at;
          continue;
        }
        take_out(node, at, spare);
        if (alone) break;  // its node went with it
      }
      node = next;
    }
    return shown;
  }

  /// Drops all values.
  void clear(SpareNodes& spare) {
    while (!empty()) pop(spare, false);
  }

 private:
  static constexpr size_t kNodeEntries = EntryNode::kEntries;
  using Node = EntryNode;

  Node* last() const { return reinterpret_cast<Node*>(last_and_side_ & ~uintptr_t{1}); }
  void set_last(Node* node) { last_and_side_ = reinterpret_cast<uintptr_t>(node) | (last_and_side_ & 1); }

  static Place& place_of(void* value) { return *static_cast<Place*>(value); }

  Node* push_overflow(void* value, SpareNodes& spare) {
    Node* node = last();
    if (node == nullptr || node->entries[kNodeEntries - 1] != nullptr) node = append_node(spare);
    size_t at = 0;
    while (node->entries[at] != nullptr) ++at;
    node->entries[at] = value;
    return node;
  }

  Node* append_node(SpareNodes& spare) {
    Node* node = spare.take();
    Node* before = last();
    if (before == nullptr) {
      node->next = node->previous = node;
    } else {
      node->next = before->next;
      node->previous = before;
      node->next->previous = before->next = node;
    }
    set_last(node);
    return node;
  }

  void take_out(Node* node, size_t at, SpareNodes& spare) {
    for (++at; at < kNodeEntries; ++at) node->entries[at - 1] = node->entries[at];
    node->entries[kNodeEntries - 1] = nullptr;
    if (node->entries[0] != nullptr) return;
    if (node == last()) set_last(node->previous == node ? nullptr : node->previous);
    node->previous->next = node->next;
    node->next->previous = node->previous;
    spare.give(node);
  }

  bool remove_inline(const void* value, size_t* looked_at) {
    for (size_t at = 0; at < 2; ++at, ++*looked_at) {
      if (inline_[at] != value) continue;
      if (at == 0) inline_[0] = inline_[1];
      inline_[1] = nullptr;
      return true;
    }
    return false;
  }

  bool remove_from(Node* node, const void* value, SpareNodes& spare, size_t* looked_at) {
    for (size_t at = 0; at < kNodeEntries; ++at, ++*looked_at) {
      if (node->entries[at] != value) continue;
      take_out(node, at, spare);
      return true;
    }
    return false;
  }

  bool remove_searched(const void* value, SpareNodes& spare, size_t* looked_at) {
    if (remove_inline(value, looked_at)) return true;
    if (last() == nullptr) return false;
    Node* node = last();
    do {
      node = node->next;
      if (remove_from(node, value, spare, looked_at)) return true;
    } while (node != last());
    return false;
  }

  uint64_t key_;
  void* inline_[2];
  uintptr_t last_and_side_;  // the last node, and the side in the lowest bit
};
static_assert(sizeof(EntryQueue) == 32);

}  // namespace lci

#endif  // LCI_MATCHING_ENTRY_QUEUE_HPP_
