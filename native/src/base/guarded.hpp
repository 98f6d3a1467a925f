// SPDX-License-Identifier: Apache-2.0
// Where exceptions end: in the C ABI none goes on, and what the core calls for a user answers with a code.
#pragma once

#include <exception>
#include <new>

#include "base/caught.hpp"
#include "base/error.hpp"

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

}  // namespace lci
