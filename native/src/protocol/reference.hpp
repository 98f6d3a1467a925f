// SPDX-License-Identifier: Apache-2.0
// What a packet holds in place of a payload that is read where it lies: its offset in the memory of the sender, who may
// take it back.
//
// Memory orders: the offset is published with the slot of the message. Whoever takes it back stores kRevoked and fences
// (release) before its memory becomes something else; the receiver copies the bytes, fences (acquire) and looks again.
// So if it has copied anything of what came later it sees kRevoked. The packet is the sender's own, and comes back to
// it after that look.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/fences.hpp"

namespace lci {

/// Lies in no memory.
inline constexpr uint64_t kRevoked = UINT64_MAX;

inline std::atomic_ref<uint64_t> reference_at(std::byte* payload) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(payload));
}
inline void write_reference(std::byte* payload, uint64_t offset) {
  reference_at(payload).store(offset, std::memory_order_relaxed);
}
inline void revoke_reference(std::byte* payload) {
  reference_at(payload).store(kRevoked, std::memory_order_relaxed);
  fence_release();
}
inline uint64_t read_reference(const std::byte* payload) {
  return reference_at(const_cast<std::byte*>(payload)).load(std::memory_order_relaxed);
}
/// After what it refers to was copied.
inline bool was_revoked(const std::byte* payload) {
  fence_acquire();
  return read_reference(payload) == kRevoked;
}

}  // namespace lci
