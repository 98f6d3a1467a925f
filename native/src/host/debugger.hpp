// SPDX-License-Identifier: Apache-2.0
// Time for a debugger before anything happens. [A21]
#pragma once

namespace lci {

/// Environment LCI_INIT_ATTACH_DEBUGGER, looked at once in a process: "sigstop" stops the process; anything else but
/// empty and 0 prints its number on stderr and waits until a debugger traces it.
void wait_for_debugger();

}  // namespace lci
