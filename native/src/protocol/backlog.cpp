// SPDX-License-Identifier: Apache-2.0
#include "protocol/backlog.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace lci {
namespace {

/// Queues of the backlog for what is of no rank: it needs no credit, and must not wait behind what does.
constexpr uint32_t kReceives = UINT32_MAX, kBarriers = UINT32_MAX - 1;
/// From here on queues are of no rank; those below kBarriers are each of some contexts.
constexpr uint32_t kOfNoRank = 1u << 31;
constexpr uint32_t kContextQueues = 1u << 20;

/// The queue that an operation waits in. A cancel stays behind its receive.
uint32_t queue_of(const lci_descriptor& op) {
  if (op.op == LCI_OP_RECV || op.op == LCI_OP_CANCEL) return kReceives;
  if (op.op == LCI_OP_COLLECTIVE) return kOfNoRank + static_cast<uint32_t>(op.tag % kContextQueues);
  return op.op == LCI_OP_BARRIER ? kBarriers : op.rank;
}

}  // namespace

bool Backlog::holds_flow_of(const lci_descriptor& op) const {
  return !queues_.empty() && queues_.count(queue_of(op)) != 0;
}

bool Backlog::may_be_posted(const lci_descriptor& op) const {
  return lci::may_be_posted(op, parts_.packets.max_eager());
}

/// Payload bytes that the backlog copies; others stay where the user has them until the signal.
uint32_t Backlog::bytes_to_keep(const lci_descriptor& op) const {
  if (op.op == LCI_OP_PUT) return (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_BUFFER ? 0 : op.size;
  const bool message = op.op == LCI_OP_AM || op.op == LCI_OP_SEND;
  return message && op.size <= parts_.packets.max_eager() ? op.size : 0;
}

int Backlog::add(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  const Attributes& attributes = parts_.attributes;
  const auto queue = queues_.find(queue_of(op));
  const size_t waiting = queue == queues_.end() ? 0 : queue->second.size();
  const uint64_t bytes = bytes_to_keep(op);
  if (waiting >= attributes.backlog_messages || bytes_ + bytes > attributes.backlog_bytes) {
    return fail(LCI_ERR_EXHAUSTED,
                "post: the backlog to rank %u is full (%zu operations) and retry was disallowed (device %u)", op.rank,
                waiting, index_);
  }
  queues_[queue_of(op)];  // and a place in it, before keep() takes a packet for good
  Queue one(1);
  one.front() = keep(op, inline_payload, target);
  enter(one);
  return answer(op);
}

int Backlog::answer(const lci_descriptor& op) const {
  return may_be_posted(op) ? LCI_POSTED_BACKLOG : LCI_DONE_BACKLOG;
}

Queued Backlog::keep(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  Queued queued{op, {}, target};
  queued.buffer = done_status(op, target).buffer;
  const bool atomic = op.op == LCI_OP_ATOMIC;  // its operands stay in the descriptor
  queued.op.flags = static_cast<uint8_t>((op.flags & ~(LCI_FLAG_NO_RETRY | LCI_FLAG_PAYLOAD_MASK)) |
                                         (atomic ? LCI_FLAG_INLINE : LCI_FLAG_BUFFER));
  const bool always_posted = op.op == LCI_OP_RECV || is_remote(op) || atomic;
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

void Backlog::enter(Queue& from) {
  Queued& queued = from.front();
  Queue& queue = queues_[queue_of(queued.op)];
  queued.number = ++entered_;
  bytes_ += queued.payload.size();
  const bool first = is_reply(queued.op);
  queue.splice(first ? queue.begin() : queue.end(), from, from.begin());
  counters_.add(Metric::backlog_push);
  counters_.set(Metric::backlog_depth, counters_.get(Metric::backlog_push) - counters_.get(Metric::backlog_pop));
}

/// Behind replies that came in front meanwhile, unless it is one itself.
void Backlog::put_back(Queue& queue, Queue& taken) {
  const bool reply = is_reply(taken.front().op);
  const auto place =
      std::find_if_not(queue.begin(), queue.end(), [&](const Queued& next) { return is_reply(next.op) && !reply; });
  queue.splice(place, taken);
}

/// @p code: what its posting answered in the end.
void Backlog::leave(const Queued& queued, int code) {
  const bool promised = may_be_posted(queued.op);
  if (is_error(code) && promised) {
    complete(queued.target, code, queued.op.rank, queued.op.tag, queued.buffer, 0);
  } else if (is_error(code)) {
    counters_.add(Metric::discarded);
  } else if (promised && !is_posted(code)) {
    queued.target.release();
  }
  count_out(1, queued.payload.size());
}

void Backlog::count_out(uint64_t operations, uint64_t bytes) {
  bytes_ -= bytes;
  counters_.add(Metric::backlog_pop, operations);
  counters_.set(Metric::backlog_depth, counters_.get(Metric::backlog_push) - counters_.get(Metric::backlog_pop));
}

void Backlog::end(const Queue& queue, int code) {
  for (const Queued& queued : queue) {
    count_out(1, queued.payload.size());
    if (may_be_posted(queued.op)) {
      complete(queued.target, code, queued.op.rank, queued.op.tag, queued.buffer, 0);
    } else {
      counters_.add(Metric::discarded);
    }
  }
}

void Backlog::end_before(const Queue& queue, int code) {
  for (const Queued& queued : queue) bytes_ += queued.payload.size();
  counters_.add(Metric::backlog_push, queue.size());
  end(queue, code);
}

/// In each queue the first one that is no reply is the oldest of its sort: replies go in front.
bool Backlog::holds_marked() const {
  for (const auto& [rank, queue] : queues_) {
    if (rank >= kOfNoRank) continue;
    for (const Queued& queued : queue) {
      if (queued.number <= marked_) return true;
      if (!is_reply(queued.op)) break;
    }
  }
  return false;
}

void Backlog::peer_gone(uint32_t rank, int code) {
  const auto queue = queues_.find(rank);
  if (queue == queues_.end()) return;
  Queue gone;
  gone.swap(queue->second);
  queues_.erase(queue);
  end(gone, code);
}

void Backlog::cancel_all(int code) {
  auto all = std::move(queues_);
  queues_.clear();
  for (auto& entry : all) end(entry.second, code);
}

}  // namespace lci
