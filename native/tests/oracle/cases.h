/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of collectives that are made by MPI and by us: which ones, what each member brings, and how much it gets. A
 * digest stands for a member's result. Kinds, types and operators have the numbers of lci.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lci/lci.h"

enum { kMostCases = 8192, kMostMembers = 64, kLongest = 131075 };

/* Which numbers the members bring. */
enum values { kPlain, kSpecial /* also NaN, zeros with signs, infinities */ };

struct call {
  uint8_t kind, type, op, root;
  uint8_t values; /* ::values */
  uint8_t listed; /* whether blocks differ */
  uint64_t count;
};

static const char* const kKindNames[] = {"",          "barrier", "broadcast", "reduce",   "allreduce", "reduce_scatter",
                                         "allgather", "gather",  "scatter",   "alltoall", "scan",      "exscan",
                                         "neighbours"};
static const char* const kTypeNames[] = {"",    "i8",  "u8",  "i16",     "u16",     "i32",     "u32",    "i64",
                                         "u64", "f32", "f64", "i32_i32", "i64_i64", "f32_i32", "f64_i64"};
static const char* const kOpNames[] = {"", "sum", "prod", "min", "max", "minloc", "maxloc", "band", "bor", "bxor"};

/* Members that this one sends to, or gets from, of a job of so many. */
struct neighbours {
  uint32_t members[2], count;
};

static bool is_float(int type) {
  return type == LCI_TYPE_F32 || type == LCI_TYPE_F64;
}
static bool is_pair(int type) {
  return type >= LCI_TYPE_I32_I32;
}
static bool combines(const struct call* call) {
  return call->op != 0;
}

/* Floating sums and products differ by their association, and MPI says nothing of special values. */
static bool is_judged_by_model(const struct call* call) {
  const bool rounds = is_float(call->type) && (call->op == LCI_REDUCE_SUM || call->op == LCI_REDUCE_PROD);
  return combines(call) && (rounds || call->values == kSpecial);
}

static size_t element_size(int type) {
  static const uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8, 16, 8, 16};
  return sizes[type];
}

static bool has_root(int kind) {
  return kind == LCI_COLLECTIVE_BROADCAST || kind == LCI_COLLECTIVE_REDUCE || kind == LCI_COLLECTIVE_GATHER ||
         kind == LCI_COLLECTIVE_SCATTER;
}
static bool may_be_listed(int kind) {
  return kind == LCI_COLLECTIVE_REDUCE_SCATTER || (kind >= LCI_COLLECTIVE_ALLGATHER && kind <= LCI_COLLECTIVE_ALLTOALL);
}

static void name_call(const struct call* call, char* out, size_t size) {
  snprintf(out, size, "%s/%s/%s/root=%u/count=%llu%s%s", kKindNames[call->kind], kTypeNames[call->type],
           combines(call) ? kOpNames[call->op] : "-", call->root, (unsigned long long)call->count,
           call->listed ? "/list" : "", call->values == kSpecial ? "/special" : "");
}

/* --- blocks --- */

/* Elements of a member's block. */
static uint64_t block(const struct call* call, uint32_t member) {
  if (!call->listed) return call->count;
  return member % 3 == 1 ? 0 : call->count + member;
}
/* Elements that go from one member to another in an alltoall. */
static uint64_t pair_block(const struct call* call, uint32_t from, uint32_t to) {
  if (!call->listed) return call->count;
  return (from + 2 * to) % 4 == 1 ? 0 : call->count + (2 * from + to) % 5;
}
/* Elements of the blocks of members below. */
static uint64_t blocks_before(const struct call* call, uint32_t member) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < member; ++i) sum += block(call, i);
  return sum;
}

/* The next ones in a circle, or those before. */
static struct neighbours neighbours_of(uint32_t members, uint32_t own, bool sends) {
  struct neighbours found = {{0}, 0};
  for (uint32_t step = 1; step <= 2 && step < members; ++step) {
    found.members[found.count++] = (own + (sends ? step : members - step)) % members;
  }
  return found;
}

