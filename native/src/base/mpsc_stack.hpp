// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace lci {

/**
 * What any thread leaves for the one that takes all of it at once. Lock-free, without memory of its own: @p Next gives
 * the member by which a node leads to the one before it.
 *
 * Memory order: a push releases what was written to the node, taking acquires it. @p Push is stronger where whoever
 * pushes looks afterwards whether the owner sleeps, and the owner looks here before it does.
 */
template <typename T, T*& (*Next)(T&), std::memory_order Push = std::memory_order_release>
class MpscStack {
 public:
  /// Any thread.
  void push(T* node) { push(node, node); }
  /// Any thread: a chain that leads from @p newest to @p oldest, as one piece.
  void push(T* oldest, T* newest) {
    T*& next = Next(*oldest);
    next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(next, newest, Push, std::memory_order_relaxed)) {
    }
  }
  /// A look, of any thread.
  bool empty(std::memory_order order = std::memory_order_relaxed) const { return first_.load(order) == nullptr; }
  /// The owner: the newest one, which leads to the others; null if there is none.
  T* take_all() {
    if (empty()) return nullptr;
    return first_.exchange(nullptr, std::memory_order_acquire);
  }
  /// The same, the oldest first.
  T* take_all_in_order() {
    T* in_order = nullptr;
    for (T* node = take_all(); node != nullptr;) {
      T* const before = Next(*node);
      Next(*node) = in_order;
      in_order = node;
      node = before;
    }
    return in_order;
  }

 private:
  std::atomic<T*> first_{nullptr};
};

}  // namespace lci
