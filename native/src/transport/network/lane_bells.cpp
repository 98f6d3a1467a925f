// SPDX-License-Identifier: Apache-2.0
#include "transport/network/lane_bells.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>

#include "bootstrap/identity.hpp"

namespace lci {
namespace {

constexpr int kMostAtOnce = 16;  // others may ring without end

FileDescriptor new_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

socklen_t address_of(uint64_t name, uint32_t slot, sockaddr_un* out) {
  *out = {};
  out->sun_family = AF_UNIX;
  char* const text = out->sun_path + 1;  // abstract: it goes with its socket
  const int length = std::snprintf(text, sizeof out->sun_path - 1, "lci-bell-%s-%u", id_text(name).c_str(), slot);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

}  // namespace

LaneBells::LaneBells() : name_(random_id()), sender_(new_socket()) {
  for (auto& socket : sockets_) socket.store(-1, std::memory_order_relaxed);
}

LaneBells::~LaneBells() {
  for (auto& socket : sockets_) {
    if (socket.load() >= 0) ::close(socket.load());
  }
}

int LaneBells::descriptor(uint32_t slot) {
  std::atomic<int>& kept = sockets_[slot];
  if (kept.load(std::memory_order_relaxed) >= 0) return kept.load(std::memory_order_relaxed);
  FileDescriptor socket = new_socket();
  sockaddr_un address{};
  const socklen_t length = address_of(name_, slot, &address);
  if (socket.get() < 0 || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return -1;
  kept.store(socket.release(), std::memory_order_seq_cst);
  return kept.load(std::memory_order_relaxed);
}

bool LaneBells::answer(uint32_t slot) {
  const int socket = sockets_[slot].load(std::memory_order_relaxed);
  char byte = 0;
  int rings = 0;
  while (socket >= 0 && rings < kMostAtOnce && ::recv(socket, &byte, sizeof byte, 0) >= 0) ++rings;
  return rings != 0;
}

/// Where there is no room for another datagram the lane has one to read.
void LaneBells::ring(uint64_t name, uint32_t slot) {
  sockaddr_un address{};
  const socklen_t length = address_of(name, slot, &address);
  static_cast<void>(::sendto(sender_.get(), "", 1, MSG_NOSIGNAL, reinterpret_cast<sockaddr*>(&address), length));
}

}  // namespace lci
