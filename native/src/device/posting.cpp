// SPDX-License-Identifier: Apache-2.0
// Posting: from a descriptor to its answer. Nothing progresses here.
#include <new>

#include "base/error.hpp"
#include "device/posting.hpp"
#include "protocol/checks.hpp"

namespace lci {

namespace {

constexpr Metric kDoneCounter[] = {
    Metric::operations_error,     Metric::operations_am_done,        Metric::operations_send_done,
    Metric::operations_recv_done, Metric::operations_barrier_posted,
    Metric::operations_error,  // a cancel is not counted
    Metric::operations_put_done,  Metric::operations_get_done,       Metric::operations_atomic_done};
constexpr Metric kPostedCounter[] = {
    Metric::operations_error,       Metric::operations_am_posted,      Metric::operations_send_posted,
    Metric::operations_recv_posted, Metric::operations_barrier_posted, Metric::operations_error,
    Metric::operations_put_posted,  Metric::operations_get_posted,     Metric::operations_atomic_posted};

/// A call of a group counts as a barrier, which it is.
uint32_t counted_as(const lci_descriptor& op) {
  return op.op == LCI_OP_COLLECTIVE ? uint32_t{LCI_OP_BARRIER} : op.op;
}

bool is_known(uint8_t op) {
  return (op >= LCI_OP_AM && op <= LCI_OP_ATOMIC) || op == LCI_OP_COLLECTIVE;
}

Metric retry_counter(int code) {
  switch (code) {
    case LCI_RETRY_NOPACKET:
      return Metric::retries_nopacket;
    case LCI_RETRY_NOMEM:
      return Metric::retries_nomem;
    case LCI_RETRY_BACKLOG:
      return Metric::retries_backlog;
    case LCI_RETRY_NOCREDIT:
      return Metric::retries_nocredit;
    case LCI_RETRY_PENDING:
      return Metric::retries_pending;
    case LCI_RETRY_ORDER:
      return Metric::retries_order;
    default:
      return Metric::retries_lock;
  }
}

/// Its status says more than its descriptor, and is filled where the operation is done.
bool fills_status(const lci_descriptor& op) {
  return op.op == LCI_OP_RECV || op.op == LCI_OP_ATOMIC;
}

}  // namespace

int Posting::post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  if (!(op.flags & LCI_FLAG_LIST)) return post_one(op, inline_payload, target, done);
  lci_descriptor whole = op;
  if (const int code = measure_list(&whole); code != LCI_DONE) {
    counters().add(Metric::operations_error);
    return code;
  }
  return post_one(whole, inline_payload, target, done);
}

int Posting::post_one(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  if (protocols_.handed.closed())
    return fail(LCI_ERR_CLOSED, "post: the runtime closes (rank %u, device %u)", parts().rank, index());
  // Held before: the signal may come within the post, and from another thread. What comes out of the backlog is held
  // since it went in: a second place may not be there.
  const bool held = !protocols_.host.retrying && may_be_posted(op);
  if (held && !hold_place(target)) return no_place(op, target);
  int code = LCI_RETRY_NOMEM;
  try {
    code = attempt(op, inline_payload, target, done);
  } catch (const std::bad_alloc&) {
    if (held) target.release();
    throw;
  }
  if (held && !is_posted(code)) target.release();
  return code;
}

/// False: the queue that would be signalled is full. A lane is told when it may have a place: others post again by
/// themselves.
bool Posting::hold_place(const OpTarget& target) {
  if (target.hold_by_owner()) return true;
  if (!lane()) return false;
  target.completion->await_place(index());
  return target.hold_by_owner();
}

/// The queue that would be signalled is full. Nothing else is held up by that.
int Posting::no_place(const lci_descriptor& op, const OpTarget& target) {
  int code = LCI_RETRY_NOMEM;
  if (op.flags & LCI_FLAG_NO_RETRY) {
    code = fail(LCI_ERR_EXHAUSTED,
                "post: completion queue %u has no place for the signal and retry was disallowed; pop, or create it "
                "larger (rank %u, device %u)",
                target.completion->id(), op.rank, index());
  }
  count_answer(op, code);
  return code;
}

