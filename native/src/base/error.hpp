// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_BASE_ERROR_HPP_
#define LCI_BASE_ERROR_HPP_

#include <cstdint>

#include "lci/lci.h"

namespace lci {

/// Stores one line for the calling thread (read by last_error()) and returns @p code. Longer texts are cut. [U1]
[[gnu::format(printf, 2, 3), gnu::cold]] int fail(int code, const char* format, ...);

/// Says whom the last fail() of the calling thread blames, and returns @p code. The next fail() forgets it.
int blame(uint32_t rank, int code);
/// That rank, or -1.
int last_error_rank();

/// Text of the calling thread's last fail(); empty if there was none. Valid until that thread's next fail().
const char* last_error();

/// Lower-case name of an ::lci_code, "unknown" for anything else. Never null. [D13]
const char* code_name(int code);

/// Category tests over ::lci_code. [D1]
constexpr bool is_done(int code) {
  return code == LCI_DONE || code == LCI_DONE_BACKLOG;
}
constexpr bool is_posted(int code) {
  return code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
}
constexpr bool is_retry(int code) {
  return code >= LCI_RETRY && code < LCI_ERR_ARGUMENT;
}
constexpr bool is_error(int code) {
  return code >= LCI_ERR_ARGUMENT;
}

}  // namespace lci

#endif  // LCI_BASE_ERROR_HPP_
