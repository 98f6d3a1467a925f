// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lci_test {

/// Whether this is built with the address or the thread sanitizer, where tests of many rounds make fewer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Attribute arena_bytes of ranks under sanitizers, unless a test says otherwise. For each packet that fits there 32
/// bytes are set aside, which nobody touches before the packet is used; but a sanitizer notes something about all of
/// them.
inline constexpr const char* kSanitizedArena = "67108864";

}  // namespace lci_test
