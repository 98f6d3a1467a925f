// SPDX-License-Identifier: Apache-2.0
#include "protocol/checks.hpp"

#include <cinttypes>

#include "base/error.hpp"
#include "protocol/replies.hpp"
#include "rma/atomic_step.hpp"

namespace lci {
namespace {

int check_packet(const DeviceParts& parts, const lci_descriptor& op, const char* name) {
  const uint64_t handle = op.u.ref.address;
  if (op.op == LCI_OP_RECV || handle > UINT32_MAX || !parts.packets.pool().owns(static_cast<uint32_t>(handle)) ||
      parts.packets.state(static_cast<uint32_t>(handle)).held == PacketState::kNobody) {
    return fail(LCI_ERR_ARGUMENT, "%s: %" PRIu64 " is not a packet that the caller holds", name, handle);
  }
  if (op.size > parts.packets.max_eager()) {
    return fail(LCI_ERR_SIZE, "%s: a packet carries at most %u bytes, not %u", name, parts.packets.max_eager(),
                op.size);
  }
  return LCI_DONE;
}

/// Checks the lists of a put or get; what it moves together is noted where others have a displacement.
int measure_remote_list(lci_descriptor* op) {
  const auto* buffers = reinterpret_cast<const lci_buffer*>(op->u.ref.address);
  const auto* places = reinterpret_cast<const lci_place*>(op->u.ref.remote);
  const uint64_t count = op->u.ref.count;
  if ((op->flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_BUFFER) {
    return fail(LCI_ERR_ARGUMENT, "post: a list of buffers goes with LCI_FLAG_BUFFER only");
  }
  if (!buffers || !places || count == 0 || count > LCI_MAX_LIST) {
    return fail(LCI_ERR_ARGUMENT,
                "post: put and get of a list need 1..%u buffers and as many places, not %" PRIu64 "%s", LCI_MAX_LIST,
                count, buffers && places ? "" : " at null");
  }
  if (op->size != 0 || op->u.ref.displacement != 0) {
    return fail(LCI_ERR_ARGUMENT, "post: put and get of a list have size and displacement in their lists only");
  }
  uint64_t size = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!buffers[i].address && buffers[i].size != 0) {
      return fail(LCI_ERR_ARGUMENT, "post: buffer %" PRIu64 " of a list is null and has %" PRIu64 " bytes", i,
                  buffers[i].size);
    }
    if (buffers[i].size > UINT64_MAX - size) {
      return fail(LCI_ERR_SIZE, "post: the buffers of a list have more than 2^64 bytes together");
    }
    size += buffers[i].size;
  }
  op->u.ref.displacement = size;
  return LCI_DONE;
}

/// Messages that are not announced go to the buffer, so it must have room for them.
int check_longest(const DeviceParts& parts, const lci_descriptor& op) {
  const uint64_t longest = op.u.ref.count;
  if (longest <= op.size || op.size >= parts.packets.max_eager()) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT,
              "receive: a buffer of %u bytes is too small for messages of up to %" PRIu64 "; it needs %u (rank %u)",
              op.size, longest, parts.packets.max_eager(), op.rank);
}

}  // namespace

