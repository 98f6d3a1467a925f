// SPDX-License-Identifier: Apache-2.0
#include "api/global.hpp"

using namespace lci;

extern "C" {

int lci_engine_create(lci_runtime* runtime, uint32_t number, uint32_t type, lci_make_key_fn make_key, void* argument) {
  LCI_RUNTIME(runtime, "create matching engine");
  return guarded("create matching engine",
                 [&] { return runtime->runtime->create_engine(number, type, make_key, argument); });
}

int lci_engine_free(lci_runtime* runtime, uint32_t number) {
  LCI_RUNTIME(runtime, "free matching engine");
  return guarded("free matching engine", [&] { return runtime->runtime->free_engine(number); });
}

}  // extern "C"
