/* SPDX-License-Identifier: Apache-2.0 */
/// @file lane.hpp
/// A lane driven from C, as an event loop drives it through the mapped block.
#ifndef LCI_BENCH_COMMON_LANE_HPP_
#define LCI_BENCH_COMMON_LANE_HPP_

#include <cstdint>
#include <cstring>

#include "lci/lci.h"
#include "yardstick.hpp"

namespace lci::bench {

inline void check(int code, const char* what) {
  if (code < LCI_ERR_ARGUMENT) {
    return;
  }
  std::fprintf(stderr, "%s: %s: %s\n", what, lci_code_name(code), lci_last_error());
  _exit(EXIT_FAILURE);
}

/// A lane over one device.
class LaneDriver {
 public:
  LaneDriver(lci_runtime* runtime, uint32_t device) {
    check(lci_lane_create(runtime, device, 1, &lane_), "create lane");
    uint64_t base = 0, length = 0;
    check(lci_lane_memory(lane_, &base, &length), "lane memory");
    uint64_t layout[LCI_LAYOUT_COUNT];
    lci_layout(layout, LCI_LAYOUT_COUNT);
    control_ = reinterpret_cast<lci_lane_control*>(base + layout[LCI_LAYOUT_CONTROL_OFFSET]);
    submissions_ = reinterpret_cast<lci_descriptor*>(base + layout[LCI_LAYOUT_SUBMISSION_OFFSET]);
    records_ = reinterpret_cast<lci_record*>(base + layout[LCI_LAYOUT_COMPLETION_OFFSET]);
    demands_ = reinterpret_cast<lci_demand*>(base + layout[LCI_LAYOUT_DEMAND_OFFSET]);
    mask_ = static_cast<uint32_t>(layout[LCI_LAYOUT_COMPLETION_COUNT]) - 1;
    control_->flags = LCI_ENTER_POST | LCI_ENTER_PROGRESS | LCI_ENTER_DRAIN;
  }
  ~LaneDriver() { check(lci_lane_free(lane_), "free lane"); }
  LaneDriver(const LaneDriver&) = delete;
  LaneDriver& operator=(const LaneDriver&) = delete;

  /// Opens a port whose messages come as records, with demand without end.
  void open(uint32_t port) {
    uint32_t index = 0;
    uint64_t base = 0, length = 0;
    check(lci_lane_open_port(lane_, port, "", 0, 0, &index, &base, &length), "open port");
    demands_[index].requested = UINT64_MAX / 2;
  }
  /// Reads all records; adds the first eight payload bytes of each message to @p sum, and counts the messages.
  uint64_t received(uint64_t* sum) {
    uint64_t count = 0;
    while (control_->cq_head != control_->cq_tail) {
      const lci_record& record = records_[control_->cq_head & mask_];
      if (record.kind == LCI_RECORD_MESSAGE) {
        // One that came before there was credit for it lies elsewhere.
        const bool elsewhere = (record.flags & LCI_RECORD_FLAG_ADDRESS) != 0;
        const void* payload = elsewhere ? reinterpret_cast<const void*>(record.u.address) : record.u.inline_payload;
        uint64_t value;
        std::memcpy(&value, payload, sizeof value);
        *sum += value;
        ++count;
      }
      control_->cq_head += record.kind == LCI_RECORD_PAD ? record.size : 1;
    }
    return count;
  }
  lci_lane_control& control() { return *control_; }
  lci_descriptor& submission(uint32_t index) { return submissions_[index]; }
  void enter() { check(lci_lane_enter(lane_), "enter"); }
  /// Counts the operations that ended since the last call.
  uint64_t ended() {
    uint64_t count = 0;
    for (; control_->cq_head != control_->cq_tail; ++control_->cq_head) {
      const lci_record& record = records_[control_->cq_head & mask_];
      if (record.kind == LCI_RECORD_OP) {
        check(record.code, "operation");
        ++count;
      }
    }
    return count;
  }
  /// Enters with one descriptor until it is taken; reads records meanwhile and adds them to @p ended_count.
  int post(const lci_descriptor& op, uint64_t* ended_count) {
    for (Spin spin;; spin()) {
      submissions_[0] = op;
      control_->submit_count = 1;
      enter();
      const int code = submissions_[0].outcome;
      check(code, "post");
      *ended_count += ended();
      if (code < LCI_RETRY) {
        return code;
      }
    }
  }

 private:
  lci_lane* lane_ = nullptr;
  lci_lane_control* control_ = nullptr;
  lci_descriptor* submissions_ = nullptr;
  lci_record* records_ = nullptr;
  lci_demand* demands_ = nullptr;
  uint32_t mask_ = 0;
};

}  // namespace lci::bench

#endif
