// SPDX-License-Identifier: Apache-2.0
// What an operator makes of two elements. Without a branch, so that compilers make vectors of it; and without leaving
// anything to the processor that processors do in different ways, as the bits of a NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lci::reduce {

#define LCI_OPERATOR [[gnu::always_inline]] static inline

template <typename T>
constexpr bool kIsFloat = std::is_floating_point_v<T>;

/// The unsigned integer of the same size.
template <typename T>
using Bits = std::conditional_t<
    sizeof(T) == 8, uint64_t,
    std::conditional_t<sizeof(T) == 4, uint32_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
/// In which products of integers are computed: narrower ones would become signed.
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// The one NaN that results have.
template <typename T>
LCI_OPERATOR T one_nan(T value) {
  return value == value ? value : std::numeric_limits<T>::quiet_NaN();
}

struct Sum {
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    if constexpr (kIsFloat<T>) {
      return one_nan(left + right);
    } else {
      return static_cast<T>(static_cast<Wide<T>>(left) + static_cast<Wide<T>>(right));
    }
  }
};

struct Product {
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    if constexpr (kIsFloat<T>) {
      return one_nan(left * right);
    } else {
      return static_cast<T>(static_cast<Wide<T>>(left) * static_cast<Wide<T>>(right));
    }
  }
};

/// @p kLeast: the lower one; else the higher one.
template <bool kLeast>
struct Extreme {
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    const T one = (kLeast ? left < right : right < left) ? left : right;
    if constexpr (kIsFloat<T>) {
      // Both are the one that is wanted, or zeros, which differ in their sign.
      const T other = (kLeast ? right < left : left < right) ? right : left;
      const auto a = std::bit_cast<Bits<T>>(one), b = std::bit_cast<Bits<T>>(other);
      const T number = std::bit_cast<T>(static_cast<Bits<T>>(kLeast ? a | b : a & b));
      return __builtin_isunordered(left, right) ? std::numeric_limits<T>::quiet_NaN() : number;
    } else {
      return one;
    }
  }
};

/// A value and where it was.
template <typename Value, typename Index>
struct Pair {
  Value value;
  Index index;
};

template <bool kLeast>
struct Located {
  /// An integer that has the order of values. All NaN have the same one, which wins.
  template <typename T>
  LCI_OPERATOR auto rank_of(T value) {
    if constexpr (kIsFloat<T>) {
      using Rank = std::make_signed_t<Bits<T>>;
      const auto bits = std::bit_cast<Rank>(value);
      // Negative numbers are in the opposite order of their bits without the sign.
      const Rank rank = bits < 0 ? bits ^ std::numeric_limits<Rank>::max() : bits;
      return value == value ? rank : kLeast ? std::numeric_limits<Rank>::min() : std::numeric_limits<Rank>::max();
    } else {
      return value;
    }
  }
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    const auto a = rank_of(left.value), b = rank_of(right.value);
    const bool further = kLeast ? b < a : a < b;
    return further || (a == b && right.index < left.index) ? right : left;
  }
};

struct And {
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    return static_cast<T>(left & right);
  }
};
struct Or {
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    return static_cast<T>(left | right);
  }
};
struct Xor {
  template <typename T>
  LCI_OPERATOR T of(T left, T right) {
    return static_cast<T>(left ^ right);
  }
};

#undef LCI_OPERATOR

}  // namespace lci::reduce
