// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "reduce/kernels.hpp"

namespace lci {

/// A copy or a reduction in memory of this process, which is done again and again, and step by step.
class MemoryWork {
 public:
  /// Bytes that a step writes at most. A multiple of the size of each element.
  static constexpr uint64_t kStep = 64 << 10;

  /// LCI_DONE, or why it cannot be done.
  static int check(const lci_descriptor& op);

  /// @param op is checked
  explicit MemoryWork(const lci_descriptor& op);

  /// From its start.
  void begin() { done_ = 0; }
  /// False: there is more to do.
  bool step();
  uint64_t bytes() const { return bytes_; }
  bool is_long() const { return bytes_ > kStep; }
  void* destination() const { return to_; }

 private:
  std::byte* const to_;
  const std::byte* const left_;
  const std::byte* const right_;
  const ReduceKernel kernel_;  // null: a copy
  const uint64_t element_;
  const uint64_t bytes_;
  uint64_t done_ = 0;
};

}  // namespace lci
