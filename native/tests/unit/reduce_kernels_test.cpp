// SPDX-License-Identifier: Apache-2.0
// Every kernel of every clone against a scalar model, bit by bit. Mutations that must make this file fail: see
// reduce.tsv.
#include "reduce/kernels.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace lci {
namespace {

constexpr uint32_t kOps = LCI_REDUCE_BXOR, kTypes = LCI_TYPE_F64_I64;

/// What the model knows of a type.
struct Type {
  enum Kind { kSigned, kUnsigned, kFloat } kind;
  uint32_t bytes;  ///< Of a value.
  bool pair;
};
Type type_of(uint32_t type) {
  switch (type) {
    case LCI_TYPE_I32_I32:
      return {Type::kSigned, 4, true};
    case LCI_TYPE_I64_I64:
      return {Type::kSigned, 8, true};
    case LCI_TYPE_F32_I32:
      return {Type::kFloat, 4, true};
    case LCI_TYPE_F64_I64:
      return {Type::kFloat, 8, true};
    case LCI_TYPE_F32:
      return {Type::kFloat, 4, false};
    case LCI_TYPE_F64:
      return {Type::kFloat, 8, false};
    default:
      return {type % 2 == 1 ? Type::kSigned : Type::kUnsigned, 1u << ((type - 1) / 2), false};
  }
}

bool makes_sense(uint32_t op, uint32_t type) {
  const Type of = type_of(type);
  if (op == LCI_REDUCE_MINLOC || op == LCI_REDUCE_MAXLOC) return of.pair;
  if (op >= LCI_REDUCE_BAND) return !of.pair && of.kind != Type::kFloat;
  return !of.pair;
}

uint64_t load(const unsigned char* at, uint32_t bytes) {
  uint64_t word = 0;
  std::memcpy(&word, at, bytes);
  return word;
}
int64_t as_signed(uint64_t word, uint32_t bytes) {
  const uint32_t unused = 64 - 8 * bytes;
  return static_cast<int64_t>(word << unused) >> unused;
}
double as_float(uint64_t word, uint32_t bytes) {
  if (bytes == 8) return std::bit_cast<double>(word);
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(word)));
}
uint64_t no_number(uint32_t bytes) {
  return bytes == 4 ? 0x7fc00000u : 0x7ff8000000000000u;
}

/// Below 0: a is lower; 0: neither. NaN are equal to each other, and 0.0 is above -0.0.
int order(uint64_t a, uint64_t b, const Type& type, bool no_number_is_lowest) {
  if (type.kind == Type::kUnsigned) return a < b ? -1 : a > b;
  if (type.kind == Type::kSigned) {
    const int64_t x = as_signed(a, type.bytes), y = as_signed(b, type.bytes);
    return x < y ? -1 : x > y;
  }
  const double x = as_float(a, type.bytes), y = as_float(b, type.bytes);
  if (std::isnan(x) || std::isnan(y)) {
    const int way = no_number_is_lowest ? -1 : 1;
    return std::isnan(x) && std::isnan(y) ? 0 : std::isnan(x) ? way : -way;
  }
  if (x == y) return static_cast<int>(std::signbit(y)) - static_cast<int>(std::signbit(x));
  return x < y ? -1 : 1;
}

uint64_t float_result(uint32_t op, uint64_t a, uint64_t b, const Type& type) {
  if (type.bytes == 4) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(a)), y = std::bit_cast<float>(static_cast<uint32_t>(b));
    const float z = op == LCI_REDUCE_SUM ? x + y : x * y;
    return std::isnan(z) ? no_number(4) : std::bit_cast<uint32_t>(z);
  }
  const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
  const double z = op == LCI_REDUCE_SUM ? x + y : x * y;
  return std::isnan(z) ? no_number(8) : std::bit_cast<uint64_t>(z);
}

/// Of values, as their bits.
uint64_t result(uint32_t op, uint64_t a, uint64_t b, const Type& type) {
  const bool number =
      type.kind != Type::kFloat || (!std::isnan(as_float(a, type.bytes)) && !std::isnan(as_float(b, type.bytes)));
  switch (op) {
    case LCI_REDUCE_SUM:
      return type.kind == Type::kFloat ? float_result(op, a, b, type) : a + b;
    case LCI_REDUCE_PROD:
      return type.kind == Type::kFloat ? float_result(op, a, b, type) : a * b;
    case LCI_REDUCE_MIN:
      return !number ? no_number(type.bytes) : order(a, b, type, true) <= 0 ? a : b;
    case LCI_REDUCE_MAX:
      return !number ? no_number(type.bytes) : order(a, b, type, false) >= 0 ? a : b;
    case LCI_REDUCE_BAND:
      return a & b;
    case LCI_REDUCE_BOR:
      return a | b;
    default:
      return a ^ b;
  }
}

bool takes_right(uint32_t op, const unsigned char* left, const unsigned char* right, const Type& type) {
  const bool least = op == LCI_REDUCE_MINLOC;
  const int found = order(load(left, type.bytes), load(right, type.bytes), type, least);
  if (found != 0) return least ? found > 0 : found < 0;
  return as_signed(load(right + type.bytes, type.bytes), type.bytes) <
         as_signed(load(left + type.bytes, type.bytes), type.bytes);
}

