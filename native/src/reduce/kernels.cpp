// SPDX-License-Identifier: Apache-2.0
// Each kernel once for each clone, and the tables of them. The clones are functions of their own instead of
// target_clones: so the tests call every one of them, and nothing is resolved while the library is being loaded.
#include "reduce/kernels.hpp"

#include <cstddef>
#include <cstring>

#include "reduce/operators.hpp"

// The thread sanitizer sees plain code alone.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define LCI_HAS_AVX2 1
#else
#define LCI_HAS_AVX2 0
#endif

namespace lci {
namespace {

using namespace reduce;

constexpr uint32_t kOperators = LCI_REDUCE_BXOR, kTypes = LCI_TYPE_F64_I64;
using Table = std::array<std::array<ReduceKernel, kTypes + 1>, kOperators + 1>;

template <typename Operator, typename T>
[[gnu::always_inline]] inline void combine(void* to, const void* left, const void* right, uint64_t count) {
  auto* const out = static_cast<std::byte*>(to);
  const auto* const first = static_cast<const std::byte*>(left);
  const auto* const second = static_cast<const std::byte*>(right);
  // An element is read before it is written, and no other one lies there.
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#pragma GCC unroll 4
#endif
  for (uint64_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, first + i * sizeof(T), sizeof(T));
    std::memcpy(&b, second + i * sizeof(T), sizeof(T));
    const T both = Operator::template of<T>(a, b);
    std::memcpy(out + i * sizeof(T), &both, sizeof(T));
  }
}

struct Default {
  template <typename Operator, typename T>
  static void kernel(void* to, const void* left, const void* right, uint64_t count) {
    combine<Operator, T>(to, left, right, count);
  }
};

#if LCI_HAS_AVX2
struct Avx2 {
  template <typename Operator, typename T>
  [[gnu::target("avx2")]] static void kernel(void* to, const void* left, const void* right, uint64_t count) {
    combine<Operator, T>(to, left, right, count);
  }
};
#endif

template <typename Clone, typename Operator>
constexpr void fill_integers(std::array<ReduceKernel, kTypes + 1>& row) {
  row[LCI_TYPE_I8] = &Clone::template kernel<Operator, int8_t>;
  row[LCI_TYPE_U8] = &Clone::template kernel<Operator, uint8_t>;
  row[LCI_TYPE_I16] = &Clone::template kernel<Operator, int16_t>;
  row[LCI_TYPE_U16] = &Clone::template kernel<Operator, uint16_t>;
  row[LCI_TYPE_I32] = &Clone::template kernel<Operator, int32_t>;
  row[LCI_TYPE_U32] = &Clone::template kernel<Operator, uint32_t>;
  row[LCI_TYPE_I64] = &Clone::template kernel<Operator, int64_t>;
  row[LCI_TYPE_U64] = &Clone::template kernel<Operator, uint64_t>;
}

template <typename Clone, typename Operator>
constexpr void fill_numbers(std::array<ReduceKernel, kTypes + 1>& row) {
  fill_integers<Clone, Operator>(row);
  row[LCI_TYPE_F32] = &Clone::template kernel<Operator, float>;
  row[LCI_TYPE_F64] = &Clone::template kernel<Operator, double>;
}

template <typename Clone, typename Operator>
constexpr void fill_pairs(std::array<ReduceKernel, kTypes + 1>& row) {
  row[LCI_TYPE_I32_I32] = &Clone::template kernel<Operator, Pair<int32_t, int32_t>>;
  row[LCI_TYPE_I64_I64] = &Clone::template kernel<Operator, Pair<int64_t, int64_t>>;
  row[LCI_TYPE_F32_I32] = &Clone::template kernel<Operator, Pair<float, int32_t>>;
  row[LCI_TYPE_F64_I64] = &Clone::template kernel<Operator, Pair<double, int64_t>>;
}

template <typename Clone>
constexpr Table table_of() {
  Table table{};
  fill_numbers<Clone, Sum>(table[LCI_REDUCE_SUM]);
  fill_numbers<Clone, Product>(table[LCI_REDUCE_PROD]);
  fill_numbers<Clone, Extreme<true>>(table[LCI_REDUCE_MIN]);
  fill_numbers<Clone, Extreme<false>>(table[LCI_REDUCE_MAX]);
  fill_pairs<Clone, Located<true>>(table[LCI_REDUCE_MINLOC]);
  fill_pairs<Clone, Located<false>>(table[LCI_REDUCE_MAXLOC]);
  fill_integers<Clone, And>(table[LCI_REDUCE_BAND]);
  fill_integers<Clone, Or>(table[LCI_REDUCE_BOR]);
  fill_integers<Clone, Xor>(table[LCI_REDUCE_BXOR]);
  return table;
}

constexpr Table kDefaultKernels = table_of<Default>();
#if LCI_HAS_AVX2
constexpr Table kAvx2Kernels = table_of<Avx2>();
#endif

const Table& kernels_of(KernelClone clone) {
#if LCI_HAS_AVX2
  if (clone == KernelClone::kAvx2) return kAvx2Kernels;
#endif
  static_cast<void>(clone);
  return kDefaultKernels;
}

}  // namespace

bool has_clone(KernelClone clone) {
#if LCI_HAS_AVX2
  if (clone == KernelClone::kAvx2) return __builtin_cpu_supports("avx2");
#endif
  return clone == KernelClone::kDefault;
}

uint64_t type_size(uint32_t type) {
  constexpr std::array<uint8_t, kTypes + 1> kSizes = {0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 8, 16};
  return type < kSizes.size() ? kSizes[type] : 0;
}

ReduceKernel reduce_kernel(uint32_t op, uint32_t type, KernelClone clone) {
  return op <= kOperators && type <= kTypes ? kernels_of(clone)[op][type] : nullptr;
}

ReduceKernel reduce_kernel(uint32_t op, uint32_t type) {
  return reduce_kernel(op, type, has_clone(KernelClone::kAvx2) ? KernelClone::kAvx2 : KernelClone::kDefault);
}

}  // namespace lci
