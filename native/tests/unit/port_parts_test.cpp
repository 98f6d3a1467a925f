// SPDX-License-Identifier: Apache-2.0
// A port whose messages several lanes take, by tag. [DESIGN decision 2]
// Mutations that must make this file fail: part_of_any_tag, part_opens_port, part_ends_next_opening.
#include <set>
#include <vector>

#include "support/lane_driver.hpp"

namespace lci_test {
namespace {

constexpr uint32_t kPort = 9;

uint32_t open_part(LaneDriver& lane, uint32_t part, uint32_t parts, int expected = LCI_DONE, const char* name = "p") {
  uint32_t index = 0;
  uint64_t base = 0, length = 0;
  EXPECT_EQ(expected, lci_lane_open_part(lane.handle(), kPort, name, part, parts, 64, 1 << 20, &index, &base, &length))
      << lci_last_error();
  return index;
}

// Arrivals of either device go to the lane that the tag names, whichever way they travel.
TEST(PortParts, ATagNamesThePart) {
  for (const uint32_t size : {8u, 3000u, 20'000u}) {
    Job job(2, {{"devices", "2"}});
    LaneDriver first(job, 1, 0), second(job, 1, 1);
    std::vector<LaneDriver*> lanes{&first, &second};
    for (uint32_t part : {1u, 0u}) {
      const uint32_t index = open_part(*lanes[part], part, 2);
      lanes[part]->demand(index).requested = UINT64_MAX / 2;
    }
    lci_comp* ended = make_queue(job.runtime(0));
    const std::string bytes(size, 'x');
    constexpr uint64_t kMessages = 200;
    std::multiset<uint64_t> taken[2];
    uint64_t sent = 0;
    for (int i = 0; i < 100'000 && taken[0].size() + taken[1].size() < kMessages; ++i) {
      if (sent < kMessages) {
        lci_device* device = job.device(0, sent / 2 % 2);  // each tag class over each device
        const int code = lci_post_am(device, 1, kPort, sent, bytes.data(), size, ended, sent);
        ASSERT_LT(code, LCI_ERR_ARGUMENT) << lci_last_error();
        if (code == LCI_DONE || code == LCI_POSTED) ++sent;
      }
      lci_progress(job.device(0, 0));
      lci_progress(job.device(0, 1));
      for (uint32_t part : {0u, 1u}) {
        lanes[part]->enter();
        lanes[part]->read([&](const lci_record& record) {
          if (record.kind == LCI_RECORD_MESSAGE) taken[part].insert(record.tag);
        });
      }
    }
    for (uint32_t part : {0u, 1u}) {
      ASSERT_EQ(kMessages / 2, taken[part].size());
      uint64_t expected = part;
      for (const uint64_t tag : taken[part]) {
        EXPECT_EQ(expected, tag);
        expected += 2;
      }
    }
    for (int i = 0; i < 200; ++i) {  // operations of large messages end
      lci_progress(job.device(0, 0));
      lci_progress(job.device(0, 1));
      first.enter();
      second.enter();
    }
    lci_status status;
    while (lci_queue_pop(ended, &status) == LCI_DONE) EXPECT_EQ(LCI_DONE, status.code);
  }
}

TEST(PortParts, NothingIsGrantedBeforeTheLastPart) {
  Job job(2, {{"devices", "2"}});
  {
    LaneDriver sender(job, 0, 0), first(job, 1, 0), second(job, 1, 1);
    open_part(first, 0, 2);
    sender.add_am(1, kPort, 0, 1);
    sender.enter();  // takes the announcement slot
    auto& refused = sender.add_am(1, kPort, 1, 1);
    for (int i = 0; i < 100; ++i) first.enter();
    sender.enter();
    EXPECT_EQ(LCI_RETRY_NOCREDIT, refused.outcome);
    open_part(second, 1, 2);
    int code = LCI_RETRY;
    for (int i = 0; i < 10'000 && code != LCI_DONE; ++i) {
      first.enter();
      sender.read([](const lci_record&) {});
      auto& again = sender.add_am(1, kPort, 1, 1);
      sender.enter();
      code = again.outcome;
    }
    EXPECT_EQ(LCI_DONE, code);
  }
}

TEST(PortParts, PartsMustAgree) {
  Job job(1, {{"devices", "2"}});
  LaneDriver first(job, 0, 0), second(job, 0, 1);
  open_part(first, 2, 2, LCI_ERR_ARGUMENT);
  open_part(first, 0, LCI_MAX_PORT_PARTS + 1, LCI_ERR_ARGUMENT);
  const uint32_t index = open_part(first, 0, 2);
  open_part(second, 0, 2, LCI_ERR_PORT);
  open_part(second, 1, 3, LCI_ERR_PORT);
  open_part(second, 1, 2, LCI_ERR_PORT, "other");
  open_part(second, 0, 1, LCI_ERR_PORT);  // whole, while it is being opened in parts
  EXPECT_EQ(LCI_DONE, lci_lane_close_port(first.handle(), index));
  const uint32_t whole = open_part(second, 0, 1);  // nothing of the attempt is left
  EXPECT_EQ(LCI_DONE, lci_lane_close_port(second.handle(), whole));
}

// A part that comes late to the end of one opening must not end the next one.
TEST(PortParts, ClosingAPartClosesItsOpeningOnly) {
  Job job(2, {{"devices", "2"}});
  {
    LaneDriver sender(job, 0, 0), first(job, 1, 0), second(job, 1, 1);
    const uint32_t old_first = open_part(first, 0, 2), old_second = open_part(second, 1, 2);
    EXPECT_EQ(LCI_DONE, lci_lane_close_port(first.handle(), old_first));
    const uint32_t new_first = open_part(first, 0, 2), new_second = open_part(second, 1, 2);
    EXPECT_NE(old_second, new_second);
    EXPECT_EQ(LCI_DONE, lci_lane_close_port(second.handle(), old_second));
    first.demand(new_first).requested = 1;
    second.demand(new_second).requested = 1;
    uint32_t arrived = 0;
    uint64_t next = 0;
    for (int i = 0; i < 10'000 && arrived < 2; ++i) {
      if (next < 2) {
        auto& op = sender.add_am(1, kPort, next, 7);
        sender.enter();
        if (op.outcome == LCI_DONE) ++next;
      } else {
        sender.enter();
      }
      sender.read([](const lci_record&) {});
      for (LaneDriver* lane : {&first, &second}) {
        lane->enter();
        lane->read([&](const lci_record& record) { arrived += record.kind == LCI_RECORD_MESSAGE ? 1 : 0; });
      }
    }
    EXPECT_EQ(2u, arrived);
  }
}

}  // namespace
}  // namespace lci_test
