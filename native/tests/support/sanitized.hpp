// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lci_test {

/// Whether this is built with the address or the thread sanitizer, where tests of many rounds make fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace lci_test
