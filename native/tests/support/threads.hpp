// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_TESTS_SUPPORT_THREADS_HPP_
#define LCI_TESTS_SUPPORT_THREADS_HPP_

#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

#include "base/clock.hpp"

namespace lci::test {

/// Runs body(index) on @p count threads that start together, and waits for all.
template <typename Body>
void run_threads(uint32_t count, Body body) {
  std::latch start(count);
  std::vector<std::thread> threads;
  for (uint32_t index = 0; index < count; ++index) {
    threads.emplace_back([&start, &body, index] {
      start.arrive_and_wait();
      body(index);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Bound of a stress test: loops ask it, so that a fault ends in a failed expectation instead of a hang.
class Deadline {
 public:
  explicit Deadline(uint64_t seconds) : end_(now_ns() + seconds * 1'000'000'000) {}
  bool passed() const { return now_ns() >= end_; }
  uint64_t ns() const { return end_; }

 private:
  const uint64_t end_;
};

}  // namespace lci::test

#endif  // LCI_TESTS_SUPPORT_THREADS_HPP_
