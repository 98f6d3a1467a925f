// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * How many locks the calling thread has taken, in test builds only (LCI_TEST_CHECKS): the way to show what a path
 * costs.
 */
#ifndef LCI_BASE_LOCK_COUNT_HPP_
#define LCI_BASE_LOCK_COUNT_HPP_

#include <cstdint>

#if defined(LCI_TEST_CHECKS) && LCI_TEST_CHECKS

namespace lci {
inline thread_local uint64_t locks_taken = 0;
}  // namespace lci

#define LCI_COUNT_LOCK() (static_cast<void>(++::lci::locks_taken))

#else

#define LCI_COUNT_LOCK() static_cast<void>(0)

#endif

#endif  // LCI_BASE_LOCK_COUNT_HPP_
