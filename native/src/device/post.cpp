// SPDX-License-Identifier: Apache-2.0
// Posting: from a descriptor to its answer. Nothing progresses here.
#include <new>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

namespace {

constexpr Metric kDoneCounter[] = {Metric::operations_error,          Metric::operations_am_done,
                                   Metric::operations_send_done,      Metric::operations_recv_done,
                                   Metric::operations_barrier_posted,
                                   Metric::operations_error,  // a cancel is not counted
                                   Metric::operations_put_done,       Metric::operations_get_done};
constexpr Metric kPostedCounter[] = {Metric::operations_error,          Metric::operations_am_posted,
                                     Metric::operations_send_posted,    Metric::operations_recv_posted,
                                     Metric::operations_barrier_posted, Metric::operations_error,
                                     Metric::operations_put_posted,     Metric::operations_get_posted};

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

}  // namespace

int Device::post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  if (!(op.flags & LCI_FLAG_LIST)) return post_one(op, inline_payload, target, done);
  lci_descriptor whole = op;
  if (const int code = measure_list(&whole); code != LCI_DONE) {
    counters.add(Metric::operations_error);
    return code;
  }
  return post_one(whole, inline_payload, target, done);
}

int Device::post_one(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  if (ended_) return fail(LCI_ERR_CLOSED, "post: the runtime closes (rank %u, device %u)", parts_.rank, index_);
  // Held before: the signal may come within the post, and from another thread. What comes out of the backlog is held
  // since it went in: a second place may not be there.
  const bool held = !backlog_.retrying() && may_be_posted(op);
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
bool Device::hold_place(const OpTarget& target) {
  if (target.hold_by_owner()) return true;
  if (!lane()) return false;
  target.completion->await_place(index_);
  return target.hold_by_owner();
}

/// The queue that would be signalled is full. Nothing else is held up by that.
int Device::no_place(const lci_descriptor& op, const OpTarget& target) {
  int code = LCI_RETRY_NOMEM;
  if (op.flags & LCI_FLAG_NO_RETRY) {
    code = fail(LCI_ERR_EXHAUSTED,
                "post: completion queue %u has no place for the signal and retry was disallowed; pop, or create it "
                "larger (rank %u, device %u)",
                target.completion->id(), op.rank, index_);
  }
  count_answer(op, code);
  return code;
}

int Device::attempt(const lci_descriptor& op, const void* inline_payload, const OpTarget& target, lci_status* done) {
  int code;
  if (op.flags & LCI_FLAG_WAIT) return fail(LCI_ERR_ARGUMENT, "post: LCI_FLAG_WAIT is for lci_post(), not for lanes");
  switch (op.op) {
    case LCI_OP_AM:
    case LCI_OP_SEND: {
      code = check(op);
      if (code == LCI_DONE) {
        int error = LCI_DONE;
        Link* link = links_.open(op.rank, &error);
        code = link ? post_message(*link, op, inline_payload, target) : error;
      }
      break;
    }
    case LCI_OP_RECV:
      code = check(op);
      if (code == LCI_DONE) code = post_receive(op, target, done);
      // Has ended, too: `done` has whose message it was, and how long, which is signalled below.
      if (code == LCI_ERR_TRUNCATED && (op.flags & LCI_FLAG_SIGNAL)) code = LCI_DONE;
      break;
    case LCI_OP_BARRIER:
      code = index_ == 0 ? barriers_.post(target)
                         : fail(LCI_ERR_DEVICE, "barrier: must be posted on device 0, not %u", index_);
      if (is_retry(code) && (op.flags & LCI_FLAG_NO_RETRY) && !backlog_.retrying()) {
        code = backlog_.add(op, inline_payload, target);
      }
      break;
    case LCI_OP_CANCEL:
      return cancel_receive(op, target);
    case LCI_OP_PUT:
    case LCI_OP_GET:
      code = post_remote(op, inline_payload, target);
      break;
    default:
      return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  }
  count_answer(op, code);
  if (is_done(code) && done && op.op != LCI_OP_RECV) *done = done_status(op, target);
  if (code == LCI_DONE) {
    if (op.flags & LCI_FLAG_SIGNAL) {
      // Decided once, here: no protocol signals what it answered with done. [SS-9]
      if (op.op != LCI_OP_RECV) {
        void* const buffer = backlog_.retrying() ? backlog_.retrying()->buffer : done_status(op, target).buffer;
        complete(target, LCI_DONE, op.rank, op.tag, buffer, bytes_of(op));
      } else {
        complete(target, done->code, done->rank, done->tag, done->buffer, done->size);
      }
      return LCI_POSTED;
    }
  }
  return code;
}

/// What is signalled counts as posted. What comes out of the backlog was counted when it went in.
void Device::count_answer(const lci_descriptor& op, int code) {
  if (is_retry(code)) {
    counters.add(retry_counter(code));
  } else if (backlog_.retrying()) {
    return;
  } else if (is_posted(code) || (code == LCI_DONE && (op.flags & LCI_FLAG_SIGNAL))) {
    counters.add(kPostedCounter[op.op]);
  } else if (is_done(code)) {
    counters.add(kDoneCounter[op.op]);
  } else {
    counters.add(Metric::operations_error);
  }
}

bool Device::post_short(const lci_descriptor& op) {
  if (op.op == LCI_OP_AM) return !((op.port & kEngineTarget) | op.policy) && write_short(op, op.port, 0);
  // Of sends, those of the default engine: it is always open, and makes its keys of rank, tag and policy.
  return op.op == LCI_OP_SEND && op.port == 0 && op.policy <= LCI_POLICY_NONE && op.tag <= LCI_MAX_TAG &&
         parts_.has_packets() && write_short(op, kEngineTarget, static_cast<uint8_t>(op.policy));
}

/// The common case without detours: a short payload, credit, room, nothing refused before. Whatever is special is left
/// to post(). Half the instructions of the long way.
inline bool Device::write_short(const lci_descriptor& op, uint16_t target, uint8_t flags) {
  if (op.rank >= parts_.ranks || op.size > LCI_INLINE_MAX) return false;
  Link* link = links_.find(op.rank);
  if (!link || !link->out_open || link->failed || link->chaos || !backlog_.empty()) return false;
  if (batch_refusal_ != 0 || link->full_batch == batch_) return false;
  OutKey* key = link->out_keys.find(target);
  if (!key || key->refused_batch == batch_ || key->held_back != 0) return false;
  const bool credited = key->state == OutKey::State::kLeased;
  if (credited) {
    if (key->credit.messages == 0 || key->credit.bytes < op.size) return false;
    flags |= kFlagCredited;
  } else if (key->state != OutKey::State::kUncredited) {
    return false;
  }
  if (!link->data_out.has_room(slots_for(op.size))) return false;
  if (credited) {
    --key->credit.messages;
    key->credit.bytes -= op.size;
  }
  const MessageKind kind = target == kEngineTarget ? MessageKind::kSendInline : MessageKind::kAmInline;
  link->data_out.write({kind, flags, target, op.size, key->generation, op.tag, 0}, op.u.inline_payload, op.size);
  links_.touch(*link);
  counters.add(kDoneCounter[op.op]);
  counters.add(Metric::sent_bytes, op.size);
  return true;
}

}  // namespace lci
