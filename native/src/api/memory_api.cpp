// SPDX-License-Identifier: Apache-2.0
#include "api/global.hpp"
#include "rma/open_remote.hpp"

using namespace lci;

extern "C" {

int lci_memory_allocate(lci_runtime* runtime, uint64_t bytes, lci_memory** out, void** out_address) {
  LCI_RUNTIME(runtime, "allocate remote memory");
  LCI_NOT_NULL(out, "allocate remote memory");
  LCI_NOT_NULL(out_address, "allocate remote memory");
  return guarded("allocate remote memory", [&] {
    RegionTable& regions = runtime->runtime->regions();
    Region* region = nullptr;
    const int code = regions.allocate(bytes, &region);
    if (code != LCI_DONE) return code;
    *out = to_handle(region);
    *out_address = regions.address(*region);
    return code;
  });
}

int lci_memory_free(lci_memory* memory) {
  LCI_NOT_NULL(memory, "free remote memory");
  return guarded("free remote memory", [&] {
    Region* region = from_handle(memory);
    return region->runtime->regions().free(region);
  });
}

int lci_memory_register(lci_runtime* runtime, void* address, uint64_t bytes, lci_memory** out) {
  LCI_RUNTIME(runtime, "register memory");
  LCI_NOT_NULL(out, "register memory");
  return guarded("register memory", [&] {
    Region* region = nullptr;
    const int code = runtime->runtime->regions().add(address, bytes, &region);
    if (code == LCI_DONE) *out = to_handle(region);
    return code;
  });
}

int lci_memory_deregister(lci_memory* memory) {
  LCI_NOT_NULL(memory, "deregister memory");
  return guarded("deregister memory", [&]() -> int {
    Region* region = from_handle(memory);
    if (region->allocated) return fail(LCI_ERR_ARGUMENT, "deregister memory: it was allocated; free it");
    region->runtime->regions().remove(region);
    return LCI_DONE;
  });
}

int lci_memory_handle(const lci_memory* memory, void* out, size_t size) {
  LCI_NOT_NULL(memory, "memory handle");
  LCI_NOT_NULL(out, "memory handle");
  if (size < LCI_MEMORY_HANDLE_SIZE) {
    return fail(LCI_ERR_SIZE, "memory handle: needs %u bytes, not %zu", LCI_MEMORY_HANDLE_SIZE, size);
  }
  const Region& region = *from_handle(memory);
  encode({region.runtime->rank(), region.index, region.key, region.size}, out);
  return LCI_DONE;
}

int lci_remote_open(lci_runtime* runtime, uint32_t rank, const void* handle, size_t length, uint64_t* out_id,
                    uint64_t* out_size) {
  LCI_RUNTIME(runtime, "open remote memory");
  LCI_NOT_NULL(handle, "open remote memory");
  LCI_NOT_NULL(out_id, "open remote memory");
  return guarded("open remote memory", [&]() -> int {
    MemoryHandle decoded;
    int code = decode(handle, length, &decoded);
    if (code != LCI_DONE) return code;
    Remote remote;
    code = open_remote(runtime->runtime->copiers(), rank, decoded, &remote);
    if (code != LCI_DONE) return code;
    if (!runtime->runtime->remotes().add(remote, out_id)) {
      return fail(LCI_ERR_EXHAUSTED, "open remote memory: %u regions are open", kMaxRemotes);
    }
    if (out_size) *out_size = remote.size;
    return LCI_DONE;
  });
}

int lci_remote_close(lci_runtime* runtime, uint64_t id) {
  LCI_RUNTIME(runtime, "close remote memory");
  return guarded("close remote memory", [&]() -> int {
    if (runtime->runtime->remotes().remove(id)) return LCI_DONE;
    return fail(LCI_ERR_MEMORY_CLOSED, "close remote memory: no region is open as %llu",
                static_cast<unsigned long long>(id));
  });
}

}  // extern "C"
