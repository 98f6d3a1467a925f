// SPDX-License-Identifier: Apache-2.0
// Proves: C12
// Messages that chaos reorders are received in the order in which they were sent, because the tag carries a number.
#include "support/posting.hpp"

namespace lci_test {
namespace {

TEST(InOrder, ReorderedMessagesMatchInTheirOrder) {
  uint64_t reordered = 0;
  for (const char* chaos : {"seed=1,delay=0.4,ticks=12", "seed=2,delay=0.4,ticks=12", "seed=3,delay=0.4,refuse=0.1"}) {
    for (const uint32_t size : {8u, 1000u, 20000u}) {
      Job job(2, {{"chaos", chaos}});
      lci_comp* sent = make_queue(job.runtime(0));
      lci_comp* received = make_queue(job.runtime(1));
      constexpr uint32_t kMessages = 100;
      lci_in_order out, in;
      ASSERT_EQ(LCI_DONE, lci_in_order_start(&out, 5));
      ASSERT_EQ(LCI_DONE, lci_in_order_start(&in, 5));
      out.next = in.next = LCI_IN_ORDER_NUMBERS - kMessages / 2;  // over the end of the numbers
      std::vector<std::vector<uint8_t>> payloads;
      for (uint32_t i = 0; i < kMessages; ++i) payloads.push_back(pattern(size, i));
      for (const auto& payload : payloads) {
        const auto op = operation(LCI_OP_SEND, 1, 0, lci_in_order_tag(&out), payload.data(), size);
        ASSERT_LE(post_until_taken(job, 0, op, sent), LCI_POSTED) << lci_last_error();
      }
      for (const auto& payload : payloads) {
        std::vector<uint8_t> buffer(size);
        lci_status status{};
        const auto op = operation(LCI_OP_RECV, 0, 0, lci_in_order_tag(&in), buffer.data(), size);
        if (post_until_taken(job, 1, op, received, &status) == LCI_POSTED) {
          ASSERT_TRUE(pop(job, received, &status));
        }
        ASSERT_EQ(payload, buffer);
      }
      reordered += job.counter(0, "chaos_reordered");
      job.settle();
    }
  }
  EXPECT_NE(0u, reordered) << "nothing was put out of order";
  lci_in_order wrong;
  EXPECT_EQ(LCI_ERR_TAG, lci_in_order_start(&wrong, LCI_IN_ORDER_STREAMS));
}

}  // namespace
}  // namespace lci_test
