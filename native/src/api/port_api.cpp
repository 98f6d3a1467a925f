// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "api/global.hpp"
#include "completion/queue.hpp"

using namespace lci;

extern "C" {

int lci_port_open(lci_runtime* runtime, uint32_t number, const char* name, lci_comp* comp, uint32_t messages,
                  uint64_t bytes) {
  LCI_RUNTIME(runtime, "open port");
  LCI_NOT_NULL(comp, "open port");
  return guarded("open port", [&]() -> int {
    const Attributes& attributes = runtime->runtime->attributes();
    Completion* completion = from_handle(comp);
    if (const int code = check_own(*completion, *runtime->runtime, "open port"); code != LCI_DONE) return code;
    if (completion->kind() == Completion::Kind::kGraph) {
      return fail(LCI_ERR_ARGUMENT, "open port: a graph takes the signals of its nodes only (port %u)", number);
    }
    uint32_t capacity = messages != 0 ? messages : attributes.inbox_messages;
    // What is granted must find room: the queue's own bound counts too.
    if (completion->kind() == Completion::Kind::kQueue) {
      capacity = std::min(capacity, static_cast<CompletionQueue*>(completion)->capacity());
    }
    return runtime->runtime->targets().open_port(number, name, completion, nullptr, nullptr, capacity,
                                                 bytes != 0 ? bytes : attributes.inbox_bytes);
  });
}
int lci_port_name(lci_runtime* runtime, uint32_t number, const char* name) {
  LCI_RUNTIME(runtime, "name port");
  return guarded("name port", [&] { return runtime->runtime->targets().name_port(number, name); });
}
int lci_port_close(lci_runtime* runtime, uint32_t number) {
  LCI_RUNTIME(runtime, "close port");
  return guarded("close port", [&]() -> int {
    Port* port = runtime->runtime->targets().port(number);
    if (port && port->inbox.load()) return fail(LCI_ERR_PORT, "close port: %u belongs to a lane", number);
    return runtime->runtime->targets().close_port(number);
  });
}

}  // extern "C"
