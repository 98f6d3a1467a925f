// SPDX-License-Identifier: Apache-2.0
// Exceptions that a program's function threw and the core has caught.
#pragma once

namespace lci {

/// Call in a block that catches what a program's function may have thrown. The shared library has a C++ library of its
/// own: there the program's has counted the exception as thrown, and nobody would ever count it as caught, so that
/// std::uncaught_exceptions() would be wrong in the program ever after.
void count_as_caught() noexcept;

}  // namespace lci
