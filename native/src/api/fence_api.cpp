// SPDX-License-Identifier: Apache-2.0
#include "api/guard.hpp"
#include "api/handles.hpp"

using namespace lci;

namespace {

int check_fence(Device& device, uint64_t fence) {
  if (fence != 0 && fence <= device.fences().begun()) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "fence: device %u has begun %lu of them, %lu is none", device.index(),
              device.fences().begun(), fence);
}

int passed(Device& device, uint64_t fence) {
  if (const int code = check_fence(device, fence); code != LCI_DONE) return code;
  return device.fences().passed(fence) ? LCI_DONE : LCI_RETRY;
}

/// Runs @p work with a device that no lane owns. @p busy: the answer if another thread is inside.
template <typename F>
int with_device(lci_device* handle, int busy, F work) {
  LCI_NOT_NULL(handle, "fence");
  LCI_NOT_IN_HANDLER("fence");
  Device& device = *from_handle(handle);
  return guarded("fence", [&]() -> int {
    const TryLockGuard guard(device.lock);
    if (!guard) return busy;
    if (device.lane()) return fail(LCI_ERR_DEVICE, "fence: device %u belongs to a lane", device.index());
    return work(device);
  });
}

/// Runs @p work with a device of a lane, by the lane's own thread.
template <typename F>
int with_lane(lci_lane* lane, uint32_t index, F work) {
  LCI_NOT_NULL(lane, "fence");
  LCI_NOT_IN_HANDLER("fence");
  return guarded("fence", [&]() -> int {
    if (index >= lane->lane->device_count()) {
      return fail(LCI_ERR_DEVICE, "fence: device %u of a lane with %u", index, lane->lane->device_count());
    }
    return lane->lane->alone([&] { return work(lane->lane->device(index)); });
  });
}

int check_rank(const Device& device, uint32_t rank) {
  if (rank < device.parts().ranks) return LCI_DONE;
  return fail(LCI_ERR_RANK, "fence: rank %u of %u", rank, device.parts().ranks);
}

}  // namespace

extern "C" {

int lci_device_fence(lci_device* device, uint64_t* out_fence) {
  LCI_NOT_NULL(out_fence, "fence");
  return with_device(device, LCI_RETRY_LOCK, [&](Device& own) {
    *out_fence = own.begin_fence();
    return LCI_DONE;
  });
}

int lci_device_fence_passed(lci_device* device, uint64_t fence) {
  return with_device(device, LCI_RETRY, [&](Device& own) { return passed(own, fence); });
}

int lci_lane_fence(lci_lane* lane, uint32_t device_index, uint64_t* out_fence) {
  LCI_NOT_NULL(out_fence, "fence");
  return with_lane(lane, device_index, [&](Device& own) {
    *out_fence = own.begin_fence();
    return LCI_DONE;
  });
}

int lci_lane_fence_passed(lci_lane* lane, uint32_t device_index, uint64_t fence) {
  return with_lane(lane, device_index, [&](Device& own) { return passed(own, fence); });
}

int lci_lane_sent(lci_lane* lane, uint32_t device_index, uint32_t rank, uint32_t* out_position) {
  LCI_NOT_NULL(out_position, "fence");
  return with_lane(lane, device_index, [&](Device& own) -> int {
    if (const int code = check_rank(own, rank); code != LCI_DONE) return code;
    return own.fences().sent(rank, out_position) ? LCI_DONE : LCI_RETRY;
  });
}

int lci_lane_delivered(lci_lane* lane, uint32_t device_index, uint32_t rank, uint32_t position) {
  return with_lane(lane, device_index, [&](Device& own) -> int {
    if (const int code = check_rank(own, rank); code != LCI_DONE) return code;
    return own.fences().delivered(rank, position);
  });
}

}  // extern "C"
