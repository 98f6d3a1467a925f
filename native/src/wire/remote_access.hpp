// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lci {

/// A part of a region as messages name it.
struct RemoteAccess {
  uint64_t key = 0;
  uint64_t displacement = 0;
  uint32_t index = 0;
  uint32_t reserved = 0;
};

/// A word of a region, and what is added to it or stored there. With its header it fills one slot.
struct AtomicAccess {
  RemoteAccess access;
  uint64_t operand = 0;
};

}  // namespace lci