/// Decided once, here: no protocol signals what it answered with done. [SS-9]
int Posting::attempt(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  if (op.flags & LCI_FLAG_WAIT) return fail(LCI_ERR_ARGUMENT, "post: LCI_FLAG_WAIT is for lci_post(), not for lanes");
  if (op.op == LCI_OP_CANCEL) return protocols_.receives.cancel(op, target);
  if (!is_known(op.op)) return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  const int code = start(op, inline_payload, target, done);
  count_answer(op, code);
  if (is_done(code) && done && !fills_status(op)) *done = done_status(op, target);
  if (code != LCI_DONE || !(op.flags & LCI_FLAG_SIGNAL)) return code;
  if (!fills_status(op)) {
    void* const buffer = protocols_.host.retrying ? protocols_.host.retrying->buffer : done_status(op, target).buffer;
    protocols_.host.complete(target, LCI_DONE, op.rank, op.tag, buffer, bytes_of(op));
  } else {
    protocols_.host.complete(target, done->code, done->rank, done->tag, done->buffer, done->size);
  }
  return LCI_POSTED;
}

int Posting::start(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  switch (op.op) {
    case LCI_OP_AM:
    case LCI_OP_SEND:
      return post_message(op, inline_payload, target);
    case LCI_OP_RECV:
      return post_receive(op, target, done);
    case LCI_OP_BARRIER:
      return post_barrier(op, inline_payload, target);
    case LCI_OP_COLLECTIVE:
      return post_collective(op, inline_payload, target);
    case LCI_OP_ATOMIC:
      return protocols_.atomics.post(op, target, done);
    default:
      return protocols_.put_get.post(op, inline_payload, target);
  }
}

int Posting::post_message(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  int code = check_message(parts(), index(), op);
  if (code != LCI_DONE) return code;
  Link* link = protocols_.links.open(op.rank, &code);
  return link ? protocols_.eager.post(*link, op, inline_payload, target) : code;
}

int Posting::post_receive(const lci_descriptor& op, const OpTarget& target, lci_status* done) {
  int code = check_message(parts(), index(), op);
  if (code == LCI_DONE) code = protocols_.receives.post(op, target, done);
  // Has ended, too: `done` has whose message it was, and how long, which is signalled.
  return code == LCI_ERR_TRUNCATED && (op.flags & LCI_FLAG_SIGNAL) ? int{LCI_DONE} : code;
}

int Posting::post_barrier(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  if (index() != 0) return fail(LCI_ERR_DEVICE, "barrier: must be posted on device 0, not %u", index());
  const int code = protocols_.barriers.post(target);
  if (!is_retry(code) || !(op.flags & LCI_FLAG_NO_RETRY) || protocols_.host.retrying) return code;
  return protocols_.backlog.add(op, inline_payload, target);
}

/// Calls of a context are numbered as they are posted: none overtakes one that waits.
int Posting::post_collective(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  const bool behind = !protocols_.host.retrying && protocols_.backlog.holds_flow_of(op);
  const int code = behind ? int{LCI_RETRY_BACKLOG} : protocols_.collectives.post(op, target);
  if (!is_retry(code) || !(op.flags & LCI_FLAG_NO_RETRY) || protocols_.host.retrying) return code;
  return protocols_.backlog.add(op, inline_payload, target);
}

/// An operation that is signalled counts as posted. One out of the backlog was counted when it went in.
void Posting::count_answer(const lci_descriptor& op, int code) {
  if (is_retry(code)) {
    counters().add(retry_counter(code));
  } else if (protocols_.host.retrying) {
    return;
  } else if (is_posted(code) || (code == LCI_DONE && (op.flags & LCI_FLAG_SIGNAL))) {
    counters().add(kPostedCounter[counted_as(op)]);
  } else if (is_done(code)) {
    counters().add(kDoneCounter[counted_as(op)]);
  } else {
    counters().add(Metric::operations_error);
  }
}

