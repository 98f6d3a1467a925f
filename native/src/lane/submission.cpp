// SPDX-License-Identifier: Apache-2.0
// What the loop has submitted: each descriptor is attempted once and gets its own outcome. One that finds no memory
// does not keep others of its batch from being posted. [V1]
#include <new>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "device/completions.hpp"
#include "device/copy_run.hpp"
#include "lane/lane.hpp"
#include "lane/lane_graphs.hpp"

namespace lci {
namespace {

template <typename F>
uint16_t outcome_of(F attempt) {
  int code = LCI_DONE;
  if (!unless_no_memory([&] { code = attempt(); })) code = fail(LCI_ERR_NO_MEMORY, "post: out of memory");
  return static_cast<uint16_t>(code);
}

}  // namespace

uint32_t Lane::publish() {
  lci_lane_control& control = this->control();
  const uint32_t count = std::exchange(control.submit_count, 0);
  if (count == 0) return 0;
  for (Device* device : devices_) device->begin_batch();
  const std::span<Device* const> devices(devices_);  // where no descriptor can change it
  lci_descriptor* entries = submissions();
  uint32_t posted = 0;
  Calls calls;
  CopyRun copies;
  for (uint32_t i = 0; i < count; ++posted) {
    lci_descriptor& op = entries[i];
    if (op.op >= LCI_OP_NODE_DONE) {
      copies.end();
      if (op.op == LCI_OP_COLLECTIVE) {
        submit_call(op, &calls);
      } else {
        const bool release = op.op == LCI_OP_RELEASE;
        op.outcome = outcome_of([&] { return release ? release_kept(op.user_context) : graphs_->submitted(op); });
      }
      ++i;
      continue;
    }
    const uint32_t used = entries_of(op);
    if (op.device >= devices.size() || used > count - i) {
      op.outcome = static_cast<uint16_t>(refuse(op));
      ++i;
      continue;
    }
    Device& device = *devices[op.device];
    if (copies.copy(device, op) || (op.flags == LCI_FLAG_INLINE && device.post_short(op))) {
      op.outcome = LCI_DONE;
      i += used;
      continue;
    }
    op.outcome = outcome_of([&] { return submit(op, device); });
    i += used;
  }
  posted_calls_alone_ = posted == calls.posted;
  return posted;
}

int Lane::refuse(const lci_descriptor& op) const {
  return fail(op.device >= devices_.size() ? LCI_ERR_DEVICE : LCI_ERR_SIZE,
              "post: device %u of a lane with %zu, or a payload beyond the batch", op.device, devices_.size());
}

void Lane::submit_call(lci_descriptor& op, Calls* batch) {
  op.outcome = outcome_of([&] {
    if (op.device >= devices_.size()) return refuse(op);
    return batch->refused ? LCI_ERR_NO_MEMORY : submit(op, *devices_[op.device]);
  });
  if (op.outcome == LCI_POSTED) ++batch->posted;
  // The next call of its context would take its number.
  batch->refused |= op.outcome == LCI_ERR_NO_MEMORY;
}

/// Attempts an operation that may be posted.
int Lane::submit(lci_descriptor& op, Device& device) {
  if (in_flight_ >= parts_.attributes.max_posted) {
    // What cannot be answered with posted may go on.
    const bool short_message = op.op <= LCI_OP_SEND && op.size <= parts_.packets.max_eager() &&
                               !(op.flags & (LCI_FLAG_SIGNAL | LCI_FLAG_NETWORK | LCI_FLAG_LIST));
    if (!short_message && op.op != LCI_OP_CANCEL) {
      device.counters().add(Metric::retries_pending);
      return LCI_RETRY_PENDING;
    }
  }
  OpTarget target{nullptr, this, op.user_context};
  target.outstanding = &device.outstanding();
  if (op.flags & LCI_FLAG_COMP) {
    target.completion = completions_.find(static_cast<uint32_t>(op.user_context));
    if (!target.completion) {
      return fail(LCI_ERR_ARGUMENT, "post: no completion object %u", static_cast<uint32_t>(op.user_context));
    }
  }
  if (op.op == LCI_OP_RECV) op.flags |= LCI_FLAG_SIGNAL;  // its status comes as a record, always
  make_room();
  lci_status done;
  // Counted before: the signal may come within the post.
  ++in_flight_;
  int code = LCI_ERR_NO_MEMORY;
  try {
    code = device.post(op, op.u.inline_payload, target, &done);
  } catch (const std::bad_alloc&) {
    --in_flight_;
    throw;
  }
  if (!is_posted(code) || target.completion) --in_flight_;
  if (code == LCI_DONE && op.op == LCI_OP_ATOMIC) op.tag = done.tag;  // there is no record that could bring it
  return code;
}

}  // namespace lci