int check_message(const DeviceParts& parts, uint32_t device, const lci_descriptor& op) {
  const char* name = op.op == LCI_OP_AM ? "am" : op.op == LCI_OP_SEND ? "send" : "receive";
  const uint32_t size = parts.ranks;
  if (op.rank >= size && !(op.op == LCI_OP_RECV && op.rank == LCI_ANY_SOURCE)) {
    return fail(LCI_ERR_RANK, "%s: rank %u is outside 0..%u (device %u)", name, op.rank, size - 1, device);
  }
  if (op.op != LCI_OP_RECV && !parts.has_packets()) {
    return fail(LCI_ERR_UNSUPPORTED, "%s: the runtime has no packet pool (attribute alloc_default_packet_pool)", name);
  }
  if (op.op == LCI_OP_AM) {
    if (op.port == 0 || op.port > LCI_MAX_PORT) {
      return fail(LCI_ERR_PORT, "am: port %u is outside 1..%u (rank %u, device %u)", op.port, LCI_MAX_PORT, op.rank,
                  device);
    }
    if (op.policy != 0) {
      if (const int code = Replies::check(parts, op); code != LCI_DONE) return code;
    }
  } else {
    const Engine* engine = parts.targets.engine(op.port);
    const Matcher* matcher = engine ? engine->matcher() : nullptr;
    if (!matcher) {
      return fail(LCI_ERR_ARGUMENT, "%s: matching engine %u does not exist on rank %u (device %u)", name, op.port,
                  parts.rank, device);
    }
    if (matcher->keyed && !matcher->make_key && (op.flags & LCI_FLAG_PAYLOAD_MASK) == LCI_FLAG_INLINE) {
      return fail(LCI_ERR_ARGUMENT, "%s: engine %u wants a key in u.ref.remote; an inline payload has no place for it",
                  name, op.port);
    }
    if (op.tag > LCI_MAX_TAG && !(op.op == LCI_OP_RECV && op.tag == LCI_ANY_TAG)) {
      return fail(LCI_ERR_TAG, "%s: tag %" PRIu64 " exceeds %llu, the most that matching can carry (rank %u)", name,
                  op.tag, LCI_MAX_TAG, op.rank);
    }
    if (op.policy > LCI_POLICY_NONE) return fail(LCI_ERR_ARGUMENT, "%s: unknown matching policy %u", name, op.policy);
  }
  switch (op.flags & LCI_FLAG_PAYLOAD_MASK) {
    case LCI_FLAG_INLINE:
      if (op.op != LCI_OP_RECV && op.size > LCI_INLINE_MAX) {
        return fail(LCI_ERR_SIZE, "%s: an inline payload has at most %u bytes, not %u; use a packet or a buffer", name,
                    LCI_INLINE_MAX, op.size);
      }
      if (op.op == LCI_OP_RECV && op.size != 0) {
        return fail(LCI_ERR_ARGUMENT, "receive: a buffer is needed for %u bytes (LCI_FLAG_BUFFER)", op.size);
      }
      return LCI_DONE;
    case LCI_FLAG_PACKET:
      return check_packet(parts, op, name);
    case LCI_FLAG_BUFFER:
      if (op.u.ref.address == 0 && op.size != 0) {
        return fail(LCI_ERR_ARGUMENT, "%s: null buffer of %u bytes (rank %u)", name, op.size, op.rank);
      }
      return op.op == LCI_OP_RECV && !(op.flags & LCI_FLAG_LIST) ? check_longest(parts, op) : LCI_DONE;
    default:
      return fail(LCI_ERR_ARGUMENT, "%s: unknown payload form in flags 0x%x", name, op.flags);
  }
}

int check_length(const DeviceParts& parts, const lci_descriptor& op, const OpTarget& target) {
  if (op.size <= parts.packets.max_eager() || target.completion || target.lane) {
    return LCI_DONE;
  }
  return fail(LCI_ERR_ARGUMENT, "post: %u bytes to rank %u need a completion object: they cannot be sent at once",
              op.size, op.rank);
}

int check_remote(const DeviceParts& parts, uint32_t device, const lci_descriptor& op) {
  const char* const name = name_of(op);
  const bool put = op.op == LCI_OP_PUT;
  if (op.rank >= parts.ranks) {
    return fail(LCI_ERR_RANK, "%s: rank %u is outside 0..%u (device %u)", name, op.rank, parts.ranks - 1, device);
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
      if (put && op.u.ref.count == 0) return check_packet(parts, op, name);
      return fail(LCI_ERR_ARGUMENT, "%s: needs a buffer, not a packet (rank %u)", name, op.rank);
    case LCI_FLAG_BUFFER:
      if (op.u.ref.address != 0 || size == 0) return LCI_DONE;
      return fail(LCI_ERR_ARGUMENT, "%s: null buffer of %" PRIu64 " bytes (rank %u)", name, size, op.rank);
    default:
      return fail(LCI_ERR_ARGUMENT, "%s: unknown payload form in flags 0x%x", name, op.flags);
  }
}

