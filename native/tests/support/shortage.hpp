// SPDX-License-Identifier: Apache-2.0
// A moment without memory, at each allocation of what is tested. Static core only: see support/allocations.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

#include "support/allocations.hpp"

namespace lci_test {

/// Refuses one allocation in the passes of a rank.
class Shortage {
 public:
  explicit Shortage(uint64_t number) : left_(number) {}
  template <typename Pass>
  void during(Pass pass) {
    refused_allocation = left_;
    pass();
    left_ = refused_allocation;
    refused_allocation = 0;
  }
  bool was_there() const { return left_ == 0; }

 private:
  uint64_t left_;
};

/// Runs @p exchange with a shortage at its first allocation, its second, and so on, until it has no more.
inline void at_every_allocation(const std::function<void(Shortage&)>& exchange) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers have their own malloc";
#endif
  for (uint64_t number = 1; number < 1000 && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE("allocation " + std::to_string(number));
    Shortage shortage(number);
    exchange(shortage);
    if (!shortage.was_there()) {
      EXPECT_LT(1u, number) << "nothing was allocated: nothing was tested";
      return;
    }
  }
}

}  // namespace lci_test
