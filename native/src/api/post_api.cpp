// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "api/guard.hpp"
#include "api/handles.hpp"

using namespace lci;

namespace {

int post_locked(Device& device, lci_descriptor& op, const OpTarget& target, lci_status* out) {
  lci_status done;
  const bool progressing = Progressing::is(device);
  if (!progressing) device.begin_batch();
  const int code = device.post(op, op.u.inline_payload, target, out ? out : &done);
  if (!progressing) device.ring_doorbells();
  op.outcome = static_cast<uint16_t>(code);
  return code;
}

}  // namespace

extern "C" {

int lci_progress(lci_device* handle) {
  LCI_NOT_NULL(handle, "progress");
  Device& device = *from_handle(handle);
  if (in_signal_context()) {
    return fail(LCI_ERR_SIGNAL_CONTEXT, "progress: called from a handler; return from it first (device %u)",
                device.index());
  }
  return guarded("progress", [&]() -> int {
    TryLockGuard guard(device.lock);
    if (!guard) return LCI_RETRY;
    if (device.lane()) return fail(LCI_ERR_DEVICE, "progress: device %u belongs to a lane", device.index());
    const Progressing mark(device);
    device.runtime().look_at_peers(false);
    return device.progress({}) ? LCI_DONE : LCI_RETRY;
  });
}

int lci_post(lci_device* handle, lci_descriptor* op, lci_comp* comp, lci_status* out) {
  LCI_NOT_NULL(handle, "post");
  LCI_NOT_NULL(op, "post");
  Device& device = *from_handle(handle);
  return guarded("post", [&]() -> int {
    OpTarget target{comp ? from_handle(comp) : nullptr, nullptr, op->user_context};
    if (op->flags & LCI_FLAG_COMP)
      target.completion = device.runtime().completion(static_cast<uint32_t>(op->user_context));
    const bool needs_target = op->op == LCI_OP_RECV || op->op == LCI_OP_BARRIER || (op->flags & LCI_FLAG_SIGNAL);
    if (needs_target && !target.completion)
      return fail(LCI_ERR_ARGUMENT, "post: the operation needs a completion object");
    if (Progressing::is(device)) return post_locked(device, *op, target, out);
    TryLockGuard guard(device.lock);
    if (!guard) {
      if (!(op->flags & LCI_FLAG_NO_RETRY)) return LCI_RETRY_LOCK;
      // Whoever has the lock may be in a handler, too, and want a device of this thread: nobody waits in handlers.
      if (in_signal_context() && !device.lane()) return device.hand_over(*op, op->u.inline_payload, target);
      device.lock.lock();
    }
    struct Unlock {
      TryLock* lock;
      ~Unlock() {
        if (lock) lock->unlock();
      }
    } unlock{guard ? nullptr : &device.lock};
    if (device.lane()) return fail(LCI_ERR_DEVICE, "post: device %u belongs to a lane", device.index());
    return post_locked(device, *op, target, out);
  });
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
  lci_descriptor op{};
  op.op = LCI_OP_RECV;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.size = size;
  op.tag = tag;
  op.user_context = user_context;
  op.u.ref.address = reinterpret_cast<uint64_t>(buffer);
  return lci_post(device, &op, comp, out);
}

}  // extern "C"
