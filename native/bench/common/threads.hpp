/* SPDX-License-Identifier: Apache-2.0 */
/// @file threads.hpp
/// A program that measures what threads get out of something that they share: `PROGRAM NAME_tTHREADS SIDE`.
#ifndef LCI_BENCH_COMMON_THREADS_HPP_
#define LCI_BENCH_COMMON_THREADS_HPP_

#include <algorithm>
#include <cstring>
#include <latch>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "yardstick.hpp"

namespace lci::bench {

/// Million operations a second of all threads together, where each runs body(thread, operations) on a processor of its
/// own, as far as there are any. The first round warms up.
template <typename Body>
double throughput(uint32_t threads, uint64_t operations, Body body) {
  struct Times {
    double start, end;
  };
  std::vector<Times> times(threads);
  for (int round = 0; round < 2; ++round) {
    std::latch ready(threads);
    std::vector<std::thread> workers;
    for (uint32_t self = 0; self < threads; ++self) {
      workers.emplace_back([&, self] {
        pin(static_cast<int>(self));
        ready.arrive_and_wait();
        const double start = now_s();
        body(self, operations);
        times[self] = {start, now_s()};
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  const auto first = std::min_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.start < b.start; });
  const auto last = std::max_element(times.begin(), times.end(), [](auto& a, auto& b) { return a.end < b.end; });
  return static_cast<double>(threads * operations) / (last->end - first->start) * 1e-6;
}

/// What is compared under one name, by side: "ours" and others.
using Sides = std::map<std::string, double (*)(uint32_t threads)>;

/// Measures what the command line names, and prints it.
inline int measure_threads(int argc, char** argv, const std::map<std::string, Sides>& metrics) {
  const std::string named = argc == 3 ? argv[1] : "";
  const size_t split = named.rfind("_t");
  const int threads = split == std::string::npos ? 0 : std::atoi(named.c_str() + split + 2);
  const auto metric = metrics.find(named.substr(0, split));
  if (metric == metrics.end() || threads < 1 || metric->second.count(argv[2]) == 0) {
    std::fprintf(stderr, "usage: %s NAME_tTHREADS SIDE; names and sides:\n", argv[0]);
    for (const auto& [name, sides] : metrics) {
      std::fprintf(stderr, "  %s:", name.c_str());
      for (const auto& [side, ignored] : sides) std::fprintf(stderr, " %s", side.c_str());
      std::fprintf(stderr, "\n");
    }
    return 2;
  }
  print_metric(argv[1], "Mop/s", metric->second.at(argv[2])(static_cast<uint32_t>(threads)));
  return 0;
}

}  // namespace lci::bench

#endif
