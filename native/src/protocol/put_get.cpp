// SPDX-License-Identifier: Apache-2.0
#include "protocol/put_get.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "protocol/checks.hpp"

namespace lci {
namespace {

void copy_parts(const RemoteCopy& copy) {
  if (copy.size == 0) return;
  for (const RemotePart& part : copy.parts()) {
    std::byte* there = part.remote.memory + part.displacement;
    std::memmove(copy.put ? there : part.local, copy.put ? part.local : there, part.size);
  }
}

/// The ranges that go by messages, the last one first, as contexts keep them.
std::vector<RemoteRange> ranges_of(const RemoteCopy& copy) {
  std::vector<RemoteRange> ranges;
  const auto parts = copy.parts();
  ranges.reserve(parts.size());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    ranges.push_back({part->local, part->size, {part->remote.key, part->displacement, part->remote.index, 0}});
  }
  return ranges;
}

}  // namespace

bool RemoteCopy::at_hand() const {
  return std::ranges::all_of(parts(), [](const RemotePart& part) { return part.remote.memory != nullptr; });
}

/// Whether one of the regions has ended.
bool RemoteCopy::ended() const {
  return std::ranges::any_of(parts(), [](const RemotePart& part) { return has_ended(part.remote); });
}

/// Bounds are checked of all parts, those without bytes included, before the first one moves.
int PutGet::find_parts(const lci_descriptor& op, RemoteCopy* out) const {
  const auto* buffers = reinterpret_cast<const lci_buffer*>(op.u.ref.address);
  const auto* places = reinterpret_cast<const lci_place*>(op.u.ref.remote);
  for (uint64_t i = 0; i < op.u.ref.count; ++i) {
    RemotePart part{};
    part.displacement = places[i].displacement;
    part.local = static_cast<std::byte*>(buffers[i].address);
    part.size = buffers[i].size;
    if (const int code = find_part(parts_, op, places[i].remote, &part); code != LCI_DONE) return code;
    if (part.size != 0 || out->size == 0) out->list.push_back(part);  // an empty list looks whether regions live
  }
  return LCI_DONE;
}

int PutGet::find_remote(const lci_descriptor& op, const void* inline_payload, RemoteCopy* out) const {
  int code = check_remote(parts_, index_, op);
  if (code != LCI_DONE) return code;
  out->put = op.op == LCI_OP_PUT;
  out->size = bytes_of(op);
  if (op.flags & LCI_FLAG_LIST) {
    code = find_parts(op, out);
  } else {
    out->one.size = out->size;
    out->one.displacement = op.u.ref.displacement;
    code = find_part(parts_, op, op.u.ref.remote, &out->one);
  }
  if (code == LCI_DONE) code = parts_.peers.check(op.rank, name_of(op));
  if (code != LCI_DONE || (op.flags & LCI_FLAG_LIST)) return code;
  switch (op.flags & LCI_FLAG_PAYLOAD_MASK) {
    case LCI_FLAG_INLINE:
      out->one.local = static_cast<std::byte*>(const_cast<void*>(inline_payload)) + sizeof op.u;
      break;
    case LCI_FLAG_PACKET:
      out->one.local = parts_.packets.payload(static_cast<uint32_t>(op.u.ref.address));
      break;
    default:
      out->one.local = reinterpret_cast<std::byte*>(op.u.ref.address);
  }
  return code;
}

