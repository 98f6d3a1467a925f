// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/call_proof.hpp"

#include <string_view>

#include "host/socket.hpp"
#include "lci/lci.h"

namespace lci {
namespace {

constexpr uint64_t kProofMagic = 0x315043544943004cull;

/// A code that names what it is for: one side's cannot be given back to it as the other's.
Digest proof(const CallIdentity& self, std::string_view of, const CallHello& hello, const void* challenge,
             size_t bytes) {
  HmacSha256 code(self.secret.data(), self.secret.size());
  code.update(of.data(), of.size());
  code.update(&hello, sizeof hello);
  code.update(challenge, bytes);
  return code.finish();
}

Digest proof_of_answerer(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self) {
  return proof(self, "answerer", hello, &challenge, offsetof(CallChallenge, proof));
}

}  // namespace

Digest binding_of(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self) {
  return proof(self, "connection", hello, &challenge, sizeof challenge);
}

Digest key_of(const Digest& binding, CallSide sender, const CallVerdict& verdict) {
  HmacSha256 code(binding.bytes.data(), binding.bytes.size());
  code.update(sender == CallSide::kCaller ? "caller" : "answer", 6);
  code.update(&verdict, sizeof verdict);
  return code.finish();
}

namespace {

Digest proof_of(const CallVerdict& said, const Digest& binding) {
  HmacSha256 code(binding.bytes.data(), binding.bytes.size());
  code.update("verdict", 7);
  code.update(&said, sizeof said);
  return code.finish();
}

}  // namespace

bool send_verdict(int socket, const CallVerdict& verdict, const Digest& binding) {
  const ProvedVerdict proved{verdict, proof_of(verdict, binding)};
  return send_some(socket, &proved, sizeof proved).bytes == sizeof proved;
}

bool is_proved(const ProvedVerdict& verdict, const Digest& binding) {
  return equal_in_constant_time(verdict.proof, proof_of(verdict.verdict, binding));
}

CallHello hello_to(const CallIdentity& self, uint32_t rank, uint32_t device, const LinkProgress& progress) {
  CallHello hello{};
  hello.magic = kProofMagic;
  hello.abi = LCI_ABI_VERSION;
  hello.size = self.size;
  hello.job = self.job;
  hello.from = self.rank;
  hello.to = rank;
  hello.incarnation = self.incarnation;
  hello.device = device;
  hello.connections = progress.connections;
  hello.taken = progress.taken;
  random_bytes(hello.nonce.data(), hello.nonce.size());
  return hello;
}

const char* fault_of(const CallHello& hello, const CallIdentity& self) {
  if (hello.magic != kProofMagic) return "not of this protocol";
  if (hello.abi != LCI_ABI_VERSION) return "another version; give all ranks the same library";
  if (hello.job != self.job) return "another job";
  if (hello.to != self.rank || hello.from >= self.size || hello.from == self.rank || hello.size != self.size ||
      hello.device > LCI_MAX_DEVICES) {  // that is what monitors call
    return "ranks that are not of this job";
  }
  return nullptr;
}

CallChallenge challenge_to(const CallHello& hello, const CallIdentity& self) {
  CallChallenge challenge{};
  challenge.magic = kProofMagic;
  challenge.incarnation = self.incarnation;
  random_bytes(challenge.nonce.data(), challenge.nonce.size());
  challenge.proof = proof_of_answerer(hello, challenge, self);
  return challenge;
}

bool is_proved(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self) {
  return challenge.magic == kProofMagic &&
         equal_in_constant_time(challenge.proof, proof_of_answerer(hello, challenge, self));
}

Digest proof_of_caller(const CallHello& hello, const CallChallenge& challenge, const CallIdentity& self) {
  return proof(self, "caller", hello, &challenge, sizeof challenge);
}

}  // namespace lci
