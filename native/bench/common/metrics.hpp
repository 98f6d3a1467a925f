/* SPDX-License-Identifier: Apache-2.0 */
/// @file metrics.hpp
/// A program that measures one of several things between two ranks.
#ifndef LCI_BENCH_COMMON_METRICS_HPP_
#define LCI_BENCH_COMMON_METRICS_HPP_

#include <map>
#include <string>

#include "two_ranks.hpp"

namespace lci::bench {

struct Metric {
  const char* unit;
  double (*run)(Rank& rank, bool first);  ///< Runs on both ranks; what the first one returns is the value.
};
using Metrics = std::map<std::string, Metric>;

/// Measures the one that is named on the command line, and prints it.
inline int measure_between_ranks(int argc, char** argv, const Metrics& metrics) {
  const auto metric = argc == 2 ? metrics.find(argv[1]) : metrics.end();
  if (metric == metrics.end()) {
    std::fprintf(stderr, "usage: %s METRIC; metrics:", argv[0]);
    for (const auto& [name, ignored] : metrics) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  JobDirectory job;
  double value = 0;
  auto run = [&](uint32_t index) {
    Rank rank(job.path(), index);
    const double measured = metric->second.run(rank, index == 0);
    if (index == 0) value = measured;
  };
  in_two_processes([&] { run(0); }, [&] { run(1); });
  print_metric(metric->first.c_str(), metric->second.unit, value);
  return 0;
}

}  // namespace lci::bench

#endif
