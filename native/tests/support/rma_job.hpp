// SPDX-License-Identifier: Apache-2.0
// What tests of remote memory share: regions, handles, and operations that are posted until they are taken.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/posting.hpp"

namespace lci_test {

using HandleBytes = std::vector<uint8_t>;

inline HandleBytes handle_of(const lci_memory* memory) {
  HandleBytes bytes(LCI_MEMORY_HANDLE_SIZE);
  EXPECT_EQ(LCI_DONE, lci_memory_handle(memory, bytes.data(), bytes.size())) << lci_last_error();
  return bytes;
}

inline uint64_t open_remote(lci_runtime* runtime, uint32_t rank, const HandleBytes& handle) {
  uint64_t id = 0;
  EXPECT_EQ(LCI_DONE, lci_remote_open(runtime, rank, handle.data(), handle.size(), &id, nullptr)) << lci_last_error();
  return id;
}

/// A region that a rank allocated.
struct Allocated {
  Allocated() = default;
  Allocated(lci_runtime* owner, uint64_t bytes) {
    void* address = nullptr;
    EXPECT_EQ(LCI_DONE, lci_memory_allocate(owner, bytes, &memory, &address)) << lci_last_error();
    bytes_at = static_cast<uint8_t*>(address);
  }
  lci_memory* memory = nullptr;
  uint8_t* bytes_at = nullptr;
};

/// Memory of the test that a rank registered.
struct Registered {
  Registered(lci_runtime* owner, void* address, uint64_t bytes) {
    EXPECT_EQ(LCI_DONE, lci_memory_register(owner, address, bytes, &memory)) << lci_last_error();
  }
  ~Registered() { end(); }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  void end() {
    if (memory) {
      EXPECT_EQ(LCI_DONE, lci_memory_deregister(memory)) << lci_last_error();
    }
    memory = nullptr;
  }
  lci_memory* memory = nullptr;
};

inline lci_descriptor remote_op(uint8_t kind, uint32_t rank, const void* local, uint64_t size, uint64_t remote,
                                uint64_t displacement, uint32_t port = 0, uint64_t tag = 0) {
  lci_descriptor op{};
  op.op = kind;
  op.flags = LCI_FLAG_BUFFER;
  op.rank = rank;
  op.port = static_cast<uint16_t>(port);
  op.size = static_cast<uint32_t>(size);
  op.tag = tag;
  op.user_context = 77;
  op.u.ref = {reinterpret_cast<uint64_t>(local), remote, displacement, 0};
  return op;
}

inline lci_descriptor atomic_op(uint8_t operation, uint32_t rank, uint64_t operand, uint64_t expected, uint64_t remote,
                                uint64_t displacement) {
  lci_descriptor op{};
  op.op = LCI_OP_ATOMIC;
  op.policy = operation;
  op.rank = rank;
  op.size = 8;
  op.user_context = 77;
  op.u.atomic = {operand, remote, displacement, expected};
  return op;
}

/// Posts until taken, and waits for the end: the code with which it ended.
/// @param before of an atomic operation: the value that the word had; may be null
inline int complete(Job& job, uint32_t from, const lci_descriptor& op, lci_comp* comp, uint64_t* before = nullptr) {
  lci_status status{};
  const int code = post_until_taken(job, from, op, comp, &status);
  const bool posted = code == LCI_POSTED || code == LCI_POSTED_BACKLOG;
  if (!posted && code != LCI_DONE) return code;
  if (posted) {
    EXPECT_TRUE(pop(job, comp, &status));
  }
  EXPECT_EQ(op.user_context, status.user_context);
  EXPECT_EQ(op.rank, status.rank);
  if (before) *before = status.tag;
  return status.code;
}

}  // namespace lci_test
