// SPDX-License-Identifier: Apache-2.0
// How two ranks make sure of each other before the first record: both prove that they have the job's secret, over
// numbers that each has just drawn, so that a proof is worth nothing on another connection.
//
//   caller  -> answerer   CallHello       who calls whom, for which device, of which job; a number
//   answerer -> caller    CallChallenge   a number; proof
//   caller  -> answerer   Proof
//   answerer -> caller    CallVerdict     from here on records go both ways, from where each side has taken them
//
// The answerer keeps nothing for a caller that has not proved itself but the bytes of these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/sha256.hpp"

namespace lci {

using CallNonce = std::array<std::byte, 16>;

/// How far a link has come when a connection is to be opened for it: nothing, or as far as the last one that broke.
struct LinkProgress {
  uint32_t connections = 0;  ///< That it has had, as this side knows.
  uint64_t taken = 0;        ///< Bytes of the other side's records that this side has.
};

struct CallHello {
  uint64_t magic;
  uint32_t abi;
  uint32_t size;  ///< Of the job.
  std::array<char, 16> job;
  uint32_t from, to;     ///< Ranks.
  uint64_t incarnation;  ///< Of the caller.
  uint32_t device;
  uint32_t connections;  ///< The caller's LinkProgress,
  uint64_t taken;        ///< and the rest of it.
  CallNonce nonce;
};
static_assert(sizeof(CallHello) == 80);

struct CallChallenge {
  uint64_t magic;
  uint64_t incarnation;  ///< Of the answerer.
  CallNonce nonce;
  Digest proof;
};
static_assert(sizeof(CallChallenge) == 64);

struct CallVerdict {
  enum Code : uint32_t {
    kAccepted = 1,
    kDuplicate = 2,  ///< There is a connection, or the answerer is opening one.
    kFailed = 3,     ///< The caller counts as failed here.
  };
  uint32_t code = 0;
  uint32_t reserved = 0;
  uint64_t taken = 0;  ///< Of the answerer's LinkProgress.
};
static_assert(sizeof(CallVerdict) == 16);

struct CallIdentity;
/// What both sides of a connection that was proved have, and nobody else: of its two calls and numbers.
Digest binding_of(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self);
/// The key of what the caller, or the answerer, sends over the connection that @p verdict opens.
enum class CallSide { kCaller, kAnswerer };
Digest key_of(const Digest& binding, CallSide sender, const CallVerdict& verdict);

/// False: it could not be sent, so that whoever waits for it hears nothing.
bool send_verdict(int socket, const CallVerdict& verdict);

/// What all ranks of a job have, and this one.
struct CallIdentity {
  std::array<uint8_t, 32> secret;
  std::array<char, 16> job;
  uint32_t rank, size;
  uint64_t incarnation;
};

CallHello hello_to(const CallIdentity& self, uint32_t rank, uint32_t device, const LinkProgress& progress = {});
/// Null: it may be a caller's, as far as that can be seen. Else what is wrong with it.
const char* fault_of(const CallHello& hello, const CallIdentity& self);

/// The answer to @p hello.
CallChallenge challenge_to(const CallHello& hello, const CallIdentity& self);
/// The caller: whether the answerer has the secret.
bool is_proved(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self);
/// The caller's proof.
Digest proof_of_caller(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self);

}  // namespace lci
