// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/tcp_member.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bootstrap/fenced_values.hpp"

namespace lci {
namespace {

constexpr uint64_t kFirstWait = 5'000'000;            // ns between two tries to connect
constexpr uint64_t kLongestWait = 200'000'000;        // ns
constexpr uint64_t kConnectPatience = 2'000'000'000;  // ns for an address that does not answer: another may
constexpr uint64_t kMostAskTime = 1'000'000'000;      // ns before its deadline a rank asks which ones are missing

/// Sends or receives all of it. LCI_RETRY, and why, if the connection does not last so long.
int move_all(int socket, bool sends, uint8_t* bytes, size_t size, uint64_t deadline_ns, std::string* why) {
  for (size_t done = 0; done < size;) {
    const Moved moved =
        sends ? send_some(socket, bytes + done, size - done) : receive_some(socket, bytes + done, size - done);
    done += moved.bytes;
    if (moved.ended) {
      *why = moved.error == 0 ? "the connection ended" : std::strerror(moved.error);
      return LCI_RETRY;
    }
    if (moved.bytes == 0 && !wait_for(socket, sends, deadline_ns)) {
      *why = "it was reached, and says nothing";
      return LCI_RETRY;
    }
  }
  return LCI_DONE;
}

template <size_t N>
int receive_all(int socket, std::array<uint8_t, N>* out, uint64_t deadline_ns, std::string* why) {
  return move_all(socket, false, out->data(), N, deadline_ns, why);
}

int failed_connect(int error, const SocketAddress& address, std::string* why) {
  *why = address.text() + ": " + std::strerror(error == EINPROGRESS ? ETIMEDOUT : error);
  return LCI_RETRY;
}

}  // namespace

TcpMember::~TcpMember() {
  if (stream_) stream_->leave();
}

int TcpMember::exchange(Shared own, uint64_t deadline_ns, Shared* all) {
  if (failure_) return fail_as(*failure_);
  const int code = exchange_values(std::move(own), deadline_ns, all);
  if (code == LCI_DONE) return LCI_DONE;
  failure_ = last_failure(code);
  // The others are to hear who did not come, rather than that this rank gave up.
  if (code == LCI_ERR_TIMEOUT && stream_) stream_->post(FrameKind::kFailure, share(encode(*failure_)));
  return fail_as(*failure_);
}

int TcpMember::exchange_values(Shared own, uint64_t deadline_ns, Shared* all) {
  if (!stream_) {
    const int code = join(deadline_ns);
    if (code != LCI_DONE) return code;
  }
  missing_.reset();
  stream_->post(FrameKind::kValues, std::move(own));
  const uint64_t now = now_ns();
  const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
  int code = await(deadline_ns - std::min(left / 4, kMostAskTime), all);
  if (code == LCI_RETRY) {
    stream_->post(FrameKind::kAsk);
    code = await(deadline_ns, all);
  }
  if (code == LCI_RETRY) return missing_ ? fail_as(*missing_) : root_is_late("it has not entered the barrier");
  if (code == LCI_DONE) ++fence_;
  return code;
}

/// Until rank 0 has handed out what all gave; LCI_RETRY if that takes too long.
int TcpMember::await(uint64_t deadline_ns, Shared* all) {
  for (;;) {
    while (auto frame = stream_->next()) {
      const int code = take(std::move(*frame), all);
      if (code != LCI_RETRY) return code;
    }
    if (stream_->ended() || root_left_) return root_is_gone();
    if (!meanwhile_.wait_for(stream_->socket(), stream_->has_to_send(), deadline_ns)) return LCI_RETRY;
    stream_->send();
    stream_->receive();
  }
}

/// LCI_RETRY: it is not what is waited for.
int TcpMember::take(Frame frame, Shared* all) {
  Failure failure;
  uint64_t fence = 0;
  std::vector<ValueView> values;
  switch (frame.kind) {
    case FrameKind::kValues:
      if (!decode_values(frame.content, &fence, &values) || fence != fence_) break;
      *all = share(std::move(frame.content));
      return LCI_DONE;
    case FrameKind::kFailure:
      if (!decode(frame.content, &failure)) break;
      failure_ = failure;
      return fail_as(failure);
    case FrameKind::kMissing:
      if (!decode(frame.content, &failure)) break;
      missing_ = failure;
      return LCI_RETRY;
    case FrameKind::kLeave:
      root_left_ = true;
      return LCI_RETRY;
    case FrameKind::kAsk:
      break;
  }
  return missing_ranks(LCI_ERR_PROTOCOL, id_text(job_), fence_, {0}, "it sent what makes no sense");
}

int TcpMember::root_is_gone() {
  if (root_left_) return missing_ranks(LCI_ERR_BOOTSTRAP, id_text(job_), fence_, {0}, "a rank has closed");
  const int code = stream_->nonsense() ? LCI_ERR_PROTOCOL : LCI_ERR_PEER_FAILED;
  return missing_ranks(code, id_text(job_), fence_, {0}, stream_->why());
}

int TcpMember::join(uint64_t deadline_ns) {
  std::string why;
  for (uint64_t wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    const int code = try_to_join(deadline_ns, &why);
    if (code != LCI_RETRY) return code;
    const uint64_t now = now_ns();
    if (now >= deadline_ns) return root_is_late(why);
    nap(std::min(wait, deadline_ns - now));
  }
}

int TcpMember::root_is_late(const std::string& why) const {
  return missing_ranks(LCI_ERR_TIMEOUT, job_ == 0 ? settings_.root_text() : id_text(job_), fence_, {0},
                       "the deadline has passed; rank 0 at " + settings_.root_text() + ": " + why);
}

/// Tries each address of the root once.
int TcpMember::try_to_join(uint64_t deadline_ns, std::string* why) {
  std::vector<SocketAddress> addresses;
  int code = settings_.find_root(&addresses, why);
  for (const SocketAddress& address : addresses) {
    FileDescriptor socket = connect_to(address);
    code = socket.get() < 0 ? failed_connect(errno, address, why) : LCI_DONE;
    if (code != LCI_DONE) continue;
    wait_for(socket.get(), true, std::min(deadline_ns, now_ns() + kConnectPatience));
    const int outcome = connect_outcome(socket.get());
    code = outcome == 0 ? greet(socket.get(), deadline_ns, why) : failed_connect(outcome, address, why);
    if (code == LCI_DONE) stream_.emplace(std::move(socket), kMostValueBytes * settings_.size);
    if (code != LCI_RETRY) return code;
  }
  return code;
}

/// Both sides prove that they know the secret, rank 0 first.
int TcpMember::greet(int socket, uint64_t deadline_ns, std::string* why) {
  send_at_once(socket);
  auto greeting = encode({.rank = settings_.rank, .size = settings_.size, .nonce = new_nonce()});
  ChallengeBytes bytes{};
  int code = move_all(socket, true, greeting.data(), greeting.size(), deadline_ns, why);
  if (code == LCI_DONE) code = hear_verdict(socket, deadline_ns, why);
  if (code == LCI_DONE) code = receive_all(socket, &bytes, deadline_ns, why);
  if (code != LCI_DONE) return code;
  const Challenge challenge = decode(bytes);
  if (!equal_in_constant_time(challenge.proof, prove(settings_.secret, Prover::kRoot, greeting, challenge.nonce))) {
    return not_the_root();
  }
  Digest proof = prove(settings_.secret, Prover::kRank, greeting, challenge.nonce);
  code = move_all(socket, true, reinterpret_cast<uint8_t*>(proof.bytes.data()), proof.bytes.size(), deadline_ns, why);
  return code == LCI_DONE ? hear_verdict(socket, deadline_ns, why) : code;
}

int TcpMember::hear_verdict(int socket, uint64_t deadline_ns, std::string* why) {
  VerdictBytes bytes{};
  const int code = receive_all(socket, &bytes, deadline_ns, why);
  if (code != LCI_DONE) return code;
  Verdict verdict{};
  if (!decode(bytes, &verdict, &job_)) return not_the_root();
  if (verdict == Verdict::kWelcome) return LCI_DONE;
  return blame(settings_.rank, fail(LCI_ERR_BOOTSTRAP, "bootstrap tcp: rank 0 at %s refuses rank %u of %u: it %s",
                                    settings_.root_text().c_str(), settings_.rank, settings_.size, describe(verdict)));
}

int TcpMember::not_the_root() const {
  return blame(0,
               fail(LCI_ERR_BOOTSTRAP,
                    "bootstrap tcp: what answers at %s is not rank 0 of this job: it does not know the job's secret; "
                    "look at LCI_ROOT, and give all ranks the same LCI_SECRET_FILE",
                    settings_.root_text().c_str()));
}

Bootstrap::Loss TcpMember::look() {
  Bootstrap::Loss loss;
  if (stream_ && !failure_ && !root_left_) {
    stream_->receive();
    Shared none;
    int code = LCI_RETRY;
    while (code == LCI_RETRY) {
      auto frame = stream_->next();
      if (!frame) break;
      code = take(std::move(*frame), &none);
    }
    if (code == LCI_RETRY && stream_->ended() && !root_left_) code = root_is_gone();
    if (is_error(code)) failure_ = last_failure(code);
  }
  if (root_left_) loss.left = 0;
  if (failure_ && failure_->rank >= 0) {
    (failure_->code == LCI_ERR_BOOTSTRAP ? loss.left : loss.dead) = static_cast<uint32_t>(failure_->rank);
  }
  return loss;
}

}  // namespace lci
