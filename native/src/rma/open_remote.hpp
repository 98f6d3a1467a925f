// SPDX-License-Identifier: Apache-2.0
// From a handle to something that can be used: every byte of the handle, and of what its owner shares, is checked.
#pragma once

#include "rma/copiers.hpp"
#include "rma/memory_handle.hpp"
#include "rma/remote_table.hpp"

namespace lci {

/// LCI_DONE, or why @p handle, which claims to be of @p rank, cannot be used here.
int open_remote(const Copiers& copiers, uint32_t rank, const MemoryHandle& handle, Remote* out);

}  // namespace lci
