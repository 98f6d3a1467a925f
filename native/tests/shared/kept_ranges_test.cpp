// SPDX-License-Identifier: Apache-2.0
// Addresses that a program has been told stay mapped when a runtime closes, and serve the next one: a program that
// opens runtimes one after another does not run into the kernel's bound of mappings. [V15]
#include <fstream>
#include <random>

#include "support/job.hpp"

namespace lci_test {
namespace {

/// If each of them left a mapping behind, it would show.
constexpr int kRuntimes = 1000;

uint64_t mappings() {
  std::ifstream maps("/proc/self/maps");
  uint64_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

/// A runtime whose memory the program looks at, as Java does: base of its arena.
uint64_t open_and_close(lci_attrs* attrs) {
  lci_runtime* runtime = nullptr;
  EXPECT_EQ(LCI_DONE, lci_runtime_create(attrs, nullptr, 0, &runtime)) << lci_last_error();
  if (!runtime) return 0;
  uint64_t base = 0, length = 0;
  EXPECT_EQ(LCI_DONE, lci_runtime_arena(runtime, &base, &length)) << lci_last_error();
  lci_lane* lane = nullptr;
  EXPECT_EQ(LCI_DONE, lci_lane_create(runtime, 0, 1, &lane)) << lci_last_error();
  uint32_t index = 0;
  EXPECT_EQ(LCI_DONE, lci_lane_open_port(lane, 5, "", 16, 65536, &index, &base, &length)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_lane_free(lane)) << lci_last_error();
  EXPECT_EQ(LCI_DONE, lci_runtime_close(runtime, 0)) << lci_last_error();
  EXPECT_EQ(0u, *reinterpret_cast<volatile uint8_t*>(base)) << "it can still be read";
  return base;
}

TEST(KeptRanges, ServeTheNextRuntime) {
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  open_and_close(attrs);
  const uint64_t before = mappings();
  for (int i = 0; i < kRuntimes && !testing::Test::HasFailure(); ++i) open_and_close(attrs);
  EXPECT_LE(mappings(), before + 64);
  lci_attrs_free(attrs);
}

/// Of any length: one is used again for what is not much shorter.
TEST(KeptRanges, ServeArenasOfOtherLengths) {
  std::mt19937_64 random(7);
  lci_attrs* attrs = nullptr;
  ASSERT_EQ(LCI_DONE, lci_attrs_create(&attrs));
  open_and_close(attrs);
  const uint64_t before = mappings();
  for (int i = 0; i < 500 && !testing::Test::HasFailure(); ++i) {
    const uint64_t bytes = (uint64_t{16} << 20) + random() % 4096 * (uint64_t{1} << 18);
    ASSERT_EQ(LCI_DONE, lci_attrs_set(attrs, "arena_bytes", std::to_string(bytes).c_str())) << lci_last_error();
    open_and_close(attrs);
  }
  EXPECT_LE(mappings(), before + 64);
  lci_attrs_free(attrs);
}

}  // namespace
}  // namespace lci_test
