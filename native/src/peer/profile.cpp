// SPDX-License-Identifier: Apache-2.0
#include "peer/profile.hpp"

#include <cinttypes>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "pool/packet_pool.hpp"

namespace lci {
namespace {

constexpr uint64_t kMagic = 0x3152455045434cull;
constexpr char kProfileKey[] = "peer";

struct Agreed {
  const char* attribute;
  uint32_t Profile::*value;
};

constexpr Agreed kAgreed[] = {
    {"devices", &Profile::devices},
    {"ring_bytes", &Profile::ring_bytes},
    {"control_ring_bytes", &Profile::control_ring_bytes},
    {"packet_size (0: alloc_default_packet_pool=0)", &Profile::packet_size},
    {"announcements", &Profile::announcements},
    {"transport (1: shm, 2: tcp, 3: shm within hosts and tcp between them)", &Profile::transport},
    {"peer_memory (0: all, 1: rings)", &Profile::peer_memory},
    {"net_security (0: auth, 1: sealed)", &Profile::net_security},
};

}  // namespace

Profile new_profile() {
  Profile profile{};
  profile.magic = kMagic;
  profile.abi = LCI_ABI_VERSION;
  return profile;
}

Profile profile_of(const Attributes& attributes, uint32_t rank, uint32_t size) {
  const bool has_packets = attributes.packets_max != 0;
  Profile profile = new_profile();
  profile.rank = rank;
  profile.size = size;
  profile.devices = attributes.devices;
  profile.ring_bytes = attributes.ring_bytes;
  profile.control_ring_bytes = attributes.control_ring_bytes;
  profile.packet_size = has_packets ? attributes.packet_size : 0;
  profile.announcements = attributes.announcements;
  profile.peer_memory = attributes.peer_memory == PeerMemoryMode::kRings;
  profile.transport = static_cast<uint32_t>(attributes.transport);
  profile.net_security = static_cast<uint32_t>(attributes.net_security);
  return profile;
}

int decode_profile(const std::vector<uint8_t>& bytes, uint32_t rank, uint32_t size, Profile* out) {
  constexpr size_t kVersioned = offsetof(Profile, rank);
  Profile profile{};
  if (!bytes.empty()) std::memcpy(&profile, bytes.data(), std::min(bytes.size(), sizeof profile));
  if (bytes.size() < kVersioned || profile.magic != kMagic) {
    return blame(rank,
                 fail(LCI_ERR_BOOTSTRAP, "create runtime: what rank %u published of itself makes no sense", rank));
  }
  if (profile.abi != LCI_ABI_VERSION || bytes.size() != sizeof profile) {
    return blame(rank, fail(LCI_ERR_BOOTSTRAP,
                            "create runtime: rank %u runs another version (ABI %u, here %u); give all ranks the same "
                            "library",
                            rank, profile.abi, LCI_ABI_VERSION));
  }
  const uint64_t reserve = profile.reserve;
  if (profile.rank != rank || profile.size != size || reserve == 0 || reserve % 4096 != 0 || reserve > kMaxReserve) {
    return blame(rank,
                 fail(LCI_ERR_BOOTSTRAP, "create runtime: what rank %u published of itself makes no sense", rank));
  }
  *out = profile;
  return LCI_DONE;
}

int check_agreement(const Profile& own, const Profile& other) {
  for (const auto& [attribute, value] : kAgreed) {
    if (own.*value == other.*value) continue;
    return blame(other.rank, fail(LCI_ERR_BOOTSTRAP,
                                  "create runtime: rank %u has other attributes: %s is %u, here %u; all ranks need the "
                                  "same devices, ring_bytes, control_ring_bytes, packet_size, announcements, "
                                  "peer_memory, transport, net_security and alloc_default_packet_pool",
                                  other.rank, attribute, other.*value, own.*value));
  }
  return LCI_DONE;
}

int exchange_profiles(Bootstrap& bootstrap, const Profile& own, uint64_t deadline_ns, std::vector<Profile>* out) {
  int code = bootstrap.publish(kProfileKey, &own, sizeof own);
  if (code != LCI_DONE) return code;
  code = bootstrap.barrier(deadline_ns);
  if (code != LCI_DONE) return code;
  out->resize(bootstrap.size());
  std::vector<uint8_t> bytes;
  for (uint32_t rank = 0; rank < bootstrap.size(); ++rank) {
    code = bootstrap.get(rank, kProfileKey, &bytes);
    if (code == LCI_DONE) code = decode_profile(bytes, rank, bootstrap.size(), &(*out)[rank]);
    if (code == LCI_DONE) code = check_agreement(own, (*out)[rank]);
    if (code != LCI_DONE) return code;
  }
  return LCI_DONE;
}

}  // namespace lci
