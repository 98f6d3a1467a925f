// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/blocking_post.hpp"
#include "api/global.hpp"
#include "device/waiting.hpp"

using namespace lci;

namespace {

/// Whether the operation can be answered with posted, whatever the answer is this time. So can long messages: the
/// device looks at them, which measures lists.
bool needs_target(const lci_descriptor& op) {
  switch (op.op) {
    case LCI_OP_RECV:
    case LCI_OP_BARRIER:
    case LCI_OP_COLLECTIVE:
    case LCI_OP_PUT:
    case LCI_OP_GET:
    case LCI_OP_ATOMIC:
      return true;
    case LCI_OP_AM:
    case LCI_OP_SEND:
      return (op.flags & (LCI_FLAG_SIGNAL | LCI_FLAG_NETWORK)) != 0;
    default:
      return (op.flags & LCI_FLAG_SIGNAL) != 0;
  }
}

/// What is signalled if the operation is posted.
int find_target(const lci_descriptor& op, lci_comp* comp, Runtime& runtime, Completion** out) {
  *out = comp ? from_handle(comp) : nullptr;
  if (op.flags & LCI_FLAG_COMP) {
    const auto id = static_cast<uint32_t>(op.user_context);
    *out = runtime.completions().find(id);
    if (!*out) {
      return fail(LCI_ERR_ARGUMENT, "post: LCI_FLAG_COMP names completion object %u, which rank %u does not have", id,
                  runtime.rank());
    }
  }
  if (*out) return check_own(**out, runtime, "post");
  if (!needs_target(op)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT,
              "post: operation %u of %u bytes to rank %u may be posted, and needs a completion object even if it could "
              "be done at once",
              op.op, op.size, op.rank);
}

int post_any(lci_device* handle, lci_descriptor* op, lci_comp* comp, lci_status* out) {
  LCI_DEVICE(handle, "post");
  LCI_NOT_NULL(op, "post");
  Device& device = *from_handle(handle);
  return guarded("post", [&]() -> int {
    if (is_blocking(*op, comp)) return post_blocking(handle, op, comp, out);
    OpTarget target{nullptr, nullptr, op->user_context};
    target.outstanding = &device.outstanding();
    if (const int code = find_target(*op, comp, device.runtime(), &target.completion); code != LCI_DONE) return code;
    return post_shared(device, *op, target, out);
  });
}

int check_signal_port(const char* operation, uint32_t port) {
  if (port != 0 && port <= LCI_MAX_PORT) return LCI_DONE;
  return fail(LCI_ERR_PORT, "%s with signal: port %u is outside 1..%u", operation, port, LCI_MAX_PORT);
}

int post_remote(lci_op_kind kind, lci_device* device, uint32_t rank, const void* buffer, uint64_t size, uint64_t remote,
                uint64_t displacement, uint32_t port, uint64_t tag, lci_comp* comp, uint64_t user_context) {
  lci_descriptor op{};
  op.op = static_cast<uint8_t>(kind);
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.port = static_cast<uint16_t>(port);
  op.tag = tag;
  op.user_context = user_context;
  const bool narrow = size <= UINT32_MAX;
  op.size = narrow ? static_cast<uint32_t>(size) : 0;
  op.u.ref = {reinterpret_cast<uint64_t>(buffer), remote, displacement, narrow ? 0 : size};
  return lci_post(device, &op, comp, nullptr);
}

}  // namespace

