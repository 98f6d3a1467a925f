// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lci {

/**
 * The variable that shows that a launcher has started this process as one of several, "PMI_SIZE is 4"; else empty. Such
 * a process is not alone, whether or not the others can be found. A variable with the number of processes decides;
 * PMIX_RANK tells of a launcher and not of a number. Slurm sets SLURM_STEP_NUM_TASKS for what srun starts, not for a
 * script of sbatch, where SLURM_NTASKS is set as well.
 */
std::string launcher_seen();

}  // namespace lci
