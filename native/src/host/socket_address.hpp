// SPDX-License-Identifier: Apache-2.0
// Addresses of hosts, IPv4 and IPv6, and the names that stand for them.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lci {

/// An IPv4 or IPv6 address with a port.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// Nothing for another family, or for fewer bytes than an address has.
  static std::optional<SocketAddress> from(const sockaddr* address, socklen_t size);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }

  uint16_t port() const;
  SocketAddress with_port(uint16_t port) const;
  /// Whether it is one that other hosts do not reach: 127.0.0.0/8, ::1, and the former written as the latter.
  bool is_loopback() const;

  /// Without the port: "10.0.0.1", "fe80::1%eth0".
  std::string host() const;
  /// "10.0.0.1:4711", "[::1]:4711".
  std::string text() const;

  friend bool operator==(const SocketAddress& a, const SocketAddress& b);

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

/// What people write: a name or an address, and a port.
struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};

/// "name:4711", "10.0.0.1:4711" or "[::1]:4711"; nothing for anything else, port 0 included.
std::optional<HostAndPort> parse_host_and_port(std::string_view text);

/// The addresses of a name, in the order in which the system prefers them. None, and why in @p why, if it has none
/// (now: a name may come to be known later). A name that is looked up in the network takes as long as that answers.
std::vector<SocketAddress> resolve(const HostAndPort& name, std::string* why);

}  // namespace lci
