// SPDX-License-Identifier: Apache-2.0
// Rows of area C: posting.
#include "conformance/world.hpp"

namespace lci_test {
namespace {

// Proves: C3
CONFORMANCE(C3, ActiveMessageAtEverySize) {
  constexpr uint32_t kSizes[] = {0, 1, 8, 40, 41, 192, 193, 4000, 8192, 8193, 70'000, 1'000'000};
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(7, inbox);
  world.barrier();
  std::vector<Bytes> sent;
  uint32_t posted = 0;
  for (uint64_t i = 0; i < std::size(kSizes); ++i) {
    const auto& bytes = sent.emplace_back(pattern(kSizes[i], world.rank() + i));
    const int code = world.post(operation(LCI_OP_AM, world.next(), 7, i, bytes.data(), kSizes[i], 5), ended);
    posted += code == LCI_POSTED;
    EXPECT_TRUE(code == LCI_DONE || code == LCI_POSTED) << code;
  }
  std::vector<int> seen(std::size(kSizes));
  for (uint64_t n = 0; n < std::size(kSizes); ++n) {
    const lci_status status = world.pop(inbox);
    EXPECT_EQ(world.previous(), status.rank);
    EXPECT_EQ(7u, status.port);
    ASSERT_GT(std::size(kSizes), status.tag);
    ++seen[status.tag];
    ASSERT_EQ(kSizes[status.tag], status.size);
    const Bytes expected = pattern(status.size, world.previous() + status.tag);
    EXPECT_EQ(0, compare(expected.data(), status.buffer, status.size)) << status.size << " bytes";
    if (status.buffer) lci_buffer_free(status.buffer);
  }
  EXPECT_EQ(std::vector<int>(std::size(kSizes), 1), seen);
  for (uint32_t n = 0; n < posted; ++n) EXPECT_EQ(5u, world.pop(ended).user_context);
}

}  // namespace
}  // namespace lci_test
