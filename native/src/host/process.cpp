// SPDX-License-Identifier: Apache-2.0
#include "host/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "host/file_descriptor.hpp"

namespace lci {
namespace {

/// What /proc says of a process from its state on: a name, which may hold anything, is before it. Empty: nothing.
std::string state_and_more(pid_t process) {
  FILE* file = std::fopen(("/proc/" + std::to_string(process) + "/stat").c_str(), "re");
  if (!file) return {};
  char text[1024];
  const std::string_view line(text, std::fread(text, 1, sizeof text, file));
  std::fclose(file);
  const size_t name_end = line.rfind(')');
  return name_end + 2 < line.size() ? std::string(line.substr(name_end + 2)) : std::string();
}

}  // namespace

pid_t own_process() {
  return ::getpid();
}

bool process_gone(pid_t process) {
  const FileDescriptor handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
  if (handle.get() >= 0) {
    pollfd entry{handle.get(), POLLIN, 0};
    return poll(&entry, 1, 0) == 1;
  }
  if (errno == ESRCH) return true;
  if (::kill(process, 0) != 0) return errno == ESRCH;  // no descriptor is left, perhaps
  const std::string state = state_and_more(process);
  return !state.empty() && (state.front() == 'Z' || state.front() == 'X');
}

uint64_t process_start(pid_t process) {
  constexpr int kFieldsBefore = 19;  // from the state on; see proc(5)
  const std::string fields = state_and_more(process);
  size_t at = 0;
  for (int i = 0; i < kFieldsBefore && at != std::string::npos; ++i) at = fields.find(' ', at + 1);
  uint64_t start = 0;
  if (at != std::string::npos && at < fields.size()) {
    std::from_chars(fields.data() + at + 1, fields.data() + fields.size(), start);
  }
  return start;
}

void read_boot_id(char* out, size_t size) {
  const FileDescriptor boot(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t length = boot.get() < 0 ? 0 : read(boot.get(), out, size - 1);
  out[length < 0 ? 0 : length] = '\0';
}

}  // namespace lci
