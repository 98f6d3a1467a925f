// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/meeting.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/identity.hpp"
#include "bootstrap/inproc.hpp"
#include "lci/lci.h"
#include "transport/shm/hello.hpp"

namespace lci {
namespace {

constexpr uint64_t kDeathPatience = 500'000'000;    // ns
constexpr uint64_t kLookForDeaths = 50'000'000;     // ns
constexpr uint64_t kHelloPatience = 5'000'000'000;  // ns
constexpr uint64_t kNap = 2000;                     // us

/// What ranks of one process give each other.
struct Given {
  std::shared_ptr<Arena> arena;
  std::shared_ptr<NoticeBoard> board;
};

int died(uint32_t rank) {
  return blame(rank, fail(LCI_ERR_PEER_FAILED, "meet peers: rank %u died while the ranks joined", rank));
}

/// Rank @p rank had joined and is not there any more: it died, or gave up because another one did.
int not_met(Bootstrap& bootstrap, uint32_t rank) {
  std::vector<uint32_t> suspects(bootstrap.size());
  std::iota(suspects.begin(), suspects.end(), 0u);
  std::swap(suspects[0], suspects[rank]);
  // A socket closes shortly before its process counts as ended.
  for (const uint64_t patience = now_ns() + kDeathPatience; now_ns() < patience; usleep(kNap)) {
    if (const auto dead = bootstrap.dead_among(suspects)) return died(*dead);
  }
  return blame(
      rank, fail(LCI_ERR_BOOTSTRAP,
                 "meet peers: rank %u did not answer: it left while joining, or has another secret or version", rank));
}

int too_many_files(uint32_t rank, uint32_t size) {
  return fail(LCI_ERR_NO_MEMORY,
              "meet peers: rank %u may not open so many files: %u ranks need as many descriptors in each process, and "
              "twice as many in the first one; raise the limit (ulimit -n)",
              rank, size);
}

socklen_t address_of(const char* name, sockaddr_un* out) {
  const size_t length = strnlen(name, sizeof out->sun_path - 1);
  *out = {};
  out->sun_family = AF_UNIX;
  std::memcpy(out->sun_path + 1, name, length);  // abstract: it goes with its socket
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

FileDescriptor new_socket() {
  return FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Whether the same call may succeed later: the other side, or the system, has too much under way.
bool is_full(int error) {
  return error == EAGAIN || error == ETOOMANYREFS || error == EINTR;
}

pid_t process_behind(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : -1;
}

/// The answers of those to whom descriptors are handed out.
class Answers {
 public:
  /// @param members connections, by rank
  /// @param awaited the ranks that are to answer
  Answers(Bootstrap& bootstrap, const std::vector<FileDescriptor>& members, std::vector<uint32_t> awaited,
          uint32_t last_word)
      : bootstrap_(bootstrap), members_(members), awaited_(std::move(awaited)), last_word_(last_word) {}

  /// Reads those that come until @p until.
  int read(uint64_t until) {
    const std::vector<uint32_t> ranks = awaited_;
    std::vector<pollfd> entries;
    for (const uint32_t rank : ranks) entries.push_back({members_[rank].get(), POLLIN, 0});
    const uint64_t now = now_ns();
    const int milliseconds = now < until ? static_cast<int>((until - now) / 1'000'000 + 1) : 0;
    if (poll(entries.data(), entries.size(), milliseconds) <= 0) return LCI_DONE;
    std::vector<FileDescriptor> none;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      if (receive_handout(entries[i].fd, bootstrap_.secret(), last_word_, 0, &none) != Heard::kAll) {
        return not_met(bootstrap_, ranks[i]);
      }
      std::erase(awaited_, ranks[i]);
    }
    return LCI_DONE;
  }
  /// The first rank that has not answered; nothing: all have.
  std::optional<uint32_t> missing() const {
    return awaited_.empty() ? std::nullopt : std::optional<uint32_t>(awaited_.front());
  }

 private:
  Bootstrap& bootstrap_;
  const std::vector<FileDescriptor>& members_;
  std::vector<uint32_t> awaited_;
  const uint32_t last_word_;
};

}  // namespace

bool Meeting::is_member(uint32_t rank) const {
  return std::find(ranks_.begin(), ranks_.end(), rank) != ranks_.end();
}

int Meeting::open(std::shared_ptr<Arena> own, HostAddress* address) {
  own_ = std::move(own);
  if (job_) {
    auto given = std::make_shared<Given>();
    *given = {own_, NoticeBoard::in_process(bootstrap_.size())};
    job_->meetings.give(bootstrap_.job_id(), bootstrap_.rank(), std::move(given));
    return LCI_DONE;
  }
  if (bootstrap_.rank() != leader() || ranks_.size() == 1) return LCI_DONE;
  const std::string name = "lci-" + bootstrap_.job_id() + "-" + id_text(random_id());
  std::memcpy(address->socket, name.c_str(), std::min(name.size() + 1, sizeof address->socket - 1));
  sockaddr_un where{};
  const socklen_t length = address_of(address->socket, &where);
  listener_ = new_socket();
  if (listener_.get() < 0 || bind(listener_.get(), reinterpret_cast<sockaddr*>(&where), length) != 0 ||
      listen(listener_.get(), 4096) != 0) {
    return fail(LCI_ERR_BOOTSTRAP, "meet peers: rank %u cannot listen: %s", leader(), std::strerror(errno));
  }
  return LCI_DONE;
}

int Meeting::meet(const std::vector<HostAddress>& addresses, uint64_t deadline_ns, Met* out) {
  out->descriptors.resize(bootstrap_.size());
  out->arenas.resize(bootstrap_.size());
  if (job_) return meet_in_process(out);
  out->arenas[bootstrap_.rank()] = own_;
  if (ranks_.size() == 1) {
    out->board = NoticeBoard::in_process(bootstrap_.size());
    return LCI_DONE;
  }
  return bootstrap_.rank() == leader() ? lead(addresses, deadline_ns, out)
                                       : follow(addresses[leader()], deadline_ns, out);
}

int Meeting::meet_in_process(Met* out) {
  const auto given = job_->meetings.take(bootstrap_.job_id(), bootstrap_.rank());
  for (uint32_t rank = 0; rank < bootstrap_.size(); ++rank) {
    if (!given[rank]) {
      return blame(rank, fail(LCI_ERR_BOOTSTRAP, "meet peers: rank %u left while the ranks joined", rank));
    }
    if (is_member(rank)) out->arenas[rank] = static_cast<Given*>(given[rank].get())->arena;
  }
  out->board = static_cast<Given*>(given[leader()].get())->board;
  return LCI_DONE;
}

int Meeting::lead(const std::vector<HostAddress>& addresses, uint64_t deadline, Met* out) {
  std::vector<FileDescriptor> members(bootstrap_.size());
  int code = NoticeBoard::create(bootstrap_.size(), &out->board);
  if (code == LCI_DONE) code = gather(addresses, deadline, &members, out);
  if (code == LCI_DONE) code = hand_out(members, deadline, *out);
  if (code != LCI_DONE) return code;
  listener_ = FileDescriptor();
  for (const uint32_t rank : ranks_) {
    if (rank == leader()) continue;
    // Who has died meanwhile has joined, and the others hear of its death.
    send_handout(members[rank].get(), last_word(), nullptr, 0, bootstrap_.secret());
  }
  return LCI_DONE;
}

/// Waits until all others have said hello.
int Meeting::gather(const std::vector<HostAddress>& addresses, uint64_t deadline, std::vector<FileDescriptor>* members,
                    Met* out) {
  const auto size = static_cast<uint32_t>(ranks_.size());
  for (uint32_t missing = size - 1; missing != 0;) {
    if (!wait_readable(listener_.get(), std::min(deadline, now_ns() + kLookForDeaths))) {
      const auto [dead, left] = bootstrap_.look_for_loss();
      if (dead) return died(*dead);
      if (left) return not_met(bootstrap_, *left);
      if (now_ns() < deadline) continue;
      std::string ranks;
      for (const uint32_t rank : ranks_) {
        const bool missed = rank != leader() && (*members)[rank].get() < 0;
        if (missed) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
      }
      return fail(LCI_ERR_TIMEOUT, "meet peers: rank %u waited in vain for ranks %s", leader(), ranks.c_str());
    }
    FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.get() < 0 && (errno == EMFILE || errno == ENFILE)) return too_many_files(leader(), size);
    if (connection.get() < 0) continue;
    Greeter peer;
    const uint64_t patience = std::min(deadline, now_ns() + kHelloPatience);
    if (!receive_hello(connection.get(), bootstrap_.secret(), bootstrap_.size(), patience, &peer))
      continue;  // a stranger
    if (peer.rank == leader() || !is_member(peer.rank) || (*members)[peer.rank].get() >= 0) continue;
    if (peer.process != addresses[peer.rank].process) {
      return blame(peer.rank, fail(LCI_ERR_BOOTSTRAP,
                                   "meet peers: rank %u calls itself process %d, and is process %d here: start all "
                                   "ranks in one namespace of processes",
                                   peer.rank, addresses[peer.rank].process, peer.process));
    }
    out->descriptors[peer.rank] = std::move(peer.arena);
    (*members)[peer.rank] = std::move(connection);
    --missing;
  }
  return LCI_DONE;
}

/// The notice board, then all arenas, to each member; returns when all have them.
int Meeting::hand_out(const std::vector<FileDescriptor>& members, uint64_t deadline, const Met& met) {
  const std::vector<uint32_t> others(ranks_.begin() + 1, ranks_.end());
  std::vector<int> descriptors{met.board->fd(), own_->fd()};
  for (const uint32_t rank : others) descriptors.push_back(met.descriptors[rank].get());
  Answers answers(bootstrap_, members, others, last_word());
  // The system bounds what may be under way to those who have not read it yet.
  auto wait = [&](uint32_t for_rank) -> int {
    if (const int code = answers.read(std::min(deadline, now_ns() + kLookForDeaths)); code != LCI_DONE) return code;
    if (const auto dead = bootstrap_.look_for_loss().dead) return died(*dead);
    if (now_ns() < deadline) return LCI_DONE;
    return blame(for_rank, fail(LCI_ERR_TIMEOUT, "meet peers: rank %u did not answer rank %u", for_rank, leader()));
  };
  for (const uint32_t rank : others) {
    for (uint32_t first = 0; first < descriptors.size();) {
      const uint32_t count = std::min(kMostDescriptors, static_cast<uint32_t>(descriptors.size()) - first);
      if (send_handout(members[rank].get(), first, descriptors.data() + first, count, bootstrap_.secret())) {
        first += count;
      } else if (!is_full(errno)) {
        return not_met(bootstrap_, rank);
      } else if (const int code = wait(rank); code != LCI_DONE) {
        return code;
      }
    }
  }
  while (const auto rank = answers.missing()) {
    if (const int code = wait(*rank); code != LCI_DONE) return code;
  }
  return LCI_DONE;
}

int Meeting::follow(const HostAddress& where, uint64_t deadline, Met* out) {
  const auto size = static_cast<uint32_t>(ranks_.size());
  const uint32_t all = last_word();
  FileDescriptor connection;
  int code = connect_to(where, deadline, &connection);
  if (code == LCI_DONE) code = say_hello(connection.get(), deadline);
  if (code != LCI_DONE) return code;
  std::vector<FileDescriptor> descriptors;
  while (descriptors.size() < all) {
    code = await(connection.get(), deadline);
    if (code != LCI_DONE) return code;
    const auto first = static_cast<uint32_t>(descriptors.size());
    const Heard heard = receive_handout(connection.get(), bootstrap_.secret(), first, all - first, &descriptors);
    if (heard == Heard::kNoRoom) return too_many_files(bootstrap_.rank(), size);
    if (heard == Heard::kNothing || descriptors.size() == first) return not_met(bootstrap_, leader());
  }
  std::shared_ptr<NoticeBoard> board;
  code = NoticeBoard::map(std::move(descriptors[0]), bootstrap_.size(), &board);
  if (code != LCI_DONE) return code;
  if (!send_handout(connection.get(), all, nullptr, 0, bootstrap_.secret())) return not_met(bootstrap_, leader());
  // From here on the others may have joined: they learn from the board if this rank does not.
  out->board = std::move(board);
  for (uint32_t i = 0; i < size; ++i) {
    if (ranks_[i] != bootstrap_.rank()) out->descriptors[ranks_[i]] = std::move(descriptors[i + 1]);
  }
  code = await(connection.get(), deadline);
  if (code != LCI_DONE) return code;
  std::vector<FileDescriptor> none;
  const Heard last = receive_handout(connection.get(), bootstrap_.secret(), all, 0, &none);
  return last == Heard::kAll ? LCI_DONE : not_met(bootstrap_, leader());
}

int Meeting::connect_to(const HostAddress& where, uint64_t deadline, FileDescriptor* out) {
  *out = new_socket();
  if (out->get() < 0) return too_many_files(bootstrap_.rank(), static_cast<uint32_t>(ranks_.size()));
  sockaddr_un address{};
  const socklen_t length = address_of(where.socket, &address);
  while (connect(out->get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (!is_full(errno)) return not_met(bootstrap_, leader());
    if (const auto dead = bootstrap_.look_for_loss().dead) return died(*dead);
    if (now_ns() >= deadline) {
      return blame(leader(),
                   fail(LCI_ERR_TIMEOUT, "meet peers: rank %u did not answer rank %u", leader(), bootstrap_.rank()));
    }
    usleep(kNap);
  }
  // Only the rank itself: a stranger may have taken the name when it died.
  return process_behind(out->get()) == where.process ? LCI_DONE : not_met(bootstrap_, leader());
}

int Meeting::say_hello(int socket, uint64_t deadline) {
  while (!send_hello(socket, bootstrap_.rank(), bootstrap_.secret(), own_->fd())) {
    if (!is_full(errno) || now_ns() >= deadline) return not_met(bootstrap_, leader());
    usleep(kNap);
  }
  return LCI_DONE;
}

/// Until the leader says something.
int Meeting::await(int socket, uint64_t deadline) {
  while (!wait_readable(socket, std::min(deadline, now_ns() + kLookForDeaths))) {
    if (const auto dead = bootstrap_.look_for_loss().dead) return died(*dead);
    if (now_ns() >= deadline) {
      return blame(leader(),
                   fail(LCI_ERR_TIMEOUT, "meet peers: rank %u did not answer rank %u", leader(), bootstrap_.rank()));
    }
  }
  return LCI_DONE;
}

}  // namespace lci
