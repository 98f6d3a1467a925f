// SPDX-License-Identifier: Apache-2.0
// How fast long messages can be at most on this machine: each of their bytes is copied once, by the receiver, out of
// the sender's memory, and nothing is handed over. Two ways, of which the better one counts: memcpy out of memory that
// both share, and single copy by the kernel (process_vm_readv) out of memory that is the sender's own.
//
//   copy_limit bandwidth_SIZE | put_SIZE | get_SIZE    SIZE: 16k, 64k, 1m; GB/s
#include <sys/uio.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/yardstick.hpp"

namespace {

using namespace lci::bench;

constexpr int kRounds = 4;  // the first ones touch the memory
const std::size_t kBytes = dosed(1u << 30, 4u << 20);

/// Bytes of a message of @p metric; 0: there is no such metric.
std::size_t message_of(const std::string& metric) {
  for (const char* family : {"bandwidth_", "put_", "get_"}) {
    if (metric == std::string(family) + "16k") return 16 << 10;
    if (metric == std::string(family) + "64k") return 64 << 10;
    if (metric == std::string(family) + "1m") return 1 << 20;
  }
  return 0;
}

/// What the two processes tell each other.
struct Shared {
  Meeting meeting;
  std::atomic<pid_t> sender{0};
  std::atomic<char*> own{nullptr};  ///< The message, in memory of the sender's own.
};

/// GB/s of @p copy(), called for each message; the best round. False from it: it is not allowed here.
template <typename Copy>
double best_rate(std::size_t message, Copy copy) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = now_s();
    for (std::size_t done = 0; done < kBytes; done += message) {
      if (!copy()) return 0;
    }
    best = std::max(best, static_cast<double>(kBytes) / (now_s() - start) / 1e9);
  }
  return best;
}

double receive_all(Shared& shared, const char* message_there, std::size_t size) {
  std::vector<char> place(size);
  shared.meeting.wait(1);
  const double by_memcpy = best_rate(size, [&] {
    std::memcpy(place.data(), message_there, size);
    asm volatile("" ::"r"(place.data()) : "memory");  // nobody reads it
    return true;
  });
  const iovec to{place.data(), size}, from{shared.own.load(), size};
  const double by_kernel = best_rate(
      size, [&] { return process_vm_readv(shared.sender.load(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(size); });
  if (by_kernel == 0) std::fprintf(stderr, "copy_limit: no single copy here: %s\n", std::strerror(errno));
  if (place.back() != 'x') give_up("the message is damaged");
  shared.meeting.wait(2);
  return std::max(by_memcpy, by_kernel);
}

void be_copied_from(Shared& shared, char* message_there, std::size_t size) {
  std::vector<char> own(size, 'x');
  std::memset(message_there, 'x', size);
  shared.own = own.data();
  shared.sender = getpid();
  shared.meeting.wait(1);
  shared.meeting.wait(2);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string metric = argc == 2 ? argv[1] : "";
  const std::size_t size = message_of(metric);
  if (size == 0) {
    std::fprintf(stderr, "usage: copy_limit METRIC; metrics: bandwidth_SIZE, put_SIZE, get_SIZE; SIZE: 16k, 64k, 1m\n");
    return 2;
  }
  auto& shared = *new (shared_memory(sizeof(Shared))) Shared;
  auto* message_there = static_cast<char*>(shared_memory(size));
  // The parent receives: where Yama is strict, a process may read memory of its children alone.
  double rate = 0;
  in_two_processes([&] { rate = receive_all(shared, message_there, size); },
                   [&] { be_copied_from(shared, message_there, size); });
  print_metric(metric.c_str(), "GB/s", rate);
  return 0;
}
