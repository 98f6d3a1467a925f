// SPDX-License-Identifier: Apache-2.0
// Bytes on their way to a peer, kept until the peer says that it has them: a ring that grows up to a bound. Positions
// count all bytes ever appended.
//
// One thread.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace lci {

class SendBuffer {
 public:
  static constexpr uint64_t kFirst = 16 << 10;
  /// @param most bytes that it keeps; a power of two.
  explicit SendBuffer(uint64_t most) : most_(most) {}

  /// Behind what was appended, sent, and acknowledged.
  uint64_t end() const { return end_; }
  uint64_t sent() const { return sent_; }
  uint64_t acknowledged() const { return acknowledged_; }
  bool all_sent() const { return sent_ == end_; }
  uint64_t room() const { return most_ - std::min(most_, end_ - acknowledged_); }

  /// Appends @p size bytes; there must be room, and there may be no memory.
  void append(const void* bytes, size_t size) {
    provide(size);
    copy_in(end_, bytes, size);
    end_ += size;
  }
  /// Makes append() of @p size more bytes free of failure.
  void provide(size_t size) {
    if (end_ - acknowledged_ + size > capacity_) grow(end_ - acknowledged_ + size);
  }
  /// Writes over what was appended at @p position, and has not been sent.
  void overwrite(uint64_t position, const void* bytes, size_t size) { copy_in(position, bytes, size); }

  /// What is to be sent next, in two parts at most. @return how many
  int unsent(iovec out[2]) const {
    const uint64_t at = sent_ & (capacity_ - 1), size = end_ - sent_;
    if (size == 0) return 0;
    const uint64_t first = std::min(size, capacity_ - at);
    out[0] = {bytes_.get() + at, first};
    if (first == size) return 1;
    out[1] = {bytes_.get(), size - first};
    return 2;
  }
  void count_sent(uint64_t bytes) { sent_ += bytes; }
  /// A new connection begins at @p position, which the peer has told. False: it cannot have that.
  bool resume(uint64_t position) {
    const bool possible = may_have_come(position);
    if (possible) sent_ = position;
    return possible;
  }
  /// The peer has all before @p position. False: it cannot.
  bool acknowledge(uint64_t position) {
    const bool possible = may_have_come(position);
    if (possible) acknowledged_ = position;
    return possible;
  }

 private:
  /// All before @p position.
  bool may_have_come(uint64_t position) const { return position >= acknowledged_ && position <= sent_; }
  void copy_in(uint64_t position, const void* bytes, size_t size) {
    const uint64_t at = position & (capacity_ - 1);
    const auto first = static_cast<size_t>(std::min<uint64_t>(size, capacity_ - at));
    std::memcpy(bytes_.get() + at, bytes, first);
    std::memcpy(bytes_.get(), static_cast<const std::byte*>(bytes) + first, size - first);
  }
  void grow(uint64_t wanted) {
    uint64_t capacity = std::max(capacity_, kFirst);
    while (capacity < wanted) capacity *= 2;
    std::unique_ptr<std::byte[]> bytes(new std::byte[capacity]);
    for (uint64_t at = acknowledged_; at < end_;) {
      const uint64_t from = at & (capacity_ - 1), to = at & (capacity - 1);
      const uint64_t part = std::min({end_ - at, capacity_ - from, capacity - to});
      std::memcpy(bytes.get() + to, bytes_.get() + from, part);
      at += part;
    }
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  const uint64_t most_;
  std::unique_ptr<std::byte[]> bytes_;
  uint64_t capacity_ = 0;
  uint64_t end_ = 0, sent_ = 0, acknowledged_ = 0;
};

}  // namespace lci
