// SPDX-License-Identifier: Apache-2.0
// Barriers that a rare caller pays for a frequent one: they stop the processors of all others for a moment. False: this
// system has none, and the frequent ones fence themselves.
#pragma once

namespace lci {

/// This process takes part in barriers of other processes. @return whether it can, and may call them
bool register_global_barrier();
void global_barrier();

/// Barriers over the threads of this process alone.
bool register_process_barrier();
void process_barrier();

}  // namespace lci
