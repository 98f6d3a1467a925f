// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_door.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "host/crowd.hpp"

namespace lci {
namespace {

constexpr size_t kMostNamed = 256;

int cannot_listen(const TcpSettings& settings, const SocketAddress& address, int error) {
  const char* hint = "";
  if (error == EADDRINUSE) hint = "; another process of rank 0, or of another job, has the port";
  if (error == EADDRNOTAVAIL) hint = "; it is no address of this host: rank 0 runs where LCI_ROOT says";
  return blame(0, fail(LCI_ERR_BOOTSTRAP, "bootstrap tcp: rank 0 cannot listen at %s (%s): %s%s",
                       settings.root_text().c_str(), address.text().c_str(), std::strerror(error), hint));
}

}  // namespace

int TcpDoor::open(std::string* why) {
  std::vector<SocketAddress> addresses;
  const int code = settings_.find_root(&addresses, why);
  if (code != LCI_DONE) return code;
  for (const SocketAddress& address : addresses) {
    listener_ = listen_at(address);
    if (is_open()) return LCI_DONE;
    const bool last = &address == &addresses.back();
    // Where another process answers, ranks would ask that one: the next address is no way out.
    const bool hopeless = errno == EADDRINUSE || errno == EACCES;
    if (hopeless || last) return cannot_listen(settings_, address, errno);
  }
  return LCI_DONE;
}

void TcpDoor::close() {
  listener_ = FileDescriptor();
  strangers_.clear();
  again_ns_ = 0;
}

void TcpDoor::serve(const Judge& judge, const Join& join) {
  accept_all();
  for (auto stranger = strangers_.begin(); stranger != strangers_.end();) {
    const Step step = advance(*stranger);
    if (step == Step::kGoesOn) {
      Greeting greeting;
      decode(stranger->greeting, &greeting);
      const Verdict verdict = greeting.size == settings_.size ? judge(greeting.rank) : Verdict::kOtherSize;
      answer(*stranger, verdict);
      if (verdict == Verdict::kWelcome) join(greeting.rank, std::move(stranger->socket));
    }
    stranger = step == Step::kWaits ? std::next(stranger) : strangers_.erase(stranger);
  }
}

void TcpDoor::accept_all() {
  if (now_ns() < again_ns_) return;
  again_ns_ = 0;
  while (is_open() && (strangers_.size() < limits_.strangers || make_room())) {
    SocketAddress from;
    FileDescriptor socket = accept_from(listener_.get(), &from);
    if (socket.get() < 0) {
      const bool lacks = errno == EMFILE || errno == ENFILE;
      if (lacks && make_room()) continue;
      return lacks ? lack_descriptors() : void();
    }
    send_at_once(socket.get());
    strangers_.push_back({.socket = std::move(socket), .from = from, .since = now_ns()});
  }
}

/// Others of the process may close some, or strangers go: until then those who call wait in the system's queue.
void TcpDoor::lack_descriptors() {
  again_ns_ = now_ns() + limits_.descriptor_wait;
  if (!log_ || std::exchange(told_lack_, true)) return;
  LCI_LOG(*log_, LogLevel::kWarn, "bootstrap",
          "rank 0 may not open so many files: it needs a connection to each of %u ranks, which wait; raise the limit "
          "(ulimit -n)",
          settings_.size);
}

/// When it makes room for others: whoever has greeted is about to prove itself, over whatever distance.
uint64_t TcpDoor::goes_at(const Stranger& stranger) const {
  const bool has_greeted = stranger.received >= stranger.greeting.size();
  return stranger.since + std::min(limits_.crowd_patience, has_greeted ? UINT64_MAX : limits_.silent_patience);
}

/// One of the address that has the most of those: a crowd of one host keeps others waiting for a moment, not for five
/// seconds.
bool TcpDoor::make_room() {
  if (!wait_for(listener_.get(), false, 0)) return false;
  const auto goes = [this, now = now_ns()](const Stranger& stranger) { return may_go(stranger, now); };
  const auto same_host = [](const Stranger& one, const Stranger& other) {
    return one.from.with_port(0) == other.from.with_port(0);
  };
  const auto chosen = one_of_the_crowd(strangers_.begin(), strangers_.end(), goes, same_host);
  if (chosen == strangers_.end()) return false;
  refuse(*chosen, "has not said who it is, and others wait");
  strangers_.erase(chosen);
  return true;
}

TcpDoor::Step TcpDoor::advance(Stranger& stranger) {
  const bool late = now_ns() - stranger.since >= limits_.patience;
  Step step = Step::kGoesOn;
  if (stranger.received < stranger.greeting.size()) {
    step = receive(stranger, stranger.greeting.data(), stranger.greeting.size(), 0);
    if (step == Step::kGoesOn) step = challenge(stranger);
  }
  if (step == Step::kGoesOn) {
    step = receive(stranger, stranger.proof.data(), stranger.proof.size(), stranger.greeting.size());
    if (step == Step::kGoesOn) step = check(stranger);
  }
  if (step == Step::kWaits && late) {
    refuse(stranger, "has not said in time who it is");
    return Step::kGoes;
  }
  return step;
}

/// What begins at @p from of what a stranger says. kGoesOn: all of it is there.
TcpDoor::Step TcpDoor::receive(Stranger& stranger, uint8_t* out, size_t size, size_t from) {
  while (stranger.received < from + size) {
    const size_t at = stranger.received - from;
    const Moved moved = receive_some(stranger.socket.get(), out + at, size - at);
    if (moved.ended) {
      refuse(stranger, "went before it had said who it is");
      return Step::kGoes;
    }
    if (moved.bytes == 0) return Step::kWaits;
    stranger.received += moved.bytes;
  }
  return Step::kGoesOn;
}

TcpDoor::Step TcpDoor::challenge(Stranger& stranger) {
  Greeting greeting;
  if (!decode(stranger.greeting, &greeting)) {
    refuse(stranger, "sent what is no greeting of a rank");
    return Step::kGoes;
  }
  if (greeting.version != kJoinVersion) {
    answer(stranger, Verdict::kOtherVersion);
    return Step::kGoes;
  }
  stranger.nonce = new_nonce();
  const auto verdict = encode(Verdict::kWelcome, 0);
  const auto challenge =
      encode({stranger.nonce, prove(settings_.secret, Prover::kRoot, stranger.greeting, stranger.nonce)});
  // As little as that fits into what the system keeps for a fresh connection.
  send_some(stranger.socket.get(), verdict.data(), verdict.size());
  send_some(stranger.socket.get(), challenge.data(), challenge.size());
  return Step::kGoesOn;
}

TcpDoor::Step TcpDoor::check(Stranger& stranger) {
  const Digest right = prove(settings_.secret, Prover::kRank, stranger.greeting, stranger.nonce);
  if (equal_in_constant_time(right.bytes.data(), stranger.proof.data(), stranger.proof.size())) return Step::kGoesOn;
  answer(stranger, Verdict::kOtherSecret);
  return Step::kGoes;
}

void TcpDoor::answer(Stranger& stranger, Verdict verdict) {
  const auto bytes = encode(verdict, job_);
  send_some(stranger.socket.get(), bytes.data(), bytes.size());
  if (verdict != Verdict::kWelcome) refuse(stranger, describe(verdict));
}

void TcpDoor::refuse(const Stranger& stranger, const char* why) {
  const std::string host = stranger.from.host();
  if (!log_ || named_.size() == kMostNamed || !named_.insert(host).second) return;
  LCI_LOG(*log_, LogLevel::kWarn, "bootstrap", "a connection from %s was refused: it %s; others from there go unsaid",
          host.c_str(), why);
}

bool TcpDoor::lets_in() const {
  if (again_ns_ != 0) return false;
  const auto goes = [this, now = now_ns()](const Stranger& stranger) { return may_go(stranger, now); };
  return strangers_.size() < limits_.strangers || std::any_of(strangers_.begin(), strangers_.end(), goes);
}

void TcpDoor::add_to(std::vector<pollfd>* entries) const {
  if (!is_open()) return;
  if (lets_in()) entries->push_back({listener_.get(), POLLIN, 0});  // else it would wake us for nothing
  for (const Stranger& stranger : strangers_) entries->push_back({stranger.socket.get(), POLLIN, 0});
}

uint64_t TcpDoor::next_deadline() const {
  uint64_t next = again_ns_ != 0 ? again_ns_ : UINT64_MAX;
  if (strangers_.empty()) return next;
  next = std::min(next, strangers_.front().since + limits_.patience);
  if (lets_in()) return next;
  for (const Stranger& stranger : strangers_) next = std::min(next, goes_at(stranger));
  return next;
}

}  // namespace lci
