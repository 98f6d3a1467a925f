// SPDX-License-Identifier: Apache-2.0
// Rows of messages that are announced: what their receiver admits.
#include "conformance/world.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kSmallPort = 6;

// A message above the bound of its port's bytes is let in alone, the next one when it was taken.
// Proves: X8
CONFORMANCE(X8, AMessageAboveTheBoundOfBytesComesAlone) {
  constexpr uint32_t kBytes = 300'000, kMessages = 4;
  lci_comp* inbox = world.queue();
  lci_comp* ended = world.queue();
  world.open_port(kSmallPort, inbox, 16, kBytes / 4);
  world.barrier();
  const Bytes bytes = pattern(kBytes, world.rank());
  for (uint64_t tag = 0; tag < kMessages; ++tag) {
    lci_descriptor op = operation(LCI_OP_AM, world.next(), kSmallPort, tag, bytes.data(), kBytes);
    op.flags |= LCI_FLAG_NO_RETRY;  // what may not be announced yet waits here
    const int code = world.post(op, ended);
    EXPECT_TRUE(code == LCI_POSTED || code == LCI_POSTED_BACKLOG) << lci_code_name(code) << " " << lci_last_error();
  }
  std::vector<int> seen(kMessages);
  for (uint64_t n = 0; n < kMessages; ++n) {
    world.until([&] { return lci_queue_length(inbox) != 0; });
    for (int i = 0; i < 200; ++i) world.progress();
    EXPECT_EQ(1u, lci_queue_length(inbox)) << "beside one that takes all the room";
    const lci_status status = world.pop(inbox);
    ASSERT_GT(kMessages, status.tag);
    ++seen[status.tag];
    ASSERT_EQ(kBytes, status.size);
    EXPECT_EQ(0, compare(pattern(kBytes, world.previous()).data(), status.buffer, kBytes));
    lci_buffer_free(status.buffer);
  }
  EXPECT_EQ(std::vector<int>(kMessages, 1), seen);
  for (uint64_t n = 0; n < kMessages; ++n) EXPECT_EQ(LCI_DONE, world.pop(ended).code);
}

}  // namespace
}  // namespace lci_test
