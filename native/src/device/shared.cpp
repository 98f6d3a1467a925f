// SPDX-License-Identifier: Apache-2.0
#include "device/shared.hpp"

#include "base/error.hpp"
#include "device/progressing.hpp"

namespace lci {
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

int post_or_wait_locked(Device& device, WaitingOp& op, lci_status* done) {
  if (device.lane()) return fail(LCI_ERR_DEVICE, "post: device %u belongs to a lane", device.index());
  device.begin_batch();
  const int code = device.post_or_wait(op, done);
  device.ring_doorbells();
  return code;
}

}  // namespace

int progress_shared(Device& device) {
  TryLockGuard guard(device.lock);
  if (!guard) return LCI_RETRY;
  if (device.lane()) return fail(LCI_ERR_DEVICE, "progress: device %u belongs to a lane", device.index());
  const Progressing mark(device);
  if (device.short_pass()) return LCI_DONE;
  device.parts().transport.look(false);
  Budget budget;
  const bool moved = device.progress(budget);
  return moved ? LCI_DONE : LCI_RETRY;
}

int post_shared(Device& device, lci_descriptor& op, const OpTarget& target, lci_status* out) {
  if (Progressing::is(device)) return post_locked(device, op, target, out);
  TryLockGuard taken(device.lock);
  if (!taken) {
    if (!(op.flags & LCI_FLAG_NO_RETRY)) {
      device.refused_by_lock.fetch_add(1, std::memory_order_relaxed);
      return LCI_RETRY_LOCK;
    }
    // The thread that has the lock may be in a handler, too, and want a device of this one: nobody waits in handlers.
    if (in_signal_context() && !device.lane()) {
      const int code = device.hand_over(op, op.u.inline_payload, target);
      if (out && is_done(code)) *out = done_status(op, target);
      return code;
    }
    device.lock.lock();
  }
  struct Unlock {
    TryLock* lock;
    ~Unlock() {
      if (lock) lock->unlock();
    }
  } unlock{taken ? nullptr : &device.lock};
  if (device.lane()) return fail(LCI_ERR_DEVICE, "post: device %u belongs to a lane", device.index());
  return post_locked(device, op, target, out);
}

int post_or_wait_shared(Device& device, WaitingOp& op, lci_status* done) {
  if (Progressing::is(device)) return device.post_or_wait(op, done);
  const TryLockGuard taken(device.lock);
  if (taken) return post_or_wait_locked(device, op, done);
  // The thread that has the lock may be in a handler, too, and want a device of this one: nobody waits in handlers.
  if (device.lane()) return fail(LCI_ERR_DEVICE, "post: device %u belongs to a lane", device.index());
  return device.leave(op);
}

}  // namespace lci
