// SPDX-License-Identifier: Apache-2.0
// The memory in which messages are given to native users. [A10, 2B-32]
#include "api/global.hpp"
#include "protocol/arrival_buffer.hpp"

using namespace lci;

extern "C" {

int lci_runtime_set_allocator(lci_runtime* runtime, const lci_allocator* allocator) {
  LCI_RUNTIME(runtime, "set allocator");
  if (allocator && (!allocator->allocate || !allocator->deallocate)) {
    return fail(LCI_ERR_ARGUMENT, "set allocator: it needs both functions");
  }
  runtime->runtime->set_allocator(allocator);
  return LCI_DONE;
}

const lci_allocator* lci_runtime_allocator(const lci_runtime* runtime) {
  if (!runtime) runtime = global_runtime();
  return runtime ? runtime->runtime->allocator() : nullptr;
}

void lci_buffer_free(void* buffer) {
  if (buffer) ArrivalBuffer::destroy(ArrivalBuffer::of(buffer));
}

}  // extern "C"
