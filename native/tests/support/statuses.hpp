// SPDX-License-Identifier: Apache-2.0
#ifndef LCI_TESTS_SUPPORT_STATUSES_HPP_
#define LCI_TESTS_SUPPORT_STATUSES_HPP_

#include <gtest/gtest.h>

#include <cstdint>

#include "lci/lci.h"

namespace lci::test {

/// A status all of whose fields follow from @p number.
inline lci_status status_of(uint64_t number, int code = LCI_DONE) {
  lci_status status{};
  status.code = code;
  status.rank = static_cast<uint32_t>(number);
  status.tag = number;
  status.buffer = reinterpret_cast<void*>(number * 64);
  status.size = number * 2;
  status.user_context = number * 3;
  status.port = static_cast<uint32_t>(number % 100);
  return status;
}

inline void expect_same(const lci_status& left, const lci_status& right) {
  EXPECT_EQ(left.code, right.code);
  EXPECT_EQ(left.rank, right.rank);
  EXPECT_EQ(left.tag, right.tag);
  EXPECT_EQ(left.buffer, right.buffer);
  EXPECT_EQ(left.size, right.size);
  EXPECT_EQ(left.user_context, right.user_context);
  EXPECT_EQ(left.port, right.port);
}

}  // namespace lci::test

#endif  // LCI_TESTS_SUPPORT_STATUSES_HPP_
