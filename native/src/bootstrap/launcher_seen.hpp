// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lci {

/**
 * What shows that a launcher has started this process as one of several, "PMI_SIZE is 4"; empty if nothing does. Such a
 * process is not alone, whether or not the others can be found. What says the number of processes decides; PMIX_RANK
 * tells of a launcher and not of a number. Slurm sets SLURM_STEP_NUM_TASKS for what srun starts, not for a script of
 * sbatch, where SLURM_NTASKS is set as well.
 */
std::string launcher_seen();

}  // namespace lci
