// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/door.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/no_memory.hpp"
#include "host/crowd.hpp"
#include "host/socket.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

constexpr size_t kMostStrangers = 64, kMostLines = 64;
constexpr uint64_t kProofPatience = 5'000'000'000;  // ns, from the call to its proof
constexpr int kCallsAtOnce = 64;

bool watch(int poll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = descriptor;
  return epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

int Door::open(const std::string& host, TcpAddress* address) {
  const int code = listen_for_ranks(host, &listener_, address);
  if (code != LCI_DONE) return code;
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  poll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  if (poll_.get() < 0 || !watch(poll_.get(), listener_.get())) {
    return fail(LCI_ERR_BOOTSTRAP, "create runtime: epoll: %s", std::strerror(errno));
  }
  return LCI_DONE;
}

void Door::visit() {
  TryLockGuard guard(visiting_);
  if (!guard || listener_.get() < 0) return;
  go_on_with_all();  // first: nobody whose proof is there makes room for a newcomer
  let_in();
  go_on_with_all();
}

void Door::go_on_with_all() {
  const uint64_t now = now_ns();
  for (size_t i = 0; i < strangers_.size();) {
    Stranger& stranger = *strangers_[i];
    const bool stays =
        go_on(stranger) && (now <= stranger.until_ns || refuse(stranger, "it has not proved itself in time"));
    if (stays) {
      ++i;
    } else {
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// Callers that have said nothing go first, then those that were challenged: the oldest of the address that has most.
void Door::make_room() {
  const auto says_nothing = [](const auto& stranger) { return !stranger->challenged; };
  const auto same_address = [](const auto& one, const auto& other) { return one->address == other->address; };
  const auto anybody = [](const auto&) { return true; };
  auto chosen = one_of_the_crowd(strangers_.begin(), strangers_.end(), says_nothing, same_address);
  if (chosen == strangers_.end()) {
    chosen = one_of_the_crowd(strangers_.begin(), strangers_.end(), anybody, same_address);
  }
  refuse(**chosen, "it has not proved itself, and others call");
  strangers_.erase(chosen);
}

/// Another one makes room for one that comes: whoever holds connections open keeps nobody out.
void Door::let_in() {
  for (int i = 0; i < kCallsAtOnce; ++i) {
    SocketAddress from;
    FileDescriptor socket = accept_next(&from);
    if (socket.get() < 0) return;
    if (strangers_.size() == kMostStrangers) make_room();
    prepare_for_records(socket.get());
    if (!watch(poll_.get(), socket.get())) continue;
    auto stranger = std::make_unique<Stranger>();
    stranger->socket = std::move(socket);
    stranger->until_ns = now_ns() + kProofPatience;
    stranger->address = from.host();
    strangers_.push_back(std::move(stranger));
  }
}

/// Out of descriptors, a caller that stayed in the queue would keep every sleeper awake: it is turned away.
FileDescriptor Door::accept_next(SocketAddress* from) {
  FileDescriptor socket = accept_from(listener_.get(), from);
  if (socket.get() >= 0 || (errno != EMFILE && errno != ENFILE)) return socket;
  spare_ = FileDescriptor();
  accept_from(listener_.get(), from);
  spare_ = FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return FileDescriptor();
}

/// False: it is no stranger any more, or is gone.
bool Door::go_on(Stranger& stranger) {
  bool gone = false;
  if (!stranger.challenged) {
    if (!read_all(stranger, &stranger.hello, sizeof stranger.hello, &gone)) return !gone;
    return answer(stranger);
  }
  if (!read_all(stranger, &stranger.proof, sizeof stranger.proof, &gone)) return !gone;
  if (!equal_in_constant_time(stranger.proof, proof_of_caller(stranger.hello, stranger.challenge, identity_))) {
    return refuse(stranger, "it does not have the job's secret");
  }
  hand_over(stranger);
  return false;
}

/// True: all @p size bytes have come.
bool Door::read_all(Stranger& stranger, void* to, size_t size, bool* gone) {
  if (stranger.bytes == size) return true;  // and there was no memory to go on
  const Moved came =
      receive_some(stranger.socket.get(), static_cast<std::byte*>(to) + stranger.bytes, size - stranger.bytes);
  *gone = came.ended;
  stranger.bytes += came.bytes;
  return stranger.bytes == size;
}

bool Door::answer(Stranger& stranger) {
  if (const char* fault = fault_of(stranger.hello, identity_)) return refuse(stranger, fault);
  if (stranger.hello.incarnation != incarnations_[stranger.hello.from]) {
    return refuse(stranger, "it is not the process that joined as this rank");
  }
  stranger.challenge = challenge_to(stranger.hello, identity_);
  stranger.challenged = true;
  stranger.bytes = 0;
  return send_some(stranger.socket.get(), &stranger.challenge, sizeof stranger.challenge).bytes ==
         sizeof stranger.challenge;
}

void Door::hand_over(Stranger& stranger) {
  const uint32_t device = stranger.hello.device;
  {
    const std::lock_guard<std::mutex> guard(calls_mutex_);
    std::vector<Caller>& callers = calls_[device].callers;
    std::erase_if(callers, [&](const Caller& caller) { return caller.rank == stranger.hello.from; });  // it calls anew
    callers.reserve(callers.size() + 1);
    epoll_ctl(poll_.get(), EPOLL_CTL_DEL, stranger.socket.get(), nullptr);
    const LinkProgress progress{stranger.hello.connections, stranger.hello.taken};
    callers.push_back({stranger.hello.from, progress, std::move(stranger.socket),
                       binding_of(stranger.hello, stranger.challenge, identity_)});
    calls_[device].waiting.store(true, std::memory_order_seq_cst);
  }
  events_.wake_devices();
}

/// One line for each address: a stranger cannot fill the log.
bool Door::refuse(const Stranger& stranger, const char* why) {
  shared_.add(Metric::strangers_refused);
  bool first = false;
  static_cast<void>(
      unless_no_memory([&] { first = refused_.size() < kMostLines && refused_.insert(stranger.address).second; }));
  if (first) {
    LCI_LOG(log_, LogLevel::kWarn, "tcp", "refused a connection from %s: %s; others from there are refused silently",
            stranger.address.c_str(), why);
  }
  return false;
}

void Door::take_callers(uint32_t device, std::vector<Caller>* out) {
  const std::lock_guard<std::mutex> guard(calls_mutex_);
  std::vector<Caller>& callers = calls_[device].callers;
  out->reserve(out->size() + callers.size());
  calls_[device].waiting.store(false, std::memory_order_relaxed);
  for (Caller& caller : callers) out->push_back(std::move(caller));
  callers.clear();
}

void Door::close() {
  const std::lock_guard<TryLock> guard(visiting_);
  strangers_.clear();
  listener_ = FileDescriptor();
}

}  // namespace lci
