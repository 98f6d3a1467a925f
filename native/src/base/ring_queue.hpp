// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_RING_QUEUE_HPP_
#define LCI_BASE_RING_QUEUE_HPP_

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

namespace lci {

/// First in, first out, in one piece of memory that doubles when it is full: what comes and goes allocates nothing. For
/// values without a destructor. One user at a time.
template <typename T>
class RingQueue {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  /// Oldest value; only when not empty.
  T& front() { return values_[head_ & mask()]; }
  void pop_front() { ++head_; }
  void push_back(const T& value) {
    if (size() == values_.size()) grow();
    values_[tail_++ & mask()] = value;
  }
  /// Until it holds more than so many values, push_back() needs no memory.
  void reserve(size_t count) {
    while (count > values_.size()) grow();
  }
  /// Drops all values, and the memory.
  void clear() {
    head_ = tail_ = 0;
    values_ = {};
  }

 private:
  static constexpr size_t kFirst = 64;

  size_t mask() const { return values_.size() - 1; }  // the size is a power of two
  void grow() {
    std::vector<T> larger(values_.empty() ? kFirst : 2 * values_.size());
    const size_t count = size();
    for (size_t i = 0; i < count; ++i) larger[i] = values_[(head_ + i) & mask()];
    values_ = std::move(larger);
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> values_;
  size_t head_ = 0, tail_ = 0;
};

}  // namespace lci

#endif  // LCI_BASE_RING_QUEUE_HPP_
