// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_root.hpp"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/fenced_values.hpp"

namespace lci {
namespace {

constexpr uint64_t kAskAgain = 50'000'000;  // ns: for a name that has no address yet
constexpr char kLate[] = "the deadline has passed";

}  // namespace

int fail_as(const Failure& failure) {
  const int code = fail(failure.code, "%s", failure.text.c_str());
  return failure.rank < 0 ? code : blame(static_cast<uint32_t>(failure.rank), code);
}

Failure last_failure(int code) {
  return {code, last_error_rank(), last_error()};
}

TcpRoot::TcpRoot(const TcpSettings& settings, const Meanwhile& meanwhile)
    : settings_(settings), meanwhile_(meanwhile), job_(random_id() | 1), door_(settings, job_) {}

TcpRoot::~TcpRoot() {
  for (auto& [rank, member] : members_) member.stream.leave();
}

int TcpRoot::exchange(Shared own, uint64_t deadline_ns, Shared* all) {
  if (failure_) return fail_as(*failure_);
  inside_ = true;
  int code = members_.size() + 1 < settings_.size ? open_door(deadline_ns) : LCI_DONE;
  if (code == LCI_DONE) code = gather(deadline_ns);
  door_.close();
  if (code == LCI_DONE) code = hand_out(std::move(own), deadline_ns, all);
  inside_ = false;
  if (code == LCI_DONE) {
    ++fence_;
    return LCI_DONE;
  }
  failure_ = last_failure(code);
  tell_all(FrameKind::kFailure, *failure_);
  return fail_as(*failure_);
}

int TcpRoot::open_door(uint64_t deadline_ns) {
  for (;;) {
    std::string why;
    const int code = door_.open(&why);
    if (code != LCI_RETRY) return code;
    const uint64_t now = now_ns();
    if (now >= deadline_ns) {
      return blame(0, fail(LCI_ERR_TIMEOUT, "bootstrap tcp: rank 0 cannot listen at %s: %s",
                           settings_.root_text().c_str(), why.c_str()));
    }
    const timespec nap{0, static_cast<long>(std::min(kAskAgain, deadline_ns - now))};
    ::nanosleep(&nap, nullptr);
  }
}

/// Until all ranks have given what they publish.
int TcpRoot::gather(uint64_t deadline_ns) {
  for (;;) {
    serve_door();
    listen_to_all();
    const int code = check_members();
    if (code != LCI_DONE || missing().empty()) return code;
    if (now_ns() >= deadline_ns) return report_missing(kLate);
    wait(std::min(deadline_ns, door_.next_deadline()));
  }
}

void TcpRoot::serve_door() {
  auto join = [this](uint32_t rank, FileDescriptor socket) {
    members_.try_emplace(rank, Member{FrameStream(std::move(socket), kMostValueBytes), nullptr});
  };
  door_.serve([this](uint32_t rank) { return judge(rank); }, join);
}

Verdict TcpRoot::judge(uint32_t rank) const {
  if (rank == 0 || rank >= settings_.size) return Verdict::kNoSuchRank;
  return members_.count(rank) != 0 ? Verdict::kTaken : Verdict::kWelcome;
}

/// A rank that goes now has had its part: the next exchange, or look(), tells of it.
int TcpRoot::hand_out(Shared own, uint64_t deadline_ns, Shared* all) {
  ValueList list(fence_);
  list.append(*own);
  for (auto& [rank, member] : members_) list.append(*std::exchange(member.values, nullptr));
  *all = share(list.bytes());
  for (auto& [rank, member] : members_) member.stream.post(FrameKind::kValues, *all);
  for (;;) {
    const auto waiting =
        std::find_if(members_.begin(), members_.end(), [](auto& each) { return each.second.stream.has_to_send(); });
    if (waiting == members_.end()) return LCI_DONE;
    if (now_ns() >= deadline_ns) {
      return missing_ranks(LCI_ERR_TIMEOUT, id_text(job_), fence_, {waiting->first}, "it does not take what all gave");
    }
    wait(deadline_ns);
  }
}

/// Until there is something to do for a rank or a stranger; does the sending and receiving.
void TcpRoot::wait(uint64_t deadline_ns) {
  std::vector<pollfd> entries;
  std::vector<FrameStream*> streams;
  for (auto& [rank, member] : members_) {
    if (member.stream.ended() || member.end != LCI_DONE) continue;
    const short room = member.stream.has_to_send() ? POLLOUT : 0;
    entries.push_back({member.stream.socket(), static_cast<short>(POLLIN | room), 0});
    streams.push_back(&member.stream);
  }
  door_.add_to(&entries);
  meanwhile_.work();
  deadline_ns = meanwhile_.until(deadline_ns);
  if (::poll(entries.data(), entries.size(), poll_ms(deadline_ns)) <= 0) return;
  for (size_t i = 0; i < streams.size(); ++i) {
    if ((entries[i].revents & POLLOUT) != 0) streams[i]->send();
    if ((entries[i].revents & ~POLLOUT) != 0) streams[i]->receive();
  }
}

void TcpRoot::listen_to_all() {
  for (auto& [rank, member] : members_) listen_to(rank, member);
}

void TcpRoot::listen_to(uint32_t rank, Member& member) {
  while (member.end == LCI_DONE) {
    auto frame = member.stream.next();
    if (!frame) break;
    take(rank, member, std::move(*frame));
  }
  if (member.end != LCI_DONE || !member.stream.ended()) return;
  member.end = member.stream.nonsense() ? LCI_ERR_PROTOCOL : LCI_ERR_PEER_FAILED;
}

void TcpRoot::take(uint32_t rank, Member& member, Frame frame) {
  if (frame.kind == FrameKind::kValues && !member.values && are_values_of(rank, frame.content)) {
    member.values = share(std::move(frame.content));
  } else if (frame.kind == FrameKind::kAsk) {
    member.stream.post(FrameKind::kMissing, share(encode(last_failure(report_missing(kLate)))));
  } else if (frame.kind == FrameKind::kFailure) {
    member.end = hear_of_vain_waiting(frame.content);
  } else {
    member.end = frame.kind == FrameKind::kLeave ? LCI_ERR_BOOTSTRAP : LCI_ERR_PROTOCOL;
  }
}

/// A rank gives up, and says for whom it waited: that one is to be named, not the rank that gives up. If it waited for
/// this rank it has just closed.
int TcpRoot::hear_of_vain_waiting(const std::vector<uint8_t>& content) {
  Failure failure;
  const bool sensible = decode(content, &failure) && failure.code == LCI_ERR_TIMEOUT && failure.rank >= 0 &&
                        static_cast<uint32_t>(failure.rank) < settings_.size;
  if (!sensible) return LCI_ERR_PROTOCOL;
  if (failure.rank == 0) return LCI_ERR_BOOTSTRAP;
  vain_waiting_ = failure;
  return LCI_ERR_TIMEOUT;
}

bool TcpRoot::are_values_of(uint32_t rank, const std::vector<uint8_t>& list) const {
  uint64_t fence = 0;
  std::vector<ValueView> values;
  if (!decode_values(list, &fence, &values) || fence != fence_) return false;
  return std::all_of(values.begin(), values.end(), [&](const ValueView& value) { return value.rank == rank; });
}

std::optional<uint32_t> TcpRoot::lost() const {
  for (const auto& [rank, member] : members_) {
    if (member.end != LCI_DONE && member.end != LCI_ERR_BOOTSTRAP) return rank;
  }
  return std::nullopt;
}

std::optional<uint32_t> TcpRoot::left() const {
  for (const auto& [rank, member] : members_) {
    if (member.end == LCI_ERR_BOOTSTRAP) return rank;
  }
  return std::nullopt;
}

/// Those that are lost before those that have left: they may have left because of it, and the cause is to be named.
int TcpRoot::check_members() const {
  if (const auto rank = lost()) {
    const Member& member = members_.at(*rank);
    if (member.end == LCI_ERR_TIMEOUT) return fail_as(*vain_waiting_);
    const std::string why = member.end == LCI_ERR_PROTOCOL ? "it sent what makes no sense" : member.stream.why();
    return missing_ranks(member.end, id_text(job_), fence_, {*rank}, why);
  }
  if (const auto rank = left()) {
    return missing_ranks(LCI_ERR_BOOTSTRAP, id_text(job_), fence_, {*rank}, "a rank has closed");
  }
  return LCI_DONE;
}

int TcpRoot::report_missing(const char* why) const {
  const auto ranks = missing();
  const uint32_t first = ranks.empty() ? 0 : ranks.front();
  const bool joined = first == 0 || members_.count(first) != 0;
  std::string more = "; rank " + std::to_string(first) + (joined ? " is not in this barrier" : " never joined");
  if (door_.lacks_descriptors()) more += "; rank 0 may not open so many files: raise the limit (ulimit -n)";
  return missing_ranks(LCI_ERR_TIMEOUT, id_text(job_), fence_, ranks.empty() ? std::vector{0u} : ranks, why + more);
}

std::vector<uint32_t> TcpRoot::missing() const {
  std::vector<uint32_t> ranks;
  if (!inside_) ranks.push_back(0);
  for (uint32_t rank = 1; rank < settings_.size; ++rank) {
    const auto member = members_.find(rank);
    if (member == members_.end() || !member->second.values) ranks.push_back(rank);
  }
  return ranks;
}

/// A look from outside an exchange, while the ranks do something else: those that are lost are told to the others.
Bootstrap::Loss TcpRoot::look() {
  if (!failure_) {
    wait(0);
    listen_to_all();
    if (lost()) {
      failure_ = last_failure(check_members());
      tell_all(FrameKind::kFailure, *failure_);
    }
  }
  return {lost(), left()};
}

void TcpRoot::tell_all(FrameKind kind, const Failure& failure) {
  const Shared content = share(encode(failure));
  for (auto& [rank, member] : members_) {
    if (member.end == LCI_DONE) member.stream.post(kind, content);
  }
}

}  // namespace lci
