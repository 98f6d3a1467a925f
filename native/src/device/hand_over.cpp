// SPDX-License-Identifier: Apache-2.0
// Operations from threads that may not wait for the device: its owner posts them.
#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "device/device.hpp"

namespace lci {

int Device::hand_over(const lci_descriptor& given, const void* inline_payload, const OpTarget& target) {
  lci_descriptor op = given;
  if (op.flags & LCI_FLAG_LIST) {
    if (const int code = measure_list(&op); code != LCI_DONE) return code;
  }
  if (op.op == LCI_OP_AM || op.op == LCI_OP_SEND || op.op == LCI_OP_RECV) {
    if (const int code = check(op); code != LCI_DONE) return code;
    if (op.op != LCI_OP_RECV) {
      if (const int code = check_length(op, target); code != LCI_DONE) return code;
    }
  } else if (op.op == LCI_OP_PUT || op.op == LCI_OP_GET) {
    if (const int code = check_remote(op); code != LCI_DONE) return code;
    if (!target.completion) return fail(LCI_ERR_ARGUMENT, "post: from a handler, put and get need a completion object");
  } else if (op.op != LCI_OP_BARRIER && op.op != LCI_OP_CANCEL) {
    return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  }
  // Held before: the owner may take it, and signal, at once.
  if (may_be_posted(op) && !target.hold()) {
    return fail(LCI_ERR_EXHAUSTED, "post: completion queue %u has no place for the signal and retry was disallowed",
                target.completion->id());
  }
  int code = LCI_DONE;
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    if (ended_ || (target.lane && target.lane->retired())) {
      code = fail(LCI_ERR_CLOSED, "post: the runtime or lane closes (rank %u, device %u)", parts_.rank, index_);
    } else if (op.op != LCI_OP_CANCEL && handed_posts_.size() >= parts_.attributes.backlog_messages) {
      code = fail(LCI_ERR_EXHAUSTED, "post: %zu operations wait for device %u already, and retry was disallowed",
                  handed_posts_.size(), index_);
    } else if (!unless_no_memory([&] {
                 make_room(&handed_posts_);  // keep() takes a packet for good
                 handed_posts_.push_back(backlog_.keep(op, inline_payload, target));
               })) {
      code = fail(LCI_ERR_NO_MEMORY, "post: no memory to leave the operation to device %u", index_);
    } else {
      has_handed_.store(true, std::memory_order_seq_cst);
    }
  }
  if (code == LCI_DONE) {
    wake_owner();
    return backlog_.answer(op);
  }
  if (may_be_posted(op)) target.release();
  return code;
}

void Device::take_handed_posts(std::vector<Queued> posts) {
  for (Queued& queued : posts) {
    if (queued.op.op != LCI_OP_CANCEL) count_answer(queued.op, backlog_.answer(queued.op));
    backlog_.enter(std::move(queued));
  }
}

}  // namespace lci
