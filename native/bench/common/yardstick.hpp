/* SPDX-License-Identifier: Apache-2.0 */
/// @file yardstick.hpp
/// What the benchmarks of machine limits share: two processes on two processors, shared memory, a clock, one JSON line.
#ifndef LCI_BENCH_COMMON_YARDSTICK_HPP_
#define LCI_BENCH_COMMON_YARDSTICK_HPP_

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace lci::bench {

/// Seconds of a clock that only goes forward.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] inline void give_up(const char* what) {
  std::perror(what);
  std::exit(EXIT_FAILURE);
}

/// How often to do what takes @p full rounds for a figure that is worth something: environment LCI_BENCH_DOSE is the
/// part of it to do, so that tests can see in a moment whether a measurement works.
inline std::uint64_t dosed(std::uint64_t full, std::uint64_t least = 1) {
  static const char* const dose = std::getenv("LCI_BENCH_DOSE");
  static const double part = dose ? std::atof(dose) : 1;
  return std::max(least, static_cast<std::uint64_t>(static_cast<double>(full) * part));
}

/// Binds the caller to processor @p index of those it may use; does nothing if there are fewer.
inline void pin(int index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (CPU_ISSET(processor, &allowed) && index-- == 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(processor, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

/// Zeroed memory that both processes see.
inline void* shared_memory(std::size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    give_up("mmap");
  }
  return memory;
}

/// Waits without handing the processor over, as communication libraries do; yields now and then, for machines with
/// fewer processors than processes.
class Spin {
 public:
  void operator()() {
    if (++rounds_ % 1024 == 0) {
      sched_yield();
    } else {
      __builtin_ia32_pause();
    }
  }

 private:
  unsigned rounds_ = 0;
};

/// Both processes meet here, any number of times.
class Meeting {
 public:
  void wait(int round) {
    arrived_.fetch_add(1);
    for (Spin spin; arrived_.load() < 2 * round;) {
      spin();
    }
  }

 private:
  std::atomic<int> arrived_{0};
};

/// Runs first() on one processor and second() in a child process on another; ends the program if the child fails.
template <typename First, typename Second>
void in_two_processes(First&& first, Second&& second) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child < 0) {
    give_up("fork");
  }
  if (child == 0) {
    pin(1);
    std::forward<Second>(second)();
    _exit(0);
  }
  pin(0);
  std::forward<First>(first)();
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "the second process failed\n");
    std::exit(EXIT_FAILURE);
  }
}

/// One line of JSON on standard output, the format of all benchmarks.
inline void print_metric(const char* metric, const char* unit, double value) {
  std::printf("{\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6g}\n", metric, unit, value);
  std::fflush(stdout);
}

}  // namespace lci::bench

#endif
