// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/pmi_pipe.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "host/socket.hpp"

namespace lci {
namespace {

bool is_passing(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

int PmiPipe::late() const {
  return fail(LCI_ERR_TIMEOUT, "%s: the launcher has not answered in time", title_);
}

int PmiPipe::ended(int error) const {
  return fail(LCI_ERR_BOOTSTRAP,
              "%s: the connection to the launcher, PMI_FD=%d, has ended (%s): the launcher ends the job or is gone, or "
              "the descriptor was not handed on to this process",
              title_, fd_, error == 0 ? "closed by the launcher" : std::strerror(error));
}

int PmiPipe::too_long() const {
  return fail(LCI_ERR_BOOTSTRAP, "%s: the launcher says more than %zu bytes at a time; that is not PMI", title_,
              kLongestAnswer);
}

int PmiPipe::send(std::string_view bytes, uint64_t deadline_ns) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!is_passing(errno)) {
      return ended(errno);
    } else if (!wait_for(fd_, true, deadline_ns)) {
      return late();
    }
  }
  return LCI_DONE;
}

/// Some bytes, at least one.
int PmiPipe::receive(uint64_t deadline_ns) {
  char bytes[1024];
  for (;;) {
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
      received_.append(bytes, static_cast<size_t>(got));
      return LCI_DONE;
    }
    if (got == 0) return ended(0);
    if (!is_passing(errno)) return ended(errno);
    const Meanwhile nothing;
    if (!(meanwhile_ ? *meanwhile_ : nothing).wait_for(fd_, false, deadline_ns)) return late();
  }
}

void PmiPipe::take(size_t count, size_t skipped, std::string* out) {
  *out = received_.substr(0, count);
  received_.erase(0, count + skipped);
}

int PmiPipe::read_line(uint64_t deadline_ns, std::string* out) {
  for (;;) {
    const size_t end = received_.find('\n');
    if (std::min(end, received_.size()) > kLongestAnswer) return too_long();
    if (end != std::string::npos) {
      take(end, 1, out);
      return LCI_DONE;
    }
    if (const int code = receive(deadline_ns); code != LCI_DONE) return code;
  }
}

int PmiPipe::read_bytes(size_t count, uint64_t deadline_ns, std::string* out) {
  if (count > kLongestAnswer) return too_long();
  while (received_.size() < count) {
    if (const int code = receive(deadline_ns); code != LCI_DONE) return code;
  }
  take(count, 0, out);
  return LCI_DONE;
}

}  // namespace lci
