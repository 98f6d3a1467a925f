// SPDX-License-Identifier: Apache-2.0
// One atomic operation on a 64-bit word of a region. Every rank that changes the word does so by an instruction of its
// processor, so initiators that share the memory, and the owner that serves messages, are atomic with each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/lci.h"

namespace lci {

inline constexpr uint32_t kAtomicWord = sizeof(uint64_t);

struct AtomicStep {
  uint32_t operation;  ///< ::lci_atomic_op
  uint64_t operand;
  uint64_t expected;  ///< Only LCI_ATOMIC_COMPARE_SWAP compares.

  /// Whether the operation is one.
  bool known() const { return operation >= LCI_ATOMIC_ADD && operation <= LCI_ATOMIC_COMPARE_SWAP; }
  /// Whether the processor can do it there.
  static bool fits(const std::byte* at) { return reinterpret_cast<uintptr_t>(at) % kAtomicWord == 0; }
  /// The value before. The operation is known, and fits.
  uint64_t apply(std::byte* at) const {
    static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);
    const std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(at));
    if (operation == LCI_ATOMIC_ADD) return word.fetch_add(operand, std::memory_order_seq_cst);
    if (operation == LCI_ATOMIC_SWAP) return word.exchange(operand, std::memory_order_seq_cst);
    uint64_t before = expected;
    word.compare_exchange_strong(before, operand, std::memory_order_seq_cst);
    return before;
  }
};

}  // namespace lci
