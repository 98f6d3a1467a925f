// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Deliberate faults, switched on at run time in test builds only: the way to show that a test can fail.
 *
 * `if (LCI_MUTATED("queue_skip_tag")) ...` is constant false unless the build has LCI_MUTATIONS. There it is true when
 * the environment variable LCI_MUTATION, a comma-separated list that is read once, holds the name.
 */
#ifndef LCI_BASE_MUTATION_HPP_
#define LCI_BASE_MUTATION_HPP_

#if defined(LCI_MUTATIONS) && LCI_MUTATIONS

namespace lci {
/// Whether LCI_MUTATION names @p name.
bool mutation_active(const char* name);
}  // namespace lci

#define LCI_MUTATED(name)                                    \
  ([]() -> bool {                                            \
    static const bool active = ::lci::mutation_active(name); \
    return active;                                           \
  }())

#else

#define LCI_MUTATED(name) false

#endif

#endif  // LCI_BASE_MUTATION_HPP_
