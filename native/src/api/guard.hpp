// SPDX-License-Identifier: Apache-2.0
// The boundary of the C ABI: no exception crosses it.
#pragma once

#include <exception>
#include <new>

#include "base/caught.hpp"
#include "base/error.hpp"
#include "completion/completion.hpp"
#include "lci/lci.h"

namespace lci {

template <typename F>
int guarded(const char* operation, F body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    count_as_caught();
    return fail(LCI_ERR_NO_MEMORY, "%s: out of memory", operation);
  } catch (const std::exception& error) {
    count_as_caught();
    return fail(LCI_ERR_ARGUMENT, "%s: %s", operation, error.what());
  } catch (...) {
    count_as_caught();
    return fail(LCI_ERR_ARGUMENT, "%s: a function of the program threw; functions must not throw", operation);
  }
}

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
