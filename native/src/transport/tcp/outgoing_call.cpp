// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/outgoing_call.hpp"

#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "host/socket.hpp"

namespace lci {

OutgoingCall::OutgoingCall(const CallIdentity& self, const TcpAddress& address, uint32_t rank, uint32_t device,
                           uint64_t until_ns)
    : self_(self),
      incarnation_(address.incarnation),
      until_ns_(until_ns),
      socket_(connect_to(socket_address(address))),
      hello_(hello_to(self, rank, device)) {}

OutgoingCall::Answer OutgoingCall::go_on() {
  if (socket_.get() < 0) return refuse("it cannot be reached");
  Answer answer = Answer::kWaiting;
  if (stage_ == Stage::kConnecting) answer = connected();
  if (answer == Answer::kWaiting && stage_ == Stage::kChallenged) answer = prove();
  if (answer == Answer::kWaiting && stage_ == Stage::kJudged) {
    answer = read_all(&verdict_, sizeof verdict_);
    if (answer == Answer::kAccepted && verdict_.code == CallVerdict::kDuplicate) answer = Answer::kDuplicate;
    if (answer == Answer::kAccepted && verdict_.code != CallVerdict::kAccepted) answer = refuse("its verdict is none");
  }
  if (answer == Answer::kWaiting && now_ns() > until_ns_) return refuse("it did not answer in time");
  return answer;
}

OutgoingCall::Answer OutgoingCall::connected() {
  const int error = connect_outcome(socket_.get());
  if (error == EINPROGRESS) return Answer::kWaiting;
  prepare_for_records(socket_.get());
  if (error != 0) return refuse(std::strerror(error));
  if (!send_all(&hello_, sizeof hello_)) return refuse("it hung up");
  stage_ = Stage::kChallenged;
  return Answer::kWaiting;
}

OutgoingCall::Answer OutgoingCall::prove() {
  const Answer answer = read_all(&challenge_, sizeof challenge_);
  if (answer != Answer::kAccepted) return answer;
  if (!is_proved(hello_, challenge_, self_)) return refuse("whoever answers there does not have the job's secret");
  if (challenge_.incarnation != incarnation_) return refuse("another process answers there");
  const Digest proof = proof_of_caller(hello_, challenge_, self_);
  if (!send_all(&proof, sizeof proof)) return refuse("it hung up");
  stage_ = Stage::kJudged;
  bytes_ = 0;
  return Answer::kWaiting;
}

/// kAccepted: all @p size bytes have come.
OutgoingCall::Answer OutgoingCall::read_all(void* to, size_t size) {
  const Moved came = receive_some(socket_.get(), static_cast<std::byte*>(to) + bytes_, size - bytes_);
  if (came.ended) return refuse(came.error == 0 ? "it hung up" : std::strerror(came.error));
  bytes_ += came.bytes;
  return bytes_ == size ? Answer::kAccepted : Answer::kWaiting;
}

/// Less than a socket's buffer has room for.
bool OutgoingCall::send_all(const void* bytes, size_t size) {
  return send_some(socket_.get(), bytes, size).bytes == size;
}

}  // namespace lci
