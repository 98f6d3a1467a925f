// SPDX-License-Identifier: Apache-2.0
// A lane driven from C, as an event loop drives it through the mapped block.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>

#include "base/clock.hpp"
#include "lci/lci.h"
#include "support/job.hpp"

namespace lci_test {

/// A loop's view of its lane.
class LaneDriver {
 public:
  LaneDriver(Job& job, uint32_t rank, uint32_t device = 0) : LaneDriver(job.runtime(rank), device) {}
  explicit LaneDriver(lci_runtime* runtime, uint32_t device = 0, uint32_t count = 1)
      : ranks_(lci_runtime_size(runtime)), devices_(count) {
    EXPECT_EQ(LCI_DONE, lci_lane_create(runtime, device, count, &lane_)) << lci_last_error();
    uint64_t length = 0;
    EXPECT_EQ(LCI_DONE, lci_lane_memory(lane_, &base_, &length));
    uint64_t layout[LCI_LAYOUT_COUNT];
    lci_layout(layout, LCI_LAYOUT_COUNT);
    control_ = at<lci_lane_control>(layout[LCI_LAYOUT_CONTROL_OFFSET]);
    demand_ = at<lci_demand>(layout[LCI_LAYOUT_DEMAND_OFFSET]);
    submissions_ = at<lci_descriptor>(layout[LCI_LAYOUT_SUBMISSION_OFFSET]);
    records_ = at<lci_record>(layout[LCI_LAYOUT_COMPLETION_OFFSET]);
    char text[32];
    EXPECT_EQ(LCI_DONE, lci_runtime_attr(runtime, "lane_completions", text, sizeof text));
    mask_ = static_cast<uint32_t>(std::stoul(text)) - 1;
    control_->flags = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
    uint64_t doorbell = 0;
    EXPECT_EQ(LCI_DONE, lci_lane_doorbell(lane_, &doorbell, &length));
    park_word_ = reinterpret_cast<std::atomic<uint32_t>*>(doorbell + lci_lane_park_offset(lane_));
    doorbell_ = doorbell;
  }
  ~LaneDriver() { EXPECT_EQ(LCI_DONE, lci_lane_free(lane_)); }

  lci_lane* handle() { return lane_; }
  lci_lane_control& control() { return *control_; }
  lci_demand& demand(uint32_t index) { return demand_[index]; }
  std::atomic<uint32_t>& park_word() { return *park_word_; }

  uint32_t open(uint32_t port, uint32_t messages = 0, uint64_t bytes = 0) {
    uint32_t index = 0;
    uint64_t base = 0, length = 0;
    EXPECT_EQ(LCI_DONE, lci_lane_open_port(lane_, port, "", messages, bytes, &index, &base, &length))
        << lci_last_error();
    return index;
  }
  lci_descriptor& add_am(uint32_t rank, uint32_t port, uint64_t tag, uint64_t value, uint64_t context = 0) {
    lci_descriptor& op = submissions_[control_->submit_count++];
    op = {};
    op.op = LCI_OP_AM;
    op.rank = rank;
    op.port = static_cast<uint16_t>(port);
    op.size = 8;
    op.tag = tag;
    op.user_context = context;
    std::memcpy(op.u.inline_payload, &value, 8);
    return op;
  }
  lci_descriptor& add(const lci_descriptor& op) { return submissions_[control_->submit_count++] = op; }
  int enter() { return lci_lane_enter(lane_); }
  /// Whether a loop without anything of its own has to enter: what it may look at instead of entering. [V9]
  bool rings() const {
    if (control_->must_enter != 0) return true;
    if (control_->next_deadline != 0 && control_->next_deadline <= lci::now_ns()) return true;
    for (uint32_t device = 0; device < devices_; ++device) {
      auto* line = reinterpret_cast<std::atomic<uint8_t>*>(doorbell_ + lci_lane_summary_offset(lane_, device));
      for (uint32_t rank = 0; rank < ranks_; ++rank) {
        if (line[rank].load(std::memory_order_acquire) != 0) return true;
      }
    }
    return false;
  }
  /// Hands every new record to @p visit and consumes it.
  template <typename F>
  uint32_t read(F visit) {
    uint32_t count = 0;
    uint32_t head = control_->cq_head;
    while (head != control_->cq_tail) {
      const lci_record& record = records_[head & mask_];
      if (record.kind == LCI_RECORD_PAD) {
        head += record.size;
        continue;
      }
      visit(record);
      ++count;
      const bool spans =
          record.kind == LCI_RECORD_MESSAGE && !(record.flags & LCI_RECORD_FLAG_ADDRESS) && record.size > 32;
      head += spans ? 1 + (record.size - 32 + 63) / 64 : 1;
    }
    control_->cq_head = head;
    return count;
  }
  static uint64_t value_of(const lci_record& record) {
    uint64_t value = 0;
    const void* from = record.flags & LCI_RECORD_FLAG_ADDRESS ? reinterpret_cast<const void*>(record.u.address)
                                                              : record.u.inline_payload;
    std::memcpy(&value, from, 8);
    return value;
  }

 private:
  template <typename T>
  T* at(uint64_t offset) {
    return reinterpret_cast<T*>(base_ + offset);
  }
  const uint32_t ranks_, devices_;
  lci_lane* lane_ = nullptr;
  uint64_t doorbell_ = 0;
  uint64_t base_ = 0;
  uint32_t mask_ = 0;
  lci_lane_control* control_ = nullptr;
  lci_demand* demand_ = nullptr;
  lci_descriptor* submissions_ = nullptr;
  lci_record* records_ = nullptr;
  std::atomic<uint32_t>* park_word_ = nullptr;
};

}  // namespace lci_test
