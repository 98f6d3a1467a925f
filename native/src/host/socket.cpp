// SPDX-License-Identifier: Apache-2.0
#include "host/socket.hpp"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/clock.hpp"

namespace lci {
namespace {

FileDescriptor new_socket(int family) {
  return FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

void switch_on(int socket, int level, int option) {
  set(socket, level, option, 1);
}

/// Closes it, and keeps why.
FileDescriptor failed(FileDescriptor socket) {
  const int error = errno;
  socket = FileDescriptor();
  errno = error;
  return FileDescriptor();
}

SocketAddress address_by(int (*ask)(int, sockaddr*, socklen_t*), int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (ask(socket, address, &size) != 0) return {};
  return SocketAddress::from(address, size).value_or(SocketAddress());
}

bool is_for_later(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

Moved outcome(ssize_t moved, bool reads) {
  if (moved > 0 || (moved == 0 && !reads)) return {static_cast<size_t>(moved)};
  if (moved == 0) return {.ended = true};
  return is_for_later(errno) ? Moved{} : Moved{.ended = true, .error = errno};
}

}  // namespace

FileDescriptor listen_at(const SocketAddress& address) {
  FileDescriptor socket = new_socket(address.family());
  if (socket.get() < 0) return socket;
  switch_on(socket.get(), SOL_SOCKET, SO_REUSEADDR);
  // Each family has a listener of its own, so that neither takes the other's port.
  if (address.family() == AF_INET6) switch_on(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  const bool listens =
      ::bind(socket.get(), address.get(), address.size()) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
  return listens ? std::move(socket) : failed(std::move(socket));
}

FileDescriptor accept_from(int listener, SocketAddress* from) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  FileDescriptor socket(::accept4(listener, address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.get() >= 0) *from = SocketAddress::from(address, size).value_or(SocketAddress());
  return socket;
}

FileDescriptor connect_to(const SocketAddress& address) {
  FileDescriptor socket = new_socket(address.family());
  if (socket.get() < 0) return socket;
  const bool begun = ::connect(socket.get(), address.get(), address.size()) == 0 || errno == EINPROGRESS;
  return begun ? std::move(socket) : failed(std::move(socket));
}

int connect_outcome(int socket) {
  pollfd entry{socket, POLLOUT, 0};
  if (::poll(&entry, 1, 0) != 1) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

SocketAddress local_address(int socket) {
  return address_by(::getsockname, socket);
}

SocketAddress address_towards(const SocketAddress& address) {
  const FileDescriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || ::connect(socket.get(), address.get(), address.size()) != 0) return {};
  return local_address(socket.get()).with_port(0);
}

Moved send_some(int socket, const void* bytes, size_t size) {
  return outcome(::send(socket, bytes, size, MSG_NOSIGNAL), false);
}

Moved receive_some(int socket, void* out, size_t size) {
  return outcome(::recv(socket, out, size, 0), true);
}

void keep_alive(int socket, uint64_t patience_ns) {
  // Looked at when a question is due, so that what is a little too long waits for the next one.
  const int milliseconds = std::max(static_cast<int>(patience_ns / 1'000'000) - 500, 1500);
  ask_every_second(socket, true);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds);
}

void stop_keeping_alive(int socket) {
  ask_every_second(socket, false);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
}

void ask_every_second(int socket, bool asks) {
  constexpr int kMostQuestions = 127;  // without an answer, and without a timeout; more the system does not take
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kMostQuestions);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, asks ? 1 : 0);
}

bool is_unanswered(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_retransmits != 0 || info.tcpi_probes != 0;
}

bool stop_hearing(int socket) {
  sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &nothing};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

void hear_again(int socket) {
  const int unused = 0;
  setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}

void send_at_once(int socket) {
  switch_on(socket, IPPROTO_TCP, TCP_NODELAY);
}

bool wait_for(int socket, bool writable, uint64_t deadline_ns) {
  pollfd entry{socket, static_cast<short>(writable ? POLLOUT : POLLIN), 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, poll_ms(deadline_ns));
    if (ready != 0 && !(ready < 0 && errno == EINTR)) return ready > 0;
    if (now_ns() >= deadline_ns) return false;
  }
}

int poll_ms(uint64_t deadline_ns) {
  constexpr uint64_t kMillisecond = 1'000'000;
  const uint64_t now = now_ns();
  if (now >= deadline_ns) return 0;
  return static_cast<int>(std::min<uint64_t>((deadline_ns - now + kMillisecond - 1) / kMillisecond, INT_MAX));
}

}  // namespace lci
