// SPDX-License-Identifier: Apache-2.0
// What ranks tell each other of themselves, by one exchange of the bootstrap, before they meet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/attributes.hpp"
#include "bootstrap/bootstrap.hpp"

namespace lci {

/// How a rank can be met: bytes that only the transport understands.
struct TransportAddress {
  std::byte bytes[192];
};

/// As it travels: fixed size, no pointers. Magic and ABI stay where they are in all versions.
struct Profile {
  uint64_t magic;
  uint32_t abi;
  uint32_t rank;
  // what all ranks must agree on
  uint32_t size;
  uint32_t devices;
  uint32_t ring_bytes;
  uint32_t control_ring_bytes;
  uint32_t packet_size;  ///< 0: no packets.
  uint32_t announcements;
  uint32_t peer_memory;   ///< 0: all, 1: rings.
  uint32_t transport;     ///< A TransportKind.
  uint32_t net_security;  ///< A NetSecurity.
  uint32_t reserved;
  // what belongs to the rank
  uint64_t reserve;  ///< Bytes that its memory may grow to.
  TransportAddress address;
};

/// One of this version; all else is zero.
Profile new_profile();
/// Of a rank with these attributes; what belongs to it alone is zero.
Profile profile_of(const Attributes& attributes, uint32_t rank, uint32_t size);

/// Reads what came from rank @p rank of a job of @p size ranks. LCI_ERR_BOOTSTRAP with a text for what no rank of this
/// version says.
int decode_profile(const std::vector<uint8_t>& bytes, uint32_t rank, uint32_t size, Profile* out);

/// LCI_ERR_BOOTSTRAP, with a text that names both values, unless both ranks may be of one job.
int check_agreement(const Profile& own, const Profile& other);

/// Publishes @p own, waits for all ranks, and checks what they say. Collective; out->size() is the bootstrap's.
int exchange_profiles(Bootstrap& bootstrap, const Profile& own, uint64_t deadline_ns, std::vector<Profile>* out);

}  // namespace lci
