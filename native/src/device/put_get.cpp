// SPDX-License-Identifier: Apache-2.0
// Put and get as their initiator sees them: a copy where the memory is at hand, else messages. [C4-C7, 2B-18, 2B-48]
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "base/error.hpp"
#include "device/device.hpp"
#include "rma/copy_guard.hpp"

namespace lci {
namespace {

const char* name_of(const lci_descriptor& op) {
  return op.op == LCI_OP_PUT ? "put" : "get";
}

int region_ended(const lci_descriptor& op) {
  return fail(LCI_ERR_MEMORY_CLOSED, "%s: the region of rank %u has ended, or was closed here", name_of(op), op.rank);
}

}  // namespace

/// What can be said without looking at the region.
int Device::check_remote(const lci_descriptor& op) const {
  const char* name = name_of(op);
  const bool put = op.op == LCI_OP_PUT;
  if (op.rank >= parts_.ranks) {
    return fail(LCI_ERR_RANK, "%s: rank %u is outside 0..%u (device %u)", name, op.rank, parts_.ranks - 1, index_);
  }
  if (op.port > LCI_MAX_PORT) return fail(LCI_ERR_PORT, "%s: port %u exceeds %u", name, op.port, LCI_MAX_PORT);
  if (op.port != 0 && op.tag > LCI_MAX_SIGNAL_TAG) {
    return fail(LCI_ERR_TAG, "%s: tag %" PRIu64 " exceeds %u, the most that a signal can carry (rank %u)", name, op.tag,
                LCI_MAX_SIGNAL_TAG, op.rank);
  }
  if (op.size != 0 && op.u.ref.count != 0) {
    return fail(LCI_ERR_ARGUMENT, "%s: size and count are both given (rank %u)", name, op.rank);
  }
  const uint64_t size = bytes_of(op);
  switch (op.flags & LCI_FLAG_PAYLOAD_MASK) {
    case LCI_FLAG_INLINE:
      if (size <= (put ? LCI_INLINE_MAX : 0)) return LCI_DONE;
      return fail(LCI_ERR_SIZE, "%s: %" PRIu64 " bytes cannot be inline; use a buffer (rank %u)", name, size, op.rank);
    case LCI_FLAG_PACKET:
      if (put && op.u.ref.count == 0) return check_packet(op, name);
      return fail(LCI_ERR_ARGUMENT, "%s: needs a buffer, not a packet (rank %u)", name, op.rank);
    case LCI_FLAG_BUFFER:
      if (op.u.ref.address != 0 || size == 0) return LCI_DONE;
      return fail(LCI_ERR_ARGUMENT, "%s: null buffer of %" PRIu64 " bytes (rank %u)", name, size, op.rank);
    default:
      return fail(LCI_ERR_ARGUMENT, "%s: unknown payload form in flags 0x%x", name, op.flags);
  }
}

/// One range of an open region; @p out has its displacement and size.
int Device::find_part(const lci_descriptor& op, uint64_t id, RemotePart* out) const {
  Remote& remote = out->remote;
  if (!parts_.remotes.find(id, &remote)) return region_ended(op);
  if (remote.rank != op.rank) {
    return fail(LCI_ERR_RANK, "%s: the region is of rank %u, not %u", name_of(op), remote.rank, op.rank);
  }
  if (out->displacement <= remote.size && out->size <= remote.size - out->displacement) return LCI_DONE;
  return fail(LCI_ERR_SIZE,
              "%s: %" PRIu64 " bytes at displacement %" PRIu64 " exceed the region of %" PRIu64 " bytes (rank %u)",
              name_of(op), out->size, out->displacement, remote.size, op.rank);
}

int Device::find_remote(const lci_descriptor& op, const void* inline_payload, RemoteCopy* out) const {
  int code = check_remote(op);
  if (code != LCI_DONE) return code;
  out->put = op.op == LCI_OP_PUT;
  out->size = bytes_of(op);
  if (op.flags & LCI_FLAG_LIST) {
    code = find_parts(op, out);
  } else {
    out->one.size = out->size;
    out->one.displacement = op.u.ref.displacement;
    code = find_part(op, op.u.ref.remote, &out->one);
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

bool RemoteCopy::at_hand() const {
  return std::ranges::all_of(parts(), [](const RemotePart& part) { return part.remote.memory != nullptr; });
}

/// Whether one of the regions has ended, and is not what it was when it was opened.
bool RemoteCopy::ended() const {
  return std::ranges::any_of(parts(), [](const RemotePart& part) {
    const auto* shared = part.remote.shared_key;
    return shared && shared->load(std::memory_order_seq_cst) != part.remote.key;
  });
}

int Device::post_remote(const lci_descriptor& op, const void* inline_payload, const OpTarget& target) {
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

bool Device::copies_at_hand() const {
  return parts_.attributes.rma == RmaMode::kAuto && parts_.share_memory && !ended_;
}

CopyWords Device::copy_words() {
  OwnMemory& memory = parts_.memory();
  return {memory.header().device[index_].copying, memory.copying_here(index_), parts_.owner_barrier.owners_pay()};
}

void Device::copy_parts(const RemoteCopy& copy) {
  if (copy.size == 0) return;
  for (const RemotePart& part : copy.parts()) {
    std::byte* there = part.remote.memory + part.displacement;
    std::memmove(copy.put ? there : part.local, copy.put ? part.local : there, part.size);
  }
}

int Device::copy_now(const lci_descriptor& op, const RemoteCopy& copy) {
  Link* link = nullptr;
  SignalRight signal;
  if (op.port != 0) {  // whatever can refuse the signal does so before a byte is written
    int code = LCI_DONE;
    link = links_.open(op.rank, &code);
    if (link) code = take_signal_right(*link, op, true, &signal);
    if (code != LCI_DONE) return code;
  }
  bool ended = false;
  {
    const CopyGuard guard(copy_words());
    ended = copy.ended();
    if (!ended) copy_parts(copy);
  }
  if (ended) {
    if (link) give_up(*link, signal);
    return region_ended(op);
  }
  counters.add(Metric::rma_copied, copy.size);
  if (link) emit_signal(*link, signal);
  return LCI_DONE;
}

int Device::copy_by_messages(const lci_descriptor& op, const RemoteCopy& copy, const OpTarget& target) {
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
  code = op.port != 0 ? take_signal_right(*link, op, false, &signal) : admit_keyless(*link);
  if (code != LCI_DONE) return code;
  if (!link->data_out.has_room(1)) {
    give_up(*link, signal);
    return refuse(link, nullptr, LCI_RETRY_NOMEM);
  }
  ++link->remote_operations;
  counters.add(Metric::rma_streamed, copy.size);
  if (copy.put) {
    stream_put(*link, op, copy, target, signal);
  } else {
    start_get(*link, op, copy, target, signal);
  }
  return LCI_POSTED;
}

}  // namespace lci
