// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lci {

/// Asks for the line before stores need it: one that another core has read takes long to get back.
inline void prefetch_for_write(const void* line) {
  asm volatile("prefetchw %0" ::"m"(*static_cast<const char*>(line)));
}

}  // namespace lci
