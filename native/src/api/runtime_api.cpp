// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "api/guard.hpp"
#include "api/handles.hpp"
#include "base/attributes.hpp"
#include "bootstrap/inproc.hpp"
#include "completion/queue.hpp"
#include "runtime/counters.hpp"

using namespace lci;

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

int lci_attrs_create(lci_attrs** out) {
  LCI_NOT_NULL(out, "create attributes");
  return guarded("create attributes", [&] {
    *out = new lci_attrs;
    return LCI_DONE;
  });
}
void lci_attrs_free(lci_attrs* attrs) {
  delete attrs;
}
int lci_attrs_set(lci_attrs* attrs, const char* name, const char* value) {
  LCI_NOT_NULL(attrs, "set attribute");
  LCI_NOT_NULL(name, "set attribute");
  LCI_NOT_NULL(value, "set attribute");
  return guarded("set attribute", [&] { return attrs->set.set(name, value); });
}
int lci_attrs_own(lci_attrs* attrs, const char* name) {
  LCI_NOT_NULL(attrs, "own attribute");
  LCI_NOT_NULL(name, "own attribute");
  return guarded("own attribute", [&] { return attrs->set.own(name); });
}
const char* lci_attr_name(uint32_t index) {
  return attr_name(index);
}
const char* lci_attr_default(uint32_t index) {
  return attr_default(index);
}
const char* lci_attr_help(uint32_t index) {
  return attr_help(index);
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
  return guarded("create runtime", [&] {
    auto handle = std::make_unique<lci_runtime>();
    const int code = Runtime::create(attrs ? &attrs->set : nullptr, job, inproc_rank, &handle->runtime);
    if (code == LCI_DONE) *out = handle.release();
    return code;
  });
}

int lci_runtime_close(lci_runtime* runtime, uint32_t timeout_ms) {
  LCI_NOT_NULL(runtime, "close runtime");
  return guarded("close runtime", [&] {
    for (uint32_t i = 0; i < runtime->runtime->devices(); ++i) {
      if (runtime->runtime->device(i).lane()) {
        return fail(LCI_ERR_BUSY, "close runtime: device %u still belongs to a lane; free the lane first", i);
      }
    }
    runtime->runtime->close(uint64_t{timeout_ms} * 1'000'000u);
    delete runtime;
    return static_cast<int>(LCI_DONE);
  });
}

uint32_t lci_runtime_rank(const lci_runtime* runtime) {
  return runtime->runtime->rank();
}
uint32_t lci_runtime_size(const lci_runtime* runtime) {
  return runtime->runtime->size();
}
uint32_t lci_runtime_max_eager(const lci_runtime* runtime) {
  return runtime->runtime->max_eager();
}

int lci_runtime_attr(const lci_runtime* runtime, const char* name, char* out, size_t out_size) {
  LCI_NOT_NULL(runtime, "get attribute");
  LCI_NOT_NULL(name, "get attribute");
  LCI_NOT_NULL(out, "get attribute");
  return guarded("get attribute", [&]() -> int {
    const auto text = attribute_text(runtime->runtime->attributes(), name);
    if (!text) return fail(LCI_ERR_ATTRIBUTE, "get attribute: '%s' is unknown", name);
    if (text->size() >= out_size)
      return fail(LCI_ERR_SIZE, "get attribute: '%s' needs %zu bytes", name, text->size() + 1);
    std::memcpy(out, text->c_str(), text->size() + 1);
    return LCI_DONE;
  });
}

int lci_runtime_peer(const lci_runtime* runtime, uint32_t rank, int32_t* out_state) {
  LCI_NOT_NULL(runtime, "peer state");
  LCI_NOT_NULL(out_state, "peer state");
  if (rank >= runtime->runtime->size()) {
    return fail(LCI_ERR_RANK, "peer state: rank %u is outside 0..%u", rank, runtime->runtime->size() - 1);
  }
  const RankState state = runtime->runtime->peer_state(rank);
  *out_state = state == RankState::kLeft     ? LCI_PEER_LEFT
               : state == RankState::kFailed ? LCI_PEER_FAILED
                                             : LCI_PEER_ALIVE;
  return LCI_DONE;
}

uint32_t lci_runtime_snapshot(const lci_runtime* runtime, uint64_t* out, uint32_t count) {
  return runtime->runtime->snapshot(out, out ? count : 0);
}
const char* lci_counter_name(uint32_t index) {
  return counter_name(index);
}

int lci_runtime_arena(const lci_runtime* runtime, uint64_t* out_base, uint64_t* out_length) {
  LCI_NOT_NULL(runtime, "arena");
  LCI_NOT_NULL(out_base, "arena");
  LCI_NOT_NULL(out_length, "arena");
  runtime->runtime->keep_ranges();
  *out_base = reinterpret_cast<uint64_t>(runtime->runtime->arena().base());
  *out_length = runtime->runtime->arena().reserve();
  return LCI_DONE;
}

int lci_runtime_device(lci_runtime* runtime, uint32_t index, lci_device** out) {
  LCI_NOT_NULL(runtime, "get device");
  LCI_NOT_NULL(out, "get device");
  if (index >= runtime->runtime->devices()) {
    return fail(LCI_ERR_DEVICE, "get device: %u is outside 0..%u (attribute devices)", index,
                runtime->runtime->devices() - 1);
  }
  *out = to_handle(&runtime->runtime->device(index));
  return LCI_DONE;
}

int lci_port_open(lci_runtime* runtime, uint32_t number, const char* name, lci_comp* comp, uint32_t messages,
                  uint64_t bytes) {
  LCI_NOT_NULL(runtime, "open port");
  LCI_NOT_NULL(comp, "open port");
  return guarded("open port", [&] {
    const Attributes& attributes = runtime->runtime->attributes();
    Completion* completion = from_handle(comp);
    uint32_t capacity = messages != 0 ? messages : attributes.inbox_messages;
    // What is granted must find room: the queue's own bound counts too.
    if (completion->kind() == Completion::Kind::kQueue) {
      capacity = std::min(capacity, static_cast<CompletionQueue*>(completion)->capacity());
    }
    return runtime->runtime->open_port(number, name, completion, nullptr, capacity,
                                       bytes != 0 ? bytes : attributes.inbox_bytes);
  });
}
int lci_port_name(lci_runtime* runtime, uint32_t number, const char* name) {
  LCI_NOT_NULL(runtime, "name port");
  return guarded("name port", [&] { return runtime->runtime->name_port(number, name); });
}
int lci_port_close(lci_runtime* runtime, uint32_t number) {
  LCI_NOT_NULL(runtime, "close port");
  return guarded("close port", [&]() -> int {
    Port* port = runtime->runtime->port(number);
    if (port && port->inbox.load()) return fail(LCI_ERR_PORT, "close port: %u belongs to a lane", number);
    return runtime->runtime->close_port(number);
  });
}

}  // extern "C"
