// SPDX-License-Identifier: Apache-2.0
// The one boundary between the core and functions of its users: handlers and custom objects. [SS-46, SS-47]
#pragma once

#include <cstdint>
#include <exception>

#include "base/caught.hpp"
#include "base/error.hpp"
#include "completion/completion.hpp"

namespace lci {

/// Runs @p body, which calls a user's function, in signal context; @return what it returns. An exception ends here and
/// is answered with LCI_ERR_ARGUMENT, so that the batch of whoever progresses goes on.
template <typename Body>
int call_user(const char* kind, uint32_t id, Body body) {
  const SignalContext context;
  try {
    return body();
  } catch (const std::exception& error) {
    count_as_caught();
    return fail(LCI_ERR_ARGUMENT, "%s %u threw: %s; it must not throw", kind, id, error.what());
  } catch (...) {
    count_as_caught();
    return fail(LCI_ERR_ARGUMENT, "%s %u threw; it must not throw", kind, id);
  }
}

}  // namespace lci
