// SPDX-License-Identifier: Apache-2.0
// What a pass does when the system has no memory for a moment: the rest of its work, and this again in the next pass.
#pragma once

#include <new>

namespace lci {

/// Runs @p step, which changes nothing before it has the memory that it needs. False: there was none.
template <typename F>
bool unless_no_memory(F step) {
  try {
    step();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace lci
