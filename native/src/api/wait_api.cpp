// SPDX-License-Identifier: Apache-2.0
// Blocking forms of completion objects and devices. Java has its own: they are for native threads. [E10, C20]
#include <vector>

#include "api/global.hpp"
#include "device/progressing.hpp"
#include "device/waiting.hpp"

using namespace lci;

namespace {

/// Calls look() between turns until it answers something else than retry.
template <typename Look>
int wait_for(const char* operation, std::span<Device* const> devices, uint32_t timeout_ms, Look look) {
  Waiting waiting(operation, devices, timeout_ms);
  if (const int code = waiting.allowed(); code != LCI_DONE) return code;
  for (;;) {
    int code = look();
    if (code != LCI_RETRY) return code;
    code = waiting.turn();
    if (code != LCI_DONE) return code;
  }
}

template <typename Look>
int wait_for(const char* operation, lci_device* const* devices, uint32_t count, uint32_t timeout_ms, Look look) {
  if (!devices && count != 0) return fail(LCI_ERR_ARGUMENT, "%s: devices is null", operation);
  return guarded(operation, [&]() -> int {
    std::vector<Device*> progressed;
    for (uint32_t i = 0; i < count; ++i) {
      if (!devices[i]) return fail(LCI_ERR_ARGUMENT, "%s: device %u of %u is null", operation, i, count);
      progressed.push_back(from_handle(devices[i]));
    }
    return wait_for(operation, progressed, timeout_ms, look);
  });
}

}  // namespace

extern "C" {

int lci_queue_wait(lci_comp* queue, lci_device* const* devices, uint32_t device_count, uint32_t timeout_ms,
                   lci_status* out) {
  return wait_for("wait for queue", devices, device_count, timeout_ms, [&] { return lci_queue_pop(queue, out); });
}

int lci_queue_wait_many(lci_comp* queue, lci_device* const* devices, uint32_t device_count, uint32_t timeout_ms,
                        lci_status* out, uint32_t count, uint32_t* out_popped) {
  LCI_NOT_NULL(out_popped, "wait for queue");
  *out_popped = 0;
  LCI_NOT_NULL(queue, "wait for queue");
  LCI_NOT_NULL(out, "wait for queue");
  if (from_handle(queue)->kind() != Completion::Kind::kQueue) {
    return fail(LCI_ERR_ARGUMENT, "wait for queue: not a queue");
  }
  return wait_for("wait for queue", devices, device_count, timeout_ms, [&] {
    *out_popped += lci_queue_pop_many(queue, out + *out_popped, count - *out_popped);
    return *out_popped == count ? LCI_DONE : LCI_RETRY;
  });
}

int lci_synchronizer_wait(lci_comp* synchronizer, lci_device* const* devices, uint32_t device_count,
                          uint32_t timeout_ms, lci_status* out) {
  return wait_for("wait for synchronizer", devices, device_count, timeout_ms,
                  [&] { return lci_synchronizer_test(synchronizer, out); });
}

int lci_test_drained(lci_device* handle) {
  LCI_DEVICE(handle, "test drained");
  Device& device = *from_handle(handle);
  return guarded("test drained", [&]() -> int {
    if (Progressing::is(device)) return device.all_ended() ? LCI_DONE : LCI_RETRY;
    TryLockGuard guard(device.lock);
    if (!guard) return LCI_RETRY;
    if (device.lane()) return fail(LCI_ERR_DEVICE, "test drained: device %u belongs to a lane", device.index());
    return device.all_ended() ? LCI_DONE : LCI_RETRY;
  });
}

int lci_wait_drained(lci_device* device, uint32_t timeout_ms) {
  LCI_DEVICE(device, "wait until drained");
  return wait_for("wait until drained", &device, 1, timeout_ms, [&] { return lci_test_drained(device); });
}

int lci_wait_fence(lci_device* device, uint64_t fence, uint32_t timeout_ms) {
  LCI_DEVICE(device, "wait for fence");
  return wait_for("wait for fence", &device, 1, timeout_ms, [&] { return lci_device_fence_passed(device, fence); });
}

}  // extern "C"
