/* SPDX-License-Identifier: Apache-2.0 */
/* What a combined element must be where MPI does not say it: Math.min and Math.max for special values, and how far a
 * floating sum or product may be from the exact one. Plain C, one element at a time, in the order of members. */
#pragma once

#include <math.h>

#include "cases.h"

/* 113 bits: no sum of ours has an error in it, and that of a product does not count. */
typedef __float128 exact;

/* A value with its place, or 0. */
struct element {
  double value;
  int64_t place;
};

static struct element read_element(int type, const void* at) {
  struct element element = {0, 0};
  const char* const bytes = at;
  float narrow;
  int32_t place;
  switch (type) {
    case LCI_TYPE_F32:
    case LCI_TYPE_F32_I32:
      memcpy(&narrow, bytes, 4);
      element.value = narrow;
      if (type == LCI_TYPE_F32) break;
      memcpy(&place, bytes + 4, 4);
      element.place = place;
      break;
    case LCI_TYPE_F64_I64:
      memcpy(&element.place, bytes + 8, 8);
      memcpy(&element.value, bytes, 8);
      break;
    default:
      memcpy(&element.value, bytes, 8);
  }
  return element;
}

/* Whether a is below b, where -0.0 is below 0.0; neither is NaN. */
static bool is_below(double a, double b) {
  return a < b || (a == b && signbit(a) && !signbit(b));
}

static struct element extreme(struct element left, struct element right, bool least) {
  if (isnan(left.value) && isnan(right.value)) return right.place < left.place ? right : left;
  if (isnan(left.value)) return left;
  if (isnan(right.value)) return right;
  const bool before = least ? is_below(left.value, right.value) : is_below(right.value, left.value);
  const bool after = least ? is_below(right.value, left.value) : is_below(left.value, right.value);
  if (before) return left;
  return after || right.place < left.place ? right : left;
}

static bool equal_values(double a, double b) {
  return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

/* The elements of the members from 0 to last, at an index of what they bring. */
static struct element expect_extreme(const struct call* call, uint64_t index, uint32_t last) {
  const bool least = call->op == LCI_REDUCE_MIN || call->op == LCI_REDUCE_MINLOC;
  struct element result = {0, 0};
  for (uint32_t member = 0; member <= last; ++member) {
    char bytes[16];
    write_element(call, member, index, bytes);
    const struct element next = read_element(call->type, bytes);
    result = member == 0 ? next : extreme(result, next, least);
  }
  return result;
}

/* A NaN that a minimum gives is the one of Java; that of a member alone is its own. */
static bool is_extreme(const struct call* call, uint64_t index, uint32_t last, const void* got) {
  if (last == 0) {
    char own[16];
    write_element(call, 0, index, own);
    return memcmp(own, got, element_size(call->type)) == 0;
  }
  const struct element expected = expect_extreme(call, index, last);
  const struct element seen = read_element(call->type, got);
  if (!is_pair(call->type) && isnan(seen.value)) {
    const uint32_t narrow = 0x7FC00000u;
    const uint64_t wide = 0x7FF8000000000000u;
    const bool javas = call->type == LCI_TYPE_F32 ? memcmp(got, &narrow, 4) == 0 : memcmp(got, &wide, 8) == 0;
    if (!javas) return false;
  }
  return equal_values(expected.value, seen.value) && expected.place == seen.place;
}

/* An error of (n - 1) u of the sum of absolute values, or of the product. */
static bool is_near(const struct call* call, uint64_t index, uint32_t last, const void* got) {
  const bool sums = call->op == LCI_REDUCE_SUM;
  exact result = sums ? 0 : 1, size = 0;
  for (uint32_t member = 0; member <= last; ++member) {
    char bytes[16];
    write_element(call, member, index, bytes);
    const exact value = (exact)read_element(call->type, bytes).value;
    result = sums ? result + value : result * value;
    size += value < 0 ? -value : value;
  }
  if (!sums) size = result < 0 ? -result : result;
  const exact u = call->type == LCI_TYPE_F32 ? 0x1p-24 : 0x1p-53;
  const exact off = (exact)read_element(call->type, got).value - result;
  return (off < 0 ? -off : off) <= (exact)last * u * size;
}

/* Elements before the first one that a member gets. */
static uint64_t first_index(const struct call* call, uint32_t own) {
  return call->kind == LCI_COLLECTIVE_REDUCE_SCATTER ? blocks_before(call, own) : 0;
}

/* The last member whose elements are in what this one gets. */
static uint32_t last_member(const struct call* call, uint32_t members, uint32_t own) {
  if (call->kind == LCI_COLLECTIVE_SCAN) return own;
  return call->kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN ? own - 1 : members - 1;
}

/* The first element of a result that is wrong, or as many as there are. */
static uint64_t first_wrong(const struct call* call, uint32_t members, uint32_t own, const char* out) {
  const uint64_t count = out_count(call, members, own), first = first_index(call, own);
  const uint32_t last = last_member(call, members, own);
  for (uint64_t i = 0; i < count; ++i) {
    const char* const got = out + i * element_size(call->type);
    const bool right =
        call->values == kSpecial ? is_extreme(call, first + i, last, got) : is_near(call, first + i, last, got);
    if (!right) return i;
  }
  return count;
}
