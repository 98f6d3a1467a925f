// SPDX-License-Identifier: Apache-2.0
// What this process has in memory.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace lci_test {

inline uint64_t resident_bytes() {
  uint64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;  // in pages
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace lci_test
