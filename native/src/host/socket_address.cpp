// SPDX-License-Identifier: Apache-2.0
#include "host/socket_address.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace lci {
namespace {

template <typename Address>
Address as(const sockaddr_storage& storage) {
  Address address;
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

socklen_t size_of(int family) {
  if (family == AF_INET) return sizeof(sockaddr_in);
  return family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

std::optional<SocketAddress> SocketAddress::from(const sockaddr* address, socklen_t size) {
  if (size < sizeof(sa_family_t)) return std::nullopt;
  SocketAddress result;
  result.size_ = size_of(address->sa_family);
  if (result.size_ == 0 || size < result.size_) return std::nullopt;
  std::memcpy(&result.storage_, address, result.size_);
  return result;
}

uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(storage_).sin_port);
  return family() == AF_INET6 ? ntohs(as<sockaddr_in6>(storage_).sin6_port) : 0;
}

SocketAddress SocketAddress::with_port(uint16_t port) const {
  SocketAddress result = *this;
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const uint16_t travelling = htons(port);
  std::memcpy(reinterpret_cast<char*>(&result.storage_) + offsetof(sockaddr_in, sin_port), &travelling,
              sizeof travelling);
  return result;
}

bool SocketAddress::is_loopback() const {
  constexpr uint8_t kLoopbackNet = 127;
  if (family() == AF_INET) return ntohl(as<sockaddr_in>(storage_).sin_addr.s_addr) >> 24 == kLoopbackNet;
  if (family() != AF_INET6) return false;
  const auto address = as<sockaddr_in6>(storage_).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == kLoopbackNet);
}

std::string SocketAddress::host() const {
  char name[NI_MAXHOST];
  return ::getnameinfo(get(), size_, name, sizeof name, nullptr, 0, NI_NUMERICHOST) == 0 ? name : "";
}

std::string SocketAddress::text() const {
  const std::string name = host();
  return (family() == AF_INET6 ? "[" + name + "]" : name) + ":" + std::to_string(port());
}

bool operator==(const SocketAddress& a, const SocketAddress& b) {
  return a.size_ == b.size_ && std::memcmp(&a.storage_, &b.storage_, a.size_) == 0;
}

std::optional<HostAndPort> parse_host_and_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool has_colon = host.find(':') != std::string_view::npos;  // then it is of IPv6, and the port's is not clear
  if (!port || has_colon != bracketed || host.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  return HostAndPort{std::string(host), *port};
}

std::vector<SocketAddress> resolve(const HostAndPort& name, std::string* why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int code = ::getaddrinfo(name.host.c_str(), nullptr, &hints, &first);
  if (code != 0) {
    *why = code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(first, ::freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* each = first; each; each = each->ai_next) {
    const auto address = SocketAddress::from(each->ai_addr, each->ai_addrlen);
    if (!address) continue;
    const SocketAddress with_port = address->with_port(name.port);
    if (std::find(found.begin(), found.end(), with_port) == found.end()) found.push_back(with_port);
  }
  if (found.empty()) *why = "it has neither an IPv4 nor an IPv6 address";
  return found;
}

}  // namespace lci
