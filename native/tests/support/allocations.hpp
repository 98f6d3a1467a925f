// SPDX-License-Identifier: Apache-2.0
// The memory that a thread asks for, in the program of the unit tests: see the functions in hot_path_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci_test {

/// The allocation of this thread that finds no memory, counted down; 0: none. Sanitizers have their own malloc.
inline thread_local uint64_t refused_allocation = 0;
/// So many have found none, of all threads.
inline std::atomic<uint64_t> refused_allocations{0};

}  // namespace lci_test
