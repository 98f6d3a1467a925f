// SPDX-License-Identifier: Apache-2.0
// How a rank can be met on its host; it travels in the rank's profile.
#pragma once

#include <cstdint>
#include <vector>

#include "peer/profile.hpp"

namespace lci {

/// As it travels: fixed size, no pointers.
struct HostAddress {
  int32_t process;
  uint32_t membarrier;  ///< 1 if its process takes part in barriers of other processes.
  uint64_t process_start;
  char boot[40];    ///< Of the host that it runs on: text, ended by a zero.
  char socket[64];  ///< Where it listens for the others, by abstract name; empty: nowhere.
};

/// The part that does not depend on the runtime: this process and this host.
HostAddress address_of_this_process();

TransportAddress encode(const HostAddress& address);

/// LCI_ERR_BOOTSTRAP with a text for what no rank of this version says.
int decode_address(const TransportAddress& bytes, uint32_t rank, HostAddress* out);

/// LCI_ERR_BOOTSTRAP, with a text that names both, if rank @p other_rank cannot be on the same host.
int check_same_host(uint32_t own_rank, const HostAddress& own, uint32_t other_rank, const HostAddress& other);

/// By rank: those of @p ranks, checked; of the others there is none.
int decode_addresses(const std::vector<Profile>& profiles, uint32_t own_rank, const std::vector<uint32_t>& ranks,
                     std::vector<HostAddress>* out);

}  // namespace lci