/* Elements that a member brings. */
static uint64_t in_count(const struct call* call, uint32_t members, uint32_t own) {
  uint64_t sum = 0;
  switch (call->kind) {
    case LCI_COLLECTIVE_BROADCAST:
      return own == call->root ? call->count : 0;
    case LCI_COLLECTIVE_REDUCE_SCATTER:
      return blocks_before(call, members);
    case LCI_COLLECTIVE_SCATTER:
      return own == call->root ? blocks_before(call, members) : 0;
    case LCI_COLLECTIVE_NEIGHBOURS:
      return neighbours_of(members, own, true).count * call->count;
    case LCI_COLLECTIVE_ALLTOALL:
      for (uint32_t to = 0; to < members; ++to) sum += pair_block(call, own, to);
      return sum;
    default:
      return block(call, own);
  }
}
/* Elements that it gets. */
static uint64_t out_count(const struct call* call, uint32_t members, uint32_t own) {
  uint64_t sum = 0;
  switch (call->kind) {
    case LCI_COLLECTIVE_REDUCE:
      return own == call->root ? call->count : 0;
    case LCI_COLLECTIVE_ALLGATHER:
      return blocks_before(call, members);
    case LCI_COLLECTIVE_GATHER:
      return own == call->root ? blocks_before(call, members) : 0;
    case LCI_COLLECTIVE_NEIGHBOURS:
      return neighbours_of(members, own, false).count * call->count;
    case LCI_COLLECTIVE_ALLTOALL:
      for (uint32_t from = 0; from < members; ++from) sum += pair_block(call, from, own);
      return sum;
    default:
      return block(call, own);
  }
}
/* An exclusive scan gives member 0 nothing. */
static bool gets_result(const struct call* call, uint32_t members, uint32_t own) {
  if (call->kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN && own == 0) return false;
  return out_count(call, members, own) != 0;
}

/* --- values --- */

static uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

static double special_value(uint64_t bits) {
  static const uint64_t kFew[] = {0x7FF8000000000001u /* NaN */, 0x8000000000000000u /* -0.0 */, 0,
                                  0x7FF0000000000000u /* infinity */, 0xFFF0000000000000u};
  if (bits % 8 >= 5) return (double)(int64_t)(bits >> 32) - 2147483648.0;
  double value;
  memcpy(&value, &kFew[bits % 8], sizeof value);
  return value;
}

/* Of few exponents, so that sums can be made without error in 113 bits; products stay near 1. */
static double float_value(const struct call* call, uint64_t bits) {
  if (call->values == kSpecial) return special_value(bits);
  const int precision = call->type == LCI_TYPE_F32 ? 24 : 53;
  const double fraction = (double)(bits >> (64 - precision)) / (double)(1ull << precision); /* [0, 1) */
  const double sign = bits & 1 ? -1 : 1;
  if (call->op == LCI_REDUCE_PROD) return sign * (0.5 + fraction);
  return sign * fraction * (double)(1u << (bits >> 1 & 15));
}

/* Of few values, so that many are equal. */
static double pair_value(const struct call* call, uint64_t bits) {
  return call->values == kSpecial ? special_value(bits) : (double)(bits % 5) - 2;
}

/* Element number `index` of what a member brings. */
static void write_element(const struct call* call, uint32_t member, uint64_t index, void* at) {
  const uint64_t bits = mix(mix((uint64_t)call->kind << 16 | (uint64_t)call->op << 8 | member) + index);
  const int64_t place = (int64_t)(bits >> 40 & 15);
  const double value = is_pair(call->type)    ? pair_value(call, bits)
                       : is_float(call->type) ? float_value(call, bits)
                                              : 0;
  const float narrow = (float)value;
  char* const bytes = at;
  switch (call->type) {
    case LCI_TYPE_F32:
      memcpy(bytes, &narrow, 4);
      return;
    case LCI_TYPE_F64:
      memcpy(bytes, &value, 8);
      return;
    case LCI_TYPE_F32_I32:
      memcpy(bytes, &narrow, 4);
      memcpy(bytes + 4, &place, 4);
      return;
    case LCI_TYPE_F64_I64:
      memcpy(bytes, &value, 8);
      memcpy(bytes + 8, &place, 8);
      return;
    case LCI_TYPE_I32_I32:
      memcpy(bytes, &(int32_t){(int32_t)value}, 4);
      memcpy(bytes + 4, &place, 4);
      return;
    case LCI_TYPE_I64_I64:
      memcpy(bytes, &(int64_t){(int64_t)value}, 8);
      memcpy(bytes + 8, &place, 8);
      return;
    default:
      memcpy(bytes, &bits, element_size(call->type));
  }
}

