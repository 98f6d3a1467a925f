// SPDX-License-Identifier: Apache-2.0
// Static core only: it refuses what malloc is asked for.
// A run that begins, and makes what is stored for earlier ones useless, when there is no memory for a moment. [E23]
// Mutations that must make this file fail: refused_need_memory.
#include "support/graph.hpp"
#include "support/shortage.hpp"

namespace lci_test {
namespace {

TEST(NoMemory, OfWhatEarlierRunsWouldHaveReceived) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers have their own malloc";
#endif
  constexpr uint64_t kTag = 5;
  Job job(2);
  uint64_t in = 0, out = 7;
  GraphUnderTest graph(job.runtime(0));
  const lci_node node = graph.operation(job.device(0), receive_from(1, kTag, &in, sizeof in));
  graph.chain(node);
  ASSERT_EQ(LCI_DONE, lci_graph_set_per_run(graph.handle(), node)) << lci_last_error();
  const auto send_for_run = [&](uint64_t run) {
    lci_descriptor send = send_to(0, run << 16 | kTag, &out, sizeof out);
    EXPECT_EQ(LCI_DONE, lci_post(job.device(1), &send, nullptr, nullptr));
    job.settle();
  };
  ASSERT_EQ(LCI_POSTED, lci_graph_start_run(graph.handle(), 1)) << lci_last_error();
  send_for_run(1);
  ASSERT_EQ(LCI_DONE, graph.test());
  for (uint64_t run = 2; run <= 4; ++run) send_for_run(run);
  ASSERT_EQ(3u, job.counter(0, "unexpected_stored"));
  Shortage shortage(1);
  shortage.during([&] { EXPECT_EQ(LCI_POSTED, lci_graph_start_run(graph.handle(), 10)) << lci_last_error(); });
  EXPECT_EQ(0u, job.counter(0, "unexpected_stored"));
  EXPECT_EQ(3u, job.counter(0, "discarded"));
  send_for_run(10);
  EXPECT_EQ(LCI_DONE, graph.test());
}

}  // namespace
}  // namespace lci_test
