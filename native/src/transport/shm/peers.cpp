// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/peers.hpp"

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
#include "transport/shm/hello.hpp"

namespace lci {
namespace {

constexpr uint64_t kDeathPatience = 500'000'000;  // ns
constexpr uint64_t kLookForDeaths = 200'000'000;  // ns

socklen_t socket_address(const std::string& job, uint32_t rank, sockaddr_un* out) {
  const std::string name = "lci-" + job + "-" + std::to_string(rank);
  *out = {};
  out->sun_family = AF_UNIX;
  std::memcpy(out->sun_path + 1, name.data(), std::min(name.size(), sizeof out->sun_path - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
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
int not_met(Bootstrap& bootstrap, uint32_t rank) {
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

int take_peer(Bootstrap& bootstrap, Greeter peer, uint32_t devices, Peers* out) {
  const uint32_t rank = peer.rank;
  const int code = Arena::map_peer(peer.arena.release(), rank, bootstrap.size(), devices, &out->arenas[rank]);
  if (code != LCI_DONE) return code;
  if (peer.process == getpid()) return LCI_DONE;
  out->pidfds[rank] = static_cast<int>(syscall(SYS_pidfd_open, peer.process, 0));
  if (out->pidfds[rank] < 0) {
    if (errno == ESRCH) return not_met(bootstrap, rank);
    return fail(LCI_ERR_BOOTSTRAP, "meet peers: cannot watch rank %u (process %d): %s", rank, peer.process,
                std::strerror(errno));
  }
  return LCI_DONE;
}

int meet_inproc(Bootstrap& bootstrap, lci_inproc* job, std::shared_ptr<Arena> own, uint64_t deadline, Peers* out) {
  job->meetings.give(bootstrap.job_id(), bootstrap.rank(), std::move(own));
  const int code = bootstrap.barrier(deadline);
  if (code != LCI_DONE) return code;
  const auto given = job->meetings.take(bootstrap.job_id(), bootstrap.rank());
  for (uint32_t rank = 0; rank < bootstrap.size(); ++rank) {
    if (!given[rank]) {
      return blame(rank, fail(LCI_ERR_BOOTSTRAP, "meet peers: rank %u left while the ranks joined", rank));
    }
    out->arenas[rank] = std::static_pointer_cast<Arena>(given[rank]);
  }
  return LCI_DONE;
}

int meet_by_socket(Bootstrap& bootstrap, uint32_t devices, std::shared_ptr<Arena> own, uint64_t deadline, Peers* out) {
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
        !send_hello(lower[rank].get(), me, bootstrap.secret(), own->fd())) {
      return not_met(bootstrap, rank);
    }
  }
  for (uint32_t missing = size - 1 - me; missing != 0;) {
    Greeter peer;
    if (!wait_readable(listener.get(), std::min(deadline, now_ns() + kLookForDeaths))) {
      if (const auto dead = bootstrap.look_for_death()) return died(*dead);
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
    if (!receive_hello(connection.get(), bootstrap.secret(), size, patience, &peer)) continue;  // a stranger
    if (peer.rank <= me || out->arenas[peer.rank]) continue;
    if (!send_hello(connection.get(), me, bootstrap.secret(), own->fd())) {
      return not_met(bootstrap, peer.rank);
    }
    code = take_peer(bootstrap, std::move(peer), devices, out);
    if (code != LCI_DONE) return code;
    --missing;
  }
  for (uint32_t rank = 0; rank < me; ++rank) {
    Greeter peer;
    if (!receive_hello(lower[rank].get(), bootstrap.secret(), size, deadline, &peer) || peer.rank != rank) {
      if (now_ns() < deadline) return not_met(bootstrap, rank);
      return blame(rank, fail(LCI_ERR_TIMEOUT, "meet peers: rank %u did not answer rank %u", rank, me));
    }
    code = take_peer(bootstrap, std::move(peer), devices, out);
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

int meet_peers(Bootstrap& bootstrap, lci_inproc* job, uint32_t devices, std::shared_ptr<Arena> own,
               uint64_t deadline_ns, Peers* out) {
  out->arenas.resize(bootstrap.size());
  out->pidfds.assign(bootstrap.size(), -1);
  if (job) return meet_inproc(bootstrap, job, std::move(own), deadline_ns, out);
  if (bootstrap.size() == 1) {
    out->arenas[0] = std::move(own);
    return LCI_DONE;
  }
  return meet_by_socket(bootstrap, devices, std::move(own), deadline_ns, out);
}

}  // namespace lci
