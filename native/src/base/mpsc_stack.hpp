// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace lci {

/**
 * What any thread leaves for the one that takes all of it at once. Lock-free, without memory of its own: @p Next gives
 * the member by which a node leads to the one before it.
 *
 * Memory order: a push releases what was written to the node, taking acquires it.
 */
template <typename T, T*& (*Next)(T&)>
class MpscStack {
 public:
  /// Any thread.
  void push(T* node) {
    T*& next = Next(*node);
    next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  /// The owner: the newest one, which leads to the others; null if there is none.
  T* take_all() {
    if (first_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return first_.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  std::atomic<T*> first_{nullptr};
};

}  // namespace lci
