// SPDX-License-Identifier: Apache-2.0
#include "reduce/memory_work.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace lci {
namespace {

static_assert(MemoryWork::kStep % 16 == 0);

bool is_copy(const lci_descriptor& op) {
  return op.op == LCI_OP_COPY;
}

std::byte* at(uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

/// Bytes of what is read twice, and written; @p *bytes stays if they are too many.
bool measure(const lci_descriptor& op, uint64_t* bytes) {
  const uint64_t element = is_copy(op) ? 1 : type_size(op.port);
  return !__builtin_mul_overflow(op.u.memory.count, element, bytes);
}

bool may_write(uint64_t to, uint64_t from, uint64_t bytes) {
  return to == from || (to < from ? from - to : to - from) >= bytes;
}

int check_operator(const lci_descriptor& op) {
  if (type_size(op.port) == 0) {
    return fail(LCI_ERR_ARGUMENT, "graph: a reduction of type %u; see lci_data_type for those that there are", op.port);
  }
  if (op.policy == 0 || op.policy > LCI_REDUCE_BXOR) {
    return fail(LCI_ERR_ARGUMENT, "graph: a reduction by operator %u; see lci_reduce_op for those that there are",
                op.policy);
  }
  if (reduce_kernel(op.policy, op.port)) return LCI_DONE;
  const char* hint = "pairs are combined by MINLOC and MAXLOC alone";
  if (op.policy == LCI_REDUCE_MINLOC || op.policy == LCI_REDUCE_MAXLOC)
    hint = "MINLOC and MAXLOC need pairs";
  else if (op.port == LCI_TYPE_F32 || op.port == LCI_TYPE_F64)
    hint = "bits are combined of integers alone";
  return fail(LCI_ERR_ARGUMENT, "graph: operator %u does not combine elements of type %u: %s", op.policy, op.port,
              hint);
}

int check_memory(const lci_descriptor& op) {
  const auto& memory = op.u.memory;
  uint64_t bytes = 0;
  const uint64_t last = UINT64_MAX - std::max({memory.destination, memory.left, is_copy(op) ? 0 : memory.right});
  if (!measure(op, &bytes) || bytes > last) {
    return fail(LCI_ERR_ARGUMENT, "graph: %lu elements of type %u go beyond the end of memory; give fewer",
                memory.count, op.port);
  }
  if (bytes == 0) return LCI_DONE;
  if (memory.destination == 0 || memory.left == 0 || (!is_copy(op) && memory.right == 0)) {
    return fail(LCI_ERR_ARGUMENT, "graph: a null address; only with count 0 there need be no memory");
  }
  if (may_write(memory.destination, memory.left, bytes) &&
      (is_copy(op) || may_write(memory.destination, memory.right, bytes))) {
    return LCI_DONE;
  }
  return fail(LCI_ERR_ARGUMENT,
              "graph: the destination overlaps an operand; let it begin where the operand does, or outside of it");
}

}  // namespace

int MemoryWork::check(const lci_descriptor& op) {
  if (op.flags != 0) return fail(LCI_ERR_ARGUMENT, "graph: copies and reductions have no flags, not 0x%x", op.flags);
  if (!is_copy(op)) {
    if (const int code = check_operator(op); code != LCI_DONE) return code;
  }
  return check_memory(op);
}

MemoryWork::MemoryWork(const lci_descriptor& op)
    : to_(at(op.u.memory.destination)),
      left_(at(op.u.memory.left)),
      right_(at(op.u.memory.right)),
      kernel_(is_copy(op) ? nullptr : reduce_kernel(op.policy, op.port)),
      element_(is_copy(op) ? 1 : type_size(op.port)),
      bytes_(op.u.memory.count * element_) {}

bool MemoryWork::step() {
  const uint64_t piece = std::min(kStep, bytes_ - done_);
  if (kernel_) {
    kernel_(to_ + done_, left_ + done_, right_ + done_, piece / element_);
  } else if (piece != 0 && to_ != left_) {
    std::memcpy(to_ + done_, left_ + done_, piece);
  }
  done_ += piece;
  return done_ == bytes_;
}

}  // namespace lci
