// SPDX-License-Identifier: Apache-2.0
// The numbers of a lane's records wrap after 2^32: what lies around the wrap is read once, in order, whole, and given
// back. [V5]
#include <algorithm>
#include <vector>

#include "api/handles.hpp"
#include "support/lane_driver.hpp"
#include "support/posting.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 3, kRecords = 256;

/// By turns in one record, in several, and beside them.
uint32_t size_of(uint64_t tag) {
  constexpr uint32_t kSizes[] = {8, 33, 0, 190, 32, 3000};
  return kSizes[tag % 6];
}

TEST(LaneWrap, RecordsAroundItAreReadOnceInOrderAndWhole) {
  for (uint32_t before = 100; before < 108; ++before) {
    SCOPED_TRACE("started " + std::to_string(before) + " records before the wrap");
    Job job(2, {{"lane_completions", std::to_string(kRecords)}});
    LaneDriver lane(job, 1);
    lane.handle()->lane->number_records_from(0u - before);
    const uint32_t index = lane.open(kPort, 64, 1 << 20);
    lane.demand(index).requested = UINT64_MAX / 2;
    constexpr uint64_t kMessages = 600;
    uint64_t sent = 0, taken = 0;
    for (int i = 0; i < 100'000 && taken < kMessages; ++i) {
      for (int code = LCI_DONE; sent < kMessages && code == LCI_DONE; sent += code == LCI_DONE) {
        const auto bytes = pattern(size_of(sent), sent);
        code = lci_post_am(job.device(0), 1, kPort, sent, bytes.data(), size_of(sent), nullptr, 0);
        ASSERT_TRUE(code == LCI_DONE || is_retry(code)) << lci_last_error();
      }
      lci_progress(job.device(0));
      lane.enter();
      lane.read([&](const lci_record& record) {
        if (record.kind != LCI_RECORD_MESSAGE) return;
        ASSERT_EQ(taken, record.tag);
        ASSERT_EQ(size_of(taken), record.size);
        const void* at = record.flags & LCI_RECORD_FLAG_ADDRESS ? reinterpret_cast<const void*>(record.u.address)
                                                                : record.u.inline_payload;
        EXPECT_EQ(0, compare(at, pattern(record.size, taken).data(), record.size)) << taken;
        ++taken;
      });
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(kMessages, taken);
    EXPECT_LT(lane.control().cq_tail, 0x80000000u) << "the wrap was not reached";
    EXPECT_EQ(LCI_DONE, lci_lane_close_port(lane.handle(), index));
  }
}

}  // namespace
}  // namespace lci_test