static void write_elements(const struct call* call, uint32_t member, uint64_t count, void* at) {
  const size_t size = element_size(call->type);
  for (uint64_t i = 0; i < count; ++i) write_element(call, member, i, (char*)at + i * size);
}

static uint64_t digest(const void* bytes, uint64_t size) {
  const char* at = bytes;
  uint64_t sum = mix(size);
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    sum = mix(sum ^ word);
  }
  uint64_t rest = 0;
  memcpy(&rest, at, size);
  return mix(sum ^ rest);
}

/* --- the calls --- */

struct calls {
  struct call* list;
  size_t size;
};

static void add_call(struct calls* to, struct call call) {
  if (to->size == kMostCases) {
    fprintf(stderr, "too many cases\n");
    exit(1);
  }
  to->list[to->size++] = call;
}

/* As it is, and with a list of counts if it may have one. */
static void add_forms(struct calls* to, struct call call) {
  add_call(to, call);
  call.listed = 1;
  if (may_be_listed(call.kind)) add_call(to, call);
}

/* From the first and the last member. */
static void add_roots(struct calls* to, struct call call, uint32_t members) {
  add_forms(to, call);
  call.root = (uint8_t)(members - 1);
  if (has_root(call.kind) && members > 1) add_forms(to, call);
}

/* One below, at, and one above so many elements of 8 bytes. */
static void add_border(struct calls* to, struct call call, uint32_t members, uint64_t bytes) {
  for (int step = -1; step <= 1; ++step) {
    call.count = bytes / 8 + (uint64_t)(int64_t)step;
    add_roots(to, call, members);
  }
}

/* Where the core goes from one algorithm to the next: native/src/collective/bounds.hpp. */
static void add_borders(struct calls* to, struct call call, uint32_t members) {
  static const struct {
    uint8_t kind, all; /* whether the bytes are those of all blocks */
    uint32_t bytes;
  } kBorders[] = {
      {LCI_COLLECTIVE_BROADCAST, 0, 8 << 10},      {LCI_COLLECTIVE_BROADCAST, 0, 64 << 10},
      {LCI_COLLECTIVE_BROADCAST, 0, 1 << 20},      {LCI_COLLECTIVE_REDUCE, 0, 64 << 10},
      {LCI_COLLECTIVE_ALLREDUCE, 0, 8 << 10},      {LCI_COLLECTIVE_REDUCE_SCATTER, 1, 512 << 10},
      {LCI_COLLECTIVE_REDUCE, 0, 256 << 10},       {LCI_COLLECTIVE_ALLREDUCE, 0, 256 << 10},
      {LCI_COLLECTIVE_REDUCE_SCATTER, 1, 1 << 20}, {LCI_COLLECTIVE_ALLGATHER, 1, 8 << 10},
      {LCI_COLLECTIVE_ALLGATHER, 1, 512 << 10},    {LCI_COLLECTIVE_ALLTOALL, 0, 256},
  };
  for (size_t i = 0; i < sizeof kBorders / sizeof *kBorders; ++i) {
    if (kBorders[i].kind != call.kind) continue;
    add_border(to, call, members, kBorders[i].all ? kBorders[i].bytes / members : kBorders[i].bytes);
  }
}

static uint8_t operator_of(int kind) {
  const bool moves = kind == LCI_COLLECTIVE_BROADCAST || kind == LCI_COLLECTIVE_NEIGHBOURS ||
                     (kind >= LCI_COLLECTIVE_ALLGATHER && kind <= LCI_COLLECTIVE_ALLTOALL);
  return moves ? 0 : LCI_REDUCE_SUM;
}

