// SPDX-License-Identifier: Apache-2.0
// The backlog: operations that may not be answered with retry wait here, in order per rank. [B15, B16]
#include "base/error.hpp"
#include "device/device.hpp"
#include "runtime/runtime.hpp"

namespace lci {

int Device::to_backlog(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  const Attributes& attributes = runtime_.attributes();
  const auto queue = backlog_.find(op.rank);
  const size_t waiting = queue == backlog_.end() ? 0 : queue->second.size();
  const uint64_t bytes = op.size > runtime_.max_eager() ? 0 : op.size;
  if (waiting >= attributes.backlog_messages || backlog_bytes_ + bytes > attributes.backlog_bytes) {
    return fail(LCI_ERR_EXHAUSTED,
                "%s: the backlog to rank %u is full (%zu operations) and retry was disallowed (device %u)",
                op.op == LCI_OP_AM ? "am" : "send", op.rank, waiting, index_);
  }
  enter_backlog(keep(op, inline_payload, target));
  return backlog_answer(op);
}

int Device::hand_over(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  if (op.op == LCI_OP_AM || op.op == LCI_OP_SEND || op.op == LCI_OP_RECV) {
    if (const int code = check(op); code != LCI_DONE) return code;
  } else if (op.op != LCI_OP_BARRIER && op.op != LCI_OP_CANCEL) {
    return fail(LCI_ERR_ARGUMENT, "post: unknown operation %u", op.op);
  }
  // Held before: the owner may take it, and signal, at once.
  if (target.completion && may_be_posted(op)) target.completion->hold();
  int code = LCI_DONE;
  {
    std::lock_guard<TryLock> guard(handed_lock_);
    if (ended_) {
      code = fail(LCI_ERR_CLOSED, "post: the runtime closes (rank %u, device %u)", runtime_.rank(), index_);
    } else if (handed_posts_.size() >= runtime_.attributes().backlog_messages) {
      code = fail(LCI_ERR_EXHAUSTED, "post: %zu operations wait for device %u already, and retry was disallowed",
                  handed_posts_.size(), index_);
    } else {
      handed_posts_.push_back(keep(op, inline_payload, target));
      has_handed_.store(true, std::memory_order_seq_cst);
    }
  }
  if (code == LCI_DONE) {
    wake_owner();
    return backlog_answer(op);
  }
  if (target.completion && may_be_posted(op)) target.completion->forget_held();
  return code;
}

void Device::take_handed_posts(std::vector<Queued> posts) {
  for (Queued& queued : posts) {
    if (queued.op.op != LCI_OP_CANCEL) count_answer(queued.op, backlog_answer(queued.op));
    enter_backlog(std::move(queued));
  }
}

int Device::backlog_answer(const lci_descriptor& op) const {
  return may_be_posted(op) ? LCI_POSTED_BACKLOG : LCI_DONE_BACKLOG;
}

/// The operation with a payload of its own, unless that is so long that the user's has to stay.
Device::Queued Device::keep(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  Queued queued{op, {}, target};
  queued.op.flags = static_cast<uint8_t>((op.flags & ~(LCI_FLAG_NO_RETRY | LCI_FLAG_PAYLOAD_MASK)) | LCI_FLAG_BUFFER);
  if (op.op == LCI_OP_RECV) queued.op.flags |= LCI_FLAG_SIGNAL;  // it was answered with posted
  if ((op.op != LCI_OP_AM && op.op != LCI_OP_SEND) || op.size > runtime_.max_eager()) return queued;
  const auto* from = static_cast<const std::byte*>(inline_payload);
  const int form = op.flags & LCI_FLAG_PAYLOAD_MASK;
  if (form == LCI_FLAG_BUFFER) from = reinterpret_cast<const std::byte*>(op.u.ref.address);
  const auto packet = static_cast<uint32_t>(op.u.ref.address);
  if (form == LCI_FLAG_PACKET) from = runtime_.pool().data(packet) + kPacketPayloadOffset;
  if (op.size != 0) queued.payload.assign(from, from + op.size);
  if (form == LCI_FLAG_PACKET) {
    runtime_.pool().put(index_, packet);
    runtime_.wake_packet_waiters();
  }
  return queued;
}

void Device::enter_backlog(Queued queued) {
  backlog_bytes_ += queued.payload.size();
  backlog_[queued.op.rank].push_back(std::move(queued));
  counters.add(Metric::backlog_push);
  counters.set(Metric::backlog_depth, counters.get(Metric::backlog_push) - counters.get(Metric::backlog_pop));
}

/// @p code: what its posting answered in the end.
void Device::leave_backlog(const Queued& queued, int code) {
  const bool promised = may_be_posted(queued.op);
  if (is_error(code) && promised) {
    complete(queued.target, code, queued.op.rank, queued.op.tag, nullptr, 0);
  } else if (is_error(code)) {
    counters.add(Metric::discarded);
  } else if (promised && queued.target.completion) {
    queued.target.completion->forget_held();  // the attempt has its own hold
  }
  backlog_bytes_ -= queued.payload.size();
  counters.add(Metric::backlog_pop);
  counters.set(Metric::backlog_depth, counters.get(Metric::backlog_push) - counters.get(Metric::backlog_pop));
}

bool Device::retry_backlog() {
  if (backlog_.empty()) return false;
  bool moved = false;
  retrying_backlog_ = true;
  for (auto entry = backlog_.begin(); entry != backlog_.end();) {
    auto& queue = entry->second;
    begin_batch();  // one slow rank does not hold up another
    while (!queue.empty()) {
      Queued& queued = queue.front();
      if (!queued.payload.empty()) queued.op.u.ref.address = reinterpret_cast<uint64_t>(queued.payload.data());
      lci_status done;
      const int code = post(queued.op, nullptr, queued.target, &done);
      if (is_retry(code)) break;
      const Queued left = std::move(queued);
      queue.pop_front();
      leave_backlog(left, code);
      moved = true;
    }
    entry = queue.empty() ? backlog_.erase(entry) : std::next(entry);
  }
  retrying_backlog_ = false;
  if (moved) {
    for (auto& channel : channels_) {
      if (!channel || backlog_.count(channel->rank)) continue;
      channel->out_keys.for_each([&](OutKey& key) {
        if (key.refused) tell_writable(*channel, key);
      });
    }
  }
  return moved;
}

}  // namespace lci
