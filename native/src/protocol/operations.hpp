// SPDX-License-Identifier: Apache-2.0
// Operations on their way through a device, between the post and what the protocols make of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lci/lci.h"
#include "protocol/contexts.hpp"
#include "rma/remote_table.hpp"

namespace lci {

/// A message that is to leave.
struct Outgoing {
  const void* bytes;  ///< Null when the payload is in `packet` already.
  uint32_t packet;
  uint32_t size;
  uint64_t tag;
  uint8_t flags;                      ///< Policy, whether it has a key, asks for a reply, or is one.
  uint64_t match;                     ///< A user's key, or where the reply goes.
  const lci_buffer* parts = nullptr;  ///< Where the bytes are, instead of `bytes`,
  uint64_t count = 0;                 ///< in so many parts.
  const OpTarget* network = nullptr;  ///< Who is told when the packet is back. [C9]
  bool in_place = false;              ///< The receiver can read `bytes` where they lie, which is until then. [G3]
};

/// The name of an operation on remote memory in the words of errors.
inline const char* name_of(const lci_descriptor& op) {
  return op.op == LCI_OP_PUT ? "put" : op.op == LCI_OP_GET ? "get" : "atomic";
}

/// One range here and one there, of which the bounds are checked.
struct RemotePart {
  Remote remote;
  uint64_t displacement;
  std::byte* local;
  uint64_t size;
};

/// Whether a region has ended, and is not what it was when it was opened. False where only its owner knows.
inline bool has_ended(const Remote& remote) {
  return remote.shared_key && remote.shared_key->load(std::memory_order_seq_cst) != remote.key;
}

/// A put or get.
struct RemoteCopy {
  bool put;
  uint64_t size;  ///< Of all parts.
  RemotePart one;
  std::vector<RemotePart> list;  ///< Instead of `one`, without those of no bytes.
  std::span<const RemotePart> parts() const { return list.empty() ? std::span(&one, 1) : std::span(list); }
  bool at_hand() const;
  bool ended() const;
};

}  // namespace lci
