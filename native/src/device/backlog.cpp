// SPDX-License-Identifier: Apache-2.0
// The backlog: operations that may not be answered with retry wait here, in order per rank. [B15, B16]
#include <algorithm>

#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "device/device.hpp"

namespace lci {
namespace {

/// Queues of the backlog for what is of no rank: it needs no credit, and must not wait behind what does.
constexpr uint32_t kReceives = UINT32_MAX, kBarriers = UINT32_MAX - 1;

/// The queue that an operation waits in. A cancel stays behind its receive.
uint32_t queue_of(const lci_descriptor& op) {
  if (op.op == LCI_OP_RECV || op.op == LCI_OP_CANCEL) return kReceives;
  return op.op == LCI_OP_BARRIER ? kBarriers : op.rank;
}

}  // namespace

/// Payload bytes that the backlog copies; others stay where the user has them until the signal.
uint32_t Device::bytes_to_keep(const lci_descriptor& op) const {
  if (op.op == LCI_OP_PUT) return (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_BUFFER ? 0 : op.size;
  const bool message = op.op == LCI_OP_AM || op.op == LCI_OP_SEND;
  return message && op.size <= parts_.packets.max_eager() ? op.size : 0;
}

int Device::to_backlog(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  const Attributes& attributes = parts_.attributes;
  const auto queue = backlog_.find(queue_of(op));
  const size_t waiting = queue == backlog_.end() ? 0 : queue->second.size();
  const uint64_t bytes = bytes_to_keep(op);
  if (waiting >= attributes.backlog_messages || backlog_bytes_ + bytes > attributes.backlog_bytes) {
    return fail(LCI_ERR_EXHAUSTED,
                "post: the backlog to rank %u is full (%zu operations) and retry was disallowed (device %u)", op.rank,
                waiting, index_);
  }
  enter_backlog(keep(op, inline_payload, target));
  return backlog_answer(op);
}

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
                 handed_posts_.push_back(keep(op, inline_payload, target));
               })) {
      code = fail(LCI_ERR_NO_MEMORY, "post: no memory to leave the operation to device %u", index_);
    } else {
      has_handed_.store(true, std::memory_order_seq_cst);
    }
  }
  if (code == LCI_DONE) {
    wake_owner();
    return backlog_answer(op);
  }
  if (may_be_posted(op)) target.release();
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
Queued Device::keep(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  Queued queued{op, {}, target};
  queued.buffer = done_status(op, target).buffer;
  queued.op.flags = static_cast<uint8_t>((op.flags & ~(LCI_FLAG_NO_RETRY | LCI_FLAG_PAYLOAD_MASK)) | LCI_FLAG_BUFFER);
  const bool always_posted = op.op == LCI_OP_RECV || op.op == LCI_OP_PUT || op.op == LCI_OP_GET;
  if (always_posted) queued.op.flags |= LCI_FLAG_SIGNAL;
  const uint32_t bytes = bytes_to_keep(op);
  if ((op.flags & LCI_FLAG_LIST) && is_remote(op)) {
    const auto* buffers = reinterpret_cast<const lci_buffer*>(op.u.ref.address);
    const auto* places = reinterpret_cast<const lci_place*>(op.u.ref.remote);
    queued.parts.assign(buffers, buffers + op.u.ref.count);
    queued.places.assign(places, places + op.u.ref.count);
    queued.op.u.ref.displacement = 0;  // as given, before it was measured
    return queued;
  }
  if (op.flags & LCI_FLAG_LIST) {
    const auto* parts = reinterpret_cast<const lci_buffer*>(op.u.ref.address);
    if (op.op == LCI_OP_RECV || op.size > parts_.packets.max_eager()) {
      queued.parts.assign(parts, parts + op.u.ref.count);
    } else {
      queued.op.flags &= static_cast<uint8_t>(~LCI_FLAG_LIST);
      queued.payload.resize(bytes);
      gather(parts, op.u.ref.count, queued.payload.data());
    }
    return queued;
  }
  if (bytes == 0 && !(op.flags & LCI_FLAG_PACKET)) return queued;
  const auto* from = static_cast<const std::byte*>(inline_payload);
  const int form = op.flags & LCI_FLAG_PAYLOAD_MASK;
  if (form == LCI_FLAG_BUFFER) from = reinterpret_cast<const std::byte*>(op.u.ref.address);
  const auto packet = static_cast<uint32_t>(op.u.ref.address);
  if (form == LCI_FLAG_PACKET) from = parts_.packets.payload(packet);
  if (op.op == LCI_OP_PUT && form == LCI_FLAG_INLINE) from += sizeof op.u;
  if (bytes != 0) queued.payload.assign(from, from + bytes);
  if (form == LCI_FLAG_PACKET && parts_.packets.unhold(packet)) {
    parts_.packets.put(index_, packet);
  }
  return queued;
}

