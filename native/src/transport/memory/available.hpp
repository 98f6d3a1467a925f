// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lci {

/// Bytes that may still be taken without endangering the process: min(MemAvailable, cgroup limit - usage).
uint64_t memory_available();

}  // namespace lci
