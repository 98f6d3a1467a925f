// SPDX-License-Identifier: Apache-2.0
// The global runtime of a process: what null stands for in calls that take a runtime or a device. A thin layer over the
// rest, and the only thing that belongs to the process. [A1, A4, 2B-17, 2B-35]
#pragma once

#include "api/guard.hpp"
#include "api/handles.hpp"

namespace lci {

/// Null when there is none.
lci_runtime* global_runtime();
/// @p given, completed by the defaults that the program has set for all its runtimes. [A6]
AttributeSet with_global_defaults(const AttributeSet* given);

/// Creates a runtime from exactly these attributes and the environment.
int create_runtime(const AttributeSet& attributes, lci_inproc* job, uint32_t inproc_rank, lci_runtime** out);

/// Device 0 of the global runtime, or null.
inline lci_device* global_device() {
  lci_runtime* runtime = global_runtime();
  return runtime && runtime->runtime->devices() != 0 ? to_handle(&runtime->runtime->device(0)) : nullptr;
}

/// Null means the global one.
#define LCI_RUNTIME(runtime, operation)                                                                        \
  do {                                                                                                         \
    if (!(runtime)) (runtime) = ::lci::global_runtime();                                                       \
    if (!(runtime)) {                                                                                          \
      return ::lci::fail(LCI_ERR_ARGUMENT, "%s: " #runtime " is null, and there is no global one", operation); \
    }                                                                                                          \
  } while (0)
#define LCI_DEVICE(device, operation)                                                                         \
  do {                                                                                                        \
    if (!(device)) (device) = ::lci::global_device();                                                         \
    if (!(device)) {                                                                                          \
      return ::lci::fail(LCI_ERR_ARGUMENT, "%s: " #device " is null, and there is no global one", operation); \
    }                                                                                                         \
  } while (0)

}  // namespace lci
