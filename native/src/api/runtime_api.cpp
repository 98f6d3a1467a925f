// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "api/global.hpp"
#include "base/counters.hpp"
#include "bootstrap/inproc.hpp"
#include "host/debugger.hpp"

using namespace lci;

namespace lci {

int create_runtime(const AttributeSet& attributes, lci_inproc* job, uint32_t inproc_rank, lci_runtime** out) {
  wait_for_debugger();
  auto handle = std::make_unique<lci_runtime>();
  const int code = Runtime::create(&attributes, job, inproc_rank, &handle->runtime);
  if (code == LCI_DONE) *out = handle.release();
  return code;
}

}  // namespace lci

extern "C" {

const char* lci_code_name(int code) {
  return code_name(code);
}
const char* lci_last_error(void) {
  return last_error();
}
int lci_last_error_rank(void) {
  return last_error_rank();
}
const char* lci_version(void) {
  return "0.1.0";
}

int lci_inproc_create(uint32_t size, lci_inproc** out) {
  LCI_NOT_NULL(out, "create inproc job");
  return guarded("create inproc job", [&] { return create_inproc(size, out); });
}
void lci_inproc_free(lci_inproc* job) {
  release_inproc(job);
}

int lci_runtime_create(const lci_attrs* attrs, lci_inproc* job, uint32_t inproc_rank, lci_runtime** out) {
  LCI_NOT_NULL(out, "create runtime");
  LCI_NOT_IN_HANDLER("create runtime");
  return guarded("create runtime", [&] {
    return create_runtime(with_global_defaults(attrs ? &attrs->set : nullptr), job, inproc_rank, out);
  });
}

int lci_runtime_close(lci_runtime* runtime, uint32_t timeout_ms) {
  LCI_NOT_NULL(runtime, "close runtime");
  LCI_NOT_IN_HANDLER("close runtime");
  return guarded("close runtime", [&] {
    for (uint32_t i = 0; i < runtime->runtime->devices(); ++i) {
      if (runtime->runtime->device(i).lane()) {
        return fail(LCI_ERR_BUSY, "close runtime: device %u still belongs to a lane; free the lane first", i);
      }
    }
    runtime->runtime->close(uint64_t{timeout_ms} * 1'000'000u);
    const uint64_t lost = runtime->runtime->shared.get(Metric::packets_held);
    if (lost != 0) {
      LCI_LOG(runtime->runtime->log(), LogLevel::kWarn, "packets", "%lu packets were not given back", lost);
    }
    delete runtime;
    if (lost == 0) return static_cast<int>(LCI_DONE);
    return fail(LCI_DONE, "close runtime: %lu packets were not given back (lci_packet_put)", lost);
  });
}

uint32_t lci_runtime_rank(const lci_runtime* runtime) {
  if (!runtime) runtime = global_runtime();
  return runtime ? runtime->runtime->rank() : LCI_NO_RANK;
}
uint32_t lci_runtime_size(const lci_runtime* runtime) {
  if (!runtime) runtime = global_runtime();
  return runtime ? runtime->runtime->size() : 0;
}
uint32_t lci_runtime_max_eager(const lci_runtime* runtime) {
  if (!runtime) runtime = global_runtime();
  return runtime ? runtime->runtime->packets().max_eager() : 0;
}

int lci_runtime_peer(const lci_runtime* runtime, uint32_t rank, int32_t* out_state) {
  LCI_RUNTIME(runtime, "peer state");
  LCI_NOT_NULL(out_state, "peer state");
  if (rank >= runtime->runtime->size()) {
    return fail(LCI_ERR_RANK, "peer state: rank %u is outside 0..%u", rank, runtime->runtime->size() - 1);
  }
  *out_state = peer_state_of(runtime->runtime->peers().state(rank));
  return LCI_DONE;
}

uint32_t lci_runtime_snapshot(const lci_runtime* runtime, uint64_t* out, uint32_t count) {
  if (!runtime) runtime = global_runtime();
  return runtime ? runtime->runtime->snapshot(out, out ? count : 0) : 0;
}
uint32_t lci_runtime_snapshot_part(const lci_runtime* runtime, uint32_t device, uint64_t* out, uint32_t count) {
  if (!runtime) runtime = global_runtime();
  return runtime ? runtime->runtime->snapshot_part(device, out, out ? count : 0) : 0;
}
const char* lci_counter_name(uint32_t index) {
  return counter_name(index);
}
const char* lci_counter_help(uint32_t index) {
  return counter_help(index);
}

int lci_runtime_arena(const lci_runtime* runtime, uint64_t* out_base, uint64_t* out_length) {
  LCI_RUNTIME(runtime, "arena");
  LCI_NOT_NULL(out_base, "arena");
  LCI_NOT_NULL(out_length, "arena");
  runtime->runtime->keep_ranges();
  *out_base = reinterpret_cast<uint64_t>(runtime->runtime->memory().base());
  *out_length = runtime->runtime->memory().reserve();
  return LCI_DONE;
}

int lci_runtime_peer_arena(lci_runtime* runtime, uint32_t rank, uint64_t* out_base, uint64_t* out_length) {
  LCI_RUNTIME(runtime, "peer arena");
  LCI_NOT_NULL(out_base, "peer arena");
  LCI_NOT_NULL(out_length, "peer arena");
  const uint32_t size = runtime->runtime->size();
  if (rank >= size) return fail(LCI_ERR_RANK, "peer arena: rank %u is outside 0..%u", rank, size - 1);
  PeerMemory* memory = nullptr;
  if (const int code = runtime->runtime->peers().memory(rank, "peer arena", &memory); code != LCI_DONE) return code;
  memory->keep_range();
  *out_base = reinterpret_cast<uint64_t>(memory->base());
  *out_length = memory->reserve();
  return LCI_DONE;
}

int lci_runtime_device(lci_runtime* runtime, uint32_t index, lci_device** out) {
  LCI_RUNTIME(runtime, "get device");
  LCI_NOT_NULL(out, "get device");
  *out = nullptr;
  const uint32_t devices = runtime->runtime->devices();
  if (devices == 0) return fail(LCI_ERR_DEVICE, "get device: the runtime has none (attribute alloc_default_device)");
  if (index >= devices) {
    return fail(LCI_ERR_DEVICE, "get device: %u is outside 0..%u (attribute devices, lci_device_add)", index,
                devices - 1);
  }
  *out = to_handle(&runtime->runtime->device(index));
  return LCI_DONE;
}

int lci_device_add(lci_runtime* runtime, lci_device** out) {
  LCI_RUNTIME(runtime, "add device");
  LCI_NOT_NULL(out, "add device");
  *out = nullptr;
  LCI_NOT_IN_HANDLER("add device");
  return guarded("add device", [&] {
    Device* added = nullptr;
    const int code = runtime->runtime->add_device(&added);
    if (code == LCI_DONE) *out = to_handle(added);
    return code;
  });
}

}  // extern "C"
