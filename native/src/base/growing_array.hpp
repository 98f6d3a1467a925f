// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace lci {

/**
 * An array that grows while others read it: for tables that are looked into all the time and changed seldom. [B24]
 *
 * Any thread may call anything. Reads take no lock; put(), append() and resize() take one. A read outside the array
 * gives T().
 *
 * Memory order: elements are stored release and loaded acquire, so that what a pointer in the array names is seen
 * whole. A larger table is filled before it is published, release, and loaded acquire. The tables before it stay until
 * the end, for a reader may still be in one: it finds there what was stored before the growth, never anything else.
 *
 * T: what std::atomic holds without a lock.
 */
template <typename T>
class GrowingArray {
  static_assert(std::atomic<T>::is_always_lock_free);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;

  T get(size_t index) const {
    const Table* table = table_.load(std::memory_order_acquire);
    return table && index < table->capacity ? table->elements[index].load(std::memory_order_acquire) : T();
  }
  /// Where the array ends: one behind the last that was put, unless it was resized.
  size_t size() const { return size_.load(std::memory_order_acquire); }

  void put(size_t index, T value) {
    const std::lock_guard<std::mutex> guard(mutex_);
    put_locked(index, value);
  }
  /// @return where it is.
  size_t append(T value) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const size_t index = size_.load(std::memory_order_relaxed);
    put_locked(index, value);
    return index;
  }
  /// What is cut off becomes T(), also for readers of earlier tables that look again.
  void resize(size_t count) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (count > 0) reserve(count - 1);
    const size_t before = size_.load(std::memory_order_relaxed);
    for (size_t index = count; index < before; ++index) {
      tables_.back()->elements[index].store(T(), std::memory_order_release);
    }
    size_.store(count, std::memory_order_release);
  }

 private:
  struct Table {
    explicit Table(size_t count) : capacity(count), elements(new std::atomic<T>[count]) {}
    const size_t capacity;
    const std::unique_ptr<std::atomic<T>[]> elements;
  };

  void put_locked(size_t index, T value) {
    reserve(index);
    tables_.back()->elements[index].store(value, std::memory_order_release);
    if (index >= size_.load(std::memory_order_relaxed)) size_.store(index + 1, std::memory_order_release);
  }

  /// Makes room for @p index: a table of twice what is needed, so that growth is seldom.
  void reserve(size_t index) {
    const Table* old = tables_.empty() ? nullptr : tables_.back().get();
    if (old && index < old->capacity) return;
    auto table = std::make_unique<Table>(2 * (index + 1));
    for (size_t i = 0; i < table->capacity; ++i) {
      const T value = old && i < old->capacity ? old->elements[i].load(std::memory_order_relaxed) : T();
      table->elements[i].store(value, std::memory_order_relaxed);
    }
    tables_.push_back(std::move(table));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::atomic<const Table*> table_{nullptr};
  std::atomic<size_t> size_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last is the one in use
};

}  // namespace lci
