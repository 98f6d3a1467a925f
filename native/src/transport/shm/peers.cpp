// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/peers.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/inproc.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

constexpr uint64_t kDeathPatience = 500'000'000;  // ns
constexpr uint64_t kLookForDeaths = 200'000'000;  // ns

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

struct Hello {
  uint64_t magic;
  uint32_t abi;
  uint32_t rank;
  uint8_t secret[32];
};

socklen_t socket_address(const std::string& job, uint32_t rank, sockaddr_un* out) {
  const std::string name = "lci-" + job + "-" + std::to_string(rank);
  *out = {};
  out->sun_family = AF_UNIX;
  std::memcpy(out->sun_path + 1, name.data(), std::min(name.size(), sizeof out->sun_path - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool wait_readable(int fd, uint64_t deadline) {
  for (;;) {
    const uint64_t now = now_ns();
    if (now >= deadline) return false;
    pollfd entry{fd, POLLIN, 0};
    const int milliseconds = static_cast<int>(std::min<uint64_t>((deadline - now) / 1'000'000 + 1, 1000));
    const int ready = poll(&entry, 1, milliseconds);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool send_hello(int socket, const Bootstrap& bootstrap, int arena_fd) {
  Hello hello{kArenaMagic, LCI_ABI_VERSION, bootstrap.rank(), {}};
  std::memcpy(hello.secret, bootstrap.secret().data(), sizeof hello.secret);
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

/// Reads a hello; false for strangers: wrong size, secret, version or user, or no descriptor.
bool receive_hello(int socket, const Bootstrap& bootstrap, uint64_t deadline, Hello* hello, FileDescriptor* arena,
                   pid_t* pid) {
  if (!wait_readable(socket, deadline)) return false;
  iovec part{hello, sizeof *hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof *hello)) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int))) return false;
  int fd;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  *arena = FileDescriptor(fd);
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return false;
  *pid = credentials.pid;
  uint8_t difference = 0;  // all bytes are compared, whatever the first one says
  for (size_t i = 0; i < sizeof hello->secret; ++i) {
    difference = static_cast<uint8_t>(difference | (hello->secret[i] ^ bootstrap.secret()[i]));
  }
  return hello->magic == kArenaMagic && hello->abi == LCI_ABI_VERSION && hello->rank < bootstrap.size() &&
         difference == 0 && credentials.uid == geteuid();
}

std::vector<uint32_t> all_ranks(const Bootstrap& bootstrap) {
  std::vector<uint32_t> ranks(bootstrap.size());
  std::iota(ranks.begin(), ranks.end(), 0u);
  return ranks;
}

int died(uint32_t rank) {
  return blame(rank, fail(LCI_ERR_PEER_FAILED, "meet peers: rank %u died while the ranks joined", rank));
}

/// Rank @p rank had joined and is not there any more: it died, or gave up because another one did.
int not_met(const Bootstrap& bootstrap, uint32_t rank) {
  std::vector<uint32_t> suspects = all_ranks(bootstrap);
  std::swap(suspects[0], suspects[rank]);
  // A socket closes shortly before its process counts as ended.
  for (const uint64_t patience = now_ns() + kDeathPatience; now_ns() < patience; usleep(2000)) {
    if (const auto dead = bootstrap.dead_among(suspects)) return died(*dead);
  }
  return blame(
      rank, fail(LCI_ERR_BOOTSTRAP,
                 "meet peers: rank %u did not answer: it left while joining, or has another secret or version", rank));
}

int take_peer(const Bootstrap& bootstrap, uint32_t rank, FileDescriptor arena, pid_t pid, uint64_t reserve,
              uint32_t devices, Peers* out) {
  const int code = Arena::map_peer(arena.release(), reserve, rank, bootstrap.size(), devices, &out->arenas[rank]);
  if (code != LCI_DONE) return code;
  if (pid == getpid()) return LCI_DONE;
  out->pidfds[rank] = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (out->pidfds[rank] < 0) {
    if (errno == ESRCH) return not_met(bootstrap, rank);
    return fail(LCI_ERR_BOOTSTRAP, "meet peers: cannot watch rank %u (process %d): %s", rank, pid,
                std::strerror(errno));
  }
  return LCI_DONE;
}

int meet_inproc(Bootstrap& bootstrap, lci_inproc* job, std::shared_ptr<Arena> own, uint64_t deadline, Peers* out) {
  {
    std::lock_guard<std::mutex> guard(job->mutex);
    job->slots[bootstrap.rank()] = own;
  }
  const int code = bootstrap.barrier(deadline);
  if (code != LCI_DONE) return code;
  std::lock_guard<std::mutex> guard(job->mutex);
  for (uint32_t rank = 0; rank < bootstrap.size(); ++rank) {
    out->arenas[rank] = std::static_pointer_cast<Arena>(job->slots[rank]);
  }
  return LCI_DONE;
}

int meet_by_socket(Bootstrap& bootstrap, uint64_t reserve, uint32_t devices, std::shared_ptr<Arena> own,
                   uint64_t deadline, Peers* out) {
  const uint32_t me = bootstrap.rank(), size = bootstrap.size();
  FileDescriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  socklen_t length = socket_address(bootstrap.job_id(), me, &address);
  if (listener.get() < 0 || bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener.get(), 4096) != 0) {
    return fail(LCI_ERR_BOOTSTRAP, "meet peers: rank %u cannot listen: %s", me, std::strerror(errno));
  }
  int code = bootstrap.barrier(deadline);
  if (code != LCI_DONE) return code;
  std::vector<FileDescriptor> lower(me);
  for (uint32_t rank = 0; rank < me; ++rank) {
    lower[rank] = FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    length = socket_address(bootstrap.job_id(), rank, &address);
    if (lower[rank].get() < 0) {
      return fail(LCI_ERR_BOOTSTRAP, "meet peers: rank %u has no socket left: %s", me, std::strerror(errno));
    }
    if (connect(lower[rank].get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        !send_hello(lower[rank].get(), bootstrap, own->fd())) {
      return not_met(bootstrap, rank);
    }
  }
  for (uint32_t missing = size - 1 - me; missing != 0;) {
    Hello hello{};
    FileDescriptor arena;
    pid_t pid = 0;
    if (!wait_readable(listener.get(), std::min(deadline, now_ns() + kLookForDeaths))) {
      if (const auto dead = bootstrap.dead_among(all_ranks(bootstrap))) return died(*dead);
      if (now_ns() < deadline) continue;
      std::string ranks;
      for (uint32_t rank = me + 1; rank < size; ++rank) {
        if (!out->arenas[rank]) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
      }
      return fail(LCI_ERR_TIMEOUT, "meet peers: rank %u waited in vain for ranks %s", me, ranks.c_str());
    }
    FileDescriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0) continue;
    const uint64_t patience = std::min<uint64_t>(deadline, now_ns() + 5'000'000'000u);
    if (!receive_hello(connection.get(), bootstrap, patience, &hello, &arena, &pid)) continue;  // a stranger
    if (hello.rank <= me || out->arenas[hello.rank]) continue;
    if (!send_hello(connection.get(), bootstrap, own->fd())) {
      return not_met(bootstrap, hello.rank);
    }
    code = take_peer(bootstrap, hello.rank, std::move(arena), pid, reserve, devices, out);
    if (code != LCI_DONE) return code;
    --missing;
  }
  for (uint32_t rank = 0; rank < me; ++rank) {
    Hello hello{};
    FileDescriptor arena;
    pid_t pid = 0;
    if (!receive_hello(lower[rank].get(), bootstrap, deadline, &hello, &arena, &pid) || hello.rank != rank) {
      if (now_ns() < deadline) return not_met(bootstrap, rank);
      return blame(rank, fail(LCI_ERR_TIMEOUT, "meet peers: rank %u did not answer rank %u", rank, me));
    }
    code = take_peer(bootstrap, rank, std::move(arena), pid, reserve, devices, out);
    if (code != LCI_DONE) return code;
  }
  out->arenas[me] = std::move(own);
  return LCI_DONE;
}

}  // namespace

Peers::~Peers() {
  for (const int fd : pidfds) {
    if (fd >= 0) close(fd);
  }
}

int meet_peers(Bootstrap& bootstrap, lci_inproc* job, uint64_t reserve, uint32_t devices, std::shared_ptr<Arena> own,
               uint64_t deadline_ns, Peers* out) {
  out->arenas.resize(bootstrap.size());
  out->pidfds.assign(bootstrap.size(), -1);
  if (job) return meet_inproc(bootstrap, job, std::move(own), deadline_ns, out);
  if (bootstrap.size() == 1) {
    out->arenas[0] = std::move(own);
    return LCI_DONE;
  }
  return meet_by_socket(bootstrap, reserve, devices, std::move(own), deadline_ns, out);
}

}  // namespace lci
