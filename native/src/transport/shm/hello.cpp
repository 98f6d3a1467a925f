// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/hello.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "lci/lci.h"
#include "transport/shm/arena.hpp"

namespace lci {
namespace {

/// The descriptors that came with a message: each is taken over, however many there are. True if it is exactly one.
bool take_descriptor(msghdr* message, FileDescriptor* out) {
  size_t count = 0;
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int), ++count) {
      int fd;
      std::memcpy(&fd, reinterpret_cast<const char*>(header) + at, sizeof fd);
      *out = FileDescriptor(fd);  // the one before is closed
    }
  }
  return count == 1 && !(message->msg_flags & MSG_CTRUNC);
}

/// All descriptors that came with a message, taken over.
std::vector<FileDescriptor> take_descriptors(msghdr* message) {
  std::vector<FileDescriptor> result;
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
      int fd;
      std::memcpy(&fd, reinterpret_cast<const char*>(header) + at, sizeof fd);
      result.emplace_back(fd);
    }
  }
  return result;
}

/// All bytes are compared, whatever the first one says.
bool same_secret(const uint8_t (&said)[32], const JobSecret& secret) {
  uint8_t difference = 0;
  for (size_t i = 0; i < sizeof said; ++i) difference = static_cast<uint8_t>(difference | (said[i] ^ secret[i]));
  return difference == 0;
}

}  // namespace

bool wait_readable(int fd, uint64_t deadline_ns) {
  for (;;) {
    const uint64_t now = now_ns();
    if (now >= deadline_ns) return false;
    pollfd entry{fd, POLLIN, 0};
    const int milliseconds = static_cast<int>(std::min<uint64_t>((deadline_ns - now) / 1'000'000 + 1, 1000));
    const int ready = poll(&entry, 1, milliseconds);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool send_hello(int socket, uint32_t rank, const JobSecret& secret, int arena_fd) {
  Hello hello{kMemoryMagic, LCI_ABI_VERSION, rank, {}};
  std::memcpy(hello.secret, secret.data(), sizeof hello.secret);
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &arena_fd, sizeof arena_fd);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof hello);
}

bool receive_hello(int socket, const JobSecret& secret, uint32_t job_size, uint64_t deadline_ns, Greeter* out) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return false;
  if (credentials.uid != geteuid()) return false;  // who says nothing costs no time
  if (!wait_readable(socket, deadline_ns)) return false;
  Hello hello{};
  iovec part{&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (size < 0) return false;
  FileDescriptor arena;
  const bool one_descriptor = take_descriptor(&message, &arena);
  const bool whole = size == static_cast<ssize_t>(sizeof hello) && !(message.msg_flags & MSG_TRUNC);
  if (!one_descriptor || !whole || hello.magic != kMemoryMagic || hello.abi != LCI_ABI_VERSION ||
      hello.rank >= job_size || !same_secret(hello.secret, secret)) {
    return false;
  }
  *out = {hello.rank, credentials.pid, std::move(arena)};
  return true;
}

bool send_handout(int socket, uint32_t first, const int* descriptors, uint32_t count, const JobSecret& secret) {
  Handout handout{kMemoryMagic, LCI_ABI_VERSION, first, count, 0, {}};
  std::memcpy(handout.secret, secret.data(), sizeof handout.secret);
  iovec part{&handout, sizeof handout};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count != 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof handout);
}

Heard receive_handout(int socket, const JobSecret& secret, uint32_t first, uint32_t most,
                      std::vector<FileDescriptor>* out) {
  Handout handout{};
  iovec part{&handout, sizeof handout};
  alignas(cmsghdr) char control[CMSG_SPACE((kMostDescriptors + 3) * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) return Heard::kNothing;
  std::vector<FileDescriptor> taken = take_descriptors(&message);
  if (size != static_cast<ssize_t>(sizeof handout) || (message.msg_flags & MSG_TRUNC) != 0 ||
      handout.magic != kMemoryMagic || handout.abi != LCI_ABI_VERSION || handout.first != first ||
      handout.count > most || handout.count > kMostDescriptors || !same_secret(handout.secret, secret)) {
    return Heard::kNothing;
  }
  if (message.msg_flags & MSG_CTRUNC) return Heard::kNoRoom;
  if (taken.size() != handout.count) return Heard::kNothing;
  for (FileDescriptor& each : taken) out->push_back(std::move(each));
  return Heard::kAll;
}

}  // namespace lci