void Device::enter_backlog(Queued queued) {
  const uint64_t bytes = queued.payload.size();
  auto& queue = backlog_[queue_of(queued.op)];
  const bool first = is_reply(queued.op);
  queue.insert(first ? queue.begin() : queue.end(), std::move(queued));
  backlog_bytes_ += bytes;
  counters.add(Metric::backlog_push);
  counters.set(Metric::backlog_depth, counters.get(Metric::backlog_push) - counters.get(Metric::backlog_pop));
}

/// @p code: what its posting answered in the end.
void Device::leave_backlog(const Queued& queued, int code) {
  const bool promised = may_be_posted(queued.op);
  if (is_error(code) && promised) {
    complete(queued.target, code, queued.op.rank, queued.op.tag, queued.buffer, 0);
  } else if (is_error(code)) {
    counters.add(Metric::discarded);
  } else if (promised && !is_posted(code)) {
    queued.target.release();
  }
  backlog_bytes_ -= queued.payload.size();
  counters.add(Metric::backlog_pop);
  counters.set(Metric::backlog_depth, counters.get(Metric::backlog_push) - counters.get(Metric::backlog_pop));
}

bool Device::retry_backlog() {
  if (backlog_.empty()) return false;
  bool moved = false;
  for (auto entry = backlog_.begin(); entry != backlog_.end();) {
    auto& queue = entry->second;
    begin_batch();  // one slow rank does not hold up another
    while (!queue.empty()) {
      // Taken out: a handler may put a reply in front meanwhile. To put it back needs no memory.
      std::list<Queued> taken;
      taken.splice(taken.begin(), queue, queue.begin());
      Queued& queued = taken.front();
      if (!queued.parts.empty()) queued.op.u.ref.address = reinterpret_cast<uint64_t>(queued.parts.data());
      if (!queued.places.empty()) queued.op.u.ref.remote = reinterpret_cast<uint64_t>(queued.places.data());
      if (!queued.payload.empty()) queued.op.u.ref.address = reinterpret_cast<uint64_t>(queued.payload.data());
      lci_status done;
      retrying_backlog_ = &queued;
      int code = LCI_RETRY_NOMEM;
      const bool answered = unless_no_memory([&] { code = post(queued.op, nullptr, queued.target, &done); });
      if (!answered) unfinished_ = true;
      retrying_backlog_ = nullptr;
      if (code == LCI_ERR_NOT_PENDING) code = LCI_DONE;  // a cancel that came too late is over
      if (is_retry(code)) {
        const auto place = std::find_if_not(
            queue.begin(), queue.end(), [&](const Queued& next) { return is_reply(next.op) && !is_reply(queued.op); });
        queue.splice(place, taken);
        break;
      }
      leave_backlog(queued, code);
      moved = true;
    }
    entry = queue.empty() ? backlog_.erase(entry) : std::next(entry);
  }
  if (moved) tell_refused();
  return moved;
}

}  // namespace lci
