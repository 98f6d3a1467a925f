// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/tcp_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "host/socket.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

/// Of bytes in the system that were not sent: what comes later overtakes nothing there.
constexpr int kUnsent = 128 << 10;

}  // namespace

TransportAddress encode(const TcpAddress& address) {
  TransportAddress bytes{};
  static_assert(sizeof address <= sizeof bytes.bytes);
  std::memcpy(bytes.bytes, &address, sizeof address);
  return bytes;
}

int decode_address(const TransportAddress& bytes, uint32_t rank, TcpAddress* out) {
  TcpAddress address{};
  std::memcpy(&address, bytes.bytes, sizeof address);
  if ((address.family != 4 && address.family != 6) || address.port == 0 || address.port > UINT16_MAX) {
    return blame(rank,
                 fail(LCI_ERR_BOOTSTRAP, "create runtime: what rank %u published of itself makes no sense", rank));
  }
  *out = address;
  return LCI_DONE;
}

SocketAddress socket_address(const TcpAddress& address) {
  sockaddr_in in{};
  sockaddr_in6 in6{};
  in.sin_family = AF_INET;
  in6.sin6_family = AF_INET6;
  std::memcpy(&in.sin_addr, address.ip, sizeof in.sin_addr);
  std::memcpy(&in6.sin6_addr, address.ip, sizeof in6.sin6_addr);
  const auto found = address.family == 4 ? SocketAddress::from(reinterpret_cast<const sockaddr*>(&in), sizeof in)
                                         : SocketAddress::from(reinterpret_cast<const sockaddr*>(&in6), sizeof in6);
  return found.value_or(SocketAddress()).with_port(static_cast<uint16_t>(address.port));
}

int listen_for_ranks(const std::string& host, FileDescriptor* out, TcpAddress* address) {
  *address = {};
  if (inet_pton(AF_INET, host.c_str(), address->ip) == 1) {
    address->family = 4;
  } else if (inet_pton(AF_INET6, host.c_str(), address->ip) == 1) {
    address->family = 6;
  } else {
    return fail(LCI_ERR_ATTRIBUTE, "attribute net_address: \"%s\" is no address; write one as 10.0.0.7 or fd00::7",
                host.c_str());
  }
  FileDescriptor listener = listen_at(socket_address(*address));
  if (listener.get() < 0 && (errno == EMFILE || errno == ENFILE)) {
    return fail(LCI_ERR_NO_MEMORY,
                "create runtime: listen at %s: this process may not open so many files; raise the limit (ulimit -n)",
                host.c_str());
  }
  if (listener.get() < 0) {
    return fail(LCI_ERR_BOOTSTRAP,
                "create runtime: listen at %s: %s; attribute net_address names an address of this host", host.c_str(),
                std::strerror(errno));
  }
  address->port = local_address(listener.get()).port();
  *out = std::move(listener);
  return LCI_DONE;
}

void prepare_for_records(int socket) {
  send_at_once(socket);
  setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsent, sizeof kUnsent);
}

}  // namespace lci
