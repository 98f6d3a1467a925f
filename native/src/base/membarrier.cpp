// SPDX-License-Identifier: Apache-2.0
#include "base/membarrier.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lci {
namespace {

bool membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

}  // namespace

bool register_global_barrier() {
  return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED);
}

void global_barrier() {
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

bool register_process_barrier() {
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void process_barrier() {
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

}  // namespace lci
