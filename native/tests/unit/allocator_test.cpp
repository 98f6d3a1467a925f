// SPDX-License-Identifier: Apache-2.0
// Arrivals for which there is no memory: they wait, and nobody is to blame. [A10, X1]
// Mutation that must make this file fail: blame_sender_for_memory.
#include <cstdlib>
#include <string>
#include <vector>

#include "support/job.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 6;

/// malloc that says no for a while.
struct Stingy {
  int refusals = 0;
  int refused = 0;
  lci_allocator functions{&allocate, &deallocate, this};

  static void* allocate(size_t bytes, void* argument) {
    auto& self = *static_cast<Stingy*>(argument);
    if (self.refusals == 0) return std::malloc(bytes);
    --self.refusals;
    ++self.refused;
    return nullptr;
  }
  static void deallocate(void* memory, void*) { std::free(memory); }
};

/// Posts @p count messages of @p size bytes to the queue of rank 1, and takes them.
void exchange(Job& job, lci_comp* queue, Stingy& stingy, uint32_t count, uint32_t size) {
  std::vector<std::string> bytes(count);
  uint32_t sent = 0, taken = 0;
  for (int i = 0; i < 100'000 && taken < count; ++i) {
    if (sent < count) {
      bytes[sent].assign(size, static_cast<char>('a' + sent % 26));
      const int code = lci_post_am(job.device(0), 1, kPort, sent, bytes[sent].data(), size, nullptr, 0);
      ASSERT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
      if (code == LCI_DONE) ++sent;
    }
    job.progress();
    lci_status status;
    while (lci_queue_pop(queue, &status) == LCI_DONE) {
      ASSERT_EQ(size, status.size);
      ASSERT_LT(status.tag, count);
      ASSERT_EQ(bytes[status.tag], std::string(static_cast<char*>(status.buffer), size));
      lci_buffer_free(status.buffer);
      if (++taken % 8 == 3) stingy.refusals = 5;
    }
  }
  EXPECT_EQ(count, taken);
}

/// Memory that is short for a moment costs no message, no credit, and no peer.
// Proves: A10
TEST(Allocator, RefusedArrivalsComeLater) {
  for (const uint32_t size : {8u, 150u, 3000u}) {
    Job job(2);
    Stingy stingy;
    ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job.runtime(1), &stingy.functions));
    lci_comp* queue = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", queue, 8, 0));
    stingy.refusals = 3;  // the first message is announced: it is taken in another way than those with credit
    exchange(job, queue, stingy, 200, size);
    EXPECT_LT(20, stingy.refused) << size;
    int32_t state = LCI_PEER_FAILED;
    ASSERT_EQ(LCI_DONE, lci_runtime_peer(job.runtime(1), 0, &state));
    EXPECT_EQ(LCI_PEER_ALIVE, state) << size;
    EXPECT_EQ(200u, job.counter(1, "arrivals")) << size;
    EXPECT_EQ(0u, job.counter(1, "discarded")) << size;
    job.check_ledgers();
    ASSERT_EQ(LCI_DONE, lci_runtime_set_allocator(job.runtime(1), nullptr));
  }
}

}  // namespace
}  // namespace lci_test