bool Posting::may_be_posted(const lci_descriptor& op) const {
  return lci::may_be_posted(op, parts().packets.max_eager());
}

int Posting::post_or_wait(WaitingOp& op, lci_status* done) {
  const lci_descriptor& descriptor = op.descriptor();
  if (!protocols_.waiting.holds_flow_of(descriptor)) {
    const int code = post(descriptor, descriptor.u.inline_payload, op.target, done);
    if (!is_retry(code)) return code;
  }
  protocols_.waiting.join(op);
  return LCI_POSTED;
}

int Posting::leave(WaitingOp& op) {
  return protocols_.handed.add_waiting(op) ? int{LCI_POSTED} : refuse_closed();
}

int Posting::leave(LongWork& work) {
  return protocols_.handed.add_work(work) ? int{LCI_POSTED} : refuse_closed();
}

int Posting::refuse_closed() const {
  return fail(LCI_ERR_CLOSED, "post: the runtime or lane closes (rank %u, device %u)", parts().rank, index());
}

int Posting::hand_over(const lci_descriptor& given, const void* inline_payload, const OpTarget& target) {
  lci_descriptor op = given;
  if (op.flags & LCI_FLAG_LIST) {
    if (const int code = measure_list(&op); code != LCI_DONE) return code;
  }
  if (const int code = check_handed(op, target); code != LCI_DONE) return code;
  // Held before: the owner may take it, and signal, at once.
  if (may_be_posted(op) && !target.hold()) {
    return fail(LCI_ERR_EXHAUSTED, "post: completion queue %u has no place for the signal and retry was disallowed",
                target.completion->id());
  }
  const size_t most = op.op == LCI_OP_CANCEL ? SIZE_MAX : parts().attributes.backlog_messages;
  const auto keep = [&] { return protocols_.backlog.keep(op, inline_payload, target); };
  const Handed::Answer answer = protocols_.handed.add_post(target.lane, most, keep);
  if (answer == Handed::Answer::kTaken) return protocols_.backlog.answer(op);
  if (may_be_posted(op)) target.release();
  switch (answer) {
    case Handed::Answer::kClosed:
      return refuse_closed();
    case Handed::Answer::kFull:
      return fail(LCI_ERR_EXHAUSTED, "post: %zu operations wait for device %u already, and retry was disallowed", most,
                  index());
    default:
      return fail(LCI_ERR_NO_MEMORY, "post: no memory to leave the operation to device %u", index());
  }
}

int Posting::check_handed(const lci_descriptor& op, const OpTarget& target) const {
  switch (op.op) {
    case LCI_OP_AM:
    case LCI_OP_SEND:
      if (const int code = check_message(parts(), index(), op); code != LCI_DONE) return code;
      return check_length(parts(), op, target);
    case LCI_OP_RECV:
      return check_message(parts(), index(), op);
    case LCI_OP_PUT:
    case LCI_OP_GET:
      if (const int code = check_remote(parts(), index(), op); code != LCI_DONE) return code;
      if (target.completion) return LCI_DONE;
      return fail(LCI_ERR_ARGUMENT, "post: from a handler, put and get need a completion object");
    case LCI_OP_ATOMIC:
      if (const int code = check_atomic(parts(), index(), op); code != LCI_DONE) return code;
      if (target.completion) return LCI_DONE;
      return fail(LCI_ERR_ARGUMENT, "post: from a handler, an atomic operation needs a completion object");
    case LCI_OP_BARRIER:
    case LCI_OP_COLLECTIVE:
    case LCI_OP_CANCEL:
      return LCI_DONE;
    default:
      return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  }
}

/// Operations that other threads left wait in the backlog for this pass.
bool Posting::take_handed() {
  return protocols_.take_handed([this](Backlog::Queue& posts) {
    const lci_descriptor op = posts.front().op;
    protocols_.backlog.enter(posts);
    if (op.op != LCI_OP_CANCEL) count_answer(op, protocols_.backlog.answer(op));
  });
}

}  // namespace lci
