// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/outgoing_call.hpp"

#include <cerrno>
#include <cstring>

#include "host/socket.hpp"

namespace lci {

OutgoingCall::OutgoingCall(const CallIdentity& self, const TcpAddress& address, uint32_t rank, uint32_t device,
                           const LinkProgress& progress)
    : self_(self),
      incarnation_(address.incarnation),
      socket_(connect_to(socket_address(address))),
      error_(errno),
      hello_(hello_to(self, rank, device, progress)) {}

OutgoingCall::Answer OutgoingCall::go_on() {
  if (socket_.get() < 0) {
    why_ = std::strerror(error_);
    return failed(error_);
  }
  Answer answer = Answer::kWaiting;
  if (stage_ == Stage::kConnecting) answer = connected();
  if (answer == Answer::kWaiting && stage_ == Stage::kChallenged) answer = prove();
  if (answer == Answer::kWaiting && stage_ == Stage::kJudged) {
    answer = read_all(&verdict_, sizeof verdict_);
    if (answer == Answer::kAccepted) answer = heed(verdict_);
  }
  return answer;
}

/// What shows that nobody is there; a process without memory or descriptors, and one that hangs up, may do better
/// later.
OutgoingCall::Answer OutgoingCall::failed(int error) {
  switch (error) {
    case ECONNREFUSED:
      return Answer::kRefused;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return Answer::kUnreached;
    default:
      return Answer::kLater;
  }
}

OutgoingCall::Answer OutgoingCall::connected() {
  const int error = connect_outcome(socket_.get());
  if (error == EINPROGRESS) return Answer::kWaiting;
  prepare_for_records(socket_.get());
  if (error != 0) {
    why_ = std::strerror(error);
    return failed(error);
  }
  stage_ = Stage::kChallenged;
  return send_all(&hello_, sizeof hello_) ? Answer::kWaiting : Answer::kLater;
}

OutgoingCall::Answer OutgoingCall::prove() {
  const Answer answer = read_all(&challenge_, sizeof challenge_);
  if (answer != Answer::kAccepted) return answer;
  if (!is_proved(hello_, challenge_, self_)) return refuse("whoever answers there does not have the job's secret");
  if (challenge_.incarnation != incarnation_) return refuse("another process answers there");
  const Digest proof = proof_of_caller(hello_, challenge_, self_);
  if (!send_all(&proof, sizeof proof)) return Answer::kLater;
  stage_ = Stage::kJudged;
  bytes_ = 0;
  return Answer::kWaiting;
}

OutgoingCall::Answer OutgoingCall::heed(const ProvedVerdict& verdict) {
  if (!is_proved(verdict, binding())) return refuse("its verdict is not its own");
  switch (verdict.verdict.code) {
    case CallVerdict::kAccepted:
      return Answer::kAccepted;
    case CallVerdict::kDuplicate:
      return Answer::kDuplicate;
    case CallVerdict::kFailed:
      return Answer::kFailed;
    default:
      return refuse("its verdict is none");
  }
}

/// kAccepted: all @p size bytes have come.
OutgoingCall::Answer OutgoingCall::read_all(void* to, size_t size) {
  const Moved came = receive_some(socket_.get(), static_cast<std::byte*>(to) + bytes_, size - bytes_);
  if (came.ended) return failed(came.error);
  bytes_ += came.bytes;
  return bytes_ == size ? Answer::kAccepted : Answer::kWaiting;
}

/// Less than a socket's buffer has room for.
bool OutgoingCall::send_all(const void* bytes, size_t size) {
  return send_some(socket_.get(), bytes, size).bytes == size;
}

}  // namespace lci