int check_atomic(const DeviceParts& parts, uint32_t device, const lci_descriptor& op) {
  if (op.rank >= parts.ranks) {
    return fail(LCI_ERR_RANK, "atomic: rank %u is outside 0..%u (device %u)", op.rank, parts.ranks - 1, device);
  }
  if (!AtomicStep{op.policy, 0, 0}.known()) {
    return fail(LCI_ERR_ARGUMENT, "atomic: %u in `policy` is no lci_atomic_op (rank %u)", op.policy, op.rank);
  }
  if (op.port != 0 || (op.flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_INLINE) {
    return fail(LCI_ERR_ARGUMENT, "atomic: signals no port, and has its operands in the descriptor (rank %u)", op.rank);
  }
  if (op.size != kAtomicWord) {
    return fail(LCI_ERR_SIZE, "atomic: a word has %u bytes, not %u (rank %u)", kAtomicWord, op.size, op.rank);
  }
  if (op.u.atomic.displacement % kAtomicWord == 0) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "atomic: displacement %" PRIu64 " is no multiple of %u (rank %u)",
              op.u.atomic.displacement, kAtomicWord, op.rank);
}

int find_part(const DeviceParts& parts, const lci_descriptor& op, uint64_t id, RemotePart* out) {
  Remote& remote = out->remote;
  if (!parts.remotes.find(id, &remote)) return region_ended(op);
  if (remote.rank != op.rank) {
    return fail(LCI_ERR_RANK, "%s: the region is of rank %u, not %u", name_of(op), remote.rank, op.rank);
  }
  if (out->displacement <= remote.size && out->size <= remote.size - out->displacement) return LCI_DONE;
  return fail(LCI_ERR_SIZE,
              "%s: %" PRIu64 " bytes at displacement %" PRIu64 " exceed the region of %" PRIu64 " bytes (rank %u)",
              name_of(op), out->size, out->displacement, remote.size, op.rank);
}

int region_ended(const lci_descriptor& op) {
  return fail(LCI_ERR_MEMORY_CLOSED, "%s: the region of rank %u has ended, or was closed here", name_of(op), op.rank);
}

int measure_list(lci_descriptor* op) {
  if (is_remote(*op)) return measure_remote_list(op);
  const bool moves = op->op == LCI_OP_AM || op->op == LCI_OP_SEND || op->op == LCI_OP_RECV;
  if (!moves || (op->flags & LCI_FLAG_PAYLOAD_MASK) != LCI_FLAG_BUFFER) {
    return fail(LCI_ERR_ARGUMENT, "post: a list of buffers goes with LCI_FLAG_BUFFER, and with what moves bytes");
  }
  const auto* parts = reinterpret_cast<const lci_buffer*>(op->u.ref.address);
  const uint64_t count = op->u.ref.count;
  if (!parts || count == 0 || count > LCI_MAX_LIST) {
    return fail(LCI_ERR_ARGUMENT, "post: a list needs 1..%u buffers, not %" PRIu64 "%s", LCI_MAX_LIST, count,
                parts ? "" : " at null");
  }
  uint64_t size = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (!parts[i].address && parts[i].size != 0) {
      return fail(LCI_ERR_ARGUMENT, "post: buffer %" PRIu64 " of a list is null and has %" PRIu64 " bytes", i,
                  parts[i].size);
    }
    if (parts[i].size > UINT32_MAX - size) {
      return fail(LCI_ERR_SIZE, "post: the buffers of a list have more than %u bytes together", UINT32_MAX);
    }
    size += parts[i].size;
  }
  op->size = static_cast<uint32_t>(size);
  return LCI_DONE;
}

}  // namespace lci
