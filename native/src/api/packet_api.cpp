// SPDX-License-Identifier: Apache-2.0
#include <cinttypes>

#include "api/global.hpp"

using namespace lci;

namespace {

constexpr uint32_t kMostPackets = 1u << 24;  // as of attribute packets_max

}  // namespace

extern "C" {

int lci_packet_get(lci_device* device, uint64_t* handle, void** payload) {
  LCI_DEVICE(device, "get packet");
  LCI_NOT_NULL(handle, "get packet");
  LCI_NOT_NULL(payload, "get packet");
  Runtime& runtime = from_handle(device)->runtime();
  *handle = 0;
  if (!runtime.has_packets()) {
    return fail(LCI_ERR_UNSUPPORTED,
                "get packet: the runtime has no packet pool (attribute alloc_default_packet_pool)");
  }
  return guarded("get packet", [&]() -> int {
    const uint32_t packet = runtime.packets().hold(from_handle(device)->index());
    if (packet == 0) {  // its next pass looks whether other devices have some
      runtime.packets().wait(from_handle(device)->index());
      return LCI_RETRY_NOPACKET;
    }
    *handle = packet;
    *payload = runtime.packets().payload(packet);
    return LCI_DONE;
  });
}

int lci_packet_put(lci_device* device, uint64_t handle) {
  LCI_DEVICE(device, "put packet");
  Runtime& runtime = from_handle(device)->runtime();
  if (!runtime.packets().unhold(handle)) {
    return fail(LCI_ERR_ARGUMENT, "put packet: %" PRIu64 " is not a packet that the caller holds", handle);
  }
  runtime.packets().put(from_handle(device)->index(), static_cast<uint32_t>(handle));
  return LCI_DONE;
}

int lci_pool_create(lci_runtime* runtime, uint32_t packets, uint32_t packets_max, uint32_t* out_number) {
  LCI_RUNTIME(runtime, "create packet pool");
  LCI_NOT_NULL(out_number, "create packet pool");
  if (packets == 0 || packets_max < packets || packets_max > kMostPackets) {
    return fail(LCI_ERR_ARGUMENT, "create packet pool: %u packets at a time, %u at most", packets, packets_max);
  }
  return guarded("create packet pool", [&]() -> int {
    Runtime& owner = *runtime->runtime;
    if (!owner.has_packets()) {
      return fail(LCI_ERR_UNSUPPORTED,
                  "create packet pool: the ranks have no packets (attribute alloc_default_packet_pool)");
    }
    const uint32_t number = owner.packets().pool().add(packets, packets_max);
    if (number == 0) return fail(LCI_ERR_EXHAUSTED, "create packet pool: there are %u already", PacketPools::kMost);
    *out_number = number;
    return LCI_DONE;
  });
}

int lci_device_use_pool(lci_device* device, uint32_t number) {
  LCI_DEVICE(device, "use packet pool");
  Device& user = *from_handle(device);
  if (user.runtime().packets().pool().bind(user.index(), number)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "use packet pool: there is no pool %u (device %u)", number, user.index());
}

}  // extern "C"
