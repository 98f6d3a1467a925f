/* SPDX-License-Identifier: Apache-2.0 */
// Round trip of one cache line between two processes on two processors: the machine's own speed at this moment. On a
// virtual machine it moves by a factor of ten within seconds, so every comparison is printed beside it.
#include <cstdint>
#include <new>

#include "common/yardstick.hpp"

namespace {

using namespace lci::bench;

const std::uint64_t kWarmup = dosed(2'000);
const std::uint64_t kRounds = dosed(100'000);

struct Lines {
  alignas(128) std::atomic<std::uint64_t> ping{0};
  alignas(128) std::atomic<std::uint64_t> pong{0};
};

void wait_for(const std::atomic<std::uint64_t>& line, std::uint64_t value) {
  for (Spin spin; line.load(std::memory_order_acquire) != value;) {
    spin();
  }
}

void ping(Lines& lines, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t i = from; i <= to; i++) {
    lines.ping.store(i, std::memory_order_release);
    wait_for(lines.pong, i);
  }
}

void pong(Lines& lines) {
  for (std::uint64_t i = 1; i <= kWarmup + kRounds; i++) {
    wait_for(lines.ping, i);
    lines.pong.store(i, std::memory_order_release);
  }
}

}  // namespace

int main() {
  auto& lines = *new (shared_memory(sizeof(Lines))) Lines;
  in_two_processes(
      [&] {
        ping(lines, 1, kWarmup);
        double start = now_s();
        ping(lines, kWarmup + 1, kWarmup + kRounds);
        print_metric("line_roundtrip", "ns", (now_s() - start) / static_cast<double>(kRounds) * 1e9);
      },
      [&] { pong(lines); });
}
