// SPDX-License-Identifier: Apache-2.0
// Combines the elements of two arrays, one by one.
#pragma once

#include <array>
#include <cstdint>

#include "lci/lci.h"

namespace lci {

/// Combines @p count elements, which may be unaligned. @p to is one of the operands, or overlaps neither.
using ReduceKernel = void (*)(void* to, const void* left, const void* right, uint64_t count);

/// For which processors a kernel is compiled. All of them bring the same bits.
enum class KernelClone : uint8_t { kDefault, kAvx2 };
constexpr std::array<KernelClone, 2> kKernelClones = {KernelClone::kDefault, KernelClone::kAvx2};

/// Whether this build has it, and this processor can run it.
bool has_clone(KernelClone clone);

/// Bytes of an element of ::lci_data_type @p type; 0: there is no such type.
uint64_t type_size(uint32_t type);

/// Null: ::lci_reduce_op @p op does not combine elements of @p type.
ReduceKernel reduce_kernel(uint32_t op, uint32_t type, KernelClone clone);
/// The best one for this processor.
ReduceKernel reduce_kernel(uint32_t op, uint32_t type);

}  // namespace lci
