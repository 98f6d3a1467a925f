// SPDX-License-Identifier: Apache-2.0
// The receives that a device has posted and that lie in matching engines, by what a cancel names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/free_list.hpp"
#include "base/lazy_array.hpp"
#include "base/mpsc_stack.hpp"
#include "protocol/contexts.hpp"

namespace lci {

/// Receives that were taken out of their engines, the first one first. Needs no memory: each leads to the next one.
class TakenReceives {
 public:
  void add(PostedReceive& receive) {
    receive.entry.next_returned = nullptr;
    *last_ = &receive;
    last_ = &receive.entry.next_returned;
  }
  /// Null: there is none.
  std::unique_ptr<PostedReceive> take_first() {
    PostedReceive* const first = first_;
    if (first == nullptr) return nullptr;
    first_ = first->entry.next_returned;
    if (first_ == nullptr) last_ = &first_;
    return std::unique_ptr<PostedReceive>(first);
  }

 private:
  PostedReceive* first_ = nullptr;
  PostedReceive** last_ = &first_;
};

/**
 * A hash table of receives that grows by one bucket at a time, so that no post pays for all: linear hashing. To find
 * the receive of a context costs the same however many are pending.
 *
 * Everything belongs to the owner of the device but give_back(). A receive stays in the table from its post until its
 * device has it back, also while another device or thread, which took it out of its engine, is finishing it. So the
 * memory of what find() answers is valid; whether it is still stored, only the engine knows.
 */
class PendingReceives {
 public:
  ~PendingReceives();

  /// Takes back what others have finished.
  void collect();
  /// A receive to be filled in and stored.
  std::unique_ptr<PostedReceive> take() { return spare_.take(); }
  /// The engine has it.
  void add(PostedReceive& receive, const PostedReceive::Name& name);
  /// It is over, and was taken out of its engine. By the owner.
  void end(PostedReceive& receive);
  /// The same, by any thread.
  void give_back(PostedReceive& receive) { returned_.push(&receive); }
  /// One with this name for which @p take answers true; null if there is none.
  template <typename Take>
  PostedReceive* find(const PostedReceive::Name& name, Take take) {
    collect();
    PostedReceive* receive = buckets_[bucket_of(name)];
    for (; receive != nullptr; receive = receive->entry.next) {
      ++looked_at_;
      if (receive->entry.name == name && take(*receive)) break;
    }
    return receive;
  }
  /// Receives that find() has looked at: for tests of what it costs.
  uint64_t looked_at() const { return looked_at_; }
  size_t count() const { return count_; }

 private:
  static constexpr size_t kSpare = 1024;            // kept for the next ones
  static constexpr size_t kFirst = 64;              // buckets at first
  static constexpr size_t kMost = size_t{1} << 20;  // address space only, until they are needed

  size_t bucket_of(const PostedReceive::Name& name) const;
  void link(PostedReceive& receive, size_t bucket);
  static void unlink(PostedReceive& receive);
  void split();

  static PostedReceive*& next_returned(PostedReceive& receive) { return receive.entry.next_returned; }

  LazyArray<PostedReceive*> buckets_{kMost};
  size_t used_ = kFirst;   // buckets
  size_t level_ = kFirst;  // the power of two up to which all were split
  size_t count_ = 0;
  uint64_t looked_at_ = 0;
  FreeList<PostedReceive> spare_{kSpare};
  MpscStack<PostedReceive, &next_returned> returned_;
};

}  // namespace lci
