// SPDX-License-Identifier: Apache-2.0
// The boundary of the C ABI: no exception crosses it.
#pragma once

#include "base/guarded.hpp"
#include "completion/completion.hpp"
#include "lci/lci.h"

namespace lci {

#define LCI_NOT_NULL(pointer, operation)                                                         \
  do {                                                                                           \
    if (!(pointer)) return ::lci::fail(LCI_ERR_ARGUMENT, "%s: " #pointer " is null", operation); \
  } while (0)

/// For what waits: in a handler this thread may be the one that is waited for. [SS-47]
#define LCI_NOT_IN_HANDLER(operation)                                                             \
  do {                                                                                            \
    if (const int code = ::lci::check_outside_handlers(operation); code != LCI_DONE) return code; \
  } while (0)

}  // namespace lci