int PutGet::post(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
  RemoteCopy copy{};
  int code = find_remote(op, inline_payload, &copy);
  if (code != LCI_DONE) return code;
  const bool at_hand = copies_at_hand() && copy.at_hand();
  code = at_hand || copy.size == 0 ? copy_now(op, copy) : copy_by_messages(op, copy, target);
  if (is_retry(code) && (op.flags & LCI_FLAG_NO_RETRY) && !backlog_.retrying()) {
    if (target.completion || target.lane) return backlog_.add(op, inline_payload, target);
    return fail(LCI_ERR_ARGUMENT, "%s: needs a completion object to wait in the backlog (rank %u)", name_of(op),
                op.rank);
  }
  const bool packet = (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_PACKET;
  if (packet && !is_retry(code) && !is_error(code) && parts_.packets.unhold(op.u.ref.address)) {
    parts_.packets.put(index_, static_cast<uint32_t>(op.u.ref.address));
  }
  return code;
}

int PutGet::copy_now(const lci_descriptor& op, const RemoteCopy& copy) {
  Link* link = nullptr;
  SignalRight signal;
  if (op.port != 0) {  // whatever can refuse the signal does so before a byte is written
    int code = LCI_DONE;
    link = links_.open(op.rank, &code);
    if (link) code = signals_.take_right(*link, op, true, &signal);
    if (code != LCI_DONE) return code;
  }
  bool ended = false;
  {
    const CopyGuard guard(regions_.copy_words());
    ended = copy.ended();
    if (!ended) copy_parts(copy);
  }
  if (ended) {
    if (link) signals_.give_up(*link, signal);
    return region_ended(op);
  }
  counters_.add(Metric::rma_copied, copy.size);
  if (link) signals_.emit(*link, signal);
  return LCI_DONE;
}

int PutGet::copy_by_messages(const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target) {
  if (!parts_.has_packets()) {
    return fail(LCI_ERR_UNSUPPORTED,
                "%s: goes through packets, and there is no pool (attribute alloc_default_packet_pool)", name_of(op));
  }
  if (!target.completion && !target.lane) {
    return fail(LCI_ERR_ARGUMENT, "%s: needs a completion object: the memory of rank %u is not at hand", name_of(op),
                op.rank);
  }
  int code = LCI_DONE;
  Link* link = links_.open(op.rank, &code);
  if (!link) return code;
  if (copy.ended()) return region_ended(op);
  if (!link->may_put_and_get()) {
    link->wants_remote = true;
    return LCI_RETRY_PENDING;
  }
  SignalRight signal;
  code = op.port != 0 ? signals_.take_right(*link, op, false, &signal) : admission_.admit_keyless(*link);
  if (code != LCI_DONE) return code;
  if (!link->data_out.has_room(1)) {
    signals_.give_up(*link, signal);
    return admission_.refuse(link, nullptr, LCI_RETRY_NOMEM);
  }
  ++link->remote_operations;
  try {
    if (op.port != 0) make_room(&link->signals, link->remote_operations);  // all that are under way may have one
    if (copy.put) {
      outgoing_.start_put(make_put(*link, op, copy, target, signal));
    } else {
      incoming_.start_get(make_get(*link, op, copy, target, signal));
    }
  } catch (const std::bad_alloc&) {
    --link->remote_operations;
    signals_.give_up(*link, signal);
    throw;
  }
  counters_.add(Metric::rma_streamed, copy.size);
  return LCI_POSTED;
}

std::unique_ptr<SendContext> PutGet::make_put(Link& link, const lci_descriptor& op, const RemoteCopy& copy,
                                              const OpTarget& target, const SignalRight& signal) const {
  auto put = std::make_unique<SendContext>();
  put->kind = SendContext::Kind::kPut;
  put->target = target;
  put->link = &link;
  put->ranges = ranges_of(copy);
  const bool ours = backlog_.retrying() && !backlog_.retrying()->payload.empty();
  if ((op.flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_BUFFER || ours) {  // it does not stay where it is
    put->owned.assign(copy.one.local, copy.one.local + copy.size);
    put->ranges.back().local = put->owned.data();
  } else if (!(op.flags & LCI_FLAG_LIST)) {
    put->data = copy.one.local;
  }
  put->size = copy.size;
  put->tag = op.tag;
  put->signal = signal;
  put->streaming = true;
  return put;
}

std::unique_ptr<ReceiveContext> PutGet::make_get(Link& link, const lci_descriptor& op, const RemoteCopy& copy,
                                                 const OpTarget& target, const SignalRight& signal) {
  auto get = std::make_unique<ReceiveContext>();
  get->target = target;
  get->link = &link;
  get->tag = op.tag;
  get->is_get = true;
  get->signal = signal;
  get->posted_size = copy.size;
  if (!(op.flags & LCI_FLAG_LIST)) get->posted_buffer = copy.one.local;
  get->ranges = ranges_of(copy);
  return get;
}

}  // namespace lci
