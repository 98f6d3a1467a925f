// SPDX-License-Identifier: Apache-2.0
// Where a process is, as far as sharing memory with others goes.
#pragma once

#include <cstdint>

namespace lci {

/// Where a process is, as it travels: fixed size, no pointers. Those who are at one place have it byte by byte.
struct HostPlace {
  char boot[40];       ///< Of the system: text, ended by a zero; empty: not known, so that it is nobody else's.
  uint64_t network;    ///< Its namespace.
  uint64_t processes;  ///< The same.
  uint32_t user;
  uint32_t part;  ///< See attribute ranks_per_host.
};

/// That of this process; @p part of it, see HostPlace.
HostPlace place_of_this_process(uint32_t part);

}  // namespace lci