extern "C" {

int lci_progress(lci_device* handle) {
  LCI_DEVICE(handle, "progress");
  Device& device = *from_handle(handle);
  if (in_signal_context()) {
    return fail(LCI_ERR_SIGNAL_CONTEXT, "progress: called from a handler; return from it first (device %u)",
                device.index());
  }
  return guarded("progress", [&] { return progress_shared(device); });
}

int lci_post(lci_device* device, lci_descriptor* op, lci_comp* comp, lci_status* out) {
  const int code = post_any(device, op, comp, out);
  if (out && !is_done(code)) out->code = code;
  return code;
}

int lci_port_reply_room(lci_runtime* runtime, uint32_t port, uint32_t count, uint32_t bytes, uint8_t* out_id) {
  LCI_RUNTIME(runtime, "reply room");
  LCI_NOT_NULL(out_id, "reply room");
  const uint32_t most = runtime->runtime->packets().max_eager();
  if (bytes > most) {
    return fail(LCI_ERR_SIZE, "reply room: a reply has at most %u bytes, not %u (port %u)", most, bytes, port);
  }
  return guarded("reply room", [&] { return runtime->runtime->targets().add_reply_room(port, count, bytes, out_id); });
}

int lci_post_am(lci_device* device, uint32_t rank, uint32_t port, uint64_t tag, const void* buffer, uint32_t size,
                lci_comp* comp, uint64_t user_context) {
  if (port == 0 || port > LCI_MAX_PORT) return fail(LCI_ERR_PORT, "am: port %u is outside 1..%u", port, LCI_MAX_PORT);
  lci_descriptor op{};
  op.op = LCI_OP_AM;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.port = static_cast<uint16_t>(port);
  op.size = size;
  op.tag = tag;
  op.user_context = user_context;
  op.u.ref.address = reinterpret_cast<uint64_t>(buffer);
  return lci_post(device, &op, comp, nullptr);
}

int lci_post_send(lci_device* device, uint32_t rank, uint64_t tag, const void* buffer, uint32_t size, lci_comp* comp,
                  uint64_t user_context) {
  lci_descriptor op{};
  op.op = LCI_OP_SEND;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.size = size;
  op.tag = tag;
  op.user_context = user_context;
  op.u.ref.address = reinterpret_cast<uint64_t>(buffer);
  return lci_post(device, &op, comp, nullptr);
}

int lci_post_recv(lci_device* device, uint32_t rank, uint64_t tag, void* buffer, uint32_t size, lci_comp* comp,
                  uint64_t user_context, lci_status* out) {
  return lci_post_recv_long(device, rank, tag, buffer, size, 0, comp, user_context, out);
}

int lci_post_recv_long(lci_device* device, uint32_t rank, uint64_t tag, void* buffer, uint32_t size, uint64_t longest,
                       lci_comp* comp, uint64_t user_context, lci_status* out) {
  lci_descriptor op{};
  op.op = LCI_OP_RECV;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.size = size;
  op.tag = tag;
  op.user_context = user_context;
  op.u.ref.address = reinterpret_cast<uint64_t>(buffer);
  op.u.ref.count = longest;
  return lci_post(device, &op, comp, out);
}

int lci_post_barrier(lci_device* device, lci_comp* comp, uint64_t user_context) {
  lci_descriptor op{};
  op.op = LCI_OP_BARRIER;
  op.user_context = user_context;
  return lci_post(device, &op, comp, nullptr);
}

int lci_post_cancel(lci_device* device, uint64_t user_context) {
  lci_descriptor op{};
  op.op = LCI_OP_CANCEL;
  op.tag = user_context;
  return lci_post(device, &op, nullptr, nullptr);
}

int lci_post_put(lci_device* device, uint32_t rank, const void* buffer, uint64_t size, uint64_t remote,
                 uint64_t displacement, lci_comp* comp, uint64_t user_context) {
  return post_remote(LCI_OP_PUT, device, rank, buffer, size, remote, displacement, 0, 0, comp, user_context);
}

int lci_post_get(lci_device* device, uint32_t rank, void* buffer, uint64_t size, uint64_t remote, uint64_t displacement,
                 lci_comp* comp, uint64_t user_context) {
  return post_remote(LCI_OP_GET, device, rank, buffer, size, remote, displacement, 0, 0, comp, user_context);
}

int lci_post_put_signal(lci_device* device, uint32_t rank, const void* buffer, uint64_t size, uint64_t remote,
                        uint64_t displacement, uint32_t port, uint64_t tag, lci_comp* comp, uint64_t user_context) {
  if (const int code = check_signal_port("put", port); code != LCI_DONE) return code;
  return post_remote(LCI_OP_PUT, device, rank, buffer, size, remote, displacement, port, tag, comp, user_context);
}

int lci_post_get_signal(lci_device* device, uint32_t rank, void* buffer, uint64_t size, uint64_t remote,
                        uint64_t displacement, uint32_t port, uint64_t tag, lci_comp* comp, uint64_t user_context) {
  if (const int code = check_signal_port("get", port); code != LCI_DONE) return code;
  return post_remote(LCI_OP_GET, device, rank, buffer, size, remote, displacement, port, tag, comp, user_context);
}

int lci_post_atomic(lci_device* device, uint32_t rank, int operation, uint64_t operand, uint64_t expected,
                    uint64_t remote, uint64_t displacement, lci_comp* comp, uint64_t user_context, lci_status* out) {
  if (operation < LCI_ATOMIC_ADD || operation > LCI_ATOMIC_COMPARE_SWAP) {
    return fail(LCI_ERR_ARGUMENT, "atomic: %d is no lci_atomic_op (rank %u)", operation, rank);
  }
  lci_descriptor op{};
  op.op = LCI_OP_ATOMIC;
  op.policy = static_cast<uint8_t>(operation);
  op.rank = rank;
  op.size = sizeof(uint64_t);
  op.user_context = user_context;
  op.u.atomic = {operand, remote, displacement, expected};
  return lci_post(device, &op, comp, out);
}

}  // extern "C"
