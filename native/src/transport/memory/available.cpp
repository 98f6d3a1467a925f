// SPDX-License-Identifier: Apache-2.0
#include "transport/memory/available.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace lci {
namespace {

bool read_number(const char* path, uint64_t* out) {
  FILE* file = std::fopen(path, "re");
  if (!file) return false;
  const bool found = std::fscanf(file, "%" SCNu64, out) == 1;
  std::fclose(file);
  return found;
}

uint64_t system_available() {
  FILE* file = std::fopen("/proc/meminfo", "re");
  if (!file) return UINT64_MAX;
  char line[128];
  uint64_t kib = UINT64_MAX / 1024;
  while (std::fgets(line, sizeof line, file)) {
    if (std::sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1) break;
  }
  std::fclose(file);
  return kib * 1024;
}

uint64_t cgroup_available() {
  uint64_t limit = 0, used = 0;
  if (read_number("/sys/fs/cgroup/memory.max", &limit) && read_number("/sys/fs/cgroup/memory.current", &used)) {
    return limit > used ? limit - used : 0;
  }
  if (read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", &limit) &&
      read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", &used)) {
    return limit > used ? limit - used : 0;
  }
  return UINT64_MAX;
}

}  // namespace

uint64_t memory_available() {
  return std::min(system_available(), cgroup_available());
}

}  // namespace lci
