// SPDX-License-Identifier: Apache-2.0
#include "collective/request.hpp"

#include <iterator>
#include <vector>

#include "base/error.hpp"
#include "collective/id.hpp"

namespace lci {
namespace {

/// Bytes of a member's memory, and of its own block where one lies in the other.
struct Extent {
  uint64_t in = 0;
  uint64_t out = 0;
};

constexpr const char* kKindNames[] = {
    "unknown collective", "barrier", "broadcast", "reduce",   "allreduce", "reduce-scatter",
    "allgather",          "gather",  "scatter",   "alltoall", "scan",      "exclusive scan",
    "neighbours"};

bool combines(uint8_t kind) {
  return kind == LCI_COLLECTIVE_REDUCE || kind == LCI_COLLECTIVE_ALLREDUCE || kind == LCI_COLLECTIVE_REDUCE_SCATTER ||
         kind == LCI_COLLECTIVE_SCAN || kind == LCI_COLLECTIVE_EXCLUSIVE_SCAN;
}

bool has_root(uint8_t kind) {
  return kind == LCI_COLLECTIVE_BROADCAST || kind == LCI_COLLECTIVE_REDUCE || kind == LCI_COLLECTIVE_GATHER ||
         kind == LCI_COLLECTIVE_SCATTER;
}

/// No member knows the bytes between all pairs.
bool is_pairwise(const Shape& shape) {
  return shape.kind == LCI_COLLECTIVE_GATHER || shape.kind == LCI_COLLECTIVE_SCATTER ||
         shape.kind == LCI_COLLECTIVE_NEIGHBOURS || (shape.kind == LCI_COLLECTIVE_ALLTOALL && !shape.counts.empty());
}

/// Sums and products of counts that end at the top.
uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}
uint64_t sum_of(std::span<const uint64_t> counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum = add(sum, count);
  return sum;
}

/// Elements of memory at a member.
Extent elements_of(const Shape& shape) {
  const bool root = shape.own == shape.root;
  const bool listed = !shape.counts.empty() && shape.kind != LCI_COLLECTIVE_NEIGHBOURS;  // whose list is another
  const uint64_t all = listed ? sum_of(shape.counts) : multiply(shape.count, shape.size);
  const uint64_t own = listed ? shape.counts[shape.own] : shape.count;
  switch (shape.kind) {
    case LCI_COLLECTIVE_BROADCAST:
      return {0, shape.count};
    case LCI_COLLECTIVE_REDUCE:
      return {shape.count, root ? shape.count : 0};
    case LCI_COLLECTIVE_ALLREDUCE:
    case LCI_COLLECTIVE_SCAN:
    case LCI_COLLECTIVE_EXCLUSIVE_SCAN:
      return {shape.count, shape.count};
    case LCI_COLLECTIVE_REDUCE_SCATTER:
      return {all, own};
    case LCI_COLLECTIVE_ALLGATHER:
      return {own, all};
    case LCI_COLLECTIVE_GATHER:
      return {own, root ? all : 0};
    case LCI_COLLECTIVE_SCATTER:
      return {root ? all : 0, own};
    case LCI_COLLECTIVE_ALLTOALL:
      if (!listed) return {all, all};
      return {sum_of(shape.counts.first(shape.size)), sum_of(shape.counts.last(shape.size))};
    case LCI_COLLECTIVE_NEIGHBOURS:
      return {multiply(shape.counts[0], shape.count), multiply(shape.counts[shape.counts[0] + 1], shape.count)};
    default:
      return {};
  }
}

/// Elements before the own block, in the memory that has all blocks.
uint64_t before_own(const Shape& shape) {
  return shape.counts.empty() ? multiply(shape.count, shape.own) : sum_of(shape.counts.first(shape.own));
}

int check_kind(const lci_descriptor& op, const Group& group, uint32_t type) {
  if (op.port < LCI_COLLECTIVE_BARRIER || op.port > LCI_COLLECTIVE_NEIGHBOURS) {
    return fail(LCI_ERR_ARGUMENT, "collective: kind %u; see lci_collective_kind for those that there are", op.port);
  }
  const auto kind = static_cast<uint8_t>(op.port);
  if (op.rank >= (has_root(kind) ? group.size() : 1)) {
    return fail(LCI_ERR_RANK, "%s: root %u; %s", collective_name(kind), op.rank,
                has_root(kind) ? "it is a member of the group, by its number there" : "it has none, so give 0");
  }
  if (kind == LCI_COLLECTIVE_BARRIER) {
    const auto& given = op.u.collective;
    if (type == 0 && op.policy == 0 && (given.in | given.out | given.count | given.counts) == 0) return LCI_DONE;
    return fail(LCI_ERR_ARGUMENT, "barrier: it has no memory, type, operator and counts; give 0");
  }
  if (type_size(type) == 0) {
    return fail(LCI_ERR_ARGUMENT, "%s: elements of type %u; see lci_data_type for those that there are",
                collective_name(kind), type);
  }
  if (!combines(kind)) {
    if (op.policy == 0) return LCI_DONE;
    return fail(LCI_ERR_ARGUMENT, "%s: operator %u; it combines nothing, so give 0", collective_name(kind), op.policy);
  }
  if (op.policy <= LCI_REDUCE_BXOR && reduce_kernel(op.policy, type)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "%s: operator %u does not combine elements of type %u; see lci_reduce_op",
              collective_name(kind), op.policy, type);
}

/// Whether a list of members names each once at most, and not this one.
bool are_others(std::span<const uint64_t> members, const Shape& shape) {
  std::vector<bool> seen(shape.size);
  for (const uint64_t member : members) {
    if (member >= shape.size || member == shape.own || seen[member]) return false;
    seen[member] = true;
  }
  return true;
}

int read_neighbours(const uint64_t* counts, Shape* shape) {
  if (!counts) return fail(LCI_ERR_ARGUMENT, "neighbours: no list of them; see lci_collective");
  const uint64_t to = counts[0];
  if (to < shape->size && are_others({counts + 1, to}, *shape)) {
    const uint64_t from = counts[to + 1];
    if (from < shape->size && are_others({counts + to + 2, from}, *shape)) {
      shape->counts = {counts, to + from + 2};
      return LCI_DONE;
    }
  }
  return fail(LCI_ERR_ARGUMENT, "neighbours: members 0 to %u, each once in a list, and not member %u itself",
              shape->size - 1, shape->own);
}

int read_counts(const lci_descriptor& op, Shape* shape) {
  const auto* const counts = reinterpret_cast<const uint64_t*>(op.u.collective.counts);
  if (shape->kind == LCI_COLLECTIVE_NEIGHBOURS) return read_neighbours(counts, shape);
  if (!counts) return LCI_DONE;
  switch (shape->kind) {
    case LCI_COLLECTIVE_ALLTOALL:
      shape->counts = {counts, size_t{2} * shape->size};
      if (counts[shape->own] == counts[shape->size + shape->own]) return LCI_DONE;
      return fail(LCI_ERR_ARGUMENT, "alltoall: member %u sends %lu elements to itself, and gets %lu", shape->own,
                  counts[shape->own], counts[shape->size + shape->own]);
    case LCI_COLLECTIVE_GATHER:
    case LCI_COLLECTIVE_SCATTER:
      if (shape->own != shape->root) break;
      [[fallthrough]];
    case LCI_COLLECTIVE_REDUCE_SCATTER:
    case LCI_COLLECTIVE_ALLGATHER:
      shape->counts = {counts, shape->size};
      return LCI_DONE;
    default:
      break;
  }
  return fail(LCI_ERR_ARGUMENT, "%s: a list of counts at member %u, which has no use for one; give null",
              collective_name(shape->kind), shape->own);
}

/// Whether a part of memory lies where the other one has the own block.
bool is_own_block(const Shape& shape, uint64_t in, uint64_t out) {
  const uint64_t before = multiply(before_own(shape), shape.element);
  if (shape.kind == LCI_COLLECTIVE_ALLGATHER || shape.kind == LCI_COLLECTIVE_GATHER) return in == out + before;
  return shape.kind == LCI_COLLECTIVE_SCATTER && out == in + before;
}

int check_memory(const lci_descriptor& op, const Extent& bytes, Shape* shape) {
  const uint64_t in = op.u.collective.in, out = op.u.collective.out;
  if ((bytes.in != 0 && in == 0) || (bytes.out != 0 && out == 0)) {
    return fail(LCI_ERR_ARGUMENT, "%s: no memory for %lu bytes that member %u brings, or %lu that it gets",
                collective_name(shape->kind), bytes.in, shape->own, bytes.out);
  }
  if (bytes.in > UINT64_MAX - in || bytes.out > UINT64_MAX - out) {
    return fail(LCI_ERR_ARGUMENT, "%s: %lu elements in a block go beyond the end of memory",
                collective_name(shape->kind), shape->count);
  }
  shape->apart = bytes.in == 0 || bytes.out == 0 || in + bytes.in <= out || out + bytes.out <= in;
  if (shape->apart || (in == out && bytes.in == bytes.out)) return LCI_DONE;
  if (is_own_block(*shape, in, out)) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "%s: what member %u brings overlaps what it gets; see lci_collective for what may be",
              collective_name(shape->kind), shape->own);
}