/* Every kind, with counts about all borders. */
static void add_counts(struct calls* to, uint32_t members) {
  static const uint64_t kCounts[] = {0, 1, 7, 8, kLongest};
  for (int kind = LCI_COLLECTIVE_BROADCAST; kind <= LCI_COLLECTIVE_NEIGHBOURS; ++kind) {
    struct call call = {.kind = (uint8_t)kind, .type = LCI_TYPE_I64, .op = operator_of(kind)};
    for (size_t i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
      call.count = kCounts[i];
      add_roots(to, call, members);
    }
    add_borders(to, call, members);
    call.type = LCI_TYPE_U8; /* elements that no boundary of words holds */
    call.count = 1021;
    add_roots(to, call, members);
  }
}

static bool fit(int op, int type) {
  if (is_pair(type)) return op == LCI_REDUCE_MINLOC || op == LCI_REDUCE_MAXLOC;
  return op <= LCI_REDUCE_MAX || (op >= LCI_REDUCE_BAND && !is_float(type));
}

/* Every operator with every type. */
static void add_operators(struct calls* to) {
  static const uint8_t kKinds[] = {LCI_COLLECTIVE_ALLREDUCE, LCI_COLLECTIVE_REDUCE, LCI_COLLECTIVE_REDUCE_SCATTER,
                                   LCI_COLLECTIVE_SCAN, LCI_COLLECTIVE_EXCLUSIVE_SCAN};
  for (int type = LCI_TYPE_I8; type <= LCI_TYPE_F64_I64; ++type) {
    for (int op = LCI_REDUCE_SUM; op <= LCI_REDUCE_BXOR; ++op) {
      if (!fit(op, type)) continue;
      struct call call = {.type = (uint8_t)type, .op = (uint8_t)op, .count = 33};
      const bool compares = op >= LCI_REDUCE_MIN && op <= LCI_REDUCE_MAXLOC;
      const bool special = compares && (is_float(type) || type >= LCI_TYPE_F32_I32);
      for (size_t i = 0; i < sizeof kKinds; ++i) {
        call.kind = kKinds[i];
        call.values = kPlain;
        add_call(to, call);
        call.values = kSpecial;
        if (special) add_call(to, call);
      }
    }
  }
}

/* Floating sums and products by every algorithm, whatever it divides. */
static void add_floats(struct calls* to, uint32_t members) {
  static const uint64_t kCounts[] = {1, 8, 1025, 16385};
  for (int kind = LCI_COLLECTIVE_REDUCE; kind <= LCI_COLLECTIVE_EXCLUSIVE_SCAN; ++kind) {
    if (operator_of(kind) == 0) continue;
    for (int type = LCI_TYPE_F32; type <= LCI_TYPE_F64; ++type) {
      for (int op = LCI_REDUCE_SUM; op <= LCI_REDUCE_PROD; ++op) {
        struct call call = {.kind = (uint8_t)kind, .type = (uint8_t)type, .op = (uint8_t)op};
        for (size_t i = 0; i < sizeof kCounts / sizeof *kCounts; ++i) {
          call.count = kCounts[i];
          add_roots(to, call, members);
        }
      }
    }
  }
}

/* PART: counts, operators, floats. */
static struct calls make_calls(const char* part, uint32_t members) {
  struct calls calls = {malloc(kMostCases * sizeof(struct call)), 0};
  if (calls.list == NULL) exit(1);
  if (strcmp(part, "counts") == 0) add_counts(&calls, members);
  if (strcmp(part, "operators") == 0) add_operators(&calls);
  if (strcmp(part, "floats") == 0) add_floats(&calls, members);
  if (calls.size == 0) {
    fprintf(stderr, "which part? counts, operators or floats\n");
    exit(1);
  }
  return calls;
}

/* A file of a member's digests: FOLDER/NAME.MEMBER. */
static FILE* open_digests(const char* folder, const char* name, uint32_t member) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%u", folder, name, member);
  FILE* const file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  return file;
}
