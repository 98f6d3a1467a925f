// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/host_address.hpp"

#include <unistd.h>

#include <cstring>

#include "base/error.hpp"
#include "host/process.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

template <size_t N>
bool is_text(const char (&field)[N]) {
  return std::memchr(field, '\0', N) != nullptr;
}

}  // namespace

HostAddress address_of_this_process() {
  HostAddress address{};
  address.process = getpid();
  address.process_start = process_start(address.process);
  read_boot_id(address.boot, sizeof address.boot);  // where it cannot be read it is not compared
  return address;
}

TransportAddress encode(const HostAddress& address) {
  TransportAddress bytes{};
  static_assert(sizeof address <= sizeof bytes.bytes);
  std::memcpy(bytes.bytes, &address, sizeof address);
  return bytes;
}

int decode_address(const TransportAddress& bytes, uint32_t rank, HostAddress* out) {
  HostAddress address{};
  std::memcpy(&address, bytes.bytes, sizeof address);
  if (address.process <= 0 || !is_text(address.boot) || !is_text(address.socket)) {
    return blame(rank,
                 fail(LCI_ERR_BOOTSTRAP, "create runtime: what rank %u published of itself makes no sense", rank));
  }
  *out = address;
  return LCI_DONE;
}

int check_same_host(uint32_t own_rank, const HostAddress& own, uint32_t other_rank, const HostAddress& other) {
  if (*own.boot == '\0' || *other.boot == '\0' || std::strcmp(own.boot, other.boot) == 0) return LCI_DONE;
  return blame(other_rank,
               fail(LCI_ERR_BOOTSTRAP,
                    "create runtime: rank %u runs on another host than rank %u (boot id %s, here %s); ranks meet "
                    "in shared memory: start all on one host",
                    other_rank, own_rank, other.boot, own.boot));
}

int decode_addresses(const std::vector<Profile>& profiles, uint32_t own_rank, const std::vector<uint32_t>& ranks,
                     std::vector<HostAddress>* out) {
  out->assign(profiles.size(), {});
  for (const uint32_t rank : ranks) {
    const int code = decode_address(profiles[rank].address, rank, &(*out)[rank]);
    if (code != LCI_DONE) return code;
  }
  for (const uint32_t rank : ranks) {
    const int code = check_same_host(own_rank, (*out)[own_rank], rank, (*out)[rank]);
    if (code != LCI_DONE) return code;
  }
  return LCI_DONE;
}

}  // namespace lci