/// With a list that all members have, its hash says what the count would.
void fill_header(CollectiveRequest* request) {
  const Shape& shape = request->shape;
  CallHeader& header = request->header;
  header = {.kind = shape.kind,
            .op = shape.op,
            .type = shape.type,
            .algorithm = shape.algorithm,
            .root = shape.root,
            .segment_bytes = shape.segment_bytes,
            .count = shape.count};
  request->pairwise = is_pairwise(shape);
  if (request->pairwise) header.count = 0;
  if (shape.kind == LCI_COLLECTIVE_BARRIER) header = {.kind = shape.kind};
  if (request->pairwise || shape.counts.empty()) return;
  IdHash hash("lci counts");
  for (const uint64_t count : shape.counts) hash.add(count);
  header.count = 0;
  header.hash = hash.id();
}

/// All but the choice of the algorithm.
Extent extent_of(const Shape& shape) {
  const Extent elements = elements_of(shape);
  return {multiply(elements.in, shape.element), multiply(elements.out, shape.element)};
}

int read_call(const lci_descriptor& op, const Group& group, bool near, Shape* out) {
  const uint32_t type = op.size & 0xFF;
  if (const int code = check_kind(op, group, type); code != LCI_DONE) return code;
  Shape& shape = *out;
  shape.kind = static_cast<uint8_t>(op.port);
  shape.op = op.policy;
  shape.type = static_cast<uint8_t>(type);
  shape.root = op.rank;
  shape.own = group.own();
  shape.size = group.size();
  shape.near = near;
  shape.hosts = group.hosts();
  shape.element = type_size(type);
  shape.count = op.u.collective.count;
  if (op.size >> 8 > LCI_ALGORITHM_HIERARCHICAL) {
    return fail(LCI_ERR_ARGUMENT, "%s: algorithm %u; see lci_algorithm for those that there are",
                collective_name(shape.kind), op.size >> 8);
  }
  shape.algorithm = static_cast<uint8_t>(op.size >> 8);
  if (const int code = read_counts(op, &shape); code != LCI_DONE) return code;
  const Extent bytes = extent_of(shape);
  if (bytes.in != UINT64_MAX && bytes.out != UINT64_MAX) return LCI_DONE;
  return fail(LCI_ERR_ARGUMENT, "%s: %lu elements in a block go beyond the end of memory", collective_name(shape.kind),
              shape.count);
}

}  // namespace

const char* collective_name(uint8_t kind) {
  return kKindNames[kind < std::size(kKindNames) ? kind : 0];
}

int read_shape(const lci_descriptor& op, const Group& group, bool near, Shape* out) {
  const int code = read_call(op, group, near, out);
  return code == LCI_DONE ? choose_algorithm(out) : code;
}

int read_request(const lci_descriptor& op, const Group& group, bool near, CollectiveRequest* out) {
  Shape& shape = out->shape;
  if (const int code = read_call(op, group, near, &shape); code != LCI_DONE) return code;
  const Extent bytes = extent_of(shape);
  if (const int code = check_memory(op, bytes, &shape); code != LCI_DONE) return code;
  if (const int code = choose_algorithm(&shape); code != LCI_DONE) return code;
  out->memory = {reinterpret_cast<const std::byte*>(op.u.collective.in),
                 reinterpret_cast<std::byte*>(op.u.collective.out),
                 combines(shape.kind) ? reduce_kernel(shape.op, shape.type) : nullptr, shape.element};
  out->out_bytes = bytes.out;
  fill_header(out);
  return LCI_DONE;
}

}  // namespace lci
