/* SPDX-License-Identifier: Apache-2.0 */
// How many bytes the kernels of reductions move, beside memcpy: `reduce_bench OP_TYPE_SIZE ours|memcpy` prints one JSON
// line. OP: sum, prod, min, max, minloc, maxloc, band, bor, bxor. TYPE: i8 to u64, f32, f64, i32i32, i64i64, f32i32,
// f64i64. SIZE of each array: 32k, 8m. A kernel reads two arrays and writes one, memcpy reads one and writes one: of
// both that counts.
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "common/yardstick.hpp"
#include "reduce/kernels.hpp"

namespace {

using namespace lci::bench;

constexpr const char* kOperators[] = {"sum", "prod", "min", "max", "minloc", "maxloc", "band", "bor", "bxor"};
constexpr const char* kTypes[] = {"i8",  "u8",  "i16", "u16",    "i32",    "u32",    "i64",
                                  "u64", "f32", "f64", "i32i32", "i64i64", "f32i32", "f64i64"};
constexpr int kRounds = 7;  // the first ones touch the memory
const std::size_t kBytes = dosed(std::size_t{1} << 30, 16 << 20);

/// The number of @p name among @p names, which begin at 1; or 0.
template <std::size_t N>
uint32_t number_of(const std::string& name, const char* const (&names)[N]) {
  for (uint32_t i = 0; i < N; ++i) {
    if (name == names[i]) return i + 1;
  }
  return 0;
}

/// GB/s of @p pass(), which moves @p moved bytes; the best round.
template <typename Pass>
double best_rate(std::size_t moved, Pass pass) {
  double best = 0;
  const std::size_t passes = std::max<std::size_t>(1, kBytes / moved);
  for (int round = 0; round < kRounds; ++round) {
    const double start = now_s();
    for (std::size_t i = 0; i < passes; ++i) pass();
    best = std::max(best, static_cast<double>(passes * moved) / (now_s() - start) / 1e9);
  }
  return best;
}

int usage() {
  std::fprintf(stderr, "usage: reduce_bench OP_TYPE_SIZE ours|memcpy; SIZE: 32k, 8m\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string metric = argc == 3 ? argv[1] : "", side = argc == 3 ? argv[2] : "";
  const std::size_t first = metric.find('_'), last = metric.rfind('_');
  if (first == std::string::npos || first == last) return usage();
  const uint32_t op = number_of(metric.substr(0, first), kOperators);
  const uint32_t type = number_of(metric.substr(first + 1, last - first - 1), kTypes);
  const std::string extent = metric.substr(last + 1);
  const std::size_t size = extent == "32k" ? 32 << 10 : extent == "8m" ? 8 << 20 : 0;
  const lci::ReduceKernel kernel = lci::reduce_kernel(op, type);
  if (!kernel || size == 0 || (side != "ours" && side != "memcpy")) return usage();
  pin(0);
  std::vector<unsigned char> left(size, 1), right(size, 2), to(size);
  const auto seen = [&] { asm volatile("" ::"r"(to.data()) : "memory"); };  // nobody reads it
  const double rate = side == "ours"
                          ? best_rate(3 * size,
                                      [&] {
                                        kernel(to.data(), left.data(), right.data(), size / lci::type_size(type));
                                        seen();
                                      })
                          : best_rate(2 * size, [&] {
                              std::memcpy(to.data(), left.data(), size);
                              seen();
                            });
  print_metric(metric.c_str(), "GB/s", rate);
  return 0;
}
