// SPDX-License-Identifier: Apache-2.0
// File descriptors: sent over a socket as a stranger may send them, and counted.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "host/file_descriptor.hpp"

namespace lci_test {

/// The number that the next descriptor gets: the same again when nothing was left open.
inline int next_descriptor() {
  return lci::FileDescriptor(fcntl(0, F_DUPFD, 0)).get();
}

/// Those that are open, the one for looking not counted.
inline size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count - 1;
}

/// Opens files until no number below that of the last open one is free: a limit then counts what may still be opened.
inline void fill_gaps() {
  int last = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    last = std::max(last, std::atoi(entry.path().filename().c_str()));
  }
  while (next_descriptor() < last) {
    if (open("/dev/null", O_RDONLY) < 0) return;
  }
}

/// While it lives this process can open no descriptor.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    fill_gaps();
    const rlimit tight{static_cast<rlim_t>(next_descriptor()), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &tight);
  }
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;

 private:
  rlimit before_{};
};

/// Sends @p bytes with @p count copies of @p descriptor; false if they did not all go.
inline bool say(int socket, const void* bytes, size_t size, int descriptor, size_t count) {
  iovec part{const_cast<void*>(bytes), size};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
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
    const std::vector<int> copies(count, descriptor);
    std::memcpy(CMSG_DATA(header), copies.data(), count * sizeof(int));
  }
  return sendmsg(socket, &message, 0) == static_cast<ssize_t>(size);
}

}  // namespace lci_test
