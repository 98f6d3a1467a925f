// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>
#include <utility>

namespace lci_test {

/// Runs a function again and again on a thread of its own until the end of the scope: a peer that is alive.
class Background {
 public:
  template <typename Turn>
  explicit Background(Turn turn)
      : thread_([this, turn = std::move(turn)]() mutable {
          while (!stop_.load(std::memory_order_acquire)) {
            turn();
            std::this_thread::yield();
          }
        }) {}
  ~Background() {
    stop_.store(true, std::memory_order_release);
    thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace lci_test
