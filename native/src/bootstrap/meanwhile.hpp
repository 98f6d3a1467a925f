// SPDX-License-Identifier: Apache-2.0
// What a thread that waits for the other ranks of a job does every few milliseconds: one of them may need this rank
// before it can come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/clock.hpp"
#include "host/socket.hpp"

namespace lci {

class Meanwhile {
 public:
  /// Nothing is done.
  Meanwhile() = default;
  explicit Meanwhile(std::function<void()> work) : work_(std::move(work)) {}

  void work() const {
    if (work_) work_();
  }
  /// How long one who waits until @p deadline_ns may wait before work() is due again.
  uint64_t until(uint64_t deadline_ns) const {
    return work_ ? std::min(deadline_ns, now_ns() + kInterval) : deadline_ns;
  }
  /// lci::wait_for(), with the work.
  bool wait_for(int socket, bool writable, uint64_t deadline_ns) const {
    for (;;) {
      work();
      const uint64_t until_ns = until(deadline_ns);
      if (lci::wait_for(socket, writable, until_ns)) return true;
      if (until_ns >= deadline_ns) return false;
    }
  }

 private:
  static constexpr uint64_t kInterval = 5'000'000;  // ns
  std::function<void()> work_;
};

}  // namespace lci
