// SPDX-License-Identifier: Apache-2.0
// Processes of this host, by their numbers.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace lci {

/// This process.
pid_t own_process();

/// Whether a process has ended, whether or not its parent has looked. A number that another process has by now counts
/// as living.
bool process_gone(pid_t process);

/// When a process was started, in ticks since the system was; 0 where that cannot be told. With its number it names a
/// process for as long as the system runs.
uint64_t process_start(pid_t process);

/// Writes what names this start of the system into @p out, as text that a zero ends; empty where it cannot be read.
void read_boot_id(char* out, size_t size);

}  // namespace lci
