// SPDX-License-Identifier: Apache-2.0
// What is checked of a descriptor before anything happens: cheap, always, and without a trace when it fails. [D17]
#include <cinttypes>

#include "base/error.hpp"
#include "device/device.hpp"

namespace lci {

int Device::check(const lci_descriptor& op) const {
  const char* name = op.op == LCI_OP_AM ? "am" : op.op == LCI_OP_SEND ? "send" : "receive";
  const uint32_t size = parts_.ranks;
  if (op.rank >= size && !(op.op == LCI_OP_RECV && op.rank == LCI_ANY_SOURCE)) {
    return fail(LCI_ERR_RANK, "%s: rank %u is outside 0..%u (device %u)", name, op.rank, size - 1, index_);
  }
  if (op.op != LCI_OP_RECV && !parts_.has_packets()) {
    return fail(LCI_ERR_UNSUPPORTED, "%s: the runtime has no packet pool (attribute alloc_default_packet_pool)", name);
  }
  if (op.op == LCI_OP_AM) {
    if (op.port == 0 || op.port > LCI_MAX_PORT) {
      return fail(LCI_ERR_PORT, "am: port %u is outside 1..%u (rank %u, device %u)", op.port, LCI_MAX_PORT, op.rank,
                  index_);
    }
    if (op.policy != 0) {
      if (const int code = check_reply(op); code != LCI_DONE) return code;
    }
  } else {
    const Engine* engine = parts_.targets.engine(op.port);
    const Matcher* matcher = engine ? engine->matcher() : nullptr;
    if (!matcher) {
      return fail(LCI_ERR_ARGUMENT, "%s: matching engine %u does not exist on rank %u (device %u)", name, op.port,
                  parts_.rank, index_);
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
      return check_packet(op, name);
    case LCI_FLAG_BUFFER:
      if (op.u.ref.address == 0 && op.size != 0) {
        return fail(LCI_ERR_ARGUMENT, "%s: null buffer of %u bytes (rank %u)", name, op.size, op.rank);
      }
      return LCI_DONE;
    default:
      return fail(LCI_ERR_ARGUMENT, "%s: unknown payload form in flags 0x%x", name, op.flags);
  }
}

int Device::check_packet(const lci_descriptor& op, const char* name) const {
  const uint64_t handle = op.u.ref.address;
  if (op.op == LCI_OP_RECV || handle > UINT32_MAX || !parts_.packets.pool().owns(static_cast<uint32_t>(handle)) ||
      parts_.packets.state(static_cast<uint32_t>(handle)).held == PacketState::kNobody) {
    return fail(LCI_ERR_ARGUMENT, "%s: %" PRIu64 " is not a packet that the caller holds", name, handle);
  }
  if (op.size > parts_.packets.max_eager()) {
    return fail(LCI_ERR_SIZE, "%s: a packet carries at most %u bytes, not %u", name, parts_.packets.max_eager(),
                op.size);
  }
  return LCI_DONE;
}

/// Checks the list of an operation; its size becomes that of the parts together.
int Device::measure_list(lci_descriptor* op) const {
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
