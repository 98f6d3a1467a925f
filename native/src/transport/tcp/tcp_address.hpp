// SPDX-License-Identifier: Apache-2.0
// Where a rank answers, as it travels in the rank's profile.
#pragma once

#include <cstdint>
#include <string>

#include "host/file_descriptor.hpp"
#include "host/socket_address.hpp"
#include "peer/profile.hpp"

namespace lci {

/// Fixed size, no pointers.
struct TcpAddress {
  uint32_t family;  ///< 4 or 6.
  uint32_t port;
  std::byte ip[16];
  uint64_t incarnation;  ///< A number that this runtime alone has.
};

TransportAddress encode(const TcpAddress& address);
/// LCI_ERR_BOOTSTRAP with a text for what no rank of this version says.
int decode_address(const TransportAddress& bytes, uint32_t rank, TcpAddress* out);
SocketAddress socket_address(const TcpAddress& address);

/// Listens at the numeric address @p host, at any port, and fills @p address with where. LCI_ERR_ATTRIBUTE,
/// LCI_ERR_BOOTSTRAP, LCI_ERR_NO_MEMORY.
int listen_for_ranks(const std::string& host, FileDescriptor* out, TcpAddress* address);
/// What a connection is to have before its first record: no delay of short records, no more unsent bytes than need be.
void prepare_for_records(int socket);

}  // namespace lci
