// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/launcher_seen.hpp"

#include "bootstrap/environment.hpp"

namespace lci {

std::string launcher_seen() {
  bool alone = false;
  for (const char* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* size = environment(name);
    if (size == nullptr) continue;
    alone = parse_decimal<uint32_t>(size).value_or(2) <= 1;
    if (!alone) return std::string(name) + " is " + size;
  }
  for (const char* name : {"PMIX_RANK", "PMI_PORT"}) {
    if (!alone && environment(name)) return std::string(name) + " is set";
  }
  return {};
}

}  // namespace lci
