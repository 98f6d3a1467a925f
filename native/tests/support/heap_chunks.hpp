// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_TESTS_SUPPORT_HEAP_CHUNKS_HPP_
#define LCI_TESTS_SUPPORT_HEAP_CHUNKS_HPP_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "pool/packet_pool.hpp"

namespace lci::test {

/// Chunks from an ordinary block of memory, in rising or falling order of address.
class HeapChunks final : public ChunkSource {
 public:
  enum class Order { kRising, kFalling };

  explicit HeapChunks(size_t bytes, Order order = Order::kRising) : memory_(bytes), order_(order), end_(bytes) {}

  uint64_t allocate(size_t bytes) override {
    ++calls_;
    if (refuse_ || begin_ + bytes > end_) return 0;
    if (order_ == Order::kFalling) return end_ -= bytes;
    begin_ += bytes;
    return begin_ - bytes;
  }
  std::byte* at(uint64_t offset) override { return memory_.data() + offset; }

  void refuse(bool refuse) { refuse_ = refuse; }
  uint32_t calls() const { return calls_; }

 private:
  std::vector<std::byte> memory_;
  const Order order_;
  uint64_t begin_ = 64;  // offset 0 means refused
  uint64_t end_;
  std::atomic<bool> refuse_{false};
  std::atomic<uint32_t> calls_{0};
};

}  // namespace lci::test

#endif  // LCI_TESTS_SUPPORT_HEAP_CHUNKS_HPP_
