// SPDX-License-Identifier: Apache-2.0
// A device that nobody progresses, and what the other devices of its rank can do meanwhile.
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 5;

/// Progresses all but device @p idle of rank 0.
void progress_all_but(Job& job, uint32_t devices, uint32_t idle) {
  for (uint32_t device = 0; device < devices; ++device) {
    if (device != idle) lci_progress(job.device(0, device));
    lci_progress(job.device(1, device));
  }
}

// The credit that it holds at a port stays with it, since only its own progress answers a recall. Who sends by another
// device goes on by announcements, for which a part of the port is kept.
TEST(IdleDevice, KeepsItsCreditButStopsNobody) {
  constexpr uint32_t kMessages = 500;
  for (const uint32_t room : {1u, 4u, 16u}) {
    Job job(2, {{"devices", "2"}});
    lci_comp* inbox = make_queue(job.runtime(1));
    ASSERT_EQ(LCI_DONE, lci_port_open(job.runtime(1), kPort, "", inbox, room, 1 << 16)) << lci_last_error();
    lci_status status{};
    auto send = [&](uint32_t device, uint64_t tag) {
      int code = LCI_RETRY;
      for (int i = 0; i < 1'000'000 && is_retry(code); ++i) {
        code = lci_post_am(job.device(0, device), 1, kPort, tag, &tag, sizeof tag, nullptr, 0);
        progress_all_but(job, 2, 1 - device);
        if (lci_queue_pop(inbox, &status) == LCI_DONE) lci_buffer_free(status.buffer);
      }
      return code;
    };
    for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(LCI_DONE, send(1, i)) << "the one that will stand still";
    for (uint64_t i = 0; i < kMessages; ++i) ASSERT_EQ(LCI_DONE, send(0, i)) << "room " << room << ", message " << i;
    while (lci_queue_pop(inbox, &status) == LCI_DONE) lci_buffer_free(status.buffer);
    for (int i = 0; i < 100; ++i) {
      lci_progress(job.device(0, 1));
      lci_progress(job.device(1, 1));
    }
    job.check_ledgers();
  }
}

}  // namespace
}  // namespace lci_test
