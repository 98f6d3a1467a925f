// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Deliberate faults, in the copy of the sources that faults.sh makes: each is off until it is named. What faulty lines
 * use is included here.
 */
#ifndef LCI_TESTS_MUTATIONS_MUTATION_HPP_
#define LCI_TESTS_MUTATIONS_MUTATION_HPP_

#include <sched.h>

#include <chrono>
#include <mutex>
#include <thread>

namespace lci {
/// Whether the environment variable LCI_MUTATION, a comma-separated list that is read once, holds @p name.
bool mutation_active(const char* name);
}  // namespace lci

#define LCI_MUTATED(name)                                    \
  ([]() -> bool {                                            \
    static const bool active = ::lci::mutation_active(name); \
    return active;                                           \
  }())

#endif  // LCI_TESTS_MUTATIONS_MUTATION_HPP_
