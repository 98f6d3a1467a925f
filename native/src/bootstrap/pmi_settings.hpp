// SPDX-License-Identifier: Apache-2.0
// The variables by which a launcher that speaks PMI tells each process its place.
#pragma once

#include <cstdint>
#include <string>

#include "base/attributes.hpp"
#include "bootstrap/identity.hpp"

namespace lci {

/// kX: PMIx, which is spoken by a library of its own.
enum class PmiVersion { k1, k2, kX };

/// PMI_FD, PMI_RANK and PMI_SIZE; of Slurm also PMI_JOBID. With PMIx, the launcher tells rank and size who joins.
struct PmiSettings {
  PmiVersion version = PmiVersion::k1;
  int fd = -1;  ///< A socket to the launcher. It stays the launcher's: nobody closes it.
  uint32_t rank = 0;
  uint32_t size = 0;
  std::string job;  ///< The launcher's own name of the job; may be empty.
  JobSecret secret{};
  bool has_secret = false;  ///< From a file; else rank 0 makes one.
  std::string library;      ///< The file with PMIx.

  /**
   * Whether the launcher speaks PMI, and this version is the one to use. Hydra and Slurm's plugin `pmi2` each speak
   * both. Version 2 is that of Slurm: SLURM_STEP_ID and PMI_JOBID are set, and HYDI_CONTROL_FD, by which Hydra is told
   * when srun has started its helpers, is not. A list of bootstraps with only one of the versions decides by itself.
   * PMIx sets PMIX_RANK.
   */
  static bool available(const Attributes& attributes, PmiVersion version);
  static int read(const Attributes& attributes, PmiVersion version, PmiSettings* out);

  /// "bootstrap pmi1"
  static const char* title(PmiVersion version);
  /// "pmi1"
  static const char* name(PmiVersion version);
};

}  // namespace lci