void model(uint32_t op, uint32_t type, unsigned char* to, const unsigned char* left, const unsigned char* right) {
  const Type of = type_of(type);
  if (of.pair) {
    std::memcpy(to, takes_right(op, left, right, of) ? right : left, 2 * of.bytes);
    return;
  }
  const uint64_t both = result(op, load(left, of.bytes), load(right, of.bytes), of);
  std::memcpy(to, &both, of.bytes);
}

/// The values at which operators differ, and any others.
uint64_t some_value(std::mt19937_64& random, const Type& type) {
  constexpr uint32_t kFloats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                  0x7fc00000, 0xffc00001, 0x7f800123, 1,          0x80000001, 0x7f7fffff};
  constexpr uint64_t kDoubles[] = {0,
                                   0x8000000000000000,
                                   0x3ff0000000000000,
                                   0xbff0000000000000,
                                   0x7ff0000000000000,
                                   0xfff0000000000000,
                                   0x7ff8000000000000,
                                   0xfff8000000000001,
                                   0x7ff0000000000123,
                                   1,
                                   0x8000000000000001,
                                   0x7fefffffffffffff};
  constexpr uint64_t kIntegers[] = {
      0, 1, UINT64_MAX, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fffffff, 0x80000000, 0x7fffffffffffffff, 0x8000000000000000};
  if (random() % 2 == 0) return random();
  if (type.kind != Type::kFloat) return kIntegers[random() % std::size(kIntegers)];
  return type.bytes == 4 ? kFloats[random() % std::size(kFloats)] : kDoubles[random() % std::size(kDoubles)];
}

void fill(std::mt19937_64& random, unsigned char* to, uint64_t count, const Type& type) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t value = some_value(random, type);
    std::memcpy(to, &value, type.bytes);
    to += type.bytes;
    if (!type.pair) continue;
    const uint64_t index = random() % 3;  // equal ones are common
    std::memcpy(to, &index, type.bytes);
    to += type.bytes;
  }
}

enum class Where { kApart, kInLeft, kInRight };

void compare(uint32_t op, uint32_t type, KernelClone clone, uint64_t count, uint64_t offset, Where where) {
  SCOPED_TRACE("operator " + std::to_string(op) + ", type " + std::to_string(type) + ", clone " +
               std::to_string(static_cast<int>(clone)) + ", count " + std::to_string(count) + ", offset " +
               std::to_string(offset) + ", where " + std::to_string(static_cast<int>(where)));
  const Type of = type_of(type);
  const uint64_t element = type_size(type), bytes = count * element;
  std::mt19937_64 random(op * 1000 + type * 100 + count);
  std::vector<unsigned char> left(bytes + 16, 0xA5), right(bytes + 16, 0xA5), apart(bytes + 16, 0xA5);
  fill(random, left.data() + offset, count, of);
  fill(random, right.data() + offset, count, of);
  std::vector<unsigned char>& to = where == Where::kInLeft ? left : where == Where::kInRight ? right : apart;
  std::vector<unsigned char> expected = to;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = offset + i * element;
    model(op, type, &expected[at], &left[at], &right[at]);
  }
  reduce_kernel(op, type, clone)(to.data() + offset, left.data() + offset, right.data() + offset, count);
  if (to == expected) return;
  for (size_t i = 0; i < to.size(); ++i) {
    ASSERT_EQ(expected[i], to[i]) << "byte " << i - offset << ", element " << (i - offset) / element;
  }
}

// Proves: E24
TEST(ReduceKernels, EachCloneBringsTheBitsOfTheModel) {
  uint32_t clones = 0;
  for (const KernelClone clone : kKernelClones) {
    if (!has_clone(clone)) continue;
    ++clones;
    for (uint32_t op = 1; op <= kOps; ++op) {
      for (uint32_t type = 1; type <= kTypes; ++type) {
        if (!makes_sense(op, type)) continue;
        for (const uint64_t count : {0, 1, 7, 8, 9, 31, 65, 1000}) {
          for (const uint64_t offset : {0, 1, 5}) {
            for (const Where where : {Where::kApart, Where::kInLeft, Where::kInRight}) {
              compare(op, type, clone, count, offset, where);
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
  EXPECT_GE(clones, 1u);
}

// Proves: E24
TEST(ReduceKernels, AreThereWhereTheyMakeSense) {
  for (const KernelClone clone : kKernelClones) {
    for (uint32_t op = 0; op <= kOps + 1; ++op) {
      for (uint32_t type = 0; type <= kTypes + 1; ++type) {
        const bool known = op != 0 && op <= kOps && type != 0 && type <= kTypes;
        EXPECT_EQ(known && makes_sense(op, type), reduce_kernel(op, type, clone) != nullptr) << op << ", " << type;
      }
    }
  }
  EXPECT_EQ(0u, type_size(0));
  EXPECT_EQ(0u, type_size(kTypes + 1));
}

}  // namespace
}  // namespace lci
