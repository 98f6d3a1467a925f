// SPDX-License-Identifier: Apache-2.0
// A connection that this rank is opening: connects without waiting, and proves itself. It has no deadline once it is
// connected: the other rank answers when it makes a pass, and one that is silent is not dead.
//
// The owner of the device calls everything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/tcp/call_proof.hpp"
#include "transport/tcp/tcp_address.hpp"

namespace lci {

class OutgoingCall {
 public:
  enum class Answer {
    kWaiting,
    kAccepted,   ///< take_socket() is a connection over which records go.
    kDuplicate,  ///< The other rank is calling this one, and is to be waited for.
    kFailed,     ///< This rank counts as failed there.
    kLater,      ///< Another try may do: it hung up, or this process lacks something.
    kRefused,    ///< The rank is not there: why() says what is.
    kUnreached,  ///< Nothing answers there: why() says what the system knows.
  };

  OutgoingCall(const CallIdentity& self, const TcpAddress& address, uint32_t rank, uint32_t device,
               const LinkProgress& progress = {});

  int socket() const { return socket_.get(); }
  FileDescriptor take_socket() { return std::move(socket_); }
  /// Of a call that was accepted: what the other side says of the link.
  const CallVerdict& verdict() const { return verdict_.verdict; }
  Digest binding() const { return binding_of(hello_, challenge_, self_); }
  /// Goes on, as far as it can.
  Answer go_on();
  const char* why() const { return why_; }
  /// The system of the other rank has answered.
  bool is_connected() const { return stage_ != Stage::kConnecting; }
  /// It is the rank that has answered.
  bool has_proved() const { return stage_ == Stage::kJudged; }

 private:
  enum class Stage { kConnecting, kChallenged, kJudged };

  Answer read_all(void* to, size_t size);
  bool send_all(const void* bytes, size_t size);
  Answer refuse(const char* why) {
    why_ = why;
    return Answer::kRefused;
  }
  static Answer failed(int error);
  Answer connected();
  Answer prove();
  Answer heed(const ProvedVerdict& verdict);

  const CallIdentity& self_;
  const uint64_t incarnation_;  // of the rank that is called
  FileDescriptor socket_;
  const int error_;  // where there is none
  Stage stage_ = Stage::kConnecting;
  size_t bytes_ = 0;  // of what is read now
  CallHello hello_;
  CallChallenge challenge_{};
  ProvedVerdict verdict_{};
  const char* why_ = "";
};

}  // namespace lci
